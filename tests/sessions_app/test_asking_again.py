"""Asking somebody else: the same question again, of another agent, which is remembered as a correction."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.agents import Behaviour, ScriptedAgent, answer
from tests.sessions_app.embedded import contents, ref
from tests.sessions_app.people import Json, Person, error_of, wait_until
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

AgentOf = Callable[[Person, Behaviour], str]


@pytest.fixture
def other(asker: Person, agent_of: AgentOf) -> str:
    """The id of another agent of the asker's."""
    return agent_of(asker, answer({"text": "I know better."}))


def ask_again(person: Person, run: str, agent: str, **fields: Any) -> Any:
    return person.http.post(f"/api/runs/{run}/ask", json={"agent": agent, **fields})


def corrections_of(user: "User") -> list[tuple[str, str]]:
    """(agent, text) of what the Router has learned from this user."""
    from registry.models import SampleQuery

    made = SampleQuery.objects.filter(user=user, source="correction").select_related("agent__owner").order_by("pk")
    return [(sample.agent.agent_id, sample.text) for sample in made]


def jobs_for(user: "User") -> int:
    """Corrections of this user that wait to be remembered, or could not be."""
    from procrastinate.contrib.django.models import ProcrastinateJob

    return ProcrastinateJob.objects.filter(task_name="registry.remember_correction", args__user=user.pk).count()


def learned(person: Person) -> list[tuple[str, str]]:
    wait_until(lambda: jobs_for(person.user) == 0)
    return corrections_of(person.user)


def test_the_question_is_asked_again_and_remembered_as_the_other_agents(asker: Person, other: str) -> None:
    session = asker.new_session()
    first = asker.post(session, "@fixie/echo, who knows better?")
    asker.settled(session)

    again = ask_again(asker, first["run"], other)

    assert again.status_code == 202, again.text
    assert again.json() == {"session": session, "run": again.json()["run"], "seq": 3, "status": "in_progress"}
    _, _, query, response = asker.settled(session)
    assert (query["kind"], query["text"]) == ("query", "who knows better?")
    assert (response["agent"], response["text"]) == (other, "I know better.")
    assert learned(asker) == [(other, "who knows better?")]


def test_its_embeds_come_along_under_their_keys(asker: Person, agent_of: AgentOf, scripted: ScriptedAgent) -> None:
    session = asker.new_session()
    first = asker.post(session, "What is in #1?", embeds={"1": ref("a cat"), "more": ref("a dog")})
    asker.settled(session)
    agent = agent_of(asker, answer({"text": "Cats."}))

    ask_again(asker, first["run"], agent)

    query = asker.settled(session)[2]
    assert query["text"] == "What is in #1?"
    assert sorted(contents(query["embeds"]).values()) == ["a cat", "a dog"]
    assert sorted(scripted.requests[-1].json["embeds"]) == sorted(query["embeds"])
    assert len(asker.http.get(f"/api/sessions/{session}/embeds").json()["items"]) == 2


def test_asking_the_same_agent_is_only_another_try(asker: Person) -> None:
    session = asker.new_session()
    first = asker.post(session, "Hello")
    asker.settled(session)

    assert ask_again(asker, first["run"], "fixie/echo").status_code == 202

    assert [message["text"] for message in asker.settled(session)] == ["Hello"] * 4
    assert learned(asker) == []


def test_nothing_is_remembered_twice(asker: Person, other: str) -> None:
    session = asker.new_session()
    first = asker.post(session, "Hello")
    for client_id in ("one", "one", "two"):
        assert ask_again(asker, first["run"], other, client_id=client_id).status_code == 202

    assert len(asker.settled(session)) == 6
    assert learned(asker) == [(other, "Hello")]


def test_the_same_wish_again_is_no_other_correction(asker: Person, other: str) -> None:
    from registry.models import SampleQuery

    session = asker.new_session()
    first = asker.post(session, "Hello")
    ask_again(asker, first["run"], other, client_id="one")
    assert learned(asker) == [(other, "Hello")]
    SampleQuery.objects.filter(user=asker.user).delete()

    again = ask_again(asker, first["run"], other, client_id="one")

    assert again.status_code == 202
    assert learned(asker) == []


