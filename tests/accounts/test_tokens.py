"""API keys and call tokens: what is accepted, and that everything else is refused with a sentence."""

import base64
import contextlib
import json
import time
import uuid
from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from django.conf import LazySettings, settings
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from accounts import actions, tokens
from accounts.keyring import keyring
from accounts.models import SigningKey
from accounts.tokens import CallClaims
from common.db import run_db
from common.errors import Unauthenticated

Make = Callable[..., Any]
CALL = CallClaims(
    user_id=42, agent_id="fixie/dice", session="brave-blue-cat", run="run-1", chain=("fixie/fixie", "a/b")
)


def signed(claims: dict[str, Any], *, without: str = "", **changes: Any) -> str:
    """A token of this site's active key with the claims of an API key, changed."""
    signer = keyring.current().signer
    all_claims = {
        "iss": settings.SITE_URL,
        "aud": [tokens.KEY_AUDIENCE],
        "sub": "1",
        "jti": str(uuid.uuid4()),
        **claims,
        **changes,
    }
    all_claims.pop(without, None)
    payload = json.dumps(all_claims).encode()  # jwt.encode would not write some wrong claims
    return jwt.PyJWS().encode(payload, signer.private_key, "EdDSA", headers={"kid": signer.kid})


def refusal(token: str, verify: Callable[[str], object] = tokens.verify_api_key) -> str:
    with pytest.raises(Unauthenticated) as refused:
        verify(token)
    return refused.value.message


def spoiled(token: str, part: int) -> str:
    """The token with one letter in the middle of one of its three parts changed."""
    parts = token.split(".")
    middle = len(parts[part]) // 2
    letter = "A" if parts[part][middle] != "A" else "B"
    parts[part] = parts[part][:middle] + letter + parts[part][middle + 1 :]
    return ".".join(parts)


# API keys


def test_a_key_names_its_user_and_its_row(make_user: Make) -> None:
    user = make_user()
    new = actions.create_api_key(user=user, name="mine")

    claims = tokens.verify_api_key(new.token)

    assert (claims.user_id, claims.jti) == (user.pk, new.key.jti)


async def test_a_key_seen_before_is_accepted_without_a_wait(make_user: Make, api_key: Make) -> None:
    key = await run_db(lambda: api_key(make_user()))
    first = await tokens.averify_api_key(key)

    second = tokens.averify_api_key(key)
    with pytest.raises(StopIteration) as stopped:
        second.send(None)

    assert stopped.value.value is first


async def test_a_key_seen_before_costs_microseconds(make_user: Make, api_key: Make) -> None:
    key = await run_db(lambda: api_key(make_user()))
    await tokens.averify_api_key(key)

    started = time.perf_counter()
    for _ in range(1000):
        await tokens.averify_api_key(key)

    assert (time.perf_counter() - started) / 1000 < 50e-6


def test_keys_made_before_rotations_stay_good_and_new_ones_have_the_new_signer(make_user: Make, api_key: Make) -> None:
    user = make_user()
    before = api_key(user)
    actions.rotate_signing_key()
    after = api_key(user)
    actions.rotate_signing_key()

    assert tokens.verify_api_key(before).user_id == user.pk
    assert tokens.verify_api_key(after).user_id == user.pk
    assert jwt.get_unverified_header(before)["kid"] != jwt.get_unverified_header(after)["kid"]


def test_a_key_outlives_a_new_address_of_the_site(make_user: Make, api_key: Make, settings: LazySettings) -> None:
    user = make_user()
    key = api_key(user)

    settings.SITE_URL = "https://fixie.example"

    assert tokens.verify_api_key(key).user_id == user.pk


def test_a_key_whose_signing_key_was_withdrawn_is_refused_though_seen_before() -> None:
    token = signed({})
    kid = jwt.get_unverified_header(token)["kid"]
    tokens.verify_api_key(token)
    actions.rotate_signing_key()
    SigningKey.objects.get(pk=kid).apikey_set.all().delete()
    SigningKey.objects.get(pk=kid).delete()
    keyring.reload()

    assert refusal(token) == "The key was signed by somebody else."


