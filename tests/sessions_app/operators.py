"""Somebody who uses the admin of the running site, and what the audit log says of them."""

from typing import Any

import httpx2
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from accounts.models import User
from sessions_app.models import Run, Session
from tests.sites import Site

TOKEN = "t" * 32
SESSIONS, RUNS, LINKS = "sessions_app/session/", "sessions_app/run/", "sessions_app/sharedlink/"
# What `told` sessions hold.
SECRET = "a secret between us"


def allowed(user: User, *permissions: str) -> User:
    """The user as an operator who may do this and nothing else: `app.codename`."""
    user.is_staff = True
    user.save()
    for permission in permissions:
        app, codename = permission.split(".")
        user.user_permissions.add(Permission.objects.get(content_type__app_label=app, codename=codename))
    return User.objects.get(pk=user.pk)


class Operator:
    """Their browser."""

    def __init__(self, site: Site, user: User | None) -> None:
        self.user = user
        cookies = {"csrftoken": TOKEN}
        if user is not None:
            client = Client()
            client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
            cookies["sessionid"] = client.cookies["sessionid"].value
        self.http = httpx2.Client(base_url=site.url, cookies=cookies, headers={"X-CSRFToken": TOKEN}, timeout=30)

    def get(self, path: str, **query: Any) -> httpx2.Response:
        return self.http.get(f"/admin/{path}", params=query)

    def page(self, path: str, **query: Any) -> str:
        answer = self.get(path, **query)
        assert answer.status_code == 200, (path, answer.status_code)
        return answer.text

    def do(self, path: str, **form: Any) -> httpx2.Response:
        """Answers the page that asks first."""
        return self.http.post(f"/admin/{path}", data={"asked": "1", **form})

    def noted(self, about: object) -> list[str]:
        """What the audit log says that they did to the object, oldest first."""
        entries = LogEntry.objects.filter(user=self.user, object_id=str(about)).order_by("pk")
        return [entry.get_change_message() for entry in entries]


def run_of(session: Session) -> Run:
    return Run.objects.get(session=session)