def test_while_another_question_is_answered_it_waits_its_turn(asker: Person, other: str, agent_of: AgentOf) -> None:
    from tests.agents import hang

    session = asker.new_session()
    first = asker.post(session, "Hello")
    asker.settled(session)
    slow = asker.post(session, f"@{agent_of(asker, hang())} hello")

    assert ask_again(asker, first["run"], other).json()["status"] == "queued"

    asker.http.post(f"/api/runs/{slow['run']}/cancel")
    assert asker.settled(session)[-1]["text"] == "I know better."


def test_the_front_agent_may_be_asked_but_is_no_correction(asker: Person, site: Site) -> None:
    from registry.models import Agent

    front = Agent.objects.filter(current_revision__transport="front").select_related("owner").first()
    if front is None:
        from registry.bootstrap import ensure_front_agent

        front = ensure_front_agent()
    session = asker.new_session()
    first = asker.post(session, "Hello")
    asker.settled(session)

    assert ask_again(asker, first["run"], front.agent_id).status_code == 202

    asker.settled(session)
    assert learned(asker) == []


@pytest.fixture
def asked(asker: Person) -> Json:
    """A question of the asker's that has been answered."""
    session = asker.new_session()
    posted = asker.post(session, "Hello")
    asker.settled(session)
    return posted


def refused(answered: Any, person: Person, asked: Json, status: int, field: str | None = None) -> None:
    """Checks that it was refused, and that neither the session nor the Router has changed."""
    assert answered.status_code == status, answered.text
    assert error_of(answered)["details"].get("field") == field
    assert len(person.settled(asked["session"])) == 2
    assert learned(person) == []


def test_a_run_of_somebody_else_or_of_nobody_is_not_found(asker: Person, asked: Json, person: Any, other: str) -> None:
    stranger = person()

    refused(ask_again(stranger, asked["run"], "fixie/echo"), asker, asked, 404, "run")
    for run in ("nonsense", "00000000-0000-0000-0000-000000000000", "01a1faa6-0000-7000-8000-000000000000", "%00"):
        refused(ask_again(asker, run, other), asker, asked, 404, "run")
    assert learned(stranger) == []


def test_a_run_below_another_one_answers_no_person(asker: Person, asked: Json, other: str) -> None:
    from sessions_app.models import Run

    below = Run.objects.get(pk=asked["run"])
    below.pk, below.parent_id, below.root_id = "01a1faa6-1111-7000-8000-000000000000", asked["run"], asked["run"]
    below.save(force_insert=True)

    refused(ask_again(asker, str(below.pk), other), asker, asked, 404, "run")


def test_an_agent_that_the_user_cannot_see_is_no_correction(
    asker: Person, asked: Json, person: Any, agent_of: AgentOf
) -> None:
    hidden = agent_of(person(), answer({"text": "x"}))

    for agent in (hidden, "nobody/nothing"):
        refused(ask_again(asker, asked["run"], agent), asker, asked, 404, "agent")


@pytest.mark.parametrize("agent", ["", "dice", "a/b/c", "a/\0", "@fixie/echo"])
def test_what_names_no_agent_is_refused(asker: Person, asked: Json, agent: str) -> None:
    refused(ask_again(asker, asked["run"], agent), asker, asked, 400, "agent")


def test_it_needs_somebody_who_is_signed_in(asker: Person, asked: Json, site: Site) -> None:
    with site.client() as http:
        answered = http.post(f"/api/runs/{asked['run']}/ask", json={"agent": "fixie/echo"})

    refused(answered, asker, asked, 401)


def test_a_run_that_does_not_reach_its_agent_brings_its_check_forward(asker: Person, scripted: ScriptedAgent) -> None:
    from datetime import timedelta

    from django.utils import timezone

    from registry.actions import create_agent
    from registry.models import Liveness
    from tests.registry.readings import reads

    agent = create_agent(
        by=asker.user, handle="away", reading=reads(url="http://127.0.0.1:9999/", transport="query_http")
    )
    Liveness.objects.create(agent=agent, next_check=timezone.now() + timedelta(hours=1))

    assert asker.ask(agent.agent_id, "Hello").status_code == 502

    wait_until(lambda: Liveness.objects.get(pk=agent.pk).next_check <= timezone.now())
