"""Agents written with the published package, served by its own loader."""

import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.published_client.package import PYTHON, SECONDS, Package
from tests.sessions_app.people import wait_until
from tests.sites import free_port

AGENTS = Path(__file__).parent / "agents"


@contextmanager
def served(folder: Path, package: Package, **environment: str) -> Iterator[str]:
    """Serves the agent in `folder` as `fixie serve` and a deployment do; yields its address."""
    port = free_port()
    words = [PYTHON, "-m", "uvicorn", "fixieai.cli.agent.loader:uvicorn_app_factory", "--factory", "--port", str(port)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            words, cwd=folder, env={**package.environment, **environment}, stdout=log, stderr=log
        )
    try:
        wait_until(lambda: process.poll() is not None or _listens(port), SECONDS)
        assert process.poll() is None, (folder / "log").read_text()
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


def program(name: str, folder: Path, entry_point: str) -> Path:
    """A folder with a program of `agents/` in it, as `fixie init` would leave it."""
    home = folder / name
    home.mkdir()
    (home / "main.py").write_text((AGENTS / f"{name}.py").read_text())
    (home / "agent.yaml").write_text(f"handle: {name}\nentry_point: {entry_point}\n")
    return home


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
