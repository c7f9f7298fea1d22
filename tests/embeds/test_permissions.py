"""Who may do what with embeds: the owner, a teammate, an outsider, nobody, and an agent that acts for the owner."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.embeds.keeper import Json, Keeper, send
from tests.sessions_app.people import error_of

if TYPE_CHECKING:
    from sessions_app.models import Run


@pytest.fixture
def others(ann: Keeper, keeper: Callable[[], Keeper]) -> Iterator[dict[str, httpx2.Client]]:
    """Everybody but the owner."""
    from accounts.models import Membership
    from registry.bootstrap import ensure_organization

    teammate, outsider = keeper(), keeper()
    organization = ensure_organization(handle=f"team-{ann.user.pk}", name="Team", member=ann.user)
    Membership.objects.get_or_create(organization=organization, user=teammate.user)
    clients = {"teammate": teammate.http, "outsider": outsider.http, "anonymous": ann.site.client()}
    yield clients
    for client in clients.values():
        client.close()


def statuses(others: dict[str, httpx2.Client], method: str, path: str, **options: Any) -> dict[str, int]:
    answers = {name: client.request(method, path, **options) for name, client in others.items()}
    assert all(error_of(answer) for answer in answers.values())
    return {name: answer.status_code for name, answer in answers.items()}


@pytest.fixture
def at_work(ann: Keeper, echo: str) -> "Run":
    """A query of the owner's that an agent is answering."""
    from registry.models import Agent
    from tests.sessions_app.rows import run_at_work

    return run_at_work(ann.user, Agent.objects.get(owner__handle="fixie", handle="echo"))


DENIED = {"teammate": 404, "outsider": 404, "anonymous": 401}


@pytest.fixture
def embed(ann: Keeper, content: bytes) -> Json:
    return ann.uploaded(content)


def test_an_embed_is_its_owners_to_read(ann: Keeper, others: Any, embed: Json) -> None:
    path = f"/api/embeds/{embed['id']}"
    read = ann.http.get(path).json()
    assert {**read, "url": ""} == {**embed, "url": ""}
    assert httpx2.get(read["url"]).status_code == 200
    assert statuses(others, "GET", path) == DENIED


def test_an_embed_is_its_owners_to_delete(
    ann: Keeper, others: Any, embed: Json, content: bytes, at_work: "Run"
) -> None:
    path = f"/api/embeds/{embed['id']}"
    assert statuses(others, "DELETE", path) == DENIED
    with ann.agent(at_work) as agent:
        assert agent.delete(path).status_code == 401
    assert httpx2.get(embed["url"]).content == content
    assert ann.http.delete(path).status_code == 204
    assert ann.http.get(path).status_code == 404


def test_an_upload_is_its_owners_to_complete(ann: Keeper, others: Any, content: bytes) -> None:
    upload = ann.announce(content)
    send(upload, content)
    assert statuses(others, "POST", f"/api/embeds/uploads/{upload['id']}/complete") == DENIED
    assert ann.left_behind() == (0, 1)
    assert ann.complete(upload).status_code == 201


def test_nobody_uploads_without_a_key(ann: Keeper) -> None:
    with ann.site.client() as anonymous:
        for path, options in (
            ("/api/embeds", {"files": {"file": ("f", b"x", "text/plain")}}),
            ("/api/embeds", {"json": {"uri": "data:,x"}}),
            ("/api/embeds/uploads", {"json": {"content_type": "a/b", "size": 1}}),
        ):
            assert anonymous.post(path, **options).status_code == 401


def test_an_agent_uploads_for_its_user_and_reads_nothing(
    ann: Keeper, embed: Json, content: bytes, at_work: "Run"
) -> None:
    with ann.agent(at_work) as agent:
        made = agent.post("/api/embeds", files={"file": ("f", content + b"!", "text/plain")})
        assert made.status_code == 201, made.text
        assert ann.http.get(f"/api/embeds/{made.json()['id']}").status_code == 200
        for path in (f"/api/embeds/{embed['id']}", f"/api/embeds/{made.json()['id']}"):
            assert agent.get(path).status_code == 401
        upload = agent.post("/api/embeds/uploads", json={"content_type": "text/plain", "size": 1}).json()
        send(upload, b"x")
        assert agent.post(f"/api/embeds/uploads/{upload['id']}/complete").status_code == 201


def test_a_call_that_answers_no_query_uploads_nothing(ann: Keeper) -> None:
    with ann.agent() as agent:
        uploads_nothing(ann, agent)


@pytest.mark.parametrize(
    "fields",
    [{"status": "completed"}, {"status": "canceled"}, {"cancel_requested": True}],
    ids=["completed", "canceled", "told to stop"],
)
def test_a_query_that_is_over_uploads_nothing(ann: Keeper, at_work: "Run", fields: Json) -> None:
    with ann.agent(at_work) as agent:
        upload = agent.post("/api/embeds/uploads", json={"content_type": "text/plain", "size": 1}).json()
        send(upload, b"x")
        type(at_work).objects.filter(pk=at_work.pk).update(**fields)
        assert agent.post(f"/api/embeds/uploads/{upload['id']}/complete").status_code == 401
        uploads_nothing(ann, agent, announced=1)


def uploads_nothing(ann: Keeper, agent: httpx2.Client, announced: int = 0) -> None:
    for path, sent in (("", {"uri": "data:,x"}), ("/uploads", {"content_type": "a/b", "size": 1})):
        assert agent.post(f"/api/embeds{path}", json=sent).status_code == 401
    assert ann.left_behind() == (0, announced)


def test_a_revoked_key_and_an_inactive_user_upload_nothing(ann: Keeper, at_work: "Run") -> None:
    from accounts.models import ApiKey

    ann.user.is_active = False
    ann.user.save()
    with ann.agent(at_work) as agent:
        assert agent.post("/api/embeds", json={"uri": "data:,x"}).status_code == 401
    assert ann.upload(b"x").status_code == 401
    ann.user.is_active = True
    ann.user.save()
    from django.utils import timezone

    ApiKey.objects.filter(user=ann.user).update(revoked=timezone.now())
    assert ann.upload(b"x").status_code == 401
    assert ann.left_behind() == (0, 0)
