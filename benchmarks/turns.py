"""Echo turns: asked with a key, charged, run, stored and streamed back, against a bare view of the same process."""

from benchmarks.load import bounded, request
from benchmarks.pairs import ALIVE, Kind, cpu, milliseconds, p50, p99, pairs, per_second, rate, ratio, yardstick
from benchmarks.people import key_of, new_user
from benchmarks.report import Row
from benchmarks.server import Server, serving

CLIENTS = 16
PART_SECONDS = 90.0
TURN = b'{"message": {"text": "hello there"}, "stream": true}'
ANSWERED = b'"type":"response"'
# With a key the site's middleware for browsers steps aside, as it does for the turn.
ON_THE_SITE = request("GET", "/yardstick/site", key="none")


def measure(*, quick: bool) -> list[Row]:
    keys = [key_of(new_user()) for _ in range(CLIENTS)]
    with serving() as server:
        return bounded(_measure(server, keys, 0.3 if quick else 1.0), PART_SECONDS)


async def _measure(server: Server, keys: list[str], scale: float) -> list[Row]:
    turns = [request("POST", "/api/agents/fixie/echo", key=key, body=TURN) for key in keys]
    many, alone = yardstick(CLIENTS), yardstick(1)
    echo = Kind(turns, ANSWERED)
    # Alone comes first: after a crowd, autovacuum shares the cores for a while.
    single = await pairs(server, alone, Kind(turns[:1], ANSWERED), seconds=scale)
    await pairs(server, many, echo, seconds=scale, rounds=1)
    crowd = await pairs(server, many, echo, seconds=2 * scale)
    shared = await pairs(server, many, Kind(turns[:1] * CLIENTS, ANSWERED), seconds=scale, rounds=3)
    site = await pairs(server, many, Kind([ON_THE_SITE] * CLIENTS, ALIVE), seconds=scale, rounds=3)
    return [
        ratio("echo turn, 16 clients: rate", crowd, rate, per_second, at_least=0.6),
        ratio("echo turn, 16 clients: p99", crowd, p99, milliseconds, at_most=1.0),
        ratio("echo turn, alone: p50", single, p50, milliseconds, at_most=2.5),
        ratio("  16 clients of one user: rate", shared, rate, per_second),
        ratio("  16 clients of one user: p99", shared, p99, milliseconds),
        cpu("  processor time of the site, a turn", crowd),
        ratio("  the yardstick's view on the site's handler: rate", site, rate, per_second),
    ]
