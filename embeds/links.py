"""Signed URLs: whoever holds one may do one thing with one attachment until it expires. No key, no cookie, no row."""

import base64
import hashlib
import hmac
import math
import re
import time
from collections.abc import Mapping
from functools import cache
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from common.errors import LinkRefused

DOWNLOADS = "/attachment/"
UPLOADS = "/attachment/uploads/"
# The same embed has the same URL for about this long, so that browsers cache it and pages do not jump.
STEP_SECONDS = 300
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EXPIRES = re.compile(r"[0-9]{1,12}")


def signed_url(embed_id: UUID, *, method: str = "GET", lifetime: float | None = None) -> str:
    """The absolute address of an embed's bytes, good for `lifetime` seconds (EMBED_URL_SECONDS) or a little longer.

    One signed for GET serves HEAD too.
    """
    seconds = settings.EMBED_URL_SECONDS if lifetime is None else lifetime
    return signed(method, f"{DOWNLOADS}{embed_id}", _rounded_up(time.time() + seconds, seconds))


def signed(method: str, path: str, expires: int) -> str:
    """The absolute address that lets its holder do `method` to `path` until `expires` (Unix seconds)."""
    signature = _signature(_key(settings.SECRET_KEY), method, path, str(expires))
    return f"{settings.SITE_URL}{path}?expires={expires}&signature={signature}"


def verified(method: str, path: str, query: Mapping[str, str]) -> UUID:
    """The id that a request's `path` ends with, where this site signed just this. Raises LinkRefused."""
    expires, signature = query.get("expires", ""), query.get("signature", "")
    name = path.rpartition("/")[2]
    if not _EXPIRES.fullmatch(expires) or not _ID.fullmatch(name) or not _is_ours(signature, method, path, expires):
        raise LinkRefused(_("This link is not one that was given out: it has been changed."), reason="changed")
    if int(expires) <= time.time():
        raise LinkRefused(_("This link has expired; ask for a new one."), reason="expired")
    return UUID(name)


def _rounded_up(moment: float, lifetime: float) -> int:
    step = max(1, min(STEP_SECONDS, int(lifetime / 12)))
    return math.ceil(moment / step) * step


def _is_ours(signature: str, method: str, path: str, expires: str) -> bool:
    signed_method = "GET" if method == "HEAD" else method
    given = signature.encode("utf-8", "replace")
    return any(
        hmac.compare_digest(given, _signature(_key(secret), signed_method, path, expires).encode())
        for secret in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    )


def _signature(key: bytes, method: str, path: str, expires: str) -> str:
    digest = hmac.digest(key, f"{method}\n{path}\n{expires}".encode(), "sha256")
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


@cache
def _key(secret: str) -> bytes:
    """A key of this module's own: nothing else that is signed with the site's secret can pass for a link."""
    return hmac.digest(secret.encode(), b"embeds.links", hashlib.sha256)
