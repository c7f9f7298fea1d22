"""The benchmarks' own PostgreSQL with the site's schema, in a directory that is gone afterwards."""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

# An operator's own site must not be what is measured, nor what is written to.
OTHERS = ("DATABASE_URL", "REDIS_URL", "LLM_BASE_URL", "EMBEDDINGS_BASE_URL")


@contextmanager
def database() -> Iterator[None]:
    """Within it the ORM works, on a database that holds a first start's user and agents."""
    with tempfile.TemporaryDirectory(prefix="fixie-benchmarks-", ignore_cleanup_errors=True) as var:
        os.environ.update(dict.fromkeys(OTHERS, ""))
        os.environ.update(VAR=var, FIXIE_ENV="local", DEBUG="", DJANGO_SETTINGS_MODULE="fixie_site.settings")
        from fixie_site import embedded

        with embedded.database():
            _migrate()
            try:
                yield
            finally:
                _disconnect()


def _migrate() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    from fixie_site import first_start

    call_command("migrate", verbosity=0)
    first_start.prepare()


def _disconnect() -> None:
    from django.db import connections

    connections.close_all()
    for connection in connections.all():
        if hasattr(connection, "close_pool"):
            connection.close_pool()


def described() -> str:
    """The server in one line: its version, that it syncs, and what a commit (one that waits) costs on this disk."""
    version, fsync = _setting("server_version"), _setting("fsync")
    cost = statistics.median(_commit() for _ in range(50)) * 1e3
    return f"PostgreSQL {version}, fsync {fsync}; a commit takes {cost:.2f} ms"


def _setting(name: str) -> str:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [name])
        return str(cursor.fetchone()[0])


def _commit() -> float:
    """Seconds of one small transaction."""
    from django.contrib.contenttypes.models import ContentType

    began = time.perf_counter()
    ContentType.objects.filter(app_label="accounts", model="user").update(model="user")
    return time.perf_counter() - began
