"""The whole site as a process of its own, on the tests' database: started, asked over the wire, killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2

ROOT = Path(__file__).parent.parent
# A dozen sites share a server of 400 connections; those that no test asks just now give theirs back.
SMALL_POOLS = {"DATABASE_POOL_SIZE": "6", "DATABASE_ORM_POOL_SIZE": "6", "DATABASE_POOL_IDLE_SECONDS": "5"}
# Leases that fail over within seconds, so that tests of crashes are quick.
QUICK_LEASES = {"RUN_HEARTBEAT_SECONDS": "0.3", "RUN_LEASE_SECONDS": "1.5", "SHUTDOWN_GRACE_SECONDS": "1"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Site:
    """One server process. `server` is `uvicorn` or `daphne`; `settings` are added to its environment."""

    def __init__(self, *, server: str = "uvicorn", **settings: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.ws_url = f"ws://127.0.0.1:{self.port}"
        self.log = Path(os.environ["VAR"]) / f"site-{self.port}.log"
        environment = {
            **os.environ,
            "FIXIE_ENV": "local",
            "PORT": str(self.port),
            "LOG_LEVEL": "INFO",
            **SMALL_POOLS,
            **QUICK_LEASES,
            **settings,
        }
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                self._command(server), cwd=ROOT, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        self._wait()

    def _command(self, server: str) -> list[str]:
        application = "fixie_site.asgi:application"
        if server == "daphne":
            return [sys.executable, "-m", "daphne", "-b", "127.0.0.1", "-p", str(self.port), application]
        words = ["--port", str(self.port), "--no-access-log", "--ws", "websockets-sansio"]
        return [sys.executable, "-m", "uvicorn", application, *words, "--timeout-graceful-shutdown", "3"]

    def _wait(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                break
            try:
                if httpx2.get(f"{self.url}/readyz", timeout=2).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            time.sleep(0.05)
        raise RuntimeError(f"The site did not start:\n{self.log.read_text()[-4000:]}")

    def client(self, key: str | None = None, **options: object) -> httpx2.Client:
        """An HTTP client of this site, with an API key where one is given."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=30, **options)

    def async_client(self, key: str | None = None) -> httpx2.AsyncClient:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=30)

    def kill(self) -> None:
        """kill -9: no good-bye."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM, as an operator would; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


@contextmanager
def running_site(*, server: str = "uvicorn", **settings: str) -> Iterator[Site]:
    site = Site(server=server, **settings)
    try:
        yield site
    finally:
        if site.process.poll() is None:
            site.stop()
