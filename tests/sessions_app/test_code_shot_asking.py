"""Code Shot agents that ask other agents: the run below, its words in the transcript, failures, stopping."""

import uuid
from collections.abc import Callable

import pytest

from registry.models import Agent
from sessions_app.models import Run
from tests.agents import Behaviour, ScriptedAgent, answer
from tests.sessions_app.asking import asks, keeps, says
from tests.sessions_app.embedded import contents, reader, ref, returning
from tests.sessions_app.gates import Gate
from tests.sessions_app.people import Json, Person
from tests.sessions_app.rows import run_at_work
from tests.sites import Site

Register = Callable[[Person, Behaviour], str]


@pytest.fixture
def asking(scripted: ScriptedAgent) -> Callable[..., str]:
    """`asking(person, few_shot)` → the id of a Code Shot agent of theirs; the follower does as the few-shot says."""

    def register(owner: Person, *few_shots: str) -> str:
        handle = f"agent-{uuid.uuid4().hex[:8]}"
        manifest = {"type": "code_shot", "base_prompt": "I ask others.", "few_shots": list(few_shots)}
        scripted.on(f"/{handle}", answer(manifest), method="GET")
        made = owner.http.post("/api/agents", json={"handle": handle, "deployment_url": f"{scripted.url}/{handle}"})
        assert made.json()["revision"]["state"] == "ready", made.text
        return str(made.json()["agent_id"])

    return register


def shot(agent: str, call: str = "go on") -> str:
    return f"Q: go\nAsk Agent[{agent}]: {call}\nAgent[{agent}] says: gone\nA: gone"


def asked(person: Person, agent: str, text: str = "go", **fields: object) -> tuple[str, list[Json]]:
    """The run, and the messages of a new session in which this was asked."""
    session = person.new_session(agent)
    run = person.post(session, text, **fields)["run"]
    return run, person.settled(session)


def told(messages: list[Json]) -> list[tuple[str, str]]:
    return [(message["kind"], message["text"]) for message in messages]


def test_an_agent_is_asked_as_the_next_step(asker: Person, agent_of: Register, asking: Callable[..., str]) -> None:
    other = agent_of(asker, says("all done"))
    top = asking(asker, shot(other))
    run, messages = asked(asker, top)
    assert told(messages) == [
        ("query", "go"),
        ("agent_call", f"Ask Agent[{other}]: go on"),
        ("agent_output", f"Agent[{other}] says: all done"),
        ("response", "all done"),
    ]
    child = Run.objects.get(parent=run)
    assert [message["run"] for message in messages] == [run, str(child.pk), str(child.pk), run]
    assert (child.parent_step, child.chain, child.pk) == (1, [top], uuid.uuid5(uuid.UUID(run), "1"))
    assert [message["agent"] for message in messages[1:]] == [top, other, top]


def test_a_handle_alone_is_the_owners_agent(asker: Person, agent_of: Register, asking: Callable[..., str]) -> None:
    other = agent_of(asker, says("mine"))
    handle = other.partition("/")[2]
    _, messages = asked(asker, asking(asker, shot(handle)))
    assert told(messages)[1:] == [
        ("agent_call", f"Ask Agent[{handle}]: go on"),
        ("agent_output", f"Agent[{handle}] says: mine"),
        ("response", "mine"),
    ]


def test_code_shot_agents_ask_code_shot_agents(asker: Person, agent_of: Register, asking: Callable[..., str]) -> None:
    bottom = agent_of(asker, says("deep"))
    middle = asking(asker, shot(bottom))
    run, messages = asked(asker, asking(asker, shot(middle, "go")))
    kinds = ["query", "agent_call", "agent_call", "agent_output", "agent_output", "response"]
    assert [message["kind"] for message in messages] == kinds
    assert messages[-1]["text"] == "deep"
    chains = dict(Run.objects.filter(root=run).values_list("agent__handle", "chain"))
    assert len(chains[bottom.partition("/")[2]]) == 2


def test_embeds_that_the_text_names_go_along_and_those_of_the_answer_are_named(
    asker: Person, agent_of: Register, asking: Callable[..., str]
) -> None:
    reads = agent_of(asker, reader())
    few_shot = f"Q: go #1\nAsk Agent[{reads}]: read #1\nAgent[{reads}] says: gone\nA: gone"
    _, messages = asked(asker, asking(asker, few_shot), embeds={"1": ref("a note")})
    assert messages[2]["text"] == f"Agent[{reads}] says: read no. 1; 1=a note"
    paints = agent_of(asker, returning("painted", {"x": ref("art")}))
    _, messages = asked(asker, asking(asker, shot(paints)))
    assert contents(messages[2]["embeds"]) == {"1": "art"}
    assert contents(messages[3]["embeds"]) == {"1": "art"}
    assert messages[3]["text"] == "painted #1"


