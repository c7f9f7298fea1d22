"""Somebody who keeps embeds, and what they do with them in nearly every test."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import httpx2

from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User
    from sessions_app.models import Run

Json = dict[str, Any]
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"


@dataclass(frozen=True)
class Keeper:
    user: "User"
    key: str
    site: Site
    http: httpx2.Client

    @classmethod
    def new(cls, site: Site, user: "User", api_key: Callable[..., str]) -> Self:
        key = api_key(user)
        return cls(user, key, site, site.client(key, verify=False))

    def agent(self, run: "Run | None" = None) -> httpx2.Client:
        """The client of an agent that holds the token of a call for this user, which answers no query without a run."""
        from django.test import override_settings

        from accounts.tokens import CallClaims, sign_call_token

        session, run_id = (run.session.handle, str(run.pk)) if run else ("", "")
        claims = CallClaims(self.user.pk, "fixie/echo", session, run_id, ())
        with override_settings(SITE_URL=self.site.url):
            return self.site.client(sign_call_token(claims, lifetime=60))

    def upload(self, content: bytes, content_type: str = "text/plain", *, name: str = "name") -> httpx2.Response:
        return self.http.post("/api/embeds", files={"file": (name, content, content_type)})

    def uploaded(self, content: bytes, content_type: str = "text/plain", *, name: str = "name") -> Json:
        answer = self.upload(content, content_type, name=name)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def refer(self, uri: str, content_type: str = "text/plain") -> httpx2.Response:
        return self.http.post("/api/embeds", json={"content_type": content_type, "uri": uri})

    def announce(self, content: bytes, content_type: str = "text/plain", **fields: Any) -> Json:
        announced = {"content_type": content_type, "size": len(content), **fields}
        answer = self.http.post("/api/embeds/uploads", json=announced)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    def complete(self, upload: Json) -> httpx2.Response:
        return self.http.post(f"/api/embeds/uploads/{upload['id']}/complete")

    def left_behind(self) -> tuple[int, int]:
        """How many embeds and announced uploads there are of this user."""
        from embeds.models import Embed, Upload

        return Embed.objects.filter(owner=self.user).count(), Upload.objects.filter(owner=self.user).count()


def send(upload: Json, content: bytes, **headers: str) -> httpx2.Response:
    """Does with an announced upload what it says."""
    said = {name.lower(): value for name, value in upload["headers"].items()}
    return httpx2.request(upload["method"], upload["url"], content=content, headers={**said, **headers})
