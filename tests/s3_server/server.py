"""An S3 server for tests: OpenStack Swift on loopback."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from tests.sites import ROOT

HOME = ROOT / ".venvs" / "swift"
ACCESS_KEY = "fixie:embeds"
SECRET_KEY = "secret-of-the-tests"
BUCKET = "embeds"


@dataclass(frozen=True)
class S3Server:
    """`settings` point a site at it; `client` is boto3's, with the keys of its owner."""

    url: str
    process: subprocess.Popen[str]

    @property
    def settings(self) -> dict[str, str]:
        return {
            "AWS_STORAGE_BUCKET_NAME": BUCKET,
            "AWS_S3_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        }

    @property
    def client(self) -> Any:
        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name="us-east-1",
            aws_access_key_id=ACCESS_KEY,
            aws_secret_access_key=SECRET_KEY,
            config=Config(signature_version="s3v4", s3={"addressing_style": "path"}),
        )

    def names(self) -> set[str]:
        """What the bucket holds."""
        return {each["Key"] for each in self.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])}

    def stop(self) -> None:
        """It ends with its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """A server with an empty bucket."""
    with tempfile.TemporaryDirectory(prefix="fixie-s3-") as directory:
        command = [str(HOME / "bin" / "python"), "-W", "ignore", str(Path(__file__).parent), directory]
        log = Path(directory) / "log"
        with log.open("w") as errors:
            process = subprocess.Popen(
                [*command, ACCESS_KEY, SECRET_KEY],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        assert process.stdout is not None
        server = S3Server(process.stdout.readline().strip(), process)
        assert server.url, log.read_text()
        try:
            server.client.create_bucket(Bucket=BUCKET)
            yield server
        finally:
            if process.poll() is None:
                server.stop()
