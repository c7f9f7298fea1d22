"""What an AgentApp does on the way to its answer, and the tokens that it used."""

from typing import Any

import pytest

from common.errors import AgentFailed
from registry.transports.agentscope.documents import EventStream
from registry.transports.agentscope.reading import AnswerReader
from registry.transports.agentscope.usage import Tally
from registry.transports.base import AgentMessage, EmbedRef, Reply, StepTaken, TextDelta, TokensUsed
from tests.registry.transports.agentscope.apps import (
    Document,
    content,
    frames,
    message,
    response,
    run,
    said,
    streamed,
)
from tests.registry.transports.agentscope.read_answers import CALLS, MEGABYTE, OUTPUTS, URL, events_of, steps_of

# Steps


def test_reasoning_is_a_thought_and_not_in_the_answer() -> None:
    events = events_of(run(streamed("Let me ", "think.", kind="reasoning", id="msg_0"), streamed("4")))
    assert events == [StepTaken("thought", "Let me think."), TextDelta("4"), Reply(AgentMessage("4"))]


@pytest.mark.parametrize("kind", CALLS)
def test_a_call_is_a_step_with_name_and_arguments(kind: str) -> None:
    call = content("data", data={"call_id": "c1", "name": "weather", "arguments": '{"city": "Rome"}'})
    assert steps_of(run(said(call, kind=kind))) == [StepTaken("func_call", '{"city": "Rome"}', "weather")]


@pytest.mark.parametrize("kind", OUTPUTS)
def test_an_output_is_a_step_by_the_name_of_its_call(kind: str) -> None:
    call = content("data", data={"call_id": "c1", "name": "weather", "arguments": "{}"})
    output = content("data", data={"call_id": "c1", "output": "sunny"})
    _, found = steps_of(run(said(call, kind="plugin_call"), said(output, kind=kind, id="msg_2", role="tool")))
    assert found == StepTaken("func_output", "sunny", "weather")


def test_calls_that_grow_are_told_once_and_whole() -> None:
    parts = [
        content("data", data={"call_id": "c", "name": "roll", "arguments": text}, status="in_progress")
        for text in ("", '{"n": ', '{"n": 3}')
    ]
    ends = [content("data", data={"call_id": "c", "name": "roll", "arguments": '{"n": 3}'}), message("plugin_call")]
    documents = run([message("plugin_call", "in_progress"), *parts, *ends])
    assert steps_of(documents) == [StepTaken("func_call", '{"n": 3}', "roll")]


def test_arguments_in_deltas_are_put_together() -> None:
    parts = [
        content("data", data=data, delta=True, status="in_progress")
        for data in ({"call_id": "c", "name": "roll", "arguments": '{"n"'}, {"arguments": ": 3}"})
    ]
    documents = run([message("function_call", "created"), *parts, message("function_call")])
    assert steps_of(documents) == [StepTaken("func_call", '{"n": 3}', "roll")]


def test_several_calls_in_one_message_are_several_steps() -> None:
    calls = [content("data", data={"call_id": name, "name": name, "arguments": "{}"}) for name in ("a", "b")]
    assert [step.name for step in steps_of(run(said(*calls, kind="function_call")))] == ["a", "b"]


def test_a_call_of_mcp_that_holds_its_output_is_both() -> None:
    call = content("data", data={"name": "roll", "arguments": "{}", "output": "4"})
    found = steps_of(run(said(call, kind="mcp_call")))
    assert found == [StepTaken("func_call", "{}", "roll"), StepTaken("func_output", "4", "roll")]


@pytest.mark.parametrize(
    ("kind", "data", "step"),
    [
        (
            "mcp_list_tools",
            {"id": "l", "server_label": "s", "tools": [{"name": "roll"}]},
            ("func_call", "mcp_list_tools"),
        ),
        (
            "mcp_approval_request",
            {"id": "r", "name": "delete", "arguments": "{}", "server_label": "s"},
            ("func_call", "mcp_approval"),
        ),
        ("mcp_approval_response", {"approval_request_id": "r", "approve": True}, ("func_output", "mcp_approval")),
    ],
)
def test_what_concerns_tools_without_a_call_is_a_step_with_all_that_was_said(
    kind: str, data: Document, step: tuple[str, str]
) -> None:
    (found,) = steps_of(run(said(content("data", data=data), kind=kind)))
    assert (found.kind, found.name) == step
    assert '"s"' in found.text or '"approve":true' in found.text


