"""The two kinds of signed tokens: API keys, which people hold, and call tokens, one for each call to an agent.

Both are JWTs signed with EdDSA by a key of `accounts.keyring`. An API key is for `KEY_AUDIENCE`, which is the
same at every address of a site, so that keys outlive a new port or domain; its `iss` and second audience only
tell where it was made. That it is ours is shown by its signature, and that it is good by its row (`ApiKey`).
A call token lives for minutes and is strictly for the site that made it.
"""

import hashlib
import math
import re
import time
import uuid
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import jwt
from django.conf import settings

from accounts.keyring import KeySet, Signer, keyring
from common.errors import Unauthenticated
from common.handles import parse_uuid
from common.recent import Recent

ALGORITHM = "EdDSA"
KEY_AUDIENCE = "fixie:api"
# What agents written with the published `fixieai` SDK accept (fixieai.constants.FIXIE_AGENT_API_AUDIENCES).
SDK_AUDIENCES = ("https://app.fixie.ai/api", "https://app.dev.fixie.ai/api")
TOKEN_MAX_LENGTH = 8192
REMEMBERED_TOKENS = 10_000
USER_ID = re.compile(r"[1-9][0-9]{0,17}")
# Audience and issuer differ between the two kinds and are checked below. The clock of `iat` was another
# process's, perhaps on another machine, and a second's difference must not refuse a new token.
DECODE_OPTIONS: Any = {"verify_aud": False, "verify_iss": False, "verify_iat": False}


@dataclass(frozen=True, slots=True)
class ApiKeyClaims:
    """What an API key says. Whether its row is revoked is asked in SQL (`accounts.auth`)."""

    user_id: int
    jti: UUID


@dataclass(frozen=True, slots=True)
class CallClaims:
    """What a call token says: the agent `agent_id` (`owner/handle`) works for a user.

    `session` is the session's handle, `run` the run's id, `chain` the ids of the agents above this one.
    """

    user_id: int
    agent_id: str
    session: str
    run: str
    chain: tuple[str, ...]


Claims = ApiKeyClaims | CallClaims


@dataclass(frozen=True, slots=True)
class _Verified:
    claims: Claims
    kid: str
    expires: float


class _VerifiedTokens:
    """The tokens verified last, by the SHA-256 of the token: a signature costs 100 µs, looking here 2."""

    def __init__(self) -> None:
        self._entries: Recent[bytes, _Verified] = Recent(REMEMBERED_TOKENS)

    def get(self, token: str, published: KeySet | None) -> Claims | None:
        """The claims of a token that was good and still is: not expired, its signing key still published."""
        found = self._entries.get(_digest(token))
        if found is None or published is None or found.kid not in published.public_keys or found.expires <= time.time():
            return None
        return found.claims

    def add(self, token: str, verified: _Verified) -> None:
        self._entries.put(_digest(token), verified)


_verified_tokens = _VerifiedTokens()


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def sign_api_key(*, user_id: int, jti: UUID, signer: Signer) -> str:
    """The JWT of a new API key. It has no `exp`: it ends when its row is revoked."""
    claims = {
        "iss": settings.SITE_URL,
        "aud": [KEY_AUDIENCE, _site_audience()],
        "sub": str(user_id),
        "jti": str(jti),
        "iat": int(time.time()),
    }
    return _sign(claims, signer)


def verify_api_key(token: str) -> ApiKeyClaims:
    """The claims of an API key that this site signed. Raises Unauthenticated."""
    return _key_claims(verify(token))


async def averify_api_key(token: str) -> ApiKeyClaims:
    """`verify_api_key` for async code; a key seen before costs microseconds and no wait."""
    return _key_claims(await averify(token))


def verify(token: str) -> Claims:
    """The claims of a token of either kind that this site signed. Raises Unauthenticated."""
    known = _verified_tokens.get(token, keyring.current())
    return known or _checked(token, keyring.knowing(_kid(token)))


async def averify(token: str) -> Claims:
    """`verify` for async code; a token seen before costs microseconds and no wait."""
    known = _verified_tokens.get(token, keyring.at_hand())
    return known or _checked(token, await keyring.aknowing(_kid(token)))


def sign_call_token(claims: CallClaims, *, lifetime: float) -> str:
    """The bearer token of one call to an agent, good for `lifetime` seconds."""
    return _call_token(claims, lifetime, keyring.current().signer)


async def asign_call_token(claims: CallClaims, *, lifetime: float) -> str:
    """`sign_call_token` for async code, without a wait while there is traffic."""
    return _call_token(claims, lifetime, (await keyring.acurrent()).signer)


async def asign_site_token(agent_id: str, *, lifetime: float) -> str:
    """The bearer token of calls to the agent `agent_id` that the site makes for itself, good for `lifetime` seconds.

    It names no user, which the agent takes for an anonymous one, and opens nothing of this site.
    """
    return _sign(_for_agent(agent_id, lifetime), (await keyring.acurrent()).signer)


