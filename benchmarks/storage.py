"""User Storage as agents use it: values read and set with the tokens of calls, counted, against a bare view."""

from django.conf import settings

from accounts.tokens import CallClaims, sign_call_token
from benchmarks.load import bounded, request
from benchmarks.pairs import Kind, cpu, pairs, per_second, rate, ratio, yardstick
from benchmarks.people import new_user
from benchmarks.report import Row
from benchmarks.server import Server, serving

CLIENTS = 16
PART_SECONDS = 90.0
AGENT = "fixie/echo"
ADDRESS = f"/api/userstorage/{AGENT}/last-order"
BODY = b'{"data": "{\\"pizza\\": \\"margherita\\", \\"size\\": 30, \\"extras\\": [\\"basil\\", \\"olives\\"]}"}'
READ = b'{"data":"{'
WRITTEN = b'"etag":'


def measure(*, quick: bool) -> list[Row]:
    tokens = [_token(new_user().pk) for _ in range(CLIENTS)]
    # The calls are counted as ever, and never too many.
    with serving(SITE_URL=settings.SITE_URL, STORAGE_CALLS_PER_MINUTE="1000000000") as server:
        return bounded(_measure(server, tokens, 0.3 if quick else 1.0), PART_SECONDS)


def _token(user: int) -> str:
    claims = CallClaims(user_id=user, agent_id=AGENT, session="a-b-c", run="run", chain=())
    return sign_call_token(claims, lifetime=600)


async def _measure(server: Server, tokens: list[str], scale: float) -> list[Row]:
    many = yardstick(CLIENTS)
    sets = Kind([request("POST", ADDRESS, key=token, body=BODY) for token in tokens], WRITTEN)
    gets = Kind([request("GET", ADDRESS, key=token) for token in tokens], READ)
    await pairs(server, many, sets, seconds=scale, rounds=1)
    await pairs(server, many, gets, seconds=scale, rounds=1)
    read = await pairs(server, many, gets, seconds=2 * scale)
    written = await pairs(server, many, sets, seconds=2 * scale)
    return [
        ratio("User Storage get, 16 clients: rate", read, rate, per_second, at_least=0.6),
        ratio("User Storage set, 16 clients: rate", written, rate, per_second, at_least=0.6),
        cpu("  processor time of the site, a get", read),
        cpu("  processor time of the site, a set", written),
    ]
