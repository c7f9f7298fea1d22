"""Where the agent that a rule prefers turns out not to be there, the Fixie agent asks the next one, and says so."""

import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from common.errors import AgentFailed, Canceled, FixieError, NotFound, RateLimited
from registry.bootstrap import ensure_front_agent
from registry.models import Agent, RoutingRule
from registry.transports.base import AgentMessage
from sessions_app import models
from sessions_app.llm.follower import Follower
from sessions_app.runner import front
from sessions_app.runner.context import RunContext, Step
from sessions_app.runner.failover import ask_in_turn
from tests.agents import Behaviour, Exchange, answer, raw
from tests.sessions_app.asking import asked, says
from tests.sessions_app.fronting import Zoo, kinds, routed
from tests.sessions_app.people import Json, Person, wait_until
from tests.sessions_app.streaming import begin, say
from tests.sites import Site

Ruled = Callable[..., list[str]]


@pytest.fixture(scope="module", autouse=True)
def fixie(echo: str) -> str:
    """The id of the Fixie agent."""
    return ensure_front_agent().agent_id


@pytest.fixture
def word() -> str:
    return f"word{uuid.uuid4().hex[:8]}"


@pytest.fixture
def zoo(asker: Person, scripted: Any) -> Zoo:
    return Zoo(scripted, asker.http)


@pytest.fixture
def ruled(zoo: Zoo, word: str) -> Iterator[Ruled]:
    """`ruled(*behaviours)` → new agents of the asker's that behave so, preferred in this order for `word`."""
    made = RoutingRule.objects.create(keywords=[word])

    def register(*behaviours: Behaviour) -> list[str]:
        agents = [zoo.agent(behaviour) for behaviour in behaviours]
        for position, name in enumerate(agents):
            handle = name.partition("/")[2]
            made.preferences.create(agent=Agent.objects.get(handle=handle), position=position)
        return agents

    yield register
    made.delete()


def told(person: Person, text: str) -> list[Json]:
    """The messages of a session in which this was asked, once every process has noticed the rule."""
    wait_for_rules(person, text)
    session = person.new_session(None)
    person.post(session, text)
    return person.settled(session)


def wait_for_rules(person: Person, text: str) -> None:
    wait_until(lambda: person.http.post("/api/route", json={"text": text}).json()["rule"])


GONE = answer(body=b"", status=503)


def broken_off(text: str) -> Behaviour:
    """An agent that begins to answer, and is gone."""

    async def behave(exchange: Any) -> None:
        await begin(exchange)
        await say(exchange, text)
        exchange.close()

    return behave


@pytest.mark.parametrize("gone", [GONE, raw(b"")], ids=["gateway", "hangs up"])
def test_the_next_agent_is_asked_where_the_first_is_not_there(
    asker: Person, zoo: Zoo, ruled: Ruled, word: str, gone: Behaviour
) -> None:
    first, second = ruled(gone, says("from the second"))
    messages = told(asker, f"do the {word}")
    assert [message["text"] for message in messages if message["kind"] == "response"] == ["from the second"]
    assert zoo.asked(second) == [f"do the {word}"]
    steps = [message for message in messages if message["kind"] in ("agent_call", "error", "thought")]
    assert kinds(steps) == ["agent_call", "error", "thought", "agent_call"]
    assert steps[2]["text"].startswith(f"Thought: {first} is passed over: {first} could not answer: ")
    assert steps[2]["text"].endswith(f" I ask {second} instead.")
    [(_, said)] = routed(messages)
    heading, one, two = said.splitlines()[:3]
    assert heading == f"A rule chose (any query: {word}):"
    assert (one.startswith(f"1.00 {first}: "), two.startswith(f"1.00 {second}: ")) == (True, True)


def test_an_agent_whose_minute_is_used_up_since_is_passed_over_without_being_called(
    asker: Person, zoo: Zoo, ruled: Ruled, word: str
) -> None:
    first, second = ruled(says("one"), says("two"))
    text = f"do the {word}"
    wait_for_rules(asker, text)
    Agent.objects.filter(handle=first.partition("/")[2]).update(minute_query_limit=1)
    answers = [told(asker, text)[-1]["text"] for _ in range(2)]
    assert answers == ["one", "two"]
    last = told(asker, text)
    [(_, said)] = routed(last)
    assert said.splitlines()[1] == f"Passed over: {first} has no queries left this minute."
    assert kinds(last) == ["query", "func_call", "func_output", "agent_call", "agent_output", "response"]
    assert (len(zoo.calls(first)), len(zoo.calls(second))) == (1, 2)


