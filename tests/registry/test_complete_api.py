"""`GET /api/complete`: which agents are offered to whom, in which order, and what it costs."""

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from registry.actions import create_agent, delete_agent
from tests.registry.conftest import People
from tests.registry.readings import reads
from tests.sessions_app.people import error_of
from tests.sites import Site

if TYPE_CHECKING:
    from registry.models import Agent

Names = Callable[..., list[str]]


@pytest.fixture
def word() -> str:
    """A word that no other test's agents have."""
    return f"w{uuid.uuid4().hex[:10]}"


@pytest.fixture
def names(site: Site, people: People, api_key: Callable[..., str]) -> Names:
    """`names("owner", q)` → the ids of the agents that are offered to that person."""
    keys = {who: api_key(getattr(people, who)) for who in ("owner", "teammate", "outsider")}

    def ask(who: str, q: str) -> list[str]:
        return [found["agent"] for found in _complete(site, keys[who], q)]

    return ask


def _complete(site: Site, key: str, q: str) -> list[dict[str, Any]]:
    with site.client(key) as http:
        answer = http.get("/api/complete", params={"q": q})
    assert answer.status_code == 200, answer.text
    return list(answer.json())


@pytest.fixture
def make(people: People) -> Any:
    """`make(handle, **fields)` → an agent of the organization that is ready; gone after the test."""
    made: list[Agent] = []

    def make(handle: str, **fields: Any) -> "Agent":
        owner = people.organization.owner.handle
        made.append(create_agent(by=people.owner, owner=owner, handle=handle, reading=reads(), **fields))
        return made[-1]

    yield make
    for agent in made:
        delete_agent(agent=agent)


def test_a_private_agent_is_offered_to_its_owners_alone(names: Names, make: Any, word: str) -> None:
    private = make(word)
    assert names("owner", word) == names("teammate", word) == [private.agent_id]
    assert names("outsider", word) == []
    public = make(f"{word}-b", published=True)
    assert names("outsider", word) == [public.agent_id]


def test_who_is_signed_out_is_offered_nothing(site: Site, make: Any, word: str) -> None:
    make(word, published=True)
    with site.client() as http:
        answer = http.get("/api/complete", params={"q": word})
    assert answer.status_code == 401
    assert error_of(answer)["code"] == "unauthenticated"


def test_an_agent_that_is_switched_off_is_not_offered_to_its_owner_either(names: Names, make: Any, word: str) -> None:
    agent = make(word)
    agent.enabled = False
    agent.save()
    assert names("owner", word) == []


def test_what_begins_so_comes_before_what_holds_it_and_what_does_not_answer_last(
    names: Names, make: Any, word: str
) -> None:
    from registry.models import Liveness

    holds, named, ill, begins = make(f"a-{word}"), make("b", name=word.upper()), make(f"{word}-0"), make(f"{word}-z")
    Liveness.objects.create(agent=ill, healthy=False)
    broken = create_agent(by=ill.owner.organization.members.first(), owner=ill.owner.handle, handle=f"{word}-1")
    order = [begins, named, holds, ill, broken]
    assert names("owner", word) == [agent.agent_id for agent in order]
    delete_agent(agent=broken)


def test_an_owner_and_a_slash_narrow_it_down(names: Names, make: Any, people: People) -> None:
    dice, coin = make("dice"), make("coin")
    owner = people.organization.owner.handle
    assert names("owner", f"{owner}/") == names("owner", owner) == [coin.agent_id, dice.agent_id]
    assert names("owner", f" {owner}/D ".upper()) == [dice.agent_id]


def test_there_are_at_most_eight_and_each_says_what_it_is(
    site: Site, people: People, api_key: Callable[..., str], make: Any, word: str
) -> None:
    for number in range(10):
        make(f"{word}-{number}", name="Dice", description="\n Rolls *dice*.\nAnd more.")
    found = _complete(site, api_key(people.owner), word)
    assert len(found) == 8
    owner = people.organization.owner.handle
    said = {"name": "Dice", "owner": owner, "description": "Rolls *dice*.", "healthy": True}
    assert found[0] == {"agent": f"{owner}/{word}-0", **said}


@pytest.mark.parametrize("q", ["%", "_", "'", "\\", "ä👋", "a b", "/", "//", "-"])
def test_any_text_is_only_looked_for(names: Names, make: Any, word: str, q: str) -> None:
    make(word)
    assert names("owner", word + q) == []


@pytest.mark.parametrize("q", ["x" * 201, "a\0b"])
def test_a_text_that_is_too_long_or_holds_nul_is_refused(
    site: Site, people: People, api_key: Callable[..., str], q: str
) -> None:
    with site.client(api_key(people.owner)) as http:
        answer = http.get("/api/complete", params={"q": q})
    assert (answer.status_code, error_of(answer)["details"]["field"]) == (400, "q")


async def test_it_is_one_statement(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    from accounts.auth import Caller
    from common import db
    from registry import completion

    statements = []

    async def counted(sql: str, *args: Any) -> Any:
        statements.append(sql)
        return await db.fetch_safely(sql, *args)

    monkeypatch.setattr(completion, "fetch_safely", counted)
    await completion.completions(Caller(user_id=people.owner.pk, jti=None), "")
    assert len(statements) == 1


def test_an_agent_with_the_handle_of_the_address_can_be_asked(
    site: Site, people: People, api_key: Callable[..., str]
) -> None:
    from registry.bootstrap import ensure_internal_agent

    agent = ensure_internal_agent(
        owner_handle=people.owner.owner.handle, handle="complete", name="", description="", target="echo"
    )
    with site.client(api_key(people.owner)) as http:
        answer = http.post("/api/agents/complete", json={"message": {"text": "Hello"}})
    assert answer.json()["message"]["text"] == "Hello"
    delete_agent(agent=agent)
