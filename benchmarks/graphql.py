"""`agentById`, as the published client asks it, against a bare view of the same process."""

import orjson

from benchmarks.load import bounded, request
from benchmarks.pairs import Kind, cpu, milliseconds, p50, pairs, per_second, rate, ratio, yardstick
from benchmarks.people import key_of, new_user
from benchmarks.report import Row
from benchmarks.server import Server, serving
from tests.graphql.documents import GET_AGENT_BY_ID

CLIENTS = 16
PART_SECONDS = 60.0
BODY = orjson.dumps({"query": GET_AGENT_BY_ID, "variables": {"agentId": "fixie/echo"}})
ANSWERED = b'"agentId":"fixie/echo"'


def measure(*, quick: bool) -> list[Row]:
    keys = [key_of(new_user()) for _ in range(CLIENTS)]
    with serving() as server:
        return bounded(_measure(server, keys, 0.3 if quick else 1.0), PART_SECONDS)


async def _measure(server: Server, keys: list[str], scale: float) -> list[Row]:
    asked = [request("POST", "/graphql", key=key, body=BODY) for key in keys]
    alone = await pairs(server, yardstick(1), Kind(asked[:1], ANSWERED), seconds=scale)
    crowd = await pairs(server, yardstick(CLIENTS), Kind(asked, ANSWERED), seconds=scale, rounds=3)
    return [
        ratio("agentById, alone: p50", alone, p50, milliseconds, at_most=6.0),
        ratio("  16 clients: rate", crowd, rate, per_second),
        cpu("  processor time of the site, an answer", crowd),
    ]
