"""`/account/export`: everything that is kept about somebody, in one file; for them alone, and in bounded memory."""

import asyncio
import csv
import io
import json
import time
import tracemalloc
import uuid
import zipfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx2
import pytest
from django.test import Client

from common.zips import zipped
from tests.sessions_app.people import Person
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

PASSWORD = "correct horse battery"


@pytest.fixture
def owner(person: Callable[..., Person]) -> Person:
    """Somebody with a password, a conversation with an attachment, storage, an agent and an organization."""
    return person(password=PASSWORD, first_name="Zoë")


@contextmanager
def signed_in(site: Site, user: "User") -> Iterator[httpx2.Client]:
    """A browser of theirs, signed in long ago."""
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    with site.client() as browser:
        browser.cookies.set("sessionid", client.cookies["sessionid"].value)
        browser.get("/account/export")
        yield browser


def posted(browser: httpx2.Client, path: str = "/account/export", **fields: str) -> httpx2.Response:
    token = browser.cookies["csrftoken"]
    return browser.post(path, data={"csrfmiddlewaretoken": token, **fields})


def exported(browser: httpx2.Client) -> zipfile.ZipFile:
    answer = posted(browser, password=PASSWORD)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/zip"
    archive = zipfile.ZipFile(io.BytesIO(answer.content))
    assert archive.testzip() is None
    return archive


def table(archive: zipfile.ZipFile, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.TextIOWrapper(archive.open(name), "utf-8-sig")))


def keep(user: "User", key: str, value: bytes) -> None:
    from registry.models import Agent
    from storage_kv.models import StorageUsage, StoredValue

    agent = Agent.objects.get(owner__handle="fixie", handle="echo")
    StorageUsage.objects.get_or_create(user=user, agent=agent, defaults={"keys": 1, "bytes": len(value)})
    StoredValue.objects.create(user=user, agent=agent, key=key, value=value, content_type="", version=uuid.uuid4())


def test_the_file_holds_all_that_is_kept(site: Site, owner: Person) -> None:
    from accounts import organizations

    organization = organizations.create_organization(by=owner.user, handle=f"org-{uuid.uuid4().hex[:8]}", name="Lab")
    embed = owner.http.post("/api/embeds", files={"file": ("a.txt", b"attached bytes", "text/plain")}).json()
    session = owner.new_session()
    owner.post(session, "What is in this?", embeds={"1": {"id": embed["id"]}})
    owner.settled(session)
    keep(owner.user, "../../etc/pass wd", b"\x00kept")
    keep(owner.user, "k" * 900, b"long")
    keep(owner.user, '=HYPERLINK("http://evil.example")', b"formula")
    agent = f"agent-{uuid.uuid4().hex[:8]}"
    owner.http.post("/api/agents", json={"handle": agent, "description": "Mine"})

    with signed_in(site, owner.user) as browser:
        archive = exported(browser)

    names = set(archive.namelist())
    account = json.loads(archive.read("account.json"))
    assert (account["username"], account["first_name"]) == (owner.user.username, "Zoë")
    assert [key["name"] for key in json.loads(archive.read("keys.json"))] == ["test"]
    assert json.loads(archive.read("organizations.json"))[0]["organization__owner__handle"] == organization.owner.handle
    assert {row["agent"] for row in table(archive, "usage.csv")} == {"", "fixie/echo"}
    conversation = json.loads(archive.read(f"sessions/{session}.json"))
    assert [message["kind"] for message in conversation["messages"]] == ["query", "response"]
    assert "What is in this?" in archive.read(f"sessions/{session}.md").decode()
    assert archive.read(f"attachments/{embed['id']}.txt") == b"attached bytes"
    stored = {row["key"]: row for row in table(archive, "storage.csv")}
    assert archive.read(stored["../../etc/pass wd"]["file"]) == b"\x00kept"
    assert archive.read(stored["k" * 900]["file"]) == b"long"
    assert '\'=HYPERLINK("http://evil.example")' in stored, "a spreadsheet takes it for a text"
    assert [each["handle"] for each in json.loads(archive.read("agents.json"))] == [agent]
    assert names >= {"README.txt", "credits.csv", "links.json", "corrections.csv"}
    assert all(".." not in name.split("/") and not name.startswith("/") and len(name) < 400 for name in names)
    everything = b"".join(archive.read(name) for name in names)
    assert owner.key.encode() not in everything
    assert owner.user.password.encode() not in everything


