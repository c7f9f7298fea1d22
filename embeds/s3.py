"""Embeds in S3 or whatever speaks its protocol, by django-storages and boto3."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from storages.backends.s3 import S3Storage

from common.errors import Unavailable
from embeds.files import Readable, Source

log = structlog.get_logger()


class S3Files(S3Storage):  # type: ignore[misc]  # django-storages is untyped
    """One bucket, whose objects nobody reaches but by URLs that are signed for minutes."""

    def get_default_settings(self) -> dict[str, Any]:
        options: dict[str, Any] = super().get_default_settings()
        config = Config(
            signature_version="s3v4",
            s3={"addressing_style": "path" if options["endpoint_url"] else "auto"},
            connect_timeout=5,
            read_timeout=30,
            retries={"mode": "standard", "total_max_attempts": 2},
            # Servers other than Amazon's do not know the checksums that boto3 would add.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        return {**options, "client_config": config, "custom_domain": None, "default_acl": None}

    def put(self, path: str, content: Source) -> None:
        with _answering():
            self._client.put_object(Body=content, **self._at(path))

    def copy(self, source: str, target: str) -> None:
        with _answering():
            self._client.copy_object(CopySource=self._at(source), **self._at(target))

    def get(self, path: str, start: int = 0) -> Readable:
        with _answering():
            return _Body(self._client.get_object(Range=f"bytes={start}-", **self._at(path))["Body"])

    def delete(self, path: str) -> None:
        with _answering():
            self._client.delete_object(**self._at(path))

    def download_url(self, path: str, method: str, content_type: str, disposition: str, seconds: int) -> str:
        shown_as = {"ResponseContentType": content_type, "ResponseContentDisposition": disposition}
        return self._signed("get_object", method, seconds, **self._at(path), **shown_as)

    def upload_url(self, path: str, content_type: str, size: int, seconds: int) -> str:
        said = {"ContentType": content_type, "ContentLength": size}
        return self._signed("put_object", "PUT", seconds, **self._at(path), **said)

    @property
    def _client(self) -> Any:
        return self.connection.meta.client

    def _at(self, path: str) -> dict[str, str]:
        return {"Bucket": self.bucket_name, "Key": path}

    def _signed(self, operation: str, method: str, seconds: int, **parameters: Any) -> str:
        url: str = self._client.generate_presigned_url(
            operation, Params=parameters, ExpiresIn=seconds, HttpMethod=method
        )
        return url


class _Body:
    """An object's content, whose connection may break too."""

    def __init__(self, body: Readable) -> None:
        self._body = body

    def read(self, size: int, /) -> bytes:
        with _answering():
            return self._body.read(size)

    def close(self) -> None:
        self._body.close()


@contextmanager
def _answering() -> Iterator[None]:
    """Turns what boto3 raises into what a storage raises."""
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        status = getattr(error, "response", {}).get("ResponseMetadata", {}).get("HTTPStatusCode")
        code = getattr(error, "response", {}).get("Error", {}).get("Code")
        if status == 404 and code != "NoSuchBucket":
            raise FileNotFoundError from None
        log.warning("s3_away", error=type(error).__name__, status=status, code=code)
        raise Unavailable("The storage of attachments is away for a moment. Please try again.") from error
