"""The Fixie agent's process dies in the middle of a compound query: nobody is asked twice."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from registry.transports.base import AgentMessage
from sessions_app.llm.follower import Follower
from sessions_app.runner import front
from sessions_app.runner.context import RunContext, Step
from tests.agents import Behaviour, Exchange, ScriptedAgent
from tests.sessions_app.asking import says
from tests.sessions_app.cluster import Cluster
from tests.sessions_app.fronting import Zoo
from tests.sessions_app.gates import Gate


@pytest.fixture
def closed() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.open.set()


def behind(gate: Gate, text: str) -> Behaviour:
    async def behave(exchange: Exchange) -> None:
        await gate.passed()
        await says(text)(exchange)

    return behave


def test_stored_routes_and_answers_are_kept_when_another_process_goes_on(
    cluster: Cluster, scripted: ScriptedAgent, closed: Gate
) -> None:
    with cluster.process() as survivor:
        zoo = Zoo(scripted, survivor.http)
        anvils = zoo.agent(says("5 anvils"), "How many brass anvils are there?", "Count the brass anvils")
        tunes = zoo.agent(behind(closed, "tweet"), "Play a tune on the tin whistle", "Play a jig on the tin whistle")
        with cluster.process() as victim:
            session = victim.new_session("fixie/fixie")
            victim.post(session, "How many brass anvils are there, and then play a tune on the tin whistle")
            closed.until_reached()
            victim.site.kill()
            closed.open.set()
        story = survivor.story(session)
    assert [kind for kind, _ in story] == [
        "query",
        *["func_call", "func_output"] * 2,
        *["agent_call", "agent_output"] * 2,
        "response",
    ]
    assert story[-1][1] == "How many brass anvils are there: 5 anvils\n\nPlay a tune on the tin whistle: tweet"
    assert len(zoo.calls(anvils)) == 1
    # The call that was cut off is the same run's, made again under the same key.
    assert len({call.headers["idempotency-key"] for call in zoo.calls(tunes)}) == 1


@dataclass
class Recovered:
    """A run as another process left it: what the Fixie agent sees of it."""

    steps: list[Step]
    query: AgentMessage = field(default_factory=lambda: AgentMessage("Count the anvils and then play a tune"))
    embed_keys: tuple[int, ...] = ()
    asked: list[str] = field(default_factory=list)

    async def ask_agent(self, agent: str, text: str, **more: Any) -> AgentMessage:
        self.asked.append(f"{agent}: {text}")
        return AgentMessage("tweet")

    def rewrite(self, text: str) -> None:
        pass


STORED = (
    ("func_call", "Ask Func[fixie_route]: Count the anvils"),
    ("func_output", "Func[fixie_route] says: 0.90 me/anvils: Count the brass anvils"),
    ("func_call", "Ask Func[fixie_route]: play a tune"),
    ("func_output", "Func[fixie_route] says: 0.90 me/tunes: Play a jig"),
    ("agent_call", "Ask Agent[me/anvils]: Count the anvils"),
    ("agent_call", "Ask Agent[me/tunes]: play a tune"),
    ("agent_output", "Agent[me/tunes] says: tweet"),
)


@pytest.mark.parametrize(
    ("until", "asked", "said"),
    [
        (4, ["me/anvils: Count the anvils", "me/tunes: play a tune"], ["tweet", "tweet"]),
        (5, ["me/anvils: Count the anvils", "me/tunes: play a tune"], ["tweet", "tweet"]),
        (6, ["me/tunes: play a tune"], ["me/anvils failed.", "tweet"]),
        (7, [], ["me/anvils failed.", "tweet"]),
    ],
)
async def test_it_goes_on_behind_the_last_stored_step(until: int, asked: list[str], said: list[str]) -> None:
    """A call that is the last step is handed to `ask_agent`, which waits for it; one before others has failed."""
    steps = [Step(number, kind, text) for number, (kind, text) in enumerate(STORED[:until], start=1)]
    run = Recovered(steps)
    answer = await front.answer(cast(RunContext, run), Follower())
    assert run.asked == asked
    assert answer.text == f"Count the anvils: {said[0]}\n\nPlay a tune: {said[1]}"
