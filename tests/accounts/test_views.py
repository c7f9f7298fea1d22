"""The published key set, read the way agents read it."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import jwt
from django.http import HttpResponse
from django.test import RequestFactory

from accounts import actions, tokens, views
from accounts.keyring import keyring

CALL = tokens.CallClaims(user_id=1, agent_id="fixie/dice", session="s", run="r", chain=())


async def answer(method: str = "GET") -> HttpResponse:
    return await views.jwks(RequestFactory().generic(method, "/.well-known/jwks.json"))


class JwksHandler(BaseHTTPRequestHandler):
    """Serves what the view answers, headers and all."""

    def do_GET(self) -> None:
        response = asyncio.run(answer())
        self.send_response(response.status_code)
        for name, value in response.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(response.content)

    def log_message(self, format: str, *args: object) -> None:
        return None


@contextmanager
def serving() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), JwksHandler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/.well-known/jwks.json"
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_agent_checks_a_call_token_with_the_published_keys() -> None:
    token = tokens.sign_call_token(CALL, lifetime=60)

    with serving() as url:
        key = jwt.PyJWKClient(url).get_signing_key_from_jwt(token)

    claims = jwt.decode(token, key, algorithms=["EdDSA"], audience="https://app.fixie.ai/api")
    assert claims["aid"] == "fixie/dice"


def test_an_agent_that_read_the_keys_before_a_rotation_knows_the_new_signer() -> None:
    with serving() as url:
        agent = jwt.PyJWKClient(url)
        agent.get_signing_keys()
    actions.rotate_signing_key()

    token = tokens.sign_call_token(CALL, lifetime=60)

    assert agent.get_signing_key_from_jwt(token).key_id == keyring.current().signer.kid


async def test_the_key_set_may_be_kept_for_seconds_only() -> None:
    response = await answer()

    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "public, max-age=5"
    assert b'"d"' not in response.content


async def test_the_key_set_can_only_be_read() -> None:
    assert (await answer("POST")).status_code == 405
