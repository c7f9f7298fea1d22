"""The list of agents: who sees which, how they are found, in which order, and what it costs."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.registry.indexed import indexed_agent, sample
from tests.registry.readings import reads
from tests.sessions_app.test_views import signed_in

if TYPE_CHECKING:
    from accounts.models import Organization, User
    from registry.models import Agent

MakeUser = Callable[..., "User"]


@pytest.fixture
def word() -> str:
    """A word that no other test's agent has."""
    return f"w{uuid.uuid4().hex[:12]}"


@pytest.fixture
def user(make_user: MakeUser) -> "User":
    return make_user()


def team_of(*users: "User") -> "Organization":
    from accounts.models import Organization
    from accounts.organizations import save_organization

    organization = save_organization(organization=Organization(name="Team"), handle=f"org-{uuid.uuid4().hex[:8]}")
    organization.members.add(*users)
    return organization


def agent_of(by: "User", name: str, **fields: object) -> "Agent":
    from registry.actions import create_agent

    given = {"reading": reads(few_shots=("Q: Roll 3d8\nA: 3",)), "published": True, **fields}
    return create_agent(by=by, handle=f"a-{uuid.uuid4().hex[:8]}", name=name, **given)


def ill(agent: "Agent", **fields: Any) -> None:
    """It did not answer, and it is long until a site on the same database looks again."""
    from registry.models import Liveness

    found = {"healthy": False, "next_check": datetime(2100, 1, 1, tzinfo=UTC), **fields}
    Liveness.objects.update_or_create(agent=agent, defaults=found)


def found(client: Client, **query: str) -> list[str]:
    """The names on the page, in order."""
    answer = client.get("/agents", query)
    assert answer.status_code == 200
    return [card.agent.name for card in answer.context["page"].cards]


def test_everybody_sees_what_is_published_and_owners_their_own(make_user: MakeUser, user: "User", word: str) -> None:
    teammate = make_user()
    team = team_of(user, teammate)
    agent_of(user, f"{word} published")
    agent_of(user, f"{word} mine", published=False)
    agent_of(user, f"{word} ours", published=False, owner=team.owner.handle)

    assert found(signed_in(user), q=word) == [f"{word} mine", f"{word} ours", f"{word} published"]
    assert found(signed_in(teammate), q=word) == [f"{word} ours", f"{word} published"]
    assert found(signed_in(make_user()), q=word) == [f"{word} published"]
    assert found(Client(), q=word) == [f"{word} published"]


def test_a_card_says_what_the_agent_is_and_asks_with_one_click(user: "User", word: str) -> None:
    agent = agent_of(user, f"{word} <b>", description="Rolls <dice>.", published=False)
    ill(agent, last_alive=datetime(2026, 11, 3, 12, 5, tzinfo=UTC))

    page = signed_in(user).get("/agents", {"q": word}).content.decode()

    assert f"{word} &lt;b&gt;</a>" in page
    assert "Rolls &lt;dice&gt;." in page
    assert "not published" in page
    assert 'Not answering since <time datetime="2026-11-03T12:05:00+00:00"' in page
    assert '<input type="hidden" name="text" value="Roll 3d8">' in page
    assert 'action="/sessions/new"' in page


@pytest.mark.parametrize("place", ["name", "description", "sample", "handle", "owner"])
def test_an_agent_is_found_by_the_beginning_of_a_word_anywhere(
    make_user: MakeUser, user: "User", word: str, place: str
) -> None:
    owner = make_user(username=word) if place == "owner" else user
    said = {"name": f"Ein {word}", "description": f"It is {word.upper()}.", "handle": f"x-{word}"}
    fields = {"name": "Other"} | ({place: said[place]} if place in said else {})
    agent = indexed_agent(owner.owner, **fields)
    if place == "sample":
        sample(agent, f"Where is {word}, please?", source="few_shot")

    assert found(signed_in(user), q=word[:9]) == [agent.name]
    assert found(signed_in(user), q=f"{word[:9]} nothing-{word}") == []


def test_what_somebody_taught_an_agent_for_themselves_finds_it_for_nobody(
    make_user: MakeUser, user: "User", word: str
) -> None:
    agent = indexed_agent(user.owner, name="Other")
    sample(agent, f"Where is {word}?", make_user())

    assert found(signed_in(user), q=word) == []