def test_an_agent_that_fails_ends_the_run_with_its_name_and_words(
    asker: Person, agent_of: Register, asking: Callable[..., str]
) -> None:
    broken = agent_of(asker, answer({"message": {"text": "No dice."}}, status=500))
    run, messages = asked(asker, asking(asker, shot(broken)))
    assert told(messages)[2:] == [("error", "No dice."), ("error", f"{broken} could not answer: No dice.")]
    assert Run.objects.get(pk=run).error_code == "agent_error"


def test_an_agent_that_the_user_cannot_ask_is_told_to_the_model(
    asker: Person, person: Callable[..., Person], agent_of: Register, asking: Callable[..., str]
) -> None:
    secret = agent_of(person(), says("secret"))
    run, messages = asked(asker, asking(asker, shot(secret)))
    assert told(messages)[:3] == [
        ("query", "go"),
        ("func_call", f"Ask Agent[{secret}]: go on"),
        ("func_output", f"Agent[{secret}] says: There is no agent named {secret}."),
    ]
    assert not Run.objects.filter(parent=run).exists()


def test_an_agent_whose_limit_is_reached_ends_the_run_and_says_so(
    asker: Person, agent_of: Register, asking: Callable[..., str]
) -> None:
    limited = agent_of(asker, says("once"))
    Agent.objects.filter(handle=limited.partition("/")[2]).update(daily_query_limit=1)
    top = asking(asker, shot(limited))
    asked(asker, top)
    run, messages = asked(asker, top)
    assert messages[-1]["kind"] == "error"
    assert f"The queries of a day that {limited} answers" in messages[-1]["text"]
    assert Run.objects.get(pk=run).error_code == "quota_exceeded"


def test_an_agent_in_a_circle_ends_the_run_and_names_the_circle(
    site: Site, asker: Person, agent_of: Register, asking: Callable[..., str]
) -> None:
    handle = f"agent-{uuid.uuid4().hex[:8]}"
    me = f"{asker.user.username}/{handle}"
    other = agent_of(asker, asks(site, me))
    top = asking(asker, shot(other))
    Agent.objects.filter(handle=top.partition("/")[2]).update(handle=handle)
    _, messages = asked(asker, me)
    assert f"Agents cannot ask in a circle: {me} → {other} → {me}." in messages[-1]["text"]


def test_stopping_only_the_agent_that_is_asked_fails_the_run(
    asker: Person, agent_of: Register, asking: Callable[..., str]
) -> None:
    gate = Gate()
    slow = agent_of(asker, keeps([], gate))
    session = asker.new_session(asking(asker, shot(slow)))
    run = asker.post(session, "go")["run"]
    gate.until_reached()
    child = Run.objects.get(parent=run)
    stopped = asker.http.post(f"/api/runs/{child.pk}/cancel").json()
    assert [each["acknowledged"] for each in stopped["runs"]] == [True]
    assert gate.left.wait(5)
    assert asker.settled(session)[-1]["text"] == f"{slow} could not answer: It was stopped."
    assert Run.objects.get(pk=run).status == "failed"


def test_stopping_the_run_stops_the_agent_that_is_asked(
    asker: Person, agent_of: Register, asking: Callable[..., str]
) -> None:
    gate = Gate()
    slow = agent_of(asker, keeps([], gate))
    session = asker.new_session(asking(asker, shot(slow)))
    run = asker.post(session, "go")["run"]
    gate.until_reached()
    stopped = asker.http.post(f"/api/runs/{run}/cancel").json()
    assert [each["acknowledged"] for each in stopped["runs"]] == [True, True]
    assert gate.left.wait(1)
    assert [message["kind"] for message in asker.settled(session)] == ["query", "agent_call"]
    assert set(Run.objects.filter(session__handle=session).values_list("status", flat=True)) == {"canceled"}


def test_a_run_whose_process_says_nothing_is_not_said_to_have_ended(asker: Person, agent_of: Register) -> None:
    agent = agent_of(asker, says("never asked"))
    run = run_at_work(asker.user, Agent.objects.get(handle=agent.partition("/")[2]))
    stopped = asker.http.post(f"/api/runs/{run.pk}/cancel").json()
    assert stopped["runs"] == [{"run": str(run.pk), "agent": agent, "acknowledged": False}]
    run.refresh_from_db()
    assert run.cancel_requested
