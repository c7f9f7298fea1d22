"""The tests' databases: copies of one that is migrated once and kept on the tests' server until its tables change."""

import hashlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from tests.sites import ROOT

# One of 64 bits, as advisory locks want it; nobody else takes one on this server.
LOCK = 0x7E575
# Nothing is kept that a crash of the machine may not take; what must survive one is tested on servers of its own.
HASTE = ("fsync = off", "synchronous_commit = off", "full_page_writes = off")


def make_database(server: str, name: str, *, migrated: bool = True) -> None:
    """A database, without a table if it is not migrated; `server` is the address of one that is always there."""
    with psycopg.connect(server, autocommit=True) as admin:
        template = _template(server, admin) if migrated else "template1"
        admin.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')  # type: ignore[call-overload]


def drop_database(server: str, name: str) -> None:
    with psycopg.connect(server, autocommit=True) as admin:
        admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')  # type: ignore[call-overload]


@contextmanager
def another_database(*, migrated: bool) -> Iterator[str]:
    """The address of one more, on the server of the tests' own."""
    own, name = os.environ["DATABASE_URL"], f"another_{uuid.uuid4().hex}"
    make_database(own, name, migrated=migrated)
    try:
        with psycopg.connect(own) as connection:
            url = _address(own, connection, name)
        yield url
    finally:
        drop_database(own, name)


def make_hasty(server: str) -> None:
    with psycopg.connect(server, autocommit=True) as admin:
        for setting in HASTE:
            admin.execute(f"ALTER SYSTEM SET {setting}")  # type: ignore[call-overload]  # our own words
        admin.execute("SELECT pg_reload_conf()")


def copy_migrated(server: str, to: str, programs: Path) -> None:
    """Fills an empty database of another server with what a migrated one holds; `programs` are PostgreSQL's own."""
    with psycopg.connect(server, autocommit=True) as admin:
        name = _template(server, admin)
        source = _address(server, admin, name)
    dump = subprocess.run([programs / "pg_dump", "--no-owner", source], check=True, capture_output=True).stdout
    fill = [programs / "psql", "-q", "-v", "ON_ERROR_STOP=1", "-o", os.devnull, to]
    subprocess.run(fill, check=True, input=dump)


def _template(server: str, admin: "psycopg.Connection[Any]") -> str:
    """The name of the migrated database that others are copied from; made by the first who needs it."""
    name = f"migrated_{_fingerprint()}"
    admin.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    there = [row[0] for row in admin.execute("SELECT datname FROM pg_database WHERE datname LIKE 'migrated%'")]
    if name not in there:
        for other in there:
            drop_database(server, other)
        admin.execute("CREATE DATABASE migrated")
        _migrate(server)
        admin.execute(f'ALTER DATABASE migrated RENAME TO "{name}"')  # type: ignore[call-overload]
    admin.execute("SELECT pg_advisory_unlock(%s)", [LOCK])
    return name


def _migrate(server: str) -> None:
    with psycopg.connect(server) as connection:
        url = _address(server, connection, "migrated")
    command = [sys.executable, "manage.py", "migrate", "-v0"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "DATABASE_URL": url}, check=True)


def _address(server: str, connection: "psycopg.Connection[Any]", name: str) -> str:
    """That of another database on the server that the connection is to."""
    return server.replace(f"/{connection.info.dbname}?", f"/{name}?")


def _fingerprint() -> str:
    """Of all that decides what is in a migrated database: migrations, models (permissions are rows), packages."""
    digest = hashlib.sha256((ROOT / "requirements.txt").read_bytes())
    for pattern in ("*/migrations/*.py", "*/models.py", "*/models/*.py"):
        for path in sorted(ROOT.glob(pattern)):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
