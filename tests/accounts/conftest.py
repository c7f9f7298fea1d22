"""A program on the user's computer that asks to be let in, and browsers to answer it with."""

import base64
import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from django.test import Client

from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

CLI = "II4FM6ToxVwSKB6DW1r114AKAuSnuZEgYehEBB-5WQA"
BACKEND = "django.contrib.auth.backends.ModelBackend"


@dataclass
class Program:
    """Sends what the published `fixie auth` sends (oauth2_client.credentials_manager), and PKCE where asked to."""

    site: Site
    client_id: str = CLI
    back: str = "http://localhost:49152"
    pkce: bool = False
    state: str = field(default_factory=secrets.token_urlsafe)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48))

    def address(self, **changes: str | None) -> str:
        """The path of `/authorize` that is opened in the browser; None leaves a parameter out."""
        asked: dict[str, str | None] = {
            "client_id": self.client_id,
            "redirect_uri": self.back,
            "response_type": "code",
            "scope": "api-access",
            "state": self.state,
        }
        if self.pkce:
            digest = hashlib.sha256(self.verifier.encode()).digest()
            challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
            asked |= {"code_challenge": challenge, "code_challenge_method": "S256"}
        asked |= changes
        sent = {name: value for name, value in asked.items() if value is not None}
        return f"/authorize?{httpx2.QueryParams(sent)}"

    def code(self, browser: Client, **changes: str | None) -> str:
        """The code that comes back once the browser's user allows it."""
        back = browser.post(self.address(**changes), {"allow": "yes"})
        assert back.status_code == 302, back.content.decode()
        query = parse_qs(urlsplit(back["Location"]).query)
        assert query["state"] == [self.state]
        return query["code"][0]

    def exchange(self, code: str, /, **changes: str | None) -> httpx2.Response:
        """The answer of `/access/token`."""
        body: dict[str, str | None] = {
            "grant_type": "authorization_code",
            "code": code,
            "scope": "api-access",
            "redirect_uri": self.back,
            "client_id": self.client_id,
        }
        if self.pkce:
            body["code_verifier"] = self.verifier
        body |= changes
        with self.site.client() as http:
            return http.post("/access/token", data={name: value for name, value in body.items() if value is not None})


@pytest.fixture
def program(site: Site) -> Program:
    return Program(site)


@pytest.fixture
def browser_of() -> Callable[["User"], Client]:
    """`browser_of(user)` → a browser in which they are signed in."""

    def sign_in(user: "User", **options: Any) -> Client:
        client = Client(**options)
        client.force_login(user, backend=BACKEND)
        return client

    return sign_in


@pytest.fixture
def user(make_user: Callable[..., "User"]) -> "User":
    return make_user()


@pytest.fixture
def browser(user: "User", browser_of: Callable[..., Client]) -> Client:
    """The user's."""
    return browser_of(user)
