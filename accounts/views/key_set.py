"""The key set with which agents check this site's tokens."""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from accounts.keyring import keyring

# A new key is published long before it signs; the short time is for keys that are withdrawn.
CACHE_SECONDS = 5


@require_safe
async def jwks(request: HttpRequest) -> HttpResponse:
    """The JSON Web Key Set (RFC 7517) with every key whose tokens may be alive."""
    published = await keyring.acurrent()
    return HttpResponse(
        published.jwks,
        content_type="application/json",
        headers={"Cache-Control": f"public, max-age={CACHE_SECONDS}"},
    )