def test_an_agents_own_failure_is_the_answer_and_nobody_else_is_asked(
    asker: Person, zoo: Zoo, ruled: Ruled, word: str
) -> None:
    failure = {"message": {"text": "I will not."}, "error": {"code": "broken", "message": "I will not."}}
    first, second = ruled(answer(failure, status=500), says("two"))
    last = told(asker, f"do the {word}")[-1]
    assert (last["kind"], last["text"]) == ("error", f"{first} could not answer: I will not.")
    assert zoo.calls(second) == []


def test_who_has_begun_to_answer_is_not_passed_over(asker: Person, zoo: Zoo, ruled: Ruled, word: str) -> None:
    first, second = ruled(broken_off("I have begun"), says("two"))
    last = told(asker, f"do the {word}")[-1]
    assert last["kind"] == "error"
    assert last["text"].startswith(f"{first} could not answer: ")
    assert zoo.calls(second) == []


def test_who_has_taken_steps_is_not_passed_over(asker: Person, zoo: Zoo, ruled: Ruled, word: str) -> None:
    few_shots = [f"Q: do the {word}\nAsk Func[one]: now\nFunc[one] says: yes\nA: yes"]
    manifest = answer({"type": "code_shot", "base_prompt": "I do things.", "few_shots": few_shots})
    first, second = ruled(GONE, says("two"))
    path = f"/{first.partition('/')[2]}"
    zoo.server.on(path, manifest, method="GET")
    zoo.server.on(f"{path}/one", GONE)
    assert asker.http.post(f"/api/refresh/{first}").status_code == 200
    messages = told(asker, f"do the {word}")
    assert kinds(messages)[3:] == ["agent_call", "func_call", "error", "error"]
    check_failed_unreachable(messages, first)
    assert zoo.calls(second) == []


def test_who_has_asked_others_is_not_passed_over(site: Site, asker: Person, zoo: Zoo, ruled: Ruled, word: str) -> None:
    async def asks_and_is_gone(exchange: Exchange) -> None:
        await asked(site, exchange, "fixie/echo", "do it")
        exchange.close()

    first, second = ruled(asks_and_is_gone, says("two"))
    messages = told(asker, f"do the {word}")
    check_failed_unreachable(messages, first)
    assert zoo.calls(second) == []


def check_failed_unreachable(messages: list[Json], agent: str) -> None:
    last = messages[-1]
    assert (last["kind"], last["text"].startswith(f"{agent} could not answer: ")) == ("error", True)
    [called] = [message["run"] for message in messages if message["text"].startswith(f"Ask Agent[{agent}]")]
    assert models.Run.objects.get(pk=called).error_code == "agent_unreachable"


def test_where_none_is_there_the_last_ones_failure_is_told(asker: Person, ruled: Ruled, word: str) -> None:
    _, second = ruled(GONE, GONE)
    last = told(asker, f"do the {word}")[-1]
    assert (last["kind"], last["text"].startswith(f"{second} could not answer: ")) == ("error", True)


@dataclass
class Run:
    """A run of the Fixie agent, as it was left by another process, over agents that are there or not."""

    away: dict[str, FixieError]
    steps: list[Step] = field(default_factory=list)
    query: AgentMessage = field(default_factory=lambda: AgentMessage("do it"))
    embed_keys: tuple[int, ...] = ()
    asked: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)

    async def ask_agent(self, agent: str, text: str, **more: Any) -> AgentMessage:
        self.asked.append(agent)
        if agent in self.away:
            raise self.away[agent]
        return AgentMessage(f"{agent} says")

    async def append(self, kind: str, text: str) -> None:
        self.thoughts.append(text)

    def rewrite(self, text: str) -> None:
        pass