def test_words_of_any_kind_are_only_words(user: "User") -> None:
    for text in ("'", "a:*b", "\\", "!!", "&|", "x' | 'y", "%", "\0", "(", "掷骰子", "@fixie/dice", "x" * 500):
        found(Client(), q=text)


def test_filters_narrow_the_list(make_user: MakeUser, user: "User", word: str) -> None:
    from registry.actions import update_agent

    team, browser, stranger = team_of(user), signed_in(user), make_user()
    agent_of(user, f"{word} mine")
    agent_of(user, f"{word} team", owner=team.owner.handle)
    away = agent_of(stranger, f"{word} ill", reading=reads(transport="query_http"))
    ill(away)
    update_agent(agent=agent_of(user, f"{word} off"), by=user, enabled=False)
    update_agent(agent=agent_of(stranger, f"{word} theirs off"), by=stranger, enabled=False)

    assert found(browser, q=word) == [f"{word} {name}" for name in ("ill", "mine", "off", "team")]
    assert found(browser, q=word, whose="mine") == [f"{word} mine", f"{word} off"]
    assert found(browser, q=word, whose="team") == [f"{word} team"]
    assert found(browser, q=word, kind="query_http") == [f"{word} ill"]
    assert found(browser, q=word, state="well") == [f"{word} mine", f"{word} team"]
    assert found(browser, q=word, state="off") == [f"{word} off"]
    assert found(browser, q=word, owner=stranger.username) == [f"{word} ill"]
    assert found(browser, q=word, kind="nonsense", state="?") == found(browser, q=word)
    assert found(Client(), q=word, whose="mine", state="off") == found(Client(), q=word)


def test_what_the_reader_asked_lately_comes_first(make_user: MakeUser, user: "User", word: str) -> None:
    from accounts.models import UsageDay

    agents = [agent_of(user, f"{word} {name}") for name in "abc"]
    reader = make_user()
    UsageDay.objects.create(user=reader, agent=agents[2].pk, day=datetime.now(UTC).date(), queries=1)

    assert found(signed_in(reader), q=word) == [f"{word} {name}" for name in "cab"]
    assert found(signed_in(user), q=word) == [f"{word} {name}" for name in "abc"]


def test_pages_follow_each_other_without_a_gap(make_user: MakeUser, user: "User", word: str) -> None:
    from accounts.models import UsageDay

    agents = many_agents(user, word, 60)
    reader = make_user()
    UsageDay.objects.create(user=reader, agent=agents[40].pk, day=datetime.now(UTC).date(), queries=1)
    browser, names, after = signed_in(reader), [], ""
    while True:
        answer = browser.get("/agents", {"q": word, "after": after})
        names += [card.agent.name for card in answer.context["page"].cards]
        after = answer.context["page"].more
        if after is None:
            break
        assert "More agents" in answer.content.decode()

    assert names == [agents[40].name, *(agent.name for agent in agents if agent != agents[40])]


def test_an_agent_that_the_reader_does_not_see_is_no_place_to_go_on_from(
    make_user: MakeUser, user: "User", word: str
) -> None:
    agent_of(user, f"{word} a")
    agent_of(user, f"{word} z")
    hidden = agent_of(user, f"{word} m", published=False)
    assert found(signed_in(make_user()), q=word, after=hidden.agent_id) == [f"{word} a", f"{word} z"]
    assert found(signed_in(user), q=word, after=hidden.agent_id) == [f"{word} z"]


def many_agents(user: "User", word: str, count: int) -> "list[Agent]":
    """So many agents that have a deployment in common, by name: copies of one, made by the database."""
    from registry.models import Agent
    from registry.words import keep_words

    # One that no task of a site indexes meanwhile, by what it is called here or later.
    first = indexed_agent(user.owner, name="First")
    fields = [field.column for field in Agent._meta.concrete_fields if field.column not in ("id", "handle", "name")]
    kept = ", ".join(fields)
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO registry_agent (handle, name, {kept}) SELECT %s || n, %s || lpad(n::text, 5, '0'), {kept}"
            " FROM registry_agent, generate_series(0, %s) AS n WHERE id = %s",
            [f"{word}-", f"{word} ", count - 1, first.pk],
        )
    made = list(Agent.objects.filter(handle__startswith=f"{word}-").select_related("owner").order_by("name"))
    keep_words(*(agent.pk for agent in made))
    return made