def test_values_that_are_no_texts_are_told_as_json() -> None:
    call = content("data", data={"name": "roll", "arguments": {"n": 3}})
    output = content("data", data={"name": "roll", "output": [1, 2]})
    found = steps_of(run(said(call, kind="plugin_call"), said(output, kind="plugin_call_output", id="msg_2")))
    assert [step.text for step in found] == ['{"n":3}', "[1,2]"]


def test_a_picture_that_a_tool_gave_back_is_an_embed_of_its_step() -> None:
    output = said(content(text="Drawn:"), content("image", image_url=URL), kind="component_call_output", role="tool")
    (found,) = steps_of(run(output))
    assert found == StepTaken("func_output", "Drawn:\n\n#1", "component_call_output", {"1": EmbedRef("", URL)})


def test_a_picture_beside_what_a_tool_said_is_an_embed_of_the_same_step() -> None:
    call = content("data", data={"call_id": "c", "name": "draw", "arguments": "{}"})
    output = content("data", data={"call_id": "c", "output": "Drawn."})
    drawn = said(output, content("image", image_url=URL), kind="plugin_call_output", id="msg_2")
    _, found = steps_of(run(said(call, kind="plugin_call"), drawn))
    assert found == StepTaken("func_output", "Drawn.\n\n#1", "draw", {"1": EmbedRef("", URL)})


def test_what_the_role_of_a_tool_says_is_an_output() -> None:
    (found,) = steps_of(run(said(content(text="sunny"), role="tool")))
    assert (found.kind, found.text) == ("func_output", "sunny")


def test_a_tool_that_failed_is_a_step_and_the_agent_may_go_on() -> None:
    output = message("plugin_call_output", "failed", error={"code": "E", "message": "No such city."}, content=None)
    events = events_of(run([output], streamed("I do not know.", id="msg_2")))
    assert events[0] == StepTaken("func_output", "No such city.", "plugin_call_output")
    assert events[-1] == Reply(AgentMessage("I do not know."))


# Tokens


@pytest.mark.parametrize("names", [("input_tokens", "output_tokens"), ("prompt_tokens", "completion_tokens")])
def test_the_usage_of_the_response_is_told(names: tuple[str, str]) -> None:
    usage = dict(zip(names, (12, 3), strict=True))
    assert events_of(run(streamed("4"), usage=usage))[-2:] == [TokensUsed(12, 3), Reply(AgentMessage("4"))]


def test_the_usage_of_messages_is_added_up_where_the_response_says_less() -> None:
    each = [said(content(text="a"), id=id, usage={"input_tokens": 5, "output_tokens": 2}) for id in ("m1", "m2")]
    last = {"input_tokens": 5, "output_tokens": 2}
    assert TokensUsed(10, 4) in events_of(run(*each, usage=last))


@pytest.mark.parametrize("usage", [None, {}, {"input_tokens": None}, {"input_tokens": "many"}, {"input_tokens": -5}])
def test_a_usage_that_says_nothing_is_not_told(usage: Any) -> None:
    assert events_of(run(streamed("4"), usage=usage)) == [TextDelta("4"), Reply(AgentMessage("4"))]


@pytest.mark.parametrize(
    ("said_so", "told"),
    [
        ([10**30], [10**9]),
        ([10**9, 10**9, 7], [10**9]),
        ([1e300, True, 2.9], [10**9]),
        ([2.9, 2.9], [4]),
        ([True, False, "7", [7], -(10**30), -0.5], []),
    ],
)
def test_no_more_tokens_are_told_than_can_be(said_so: list[Any], told: list[int]) -> None:
    messages = [message(id=f"m{n}", usage={"output_tokens": number}) for n, number in enumerate(said_so)]
    events = events_of(run(messages))
    assert [event.completion_tokens for event in events if isinstance(event, TokensUsed)] == told


def test_what_is_no_number_counts_nothing() -> None:
    tally = Tally()
    for number in (float("nan"), float("inf"), float("-inf")):
        tally.add_message({"input_tokens": number, "output_tokens": float("nan")})
    assert tally.used == TokensUsed(10**9, 0)


def test_the_tokens_of_an_answer_that_fails_are_told() -> None:
    answer = AnswerReader({}, MEGABYTE)
    failed = response("failed", error={"code": "E", "message": "No."}, usage={"input_tokens": 5, "output_tokens": 2})
    (document,) = EventStream(MEGABYTE).feed(frames([failed]))
    events = answer.take(document)
    assert next(events) == TokensUsed(5, 2)
    with pytest.raises(AgentFailed):
        next(events)