STORED = (
    ("func_call", "Ask Func[fixie_route]: do it"),
    (
        "func_output",
        "Func[fixie_route] says: A rule chose (any query: it):\n1.00 me/one: a\n1.00 me/two: b\n1.00 me/three: c\n"
        "Also near, by their sample queries:\n0.99 me/four: d",
    ),
    ("agent_call", "Ask Agent[me/one]: do it"),
    ("thought", "Thought: me/one is passed over: me/one could not answer: It is away. I ask me/two instead."),
    ("thought", "Thought: me/two is passed over: Too often. I ask me/three instead."),
    ("agent_call", "Ask Agent[me/three]: do it"),
    ("agent_output", "Agent[me/three] says: done"),
)
AWAY = AgentFailed("me/one could not answer: It is away.", agent="me/one", reason="agent_unreachable")
OFTEN = RateLimited("Too often.", retry_after=3)


@pytest.mark.parametrize(
    ("until", "asked", "said", "thoughts"),
    [
        (2, ["me/one", "me/two", "me/three"], "me/three says", 2),
        (3, ["me/one", "me/two", "me/three"], "me/three says", 2),
        (4, ["me/two", "me/three"], "me/three says", 1),
        (5, ["me/three"], "me/three says", 0),
        (6, ["me/three"], "me/three says", 0),
        (7, [], "done", 0),
    ],
)
async def test_another_process_goes_on_with_the_agent_at_which_the_first_one_was(
    until: int, asked: list[str], said: str, thoughts: int
) -> None:
    steps = [Step(number, kind, text) for number, (kind, text) in enumerate(STORED[:until], start=1)]
    run = Run({"me/one": AWAY, "me/two": OFTEN}, steps)
    answered = await front.answer(cast(RunContext, run), Follower())
    assert (answered.text, run.asked, len(run.thoughts)) == (said, asked, thoughts)


FAILED_THEN_PASSED_OVER = (
    ("func_call", "Ask Func[fixie_route]: roll a die"),
    ("func_output", "Func[fixie_route] says: A rule chose (any query: it):\n1.00 me/one: a\n1.00 me/two: b"),
    ("func_call", "Ask Func[fixie_route]: toss a coin"),
    ("func_output", "Func[fixie_route] says: A rule chose (any query: it):\n1.00 me/one: a\n1.00 me/two: b"),
    ("agent_call", "Ask Agent[me/one]: roll a die"),
    ("thought", "Thought: me/one is passed over: me/one is switched off. I ask me/two instead."),
)


async def test_what_one_part_passed_over_at_once_is_not_taken_for_the_failure_of_the_part_before() -> None:
    steps = [Step(number, kind, text) for number, (kind, text) in enumerate(FAILED_THEN_PASSED_OVER, start=1)]
    run = Run({}, steps, AgentMessage("roll a die and toss a coin"))
    answered = await front.answer(cast(RunContext, run), Follower())
    assert (run.asked, run.thoughts) == (["me/two"], [])
    assert answered.text == "Roll a die: me/one failed.\n\nToss a coin: me/two says"


@pytest.mark.parametrize(
    ("error", "is_passed_over"),
    [
        (OFTEN, True),
        (NotFound("Gone."), True),
        (AWAY, True),
        (AgentFailed("No.", reason="quota_exceeded"), True),
        (AgentFailed("No.", reason="quota_exceeded", has_acted=True), False),
        (AgentFailed("No.", reason="agent_unreachable", has_acted=True), False),
        (AgentFailed("Too late.", reason="agent_timeout", has_acted=False), False),
        (AgentFailed("No.", reason="agent_error"), False),
        (AgentFailed("It would go in a circle."), False),
        (AgentFailed("Stopped.", reason="canceled"), False),
        (Canceled("The query was stopped."), False),
    ],
)
async def test_what_passes_an_agent_over(error: FixieError, is_passed_over: bool) -> None:
    run = Run({"me/one": error})
    if is_passed_over:
        said = await ask_in_turn(cast(RunContext, run), ["me/one", "me/two"], "do it")
        assert said.text == "me/two says"
    else:
        with pytest.raises(type(error)):
            await ask_in_turn(cast(RunContext, run), ["me/one", "me/two"], "do it")
        assert (run.asked, run.thoughts) == (["me/one"], [])