@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_tampered_key_is_refused(part: int, make_user: Make, api_key: Make) -> None:
    key = api_key(make_user())
    tokens.verify_api_key(key)

    assert refusal(spoiled(key, part))


def test_a_key_signed_by_somebody_else_is_refused() -> None:
    claims = jwt.decode(signed({}), options={"verify_signature": False})
    stranger = Ed25519PrivateKey.generate()

    own_name = jwt.encode(claims, stranger, "EdDSA", headers={"kid": "stranger"})
    our_name = jwt.encode(claims, stranger, "EdDSA", headers={"kid": keyring.current().signer.kid})
    no_name = jwt.encode(claims, stranger, "EdDSA")

    assert refusal(own_name) == "The key was signed by somebody else."
    assert refusal(our_name) == "The key's signature is wrong."
    assert refusal(no_name) == "The key does not name its signer."


def test_another_algorithm_is_refused_even_with_our_public_key_as_its_secret() -> None:
    signer = keyring.current().signer
    claims = jwt.decode(signed({}), options={"verify_signature": False})
    public_key = signer.private_key.public_key().public_bytes_raw()
    headers = {"kid": signer.kid}

    assert refusal(jwt.encode(claims, public_key, "HS256", headers=headers))
    assert refusal(jwt.encode(claims, "", "none", headers=headers))


@pytest.mark.parametrize(
    ("claims", "sentence"),
    [
        ({"exp": 1}, "The key has expired."),
        ({"exp": "soon"}, "The key is malformed."),
        ({"nbf": 10**10}, "The key is malformed."),
        ({"aud": "https://elsewhere.example/api"}, "This token was made for something else than this API."),
        ({"aud": []}, "This token was made for something else than this API."),
        ({"aud": [[tokens.KEY_AUDIENCE]]}, "This token was made for something else than this API."),
        ({"iss": 7}, "This token was made for something else than this API."),
        ({"aid": "fixie/dice"}, "This token was made for another site."),
        ({"aid": None}, "This token was made for another site."),
        ({"sub": 1}, "The key is malformed."),
        ({"sub": "bob"}, "The token does not name its user."),
        ({"sub": "-1"}, "The token does not name its user."),
        ({"sub": "1" * 40}, "The token does not name its user."),
        ({"jti": "1"}, "The key lacks its number."),
        ({"jti": 1}, "The key is malformed."),
    ],
)
def test_wrong_claims_are_refused_though_we_signed_them(claims: dict[str, Any], sentence: str) -> None:
    assert refusal(signed(claims)) == sentence


@pytest.mark.parametrize("claim", ["iss", "aud", "sub", "jti"])
def test_a_key_that_lacks_a_claim_is_refused(claim: str) -> None:
    assert refusal(signed({}, without=claim))


def test_a_key_with_a_future_end_is_good_until_then() -> None:
    end = int(time.time()) + 2
    token = signed({"exp": end})
    tokens.verify_api_key(token)

    time.sleep(end - time.time() + 0.01)

    assert refusal(token) == "The key has expired."


def test_the_clock_of_the_process_that_made_a_key_may_be_ahead() -> None:
    assert tokens.verify_api_key(signed({"iat": int(time.time()) + 5}))


ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(ANY_TEXT)
def test_any_text_is_refused_with_a_sentence(text: str) -> None:
    assert refusal(text).endswith(".")


