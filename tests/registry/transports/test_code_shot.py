"""Funcs: their names, their addresses and the answers only they may give."""

from collections.abc import AsyncIterator

import pytest

from common.errors import AgentFailed
from registry.transports.base import AgentMessage, Call, Deployment, EmbedRef, reply_of
from registry.transports.catalog import aclose_all, transport
from tests.agents import ScriptedAgent, answer

CODE_SHOT = transport("code_shot")


@pytest.fixture
async def agent() -> AsyncIterator[ScriptedAgent]:
    with ScriptedAgent() as running:
        yield running
    await aclose_all()


def func_call(func: str | None) -> Call:
    return Call(AgentMessage("x"), "token", "run/1", func=func, timeout=0.5)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("17", AgentMessage("17")),
        ({"text": "17"}, AgentMessage("17")),
        (
            {"text": "#1", "embeds": {"1": {"content_type": "a/b", "uri": "data:,x"}}},
            AgentMessage("#1", {"1": EmbedRef("a/b", "data:,x")}),
        ),
    ],
)
async def test_the_protocols_result_field_is_an_answer(
    agent: ScriptedAgent, result: object, message: AgentMessage
) -> None:
    agent.on("/roll", answer({"result": result}))
    assert await reply_of(CODE_SHOT, Deployment(agent.url), func_call("roll")) == message


@pytest.mark.parametrize("said", [{"detail": "Not Found"}, {"message": {"text": "No Func[lucky] here."}}])
async def test_a_func_the_agent_does_not_have_is_told_apart(agent: ScriptedAgent, said: object) -> None:
    agent.on("/lucky", answer(said, status=404))
    with pytest.raises(AgentFailed, match="lucky") as error:
        await reply_of(CODE_SHOT, Deployment(agent.url), func_call("lucky"))
    assert error.value.details["reason"] == "unknown_func"
    assert error.value.details["func"] == "lucky"


@pytest.mark.parametrize("func", ["", "a b", "../admin", "a/b", "a?b", "roll\n", "x-y"])
async def test_a_name_no_func_can_have_is_not_sent(agent: ScriptedAgent, func: str) -> None:
    with pytest.raises(AgentFailed) as error:
        await reply_of(CODE_SHOT, Deployment(agent.url), func_call(func))
    assert error.value.details["reason"] == "unknown_func"
    assert agent.requests == []


@pytest.mark.parametrize(
    ("target", "path"),
    [
        ("", "/_x1"),
        ("/", "/_x1"),
        ("/agents/dice", "/agents/dice/_x1"),
        ("/agents/dice/", "/agents/dice/_x1"),
        ("/dice?key=1", "/dice/_x1?key=1"),
    ],
)
async def test_funcs_are_found_below_the_agents_address(agent: ScriptedAgent, target: str, path: str) -> None:
    agent.on(path.partition("?")[0], answer({"message": {"text": "ok"}}))
    await reply_of(CODE_SHOT, Deployment(agent.url + target), func_call("_x1"))
    assert agent.requests[0].path == path


async def test_letters_of_any_language_name_a_func(agent: ScriptedAgent) -> None:
    agent.on("/biblioth%C3%A8que", answer({"message": {"text": "oui"}}))
    reply = await reply_of(CODE_SHOT, Deployment(agent.url), func_call("bibliothèque"))
    assert reply.text == "oui"


async def test_a_code_shot_agent_is_not_asked_queries(agent: ScriptedAgent) -> None:
    with pytest.raises(AgentFailed) as error:
        await reply_of(CODE_SHOT, Deployment(agent.url), func_call(None))
    assert error.value.details["reason"] == "no_query"
    assert agent.requests == []
