"""OAuth 2.0 for programs that sign in through the browser: authorization codes, exchanged for an API key.

django-oauth-toolkit and oauthlib hold the protocol; here is what this site adds. The access token *is* an API key
(`accounts.actions.create_api_key`), so that every edge takes it and its owner sees and revokes it among the others.
The toolkit's own tables of tokens stay empty: no token is stored. Its `Application` says which programs there are.
"""

import re
from datetime import timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from oauth2_provider.models import Grant
from oauth2_provider.oauth2_backends import OAuthLibCore
from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2 import InvalidRequestError, WebApplicationServer

from accounts.actions import create_api_key
from common.errors import InvalidRequest

# The published `fixie` command line (fixieai.cli.auth.oauth_flow). It knows no PKCE; every other client must use it.
CLI_CLIENT_ID = "II4FM6ToxVwSKB6DW1r114AKAuSnuZEgYehEBB-5WQA"
CODE_LIFETIME = timedelta(minutes=1)
APPLICATION_NAME_MAX = 60
# A SHA-256 in base64url (RFC 7636, section 4.2).
CODE_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")


class CodeValidator(OAuth2Validator):  # type: ignore[misc]  # the toolkit is untyped
    """What this site says to oauthlib's questions. Runs inside one transaction an exchange (`views.token`)."""

    def is_pkce_required(self, client_id: str, request: Any) -> bool:
        return client_id != CLI_CLIENT_ID

    def save_authorization_code(self, client_id: str, code: dict[str, str], request: Any, *args: Any) -> None:
        """Stores a code; codes that this user let expire go."""
        now = timezone.now()
        Grant.objects.filter(user=request.user, expires__lt=now).delete()
        Grant.objects.create(
            application=request.client,
            user=request.user,
            code=code["code"],
            expires=now + CODE_LIFETIME,
            redirect_uri=request.redirect_uri,
            scope=" ".join(request.scopes),
            code_challenge=request.code_challenge or "",
            code_challenge_method=request.code_challenge_method or "",
        )

    def validate_code(self, client_id: str, code: str, client: Any, request: Any, *args: Any) -> bool:
        """Whether the code is good. Of two who bring it at once, one waits here until the other has used it up."""
        locked = Grant.objects.select_for_update(of=("self",)).filter(code=code, application=client)
        if not locked.filter(user__is_active=True).exists():
            return False
        good: bool = super().validate_code(client_id, code, client, request, *args)
        return good

    def save_bearer_token(self, token: dict[str, Any], request: Any, *args: Any) -> None:
        """Puts a new API key into the answer. It ends when it is revoked: no `expires_in`, nothing to refresh."""
        name = f"{request.client.name[:APPLICATION_NAME_MAX]}, {timezone.now():%-d %B %Y}"
        try:
            key = create_api_key(user=request.user, name=name)
        except InvalidRequest as error:
            raise InvalidRequestError(description=error.message, request=request) from None
        token.clear()
        token |= {"access_token": key.token, "token_type": "Bearer", "scope": " ".join(request.scopes)}


class CodeServer(WebApplicationServer):  # type: ignore[misc]  # oauthlib is untyped
    """Authorization codes alone: no implicit flow, no passwords."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.auth_grant.custom_validators.pre_auth.append(check_challenge)


def check_challenge(request: Any) -> dict[str, str]:
    """Raises InvalidRequestError for a PKCE challenge that is not of method S256 (RFC 9700, section 2.1.1)."""
    challenge = request.code_challenge
    if challenge is not None and (request.code_challenge_method != "S256" or not CODE_CHALLENGE.fullmatch(challenge)):
        raise InvalidRequestError(description="code_challenge must be of the method S256.", request=request)
    return {}


class TolerantCore(OAuthLibCore):  # type: ignore[misc]  # the toolkit is untyped
    """Hands oauthlib only what it can read and PostgreSQL can store; either fails on some addresses otherwise."""

    def _get_escaped_full_path(self, request: HttpRequest) -> str:
        return f"{request.path}?{request.GET.urlencode()}".replace("%00", "%EF%BF%BD")

    def extract_body(self, request: HttpRequest) -> list[tuple[str, str]]:
        return [(name, str(value).replace("\0", "\N{REPLACEMENT CHARACTER}")) for name, value in request.POST.items()]
