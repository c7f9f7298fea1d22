"""The measured process: one uvicorn with the site and the yardstick, and what it costs the machine."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

ROOT = Path(__file__).parent.parent
START_SECONDS = 30.0
STOP_SECONDS = 10.0
TICKS = os.sysconf("SC_CLK_TCK")


class Server:
    """A site that answers from the moment it is made until `stop`."""

    def __init__(self, **settings: str) -> None:
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.ws_url = f"ws://127.0.0.1:{self.port}"
        self._log = Path(os.environ["VAR"]) / f"site-{self.port}.log"
        fixed = {"PORT": str(self.port), "SHUTDOWN_GRACE_SECONDS": "1"}
        command = [sys.executable, "-m", "benchmarks.serve"]
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={**os.environ, **fixed, **settings},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def wait(self) -> None:
        """Returns when the site is ready. Raises RuntimeError with its log where it does not come up."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if httpx2.get(f"{self.url}/readyz", timeout=2).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"The site did not start:\n{self._log.read_text()[-4000:]}")

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def memory(self) -> int:
        """Resident bytes of the process."""
        return self._status("VmRSS")

    def peak_memory(self) -> int:
        """The most that it has had since `forget_peak`, or its start."""
        return self._status("VmHWM")

    def forget_peak(self) -> None:
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")  # proc(5)

    def _status(self, name: str) -> int:
        for line in Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
        raise RuntimeError("The site has ended.")

    def cpu(self) -> float:
        """Seconds of processor time that the process has used."""
        after_name = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(after_name[11]) + int(after_name[12])) / TICKS

    def client(self, key: str) -> httpx2.Client:
        """For what is not measured: agents to register, sessions to begin."""
        return httpx2.Client(base_url=self.url, headers={"Authorization": f"Bearer {key}"}, timeout=30)


@contextmanager
def serving(**settings: str) -> Iterator[Server]:
    """A fresh process, with `settings` added to its environment."""
    server = Server(**settings)
    try:
        server.wait()
        yield server
    finally:
        server.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
