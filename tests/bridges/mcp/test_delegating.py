"""Giving tasks to agents: which agent gets one, what comes back, and what becomes of those in the background."""

import threading
import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from tests.agents import Exchange, answer, raw
from tests.bridges.mcp.connecting import MODES, Hand
from tests.sessions_app.asking import asked
from tests.sessions_app.people import Person, wait_until
from tests.sessions_app.streaming import held, lines
from tests.sites import ROOT, Site

if TYPE_CHECKING:
    from registry.models import Agent

Echoing = Callable[..., "Agent"]
Rule = Callable[..., str]
AgentOf = Callable[..., str]

GONE = raw()
SEED_AGENT = ROOT / "examples/stdio/processed.py"
# Says what it was handed, and adds to the context.
COUNTING = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    arguments = request["params"]["arguments"]
    context = arguments["context"]
    result = f"{arguments['prompt']} {json.dumps(context, sort_keys=True)}"
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": result, "context": {**context, "seen": True}}
    print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("mode", MODES)
def test_the_seeds_own_agent_answers_a_task(
    mode: str, connect: Callable[..., Hand], asker: Person, program: Callable[[str], str]
) -> None:
    agent = program(SEED_AGENT.read_text())
    result = connect(asker, mode).call("delegate_task", task_type="custom-task", prompt="test", agent_id=agent)
    assert [content.text for content in result.content] == ["Processed: test"]


@pytest.mark.parametrize("mode", MODES)
def test_a_task_for_a_named_agent_is_answered(mode: str, connect: Callable[..., Hand], asker: Person) -> None:
    result = connect(asker, mode).call("delegate_task", task_type="x", prompt="Hello?", agent_id="fixie/echo")
    assert [content.text for content in result.content] == ["Hello?"]
    document = result.structured_content
    [asked, said] = asker.messages(document["session"])
    assert document == {
        "task_id": asked["run"],
        "agent_id": "fixie/echo",
        "session": document["session"],
        "status": "completed",
        "result": "Hello?",
    }
    assert (said["kind"], said["text"]) == ("response", "Hello?")


def test_an_agent_named_by_its_handle_is_the_callers_own_else_the_sites(
    hand: Hand, asker: Person, echoing: Echoing
) -> None:
    assert hand.delegated("Hello?", agent_id="echo")["agent_id"] == "fixie/echo"
    own = echoing(asker)
    own.handle = "echo"
    own.save()
    assert hand.delegated("Hello?", agent_id="echo")["agent_id"] == own.agent_id


def test_a_rule_chooses_by_the_type_of_the_task(hand: Hand, asker: Person, echoing: Echoing, rule: Rule) -> None:
    first, second = echoing(asker), echoing(asker)
    assert hand.delegated("Hello?", rule(second, first))["agent_id"] == second.agent_id


def test_the_named_agent_wins_over_a_rule(hand: Hand, asker: Person, echoing: Echoing, rule: Rule) -> None:
    task_type = rule(echoing(asker))
    assert hand.delegated("Hello?", task_type, agent_id="fixie/echo")["agent_id"] == "fixie/echo"


def test_where_no_rule_matches_a_capability_decides(hand: Hand, asker: Person, echoing: Echoing) -> None:
    task_type = f"task-{uuid.uuid4().hex[:8]}"
    echoing(asker, capabilities=[task_type])
    better = echoing(asker, capabilities=[task_type], priority=5)
    assert hand.delegated("Hello?", task_type)["agent_id"] == better.agent_id


def test_without_a_rule_the_router_finds_the_agent(hand: Hand, asker: Person, echoing: Echoing) -> None:
    from asgiref.sync import async_to_sync

    from registry.routing.indexing import index_agent

    agent = echoing(asker, queries=["How many wombats live in Tasmania?"])
    async_to_sync(index_agent)(agent.pk)
    assert hand.delegated("How many wombats live in Tasmania?")["agent_id"] == agent.agent_id


def test_where_nobody_fits_the_nearest_are_named(hand: Hand) -> None:
    error = hand.error("delegate_task", task_type="", prompt="zxqv blorp")
    assert error.code == -32001
    assert error.data["details"]["nearest"]
    assert error.data["details"]["nearest"][0] in error.message