def test_tables_say_which_file_is_which(site: Site, owner: Person) -> None:
    files = {"file": ("Größe.txt", b"attached bytes", "text/plain")}
    embed = owner.http.post("/api/embeds", files=files).json()
    session = owner.new_session()
    owner.post(session, "What is in this?", embeds={"1": {"id": embed["id"]}})
    owner.settled(session)
    with signed_in(site, owner.user) as browser:
        archive = exported(browser)

    (line,) = table(archive, "sessions.csv")
    assert (line["title"], line["file"], line["agent"]) == ("What is in this?", session, "fixie/echo")
    (line,) = table(archive, "attachments.csv")
    assert line["name"] == "Größe.txt"
    assert archive.read(line["file"]) == b"attached bytes"
    assert archive.read("attachments.csv").startswith("\ufeffname".encode()), "Excel sees that it is UTF-8"


def test_what_was_deleted_a_moment_ago_is_not_in_it(site: Site, owner: Person) -> None:
    kept, lost = (
        owner.http.post("/api/embeds", files={"file": ("a.txt", text, "text/plain")}).json()["id"]
        for text in (b"in both", b"in the deleted one")
    )
    sessions = [owner.new_session(), owner.new_session()]
    owner.post(sessions[0], "Look", embeds={"1": {"id": kept}})
    owner.post(sessions[1], "Look", embeds={"1": {"id": kept}, "2": {"id": lost}})
    for session in sessions:
        owner.settled(session)
    assert owner.http.post(f"/api/sessions/{sessions[1]}/delete").status_code == 204

    with signed_in(site, owner.user) as browser:
        names = exported(browser).namelist()

    assert [name for name in names if name.startswith("attachments/")] == [f"attachments/{kept}.txt"]
    assert not any(sessions[1] in name for name in names)


def test_nothing_of_others_is_in_it(site: Site, owner: Person, person: Callable[..., Person]) -> None:
    other = person()
    session = other.new_session()
    other.post(session, "a secret of somebody else")
    other.settled(session)
    keep(other.user, "their key", b"their value")

    with signed_in(site, owner.user) as browser:
        archive = exported(browser)

    everything = b"".join(archive.read(name) for name in archive.namelist())
    assert b"a secret of somebody else" not in everything
    assert b"their" not in b"".join(archive.read(name) for name in archive.namelist() if "storage" in name)
    assert session not in " ".join(archive.namelist())


def test_the_password_is_asked_for(site: Site, owner: Person) -> None:
    with signed_in(site, owner.user) as browser:
        for fields in ({}, {"password": "wrong"}):
            answer = posted(browser, **fields)
            assert answer.status_code == 400
            assert "errorlist" in answer.text
    assert not owner.user.data_exports.exists()


def test_whoever_has_just_signed_in_is_not_asked_again(site: Site, owner: Person) -> None:
    with site.client() as browser:
        browser.get("/accounts/login/")
        posted(browser, "/accounts/login/", login=owner.user.username, password=PASSWORD)
        browser.get("/account/export")
        answer = posted(browser)
    assert answer.headers["content-type"] == "application/zip"


def test_who_has_no_password_and_signed_in_long_ago_signs_in_again(site: Site, person: Callable[..., Person]) -> None:
    with signed_in(site, person().user) as browser:
        answer = posted(browser)
    assert answer.status_code == 400
    assert "sign in again first" in answer.text


def test_one_at_a_time_and_a_few_a_day(site: Site, owner: Person) -> None:
    from accounts.data_exports import EXPORTS_A_DAY, begin_export, end_export

    running = begin_export(user=owner.user)
    with signed_in(site, owner.user) as browser:
        refused = posted(browser, password=PASSWORD)
        assert refused.status_code == 429
        assert "being sent already" in refused.text
        end_export(export=running.pk)
        for _ in range(EXPORTS_A_DAY - 1):
            exported(browser)
        assert posted(browser, password=PASSWORD).status_code == 429


def test_a_reader_who_leaves_ends_the_export(site: Site, owner: Person) -> None:
    owner.http.post("/api/embeds", files={"file": ("a", bytes(8_000_000), "application/octet-stream")})
    with signed_in(site, owner.user) as browser:
        token = browser.cookies["csrftoken"]
        fields = {"csrfmiddlewaretoken": token, "password": PASSWORD}
        with browser.stream("POST", "/account/export", data=fields) as answer:
            next(answer.iter_raw())
    deadline = time.monotonic() + 10
    while owner.user.data_exports.get().finished is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_large_file_is_never_held() -> None:
    megabyte = bytes(1024 * 1024)

    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield megabyte

    async def files() -> AsyncIterator[tuple[str, AsyncIterator[bytes]]]:
        yield "zeros", pieces()

    async def read() -> int:
        size = 0
        async for piece in zipped(files()):
            size += len(piece)
        return size

    tracemalloc.start()
    size = asyncio.run(read())
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size < 1_000_000
    assert peak < 8_000_000