def verify_call_token(token: str) -> CallClaims:
    """The claims of a call token that this site signed and that has not expired. Raises Unauthenticated."""
    return _call_claims(verify(token))


async def averify_call_token(token: str) -> CallClaims:
    """`verify_call_token` for async code; a token seen before costs microseconds and no wait."""
    return _call_claims(await averify(token))


def _call_token(call: CallClaims, lifetime: float, signer: Signer) -> str:
    claims = {"sub": str(call.user_id), "sid": call.session, "rid": call.run, "chain": list(call.chain)}
    return _sign({**_for_agent(call.agent_id, lifetime), **claims}, signer)


def _for_agent(agent_id: str, lifetime: float) -> dict[str, Any]:
    """What every token says that goes to an agent."""
    now = time.time()
    return {
        "iss": settings.SITE_URL,
        "aud": [_site_audience(), *SDK_AUDIENCES],
        "aid": agent_id,
        "iat": int(now),
        "exp": math.ceil(now + lifetime),
        "jti": str(uuid.uuid4()),
    }


def _sign(claims: dict[str, Any], signer: Signer) -> str:
    return jwt.encode(claims, signer.private_key, ALGORITHM, headers={"kid": signer.kid})


def _site_audience() -> str:
    return f"{settings.SITE_URL}/api"


def _kid(token: str) -> str:
    """The signer a token names; nothing is verified yet. Raises Unauthenticated where it is no JWT."""
    if len(token) > TOKEN_MAX_LENGTH or not token.isascii():
        raise Unauthenticated("The key is malformed.")
    try:
        kid = jwt.get_unverified_header(token).get("kid")
    except jwt.InvalidTokenError:
        raise Unauthenticated("The key is malformed.") from None
    if not isinstance(kid, str):
        raise Unauthenticated("The key does not name its signer.")
    return kid


def _decoded(token: str, published: KeySet) -> dict[str, Any]:
    """The claims of a token with a good signature and a future `exp` (if any). Raises Unauthenticated."""
    public_key = published.public_keys.get(_kid(token))
    if public_key is None:
        raise Unauthenticated("The key was signed by somebody else.")
    try:
        claims: dict[str, Any] = jwt.decode(token, public_key, [ALGORITHM], DECODE_OPTIONS)
    except jwt.ExpiredSignatureError:
        raise Unauthenticated("The key has expired.") from None
    except (jwt.InvalidSignatureError, jwt.InvalidAlgorithmError):
        raise Unauthenticated("The key's signature is wrong.") from None
    except jwt.InvalidTokenError:
        raise Unauthenticated("The key is malformed.") from None
    return claims


def _key_claims(claims: Claims) -> ApiKeyClaims:
    if isinstance(claims, CallClaims):
        raise Unauthenticated("This is the token of an agent's call, not an API key.")
    return claims


def _call_claims(claims: Claims) -> CallClaims:
    if isinstance(claims, ApiKeyClaims):
        raise Unauthenticated("This is not the token of an agent's call.")
    return claims


def _checked(token: str, published: KeySet) -> Claims:
    decoded = _decoded(token, published)
    claims = _read_call(decoded) if "aid" in decoded else _read_key(decoded)
    expires = int(decoded["exp"]) if "exp" in decoded else math.inf
    _verified_tokens.add(token, _Verified(claims, _kid(token), expires))
    return claims


def _read_key(claims: dict[str, Any]) -> ApiKeyClaims:
    if not _is_for(claims, KEY_AUDIENCE) or not isinstance(claims.get("iss"), str):
        raise Unauthenticated("This token was made for something else than this API.")
    jti = parse_uuid(claims.get("jti", ""))
    if jti is None:
        raise Unauthenticated("The key lacks its number.")
    return ApiKeyClaims(_user_id(claims), jti)


def _read_call(claims: dict[str, Any]) -> CallClaims:
    if claims.get("iss") != settings.SITE_URL or not _is_for(claims, _site_audience()):
        raise Unauthenticated("This token was made for another site.")
    texts = [claims.get(name) for name in ("aid", "sid", "rid")]
    chain = claims.get("chain")
    if "exp" not in claims or not isinstance(chain, list) or not _all_text([*texts, *chain]):
        raise Unauthenticated("This token lacks claims that every token of a call has.")
    agent_id, session, run = texts
    return CallClaims(_user_id(claims), agent_id, session, run, tuple(chain))  # type: ignore[arg-type]


def _is_for(claims: dict[str, Any], audience: str) -> bool:
    named = claims.get("aud")
    return audience in named if isinstance(named, list) else audience == named


def _user_id(claims: dict[str, Any]) -> int:
    sub = claims.get("sub", "")
    if not USER_ID.fullmatch(sub):
        raise Unauthenticated("The token does not name its user.")
    return int(sub)


def _all_text(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)