def test_an_agent_over_its_limit_makes_way_for_the_next(
    hand: Hand, asker: Person, echoing: Echoing, rule: Rule
) -> None:
    busy, free = echoing(asker, minute_query_limit=1), echoing(asker)
    task_type = rule(busy, free)
    answered = [hand.delegated("Hello?", task_type)["agent_id"] for _ in range(2)]
    assert answered == [busy.agent_id, free.agent_id]


def test_an_agent_that_is_not_there_makes_way_for_the_next(
    hand: Hand, asker: Person, echoing: Echoing, rule: Rule, agent_of: AgentOf
) -> None:
    from registry.models import Agent

    gone = Agent.objects.get(handle=agent_of(asker, GONE).split("/")[1])
    free = echoing(asker)
    result = hand.delegated("Hello?", rule(gone, free))
    assert (result["agent_id"], result["result"]) == (free.agent_id, "Hello?")
    said = [(each["kind"], each["agent"]) for each in asker.messages(result["session"])]
    assert said == [("query", None), ("error", gone.agent_id), ("query", None), ("response", free.agent_id)]


def test_an_agent_that_breaks_off_once_it_has_begun_makes_way_for_nobody(
    hand: Hand, asker: Person, echoing: Echoing, rule: Rule, site: Site, agent_of: AgentOf
) -> None:
    from registry.models import Agent

    async def asks_and_is_gone(exchange: Exchange) -> None:
        await asked(site, exchange, "fixie/echo", "do it")
        exchange.close()

    begun = Agent.objects.get(handle=agent_of(asker, asks_and_is_gone).split("/")[1])
    error = hand.error("delegate_task", task_type=rule(begun, echoing(asker)), prompt="Hello?")
    assert error.data["code"] == "agent_unreachable"
    said = [(each["kind"], each["agent"]) for each in asker.messages(error.data["details"]["session"])]
    assert (said[1], said[-1]) == (("agent_call", begun.agent_id), ("error", begun.agent_id))
    assert [kind for kind, _ in said].count("query") == 1


def test_a_named_agent_that_is_not_there_is_unavailable(hand: Hand, asker: Person, agent_of: AgentOf) -> None:
    error = hand.error("delegate_task", task_type="", prompt="Hello?", agent_id=agent_of(asker, GONE))
    assert error.code == -32002
    assert error.data["code"] == "agent_unreachable"
    assert asker.messages(error.data["details"]["session"])[-1]["kind"] == "error"


def test_a_named_agent_over_its_limit_says_when_to_try_again(hand: Hand, asker: Person, echoing: Echoing) -> None:
    agent = echoing(asker, minute_query_limit=1)
    hand.delegated("Hello?", agent_id=agent.agent_id)
    error = hand.error("delegate_task", task_type="", prompt="Hello?", agent_id=agent.agent_id)
    assert error.code == -32000
    assert error.data["code"] == "rate_limited"
    assert 1 <= error.data["retry_after"] <= 60


def test_ones_own_quota_is_no_reason_to_ask_another_agent(
    connect: Callable[..., Hand], person: Callable[..., Person], echoing: Echoing, rule: Rule
) -> None:
    poor = person(daily_query_limit=1)
    task_type = rule(echoing(poor), echoing(poor))
    hand = connect(poor)
    hand.delegated("Hello?", task_type)
    error = hand.error("delegate_task", task_type=task_type, prompt="Hello?")
    assert (error.code, error.data["details"]["which"]) == (-32000, "queries")


def test_what_an_agent_says_of_its_own_failure_is_the_result(hand: Hand, asker: Person, agent_of: AgentOf) -> None:
    sorry = {"message": {"text": "My kettle is broken."}, "error": {"code": "KETTLE", "message": "no kettle"}}
    result = hand.call("delegate_task", task_type="", prompt="Tea", agent_id=agent_of(asker, answer(sorry, status=500)))
    assert result.is_error
    assert [content.text for content in result.content] == ["My kettle is broken."]
    assert result.structured_content["status"] == "failed"
    assert result.structured_content["error"]["code"] == "agent_error"


def test_a_session_goes_on(hand: Hand, asker: Person) -> None:
    session = hand.delegated("One", agent_id="fixie/echo")["session"]
    assert hand.delegated("Two", agent_id="fixie/echo", session=session)["session"] == session
    assert [each["text"] for each in asker.messages(session)] == ["One", "One", "Two", "Two"]


