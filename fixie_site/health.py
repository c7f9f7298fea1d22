"""Health for load balancers: alive, and ready to serve."""

import asyncio
from collections.abc import Awaitable

from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse

from common.db import RETRYABLE, fetch, run_db
from registry.routing.embedder import in_use
from sessions_app import process

PATIENCE = 2.0


async def healthz(request: HttpRequest) -> JsonResponse:
    """The process answers."""
    return JsonResponse({"status": "alive"})


async def readyz(request: HttpRequest) -> JsonResponse:
    """200 when the database answers, its schema is current and the background tasks live; else 503.

    `embedder` tells what routes queries: `lexical` is the stand-in for a model that is not there.
    """
    checks = {"database": await _holds(_database()), "migrations": False, "worker": process.is_running()}
    if checks["database"]:
        checks["migrations"] = await _holds(run_db(_migrated))
    ready = all(checks.values())
    about = {"status": "ready" if ready else "not ready", **checks, "embedder": in_use()}
    return JsonResponse(about, status=200 if ready else 503)


async def _holds(check: Awaitable[bool]) -> bool:
    """What a check says; no, where the database has not answered while a load balancer waits."""
    try:
        async with asyncio.timeout(PATIENCE):
            return await check
    except (*RETRYABLE, TimeoutError):
        return False


async def _database() -> bool:
    await fetch("SELECT 1")
    return True


def _migrated() -> bool:
    executor = MigrationExecutor(connection)
    return not executor.migration_plan(executor.loader.graph.leaf_nodes())
