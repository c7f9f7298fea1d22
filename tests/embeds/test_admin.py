"""Administrators see embeds and remove what nothing refers to; they change nothing."""

import uuid
from typing import Any

import pytest
from django.test import Client

from tests.embeds.keeper import Keeper


@pytest.fixture
def admin(make_user: Any) -> Client:
    client = Client()
    client.force_login(make_user(is_staff=True, is_superuser=True), "django.contrib.auth.backends.ModelBackend")
    return client


def test_the_list_shows_whose_it_is_and_how_large(admin: Client, ann: Keeper, content: bytes) -> None:
    embed = ann.uploaded(content, "text/x-shown")
    page = admin.get("/admin/embeds/embed/", {"q": embed["sha256"]}).content.decode()
    assert all(
        text in page
        for text in (embed["id"], ann.user.username, "text/x-shown", f"{len(content)}\N{NO-BREAK SPACE}bytes")
    )
    page = admin.get(f"/admin/embeds/embed/{embed['id']}/change/").content.decode()
    assert embed["sha256"] in page


def test_nothing_can_be_changed(admin: Client, ann: Keeper, content: bytes) -> None:
    embed = ann.uploaded(content)
    assert admin.get("/admin/embeds/embed/add/").status_code == 403
    assert admin.post(f"/admin/embeds/embed/{embed['id']}/delete/", {"post": "yes"}).status_code == 403
    assert admin.post(f"/admin/embeds/embed/{embed['id']}/change/", {"content_type": "a/b"}).status_code == 403
    assert ann.http.get(f"/api/embeds/{embed['id']}").json()["content_type"] == "text/plain"


def test_what_nothing_refers_to_can_be_removed(admin: Client, ann: Keeper, content: bytes) -> None:
    from sessions_app.models import Session, SessionEmbed

    unused, used = ann.uploaded(content), ann.uploaded(content + b"!")
    session = Session.objects.create(handle=f"s-{uuid.uuid4().hex}", owner=ann.user)
    SessionEmbed.objects.create(session=session, key=1, embed_id=used["id"])
    chosen = {"action": "remove_unreferenced", "_selected_action": [unused["id"], used["id"]]}
    page = admin.post("/admin/embeds/embed/", chosen, follow=True)
    assert "1 of 2 removed." in page.content.decode()
    statuses = [ann.http.get(f"/api/embeds/{each['id']}").status_code for each in (unused, used)]
    assert statuses == [404, 200]