def test_embeds_of_an_answer_are_links(hand: Hand, asker: Person, agent_of: AgentOf) -> None:
    embeds = {"1": {"content_type": "text/plain", "uri": "data:text/plain;base64,aGVsbG8="}}
    agent = agent_of(asker, answer({"text": "Here is #1", "embeds": embeds}))
    result = hand.call("delegate_task", task_type="", prompt="Greet", agent_id=agent)
    [words, link] = result.content
    assert words.text == "Here is #1"
    assert (link.type, link.name, link.mime_type, link.size) == ("resource_link", "#1", "text/plain", 5)
    assert asker.http.get(link.uri).content == b"hello"
    assert result.structured_content["embeds"]["1"]["uri"] == link.uri


def test_a_task_in_the_background_is_looked_after_later(
    hand: Hand, asker: Person, agent_of: AgentOf, gate: threading.Event
) -> None:
    task = hand.delegated("Wait", agent_id=agent_of(asker, held(gate)), background=True)
    assert task["status"] == "in_progress"
    assert "result" not in task
    assert hand.told("agent_status", task_id=task["task_id"])["status"] == "in_progress"
    gate.set()
    done = wait_until(lambda: (now := hand.told("agent_status", task_id=task["task_id"])).get("result") and now)
    assert done == {**task, "status": "completed", "result": "On Wait: done", "created": done["created"]}


def test_the_status_of_a_failed_task_tells_why(hand: Hand, asker: Person, agent_of: AgentOf) -> None:
    task = hand.delegated("Hello?", agent_id=agent_of(asker, GONE), background=True)
    status = wait_until(lambda: (now := hand.told("agent_status", task_id=task["task_id"])).get("error") and now)
    assert status["status"] == "failed"
    assert status["error"]["code"] == "agent_unreachable"
    assert status["error"]["message"] == asker.messages(task["session"])[-1]["text"]


def test_without_a_task_the_status_tells_of_the_latest_tasks_and_of_agents(
    connect: Callable[..., Hand], person: Callable[..., Person], echoing: Echoing
) -> None:
    somebody, somebody_else = person(username=f"0-{uuid.uuid4().hex[:8]}"), person()
    agent = echoing(somebody, minute_query_limit=3)
    hand = connect(somebody)
    tasks = [hand.delegated(text, agent_id=agent.agent_id)["task_id"] for text in ("One", "Two")]
    connect(somebody_else).delegated("Not theirs", agent_id="fixie/echo")
    status = hand.told("agent_status")
    assert [task["task_id"] for task in status["tasks"]] == tasks[::-1]
    [found] = [each for each in status["agents"] if each["agent_id"] == agent.agent_id]
    assert found["healthy"]
    assert {**found["limits"]["minute"], "reset": None} == {"limit": 3, "used": 2, "remaining": 1, "reset": None}


def test_a_programs_context_is_laid_over_what_it_left(hand: Hand, program: Callable[[str], str]) -> None:
    agent = program(COUNTING)
    first = hand.delegated("Hello?", agent_id=agent, context={"previous_result": 7})
    assert first["result"] == 'Hello? {"previous_result": 7}'
    second = hand.delegated("And?", agent_id=agent, session=first["session"], context={"previous_result": 8})
    assert second["result"] == 'And? {"previous_result": 8, "seen": true}'


def test_other_agents_find_the_context_below_the_prompt(hand: Hand) -> None:
    result = hand.delegated("Hello?", agent_id="fixie/echo", context={"previous_result": 7})
    assert result["result"] == 'Hello?\n\nContext:\n```json\n{\n  "previous_result": 7\n}\n```'


def test_a_refused_task_with_a_context_leaves_no_session(
    connect: Callable[..., Hand], person: Callable[..., Person], program: Callable[[str], str]
) -> None:
    poor = person(daily_query_limit=0)
    error = connect(poor).error(
        "delegate_task", task_type="", prompt="Hello?", agent_id=program(COUNTING), context={"a": 1}
    )
    assert error.code == -32000
    assert poor.http.get("/api/sessions").json()["items"] == []


def test_a_growing_answer_comes_whole(hand: Hand, asker: Person, agent_of: AgentOf) -> None:
    agent = agent_of(asker, lines("One", "One two", "One two three", delay=0.01))
    assert hand.delegated("Count", agent_id=agent)["result"] == "One two three"
