"""Content-Security-Policy of every page: nothing inline runs, nothing is evaluated, nothing comes from elsewhere."""

from collections.abc import Mapping

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from fixie_site.middleware import AsyncMiddleware

HEADER = "Content-Security-Policy"
Policy = Mapping[str, str]

# Where attachments come from: this site, or the storage that its links lead to.
_FILES = " ".join(filter(None, ("'self'", settings.AWS_S3_ENDPOINT_URL and settings.AWS_S3_ENDPOINT_URL.rstrip("/"))))
PAGES: Policy = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    # Pictures of other sites are shown only to who asks for them (`static/js/markdown.js`).
    "img-src": f"{_FILES} data: blob: https: http:",
    "media-src": f"{_FILES} blob:",
    "connect-src": "'self'",
    "manifest-src": "'self'",
    "font-src": "'self'",
    "base-uri": "'none'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
}
# Signing in, and letting a program in, end with a redirect to another site, which `form-action` would hold up.
_LEADING_AWAY = {key: value for key, value in PAGES.items() if key != "form-action"}
# Their own scripts set styles; GraphiQL's editor has its icons and fonts in its style sheet.
_TOOLS = {**PAGES, "style-src": "'self' 'unsafe-inline'", "font-src": "'self' data:", "worker-src": "'self' blob:"}
# unfold is written with Alpine, which evaluates what stands in attributes.
_ADMIN = {**PAGES, "script-src": "'self' 'unsafe-inline' 'unsafe-eval'", "style-src": "'self' 'unsafe-inline'"}
POLICIES: Mapping[str, Policy] = {
    "/admin/": _ADMIN,
    "/accounts/": _LEADING_AWAY,
    "/authorize": _LEADING_AWAY,
    "/api/docs": _TOOLS,
    "/graphql": _TOOLS,
}


def policy_for(path: str) -> str:
    """The header for a page at `path`."""
    policy = next((policy for prefix, policy in POLICIES.items() if path.startswith(prefix)), PAGES)
    return "; ".join(f"{name} {value}" for name, value in policy.items())


class ContentPolicy(AsyncMiddleware):
    """Adds the header to pages, those of errors among them; what has a stricter one (attachments) keeps it."""

    async def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = await self.get_response(request)
        if response.headers.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault(HEADER, policy_for(request.path))
        return response
