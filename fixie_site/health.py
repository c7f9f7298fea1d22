"""Health for load balancers: alive, and ready to serve."""

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from common.db import RETRYABLE, fetch, run_db
from sessions_app import process


async def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "alive"})


async def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, its schema is current and the background tasks live; else 503."""
    checks = {"database": await _database(), "migrations": False, "worker": process.is_running()}
    if checks["database"]:
        checks["migrations"] = await run_db(_migrated)
    ready = all(checks.values())
    return JsonResponse({"status": "ready" if ready else "not ready", **checks}, status=200 if ready else 503)


async def _database() -> bool:
    try:
        await fetch("SELECT 1")
    except RETRYABLE:
        return False
    return True


def _migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
