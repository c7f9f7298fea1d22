"""The pages of User Storage: what a user reads and deletes there, what it costs, and that nobody else gets at it."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.sessions_app.test_views import signed_in

if TYPE_CHECKING:
    from accounts.models import User

MakeUser = Callable[..., "User"]


@pytest.fixture
def user(make_user: MakeUser) -> "User":
    return make_user()


@pytest.fixture
def agent(new_agent: Callable[..., str], make_user: MakeUser) -> str:
    return new_agent(make_user(), name="Keeper", published=True)


def keep(agent: str, user: "User", key: str, value: bytes, content_type: str = "") -> None:
    """Has the agent keep a value, as `store.write` would."""
    from common.ids import uuid7
    from registry.models import Agent
    from storage_kv.models import StorageUsage, StoredValue

    owner, handle = agent.split("/")
    row = Agent.objects.get(owner__handle=owner, handle=handle)
    usage, _ = StorageUsage.objects.get_or_create(user=user, agent=row, defaults={"keys": 0, "bytes": 0})
    usage.keys, usage.bytes = usage.keys + 1, usage.bytes + len(value)
    usage.save()
    StoredValue.objects.create(user=user, agent=row, key=key, value=value, content_type=content_type, version=uuid7())


def keys_of(user: "User") -> list[str]:
    from storage_kv.models import StoredValue

    return list(StoredValue.objects.filter(user=user).order_by("key").values_list("key", flat=True))


def usage_of(user: "User") -> Any:
    from storage_kv.models import StorageUsage

    return StorageUsage.objects.filter(user=user).values_list("keys", "bytes").first()


def url(agent: str, page: str, key: str) -> str:
    return f"/agents/{agent}/storage/{page}?key={quote(key, safe='')}"


def test_the_list_says_who_keeps_how_much(user: "User", agent: str) -> None:
    browser = signed_in(user)
    assert "No agent keeps anything about you." in browser.get("/account/storage").content.decode()
    keep(agent, user, "a", b"x" * 3000)
    keep(agent, user, "b", b"")

    page = browser.get("/account/storage").content.decode()

    assert "Keeper" in page
    assert f"{agent} · 2 values · 2.9" in page
    assert f'href="/agents/{agent}/storage"' in page


def test_an_agents_page_lists_keys_with_size_and_type(user: "User", agent: str) -> None:
    keep(agent, user, "<b>/färbe #1", b"blue")
    keep(agent, user, "photo", b"\x89PNG", "image/png")

    page = signed_in(user).get(f"/agents/{agent}/storage").content.decode()

    assert "&lt;b&gt;/färbe #1" in page
    assert "4\xa0bytes" in page
    assert "image/png" in page
    assert "2 of 1,000 values" in page
    assert "key=%3Cb%3E%2Ff%C3%A4rbe+%231" in page


def test_a_value_is_shown_as_text_and_downloaded_as_a_file(user: "User", agent: str) -> None:
    browser = signed_in(user)
    keep(agent, user, "text", b"<script>alert(1)</script>")
    keep(agent, user, "json", b'{"a": [1, "\xc3\xa4"]}')
    keep(agent, user, "page.html", b"<script>1</script>", "text/html")
    keep(agent, user, "bytes", b"\x00\xff", "image/svg+xml")
    keep(agent, user, "long", b"x" * 100_000)

    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in browser.get(url(agent, "value", "text")).content.decode()
    laid_out = json.dumps({"a": [1, "ä"]}, indent=2, ensure_ascii=False)
    assert browser.get(url(agent, "value", "json")).context["page"].text == laid_out
    assert "This is no text." in browser.get(url(agent, "value", "bytes")).content.decode()
    assert "This is only its beginning." in browser.get(url(agent, "value", "long")).content.decode()
    file = browser.get(url(agent, "download", "page.html"))
    assert file.content == b"<script>1</script>"
    assert file["X-Content-Type-Options"] == "nosniff"
    assert file["Content-Disposition"] == "attachment; filename*=UTF-8''page.html"
    assert "sandbox" in file["Content-Security-Policy"]


def test_one_value_is_deleted_and_sending_it_twice_says_so(user: "User", agent: str) -> None:
    browser, strange = signed_in(user), "line\nbreak/ä?&#1"
    keep(agent, user, strange, b"abc")
    keep(agent, user, "other", b"d")
    assert "Delete this?" in browser.get(url(agent, "delete", strange)).content.decode()
    assert keys_of(user) == [strange, "other"]

    done = browser.post(url(agent, "delete", strange), follow=True)

    assert done.redirect_chain == [(f"/agents/{agent}/storage", 302)]
    assert (keys_of(user), usage_of(user)) == (["other"], (1, 1))
    again = browser.post(url(agent, "delete", strange), follow=True)
    assert "was deleted already." in again.content.decode()
    assert usage_of(user) == (1, 1)


def test_all_of_it_is_deleted(user: "User", make_user: MakeUser, agent: str) -> None:
    browser, other = signed_in(user), make_user()
    for who in (user, other):
        keep(agent, who, "a", b"abc")
    assert "Delete all of it?" in browser.get(f"/agents/{agent}/storage/forget").content.decode()

    done = browser.post(f"/agents/{agent}/storage/forget", follow=True)

    assert done.redirect_chain == [("/account/storage", 302)]
    assert "has forgotten you." in done.content.decode()
    assert (keys_of(user), usage_of(user), keys_of(other)) == ([], None, ["a"])


def test_what_is_kept_stays_the_users_when_they_no_longer_see_the_agent(user: "User", agent: str) -> None:
    from registry.models import Agent

    keep(agent, user, "a", b"abc")
    Agent.objects.filter(owner__handle=agent.split("/")[0]).update(published=False)
    browser = signed_in(user)

    assert "you no longer see this agent" in browser.get("/account/storage").content.decode()
    page = browser.get(f"/agents/{agent}/storage").content.decode()
    assert f'href="/agents/{agent}"' not in page
    done = browser.post(url(agent, "delete", "a"), follow=True)
    assert done.redirect_chain == [("/account/storage", 302)]
    assert browser.get(f"/agents/{agent}/storage").status_code == 404


PAGES = ["/agents/{agent}/storage", "/agents/{agent}/storage/value?key=a", "/agents/{agent}/storage/download?key=a"]
CHANGES = ["/agents/{agent}/storage/delete?key=a", "/agents/{agent}/storage/forget"]


@pytest.mark.parametrize("who", ["owner", "teammate", "outsider", "signed out"])
def test_nobody_else_reads_or_deletes_it(user: "User", make_user: MakeUser, who: str) -> None:
    from accounts.models import Organization
    from accounts.organizations import save_organization
    from registry.actions import create_agent

    owner, teammate = make_user(), make_user()
    team = save_organization(organization=Organization(name="Team"), handle=f"org-{owner.username[5:]}")
    team.members.add(owner, teammate)
    agent = create_agent(by=owner, owner=team.owner.handle, handle="keeper").agent_id
    keep(agent, user, "a", b"my secret")
    people = {"owner": owner, "teammate": teammate, "outsider": make_user()}
    client = signed_in(people[who]) if who in people else Client()

    for path in (*PAGES, *CHANGES):
        answer = client.get(path.format(agent=agent))
        assert b"my secret" not in answer.content
        assert answer.status_code in (200, 404) if who in people else answer["Location"].startswith("/accounts/login/")
    for path in CHANGES:
        client.post(path.format(agent=agent))

    assert "my secret" not in client.get("/account/storage").content.decode()
    assert (keys_of(user), usage_of(user)) == (["a"], (1, 9))


def test_the_pages_take_few_queries_however_much_is_kept(user: "User", agent: str) -> None:
    browser, counts = signed_in(user), []
    for number in range(3):
        for n in range(number * 60):
            keep(agent, user, f"{number}-{n:03}", b"abc")
        with CaptureQueriesContext(connection) as captured:
            page = browser.get(f"/agents/{agent}/storage")
        counts.append(len(captured))

    assert max(counts) <= 8
    assert "More values" in page.content.decode()
    rest = browser.get(f"/agents/{agent}/storage", {"after": page.context["page"].more}).context["page"]
    assert len(page.context["page"].entries) + len(rest.entries) == 180
    assert rest.more is None


def test_what_is_not_there_is_not_found(user: "User", agent: str) -> None:
    browser = signed_in(user)
    for path in (url(agent, "value", "x"), url(agent, "download", "x"), url(agent, "delete", "x" * 600)):
        assert browser.get(path).status_code == 404
    assert browser.get("/agents/nobody/nothing/storage").status_code == 404
    assert browser.get(f"/agents/{agent}/storage/value?key=%00").status_code == 404
    assert "It keeps nothing about you." in browser.get(f"/agents/{agent}/storage").content.decode()