@given(header=JSON, payload=JSON, signature=st.binary(max_size=70), kid=st.booleans(), alg=st.booleans())
def test_any_three_parts_are_refused_with_a_sentence(
    header: Any, payload: Any, signature: bytes, kid: bool, alg: bool
) -> None:
    if isinstance(header, dict):
        header |= {"kid": keyring.current().signer.kid} if kid else {}
        header |= {"alg": "EdDSA"} if alg else {}
    parts = (json.dumps(header).encode(), json.dumps(payload).encode(), signature)
    token = ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)

    assert refusal(token).endswith(".")
    assert refusal(token, tokens.verify_call_token).endswith(".")


NAMES = st.sampled_from(["iss", "aud", "sub", "jti", "iat", "exp", "nbf", "aid", "sid", "rid", "chain"])


@hypothesis_settings(max_examples=200)
@given(st.dictionaries(NAMES, JSON))
def test_no_claims_we_might_sign_break_the_check(claims: dict[str, Any]) -> None:
    token = signed(claims)
    for verify in (tokens.verify_api_key, tokens.verify_call_token):
        with contextlib.suppress(Unauthenticated):
            verify(token)


def test_an_endless_key_is_refused() -> None:
    assert refusal(signed({"more": "x" * 10_000})) == "The key is malformed."


# Call tokens


async def test_a_call_token_says_who_calls_for_whom() -> None:
    token = await tokens.asign_call_token(CALL, lifetime=60)

    assert await run_db(tokens.verify_call_token, token) == CALL


async def test_call_tokens_are_signed_without_a_wait_once_the_key_is_known() -> None:
    await tokens.asign_call_token(CALL, lifetime=60)

    with pytest.raises(StopIteration):
        tokens.asign_call_token(CALL, lifetime=60).send(None)


def test_every_call_has_a_token_of_its_own() -> None:
    assert tokens.sign_call_token(CALL, lifetime=60) != tokens.sign_call_token(CALL, lifetime=60)


@pytest.mark.parametrize("audience", ["https://app.fixie.ai/api", "https://app.dev.fixie.ai/api"])
def test_agents_of_the_published_sdk_accept_a_call_token(audience: str) -> None:
    """As fixieai 1.0.4 does in agents/token.py."""
    token = tokens.sign_call_token(CALL, lifetime=60)
    public_key = keyring.current().public_keys[jwt.get_unverified_header(token)["kid"]]

    claims = jwt.decode(token, public_key, algorithms=["EdDSA"], audience=audience)

    assert (claims["aid"], claims["sub"]) == ("fixie/dice", "42")
    assert claims["sid"] == "brave-blue-cat"
    assert claims["rid"] == "run-1"
    assert claims["chain"] == ["fixie/fixie", "a/b"]
    assert claims["iss"] == settings.SITE_URL
    assert f"{settings.SITE_URL}/api" in claims["aud"]
    assert 55 < claims["exp"] - time.time() <= 61


def test_a_call_token_is_no_api_key() -> None:
    token = tokens.sign_call_token(CALL, lifetime=60)

    assert refusal(token) == "This is the token of an agent's call, not an API key."


def test_an_api_key_is_no_call_token(make_user: Make, api_key: Make) -> None:
    key = api_key(make_user())

    assert refusal(key, tokens.verify_call_token) == "This is not the token of an agent's call."


def test_an_expired_call_token_is_refused() -> None:
    token = tokens.sign_call_token(CALL, lifetime=-2)

    assert refusal(token, tokens.verify_call_token) == "The key has expired."


def test_a_call_token_of_another_site_is_refused(settings: LazySettings) -> None:
    token = tokens.sign_call_token(CALL, lifetime=60)
    settings.SITE_URL = "https://fixie.example"

    assert refusal(token, tokens.verify_call_token) == "This token was made for another site."


@pytest.mark.parametrize("claim", ["sid", "rid", "chain", "exp"])
def test_a_call_token_that_lacks_a_claim_is_refused(claim: str) -> None:
    claims = jwt.decode(tokens.sign_call_token(CALL, lifetime=60), options={"verify_signature": False})

    assert refusal(signed(claims, without=claim), tokens.verify_call_token).startswith("This token lacks")