def test_it_takes_few_queries_however_many_agents_there_are(user: "User", word: str) -> None:
    browser, counts = signed_in(user), []
    for total in (1, 20):
        many_agents(user, f"{word}{total}", total)
        with CaptureQueriesContext(connection) as captured:
            assert len(found(browser, q=f"{word}{total}")) == total
        counts.append(len(captured))

    # The session, its user, whom they may act for, what they asked lately, the agents; those asked lately on their own.
    assert counts[0] == counts[1] <= 6


def test_each_word_is_looked_up_in_the_index_once() -> None:
    from registry.models import Agent
    from registry.pages.searching import matching

    with transaction.atomic(), connection.cursor() as cursor:
        # A table of a few rows is read as a whole, whatever indexes there are.
        cursor.execute("SET LOCAL enable_seqscan = off")
        plan = matching(Agent.objects.all(), "dice-77 roll").explain()

    assert plan.count("on words_of_agents") == 2


def test_an_empty_list_says_what_to_do(user: "User", word: str) -> None:
    nothing = signed_in(user).get("/agents", {"q": word}).content.decode()
    assert "No agent is like that." in nothing
    assert 'href="/agents"' in nothing
    assert "There are no more agents." in Client().get("/agents", {"owner": word, "after": "a/b"}).content.decode()
    assert 'href="/agents/new"' in signed_in(user).get("/agents").content.decode()
    assert 'href="/agents/new"' not in Client().get("/agents").content.decode()


def test_what_is_changed_about_an_agent_is_found_at_once(user: "User", word: str) -> None:
    from registry.actions import create_agent, update_agent

    agent = create_agent(by=user, handle=f"x-{word}", name="Before", description=f"early-{word}")
    browser = signed_in(user)
    assert found(browser, q=word) == found(browser, q=f"early-{word}") == ["Before"]
    update_agent(agent=agent, by=user, description=f"late-{word}")
    assert found(browser, q=f"late-{word}") == ["Before"]
    assert found(browser, q=f"early-{word}") == []


async def test_what_an_agent_can_be_asked_finds_it_as_soon_as_it_is_indexed(user: "User", word: str) -> None:
    from common.db import run_db
    from registry.routing.indexing import index_agent

    shots = (f"Q: Where is {word}?\nA: 3",)
    agent = await run_db(lambda: agent_of(user, "Finder", reading=reads(few_shots=shots)))
    await index_agent(agent.pk)

    assert await run_db(lambda: found(signed_in(user), q=f"where {word}")) == ["Finder"]


def test_a_correction_finds_the_agent_for_everybody_while_it_is_accepted(
    make_user: MakeUser, user: "User", word: str
) -> None:
    from registry.corrections.remembering import dismiss_correction

    agent = indexed_agent(user.owner, name="Other")
    accepted = sample(agent, f"Where is {word}?")
    assert found(signed_in(make_user()), q=word) == ["Other"]

    dismiss_correction(correction=accepted)

    assert found(signed_in(user), q=word) == []


def test_agents_from_before_there_were_words_are_found_when_the_task_has_run(user: "User", word: str) -> None:
    from registry.models import AgentWords
    from registry.words import keep_missing_words

    agents = [indexed_agent(user.owner, name=f"{word} {number}") for number in range(3)]
    AgentWords.objects.filter(agent__in=agents).delete()
    assert found(signed_in(user), q=word) == []

    keep_missing_words()

    assert found(signed_in(user), q=word) == [f"{word} 0", f"{word} 1", f"{word} 2"]


def test_samples_without_end_are_no_obstacle(user: "User", word: str) -> None:
    agent = indexed_agent(user.owner, name=word)
    for start in range(8):
        sample(agent, " ".join(f"{word}{number}ä" for number in range(start * 800, start * 800 + 800)))

    assert found(signed_in(user), q=f"{word}5") == [word]
