"""Answers told as events, whatever happens in a session, and told on from any event of theirs."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridges.agentscope.narration import Ending, Narrator, Told
from bridges.agentscope.positions import START, Position, Written, position_of
from common.errors import InvalidRequest
from registry.transports.agentscope.models import AgentResponse
from sessions_app.llm.base import Usage
from tests.bridges.agentscope.reading import Answer

RUN, BELOW = "run", "below"
EMBED = {"id": "e", "content_type": "image/png", "size": 1, "uri": "https://site/1"}

texts = st.text(min_size=1, max_size=6)
steps = st.sampled_from(
    [
        (RUN, "thought", "Thought: hm"),
        (RUN, "func_call", "Ask Func[one]: x"),
        (RUN, "func_output", "Func[one] says: y"),
        (RUN, "func_call", 'Ask Func[two]: {"a": 1}'),
        (BELOW, "agent_call", "Ask Agent[fixie/echo]: hi"),
        (BELOW, "agent_output", "Agent[fixie/echo] says: hi"),
    ]
)


def message(seq: int, run: str, kind: str, text: str, **embeds: Any) -> dict[str, Any]:
    said = {"seq": seq, "run": run, "kind": kind, "text": text, "agent": "fixie/echo", "embeds": embeds}
    return {"type": "message", "message": said}


@dataclass
class Story:
    """What happens while an answer is made: `frames` as they come, and `status` at its end."""

    frames: list[dict[str, Any]]
    status: str

    @property
    def stored(self) -> list[dict[str, Any]]:
        """What somebody gets who comes after it."""
        return [frame for frame in self.frames if frame["type"] == "message"]

    def told(self, frames: list[dict[str, Any]], place: Position = START) -> Answer:
        narrator = Narrator(RUN, AgentResponse(id="response_1", session_id="s", created_at=1), place)
        ending = Ending(self.status, "agent_error" if self.status == "failed" else "", Usage(3, 4), 2)
        told = [*narrator.begin(), *(each for frame in frames for each in narrator.take(frame)), *narrator.end(ending)]
        return Answer.of([_read(each) for each in told])


def _read(told: Told) -> tuple[str, dict[str, Any]]:
    return str(told.place), told.event.model_dump(mode="json", exclude_none=True)


@st.composite
def stories(draw: st.DrawFn) -> Story:
    """Steps and text in any order; sometimes it is written anew, as by a process that takes over."""
    frames: list[dict[str, Any]] = []
    text, seq = "", 1
    for kind in draw(st.lists(st.sampled_from(["step", "delta", "delta", "snapshot"]), max_size=12)):
        if kind == "step":
            seq += 1
            frames.append(message(seq, *draw(steps)))
        elif kind == "delta":
            piece = draw(texts)
            frames.append({"type": "delta", "run": RUN, "offset": len(text), "text": piece})
            text += piece
        else:
            text = text[: draw(st.integers(0, len(text)))] + draw(st.sampled_from(["", "anew "]))
            frames.append({"type": "snapshot", "run": RUN, "text": text})
    status = draw(st.sampled_from(["completed", "failed", "canceled"]))
    if status == "failed":
        frames.append(message(seq + 1, RUN, "error", "It broke."))
    elif status == "completed" or text:
        frames.append(message(seq + 1, RUN, "response", text, **({"1": EMBED} if draw(st.booleans()) else {})))
    return Story(frames, status)


@given(stories())
def test_any_answer_is_a_legal_sequence_and_ends_as_its_run_did(story: Story) -> None:
    answer = story.told(story.frames).checked()
    assert answer.response["status"] == story.status
    assert answer.response["usage"] == {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    assert ("error" in answer.response) == (story.status != "completed")
    assert len(set(answer.ids)) == len(answer.ids)


@given(stories(), st.data())
def test_whoever_comes_back_after_any_event_gets_the_rest_and_nothing_twice(story: Story, data: st.DataObject) -> None:
    whole = story.told(story.frames)
    cut = data.draw(st.integers(1, len(whole.events)))
    rest = story.told(story.stored, position_of(whole.ids[cut - 1]))
    read = Answer(whole.ids[:cut], whole.events[:cut]) + rest
    assert read.response["output"] == whole.response["output"]
    assert kept(read, story) == kept(whole, story)
    read.checked()


@given(stories(), st.data())
def test_whoever_comes_back_while_it_is_written_gets_the_rest_and_nothing_twice(
    story: Story, data: st.DataObject
) -> None:
    whole = story.told(story.frames)
    cut = data.draw(st.integers(1, len(whole.events)))
    met = data.draw(st.integers(0, len(story.frames)))
    stored = [frame for frame in story.frames[:met] if frame["type"] == "message"]
    written = _written(story.frames[:met])
    snapshot = [{"type": "snapshot", "run": RUN, "text": written}] if written else []
    rest = story.told([*stored, *snapshot, *story.frames[met:]], position_of(whole.ids[cut - 1]))
    read = Answer(whole.ids[:cut], whole.events[:cut]) + rest
    assert kept(read, story) == kept(whole, story)
    read.checked()


def kept(answer: Answer, story: Story) -> list[str]:
    """The steady events, in the order of their texts: an answer and the steps beside it are told in either order.

    Of a run that ended without an answer nobody knows any more what it had begun to say.
    """
    has_answer = any(frame["message"]["kind"] == "response" for frame in story.stored)
    begun = None if has_answer else f"msg_{RUN}"
    return sorted(str(event) for event in answer.steady() if event["id" if "id" in event else "msg_id"] != begun)


def _written(frames: list[dict[str, Any]]) -> str:
    text = ""
    for frame in frames:
        if frame["type"] != "message":
            text = frame["text"] if frame["type"] == "snapshot" else text + frame["text"]
    return text


def test_outputs_have_the_ids_of_their_calls() -> None:
    told = [
        message(2, RUN, "func_call", "Ask Func[one]: x"),
        message(3, RUN, "func_call", 'Ask Func[two]: {"a": 1}'),
        message(4, BELOW, "agent_call", "Ask Agent[fixie/echo]: hi"),
        message(5, RUN, "func_output", "Func[two] says: 2"),
        message(6, BELOW, "error", "It broke."),
        message(7, RUN, "func_output", "Func[one] says: 1"),
    ]
    answer = Story(told, "completed").told(told)
    said = [(each["type"], each["role"], each["content"][0]["data"]) for each in answer.messages()]
    assert said == [
        ("function_call", "assistant", {"call_id": "call_run_2", "name": "one", "arguments": '{"text":"x"}'}),
        ("function_call", "assistant", {"call_id": "call_run_3", "name": "two", "arguments": '{"a": 1}'}),
        ("plugin_call", "assistant", {"call_id": "call_below", "name": "fixie/echo", "arguments": '{"text":"hi"}'}),
        ("function_call_output", "tool", {"call_id": "call_run_3", "name": "two", "output": "2"}),
        ("plugin_call_output", "tool", {"call_id": "call_below", "name": "fixie/echo", "output": "It broke."}),
        ("function_call_output", "tool", {"call_id": "call_run_2", "name": "one", "output": "1"}),
    ]


@given(st.lists(texts), st.lists(texts))
def test_a_reader_lacks_what_is_beyond_their_text_and_is_told_where_it_is_another(
    old: list[str], new: list[str]
) -> None:
    before, now = "".join(old), "".join(new)
    reader = Written(0, 0)
    for end in range(len(old)):
        reader.grow("".join(old[: end + 1]))
    for each in (reader, Written(reader.length, reader.checksum)):
        lacking = each.grow(now)
        if now.startswith(before):
            assert lacking == now[len(before) :]
        elif before.startswith(now):
            assert lacking == ""
        elif len(now) >= len(before):
            assert lacking is None


@pytest.mark.parametrize(
    "event_id", ["", "7", "1-2-3-4", "1-2-3-4-", "1-2-3-4-zz", "1-2-3-4-123456789", "\u0661-2-3-4-5"]
)
def test_what_is_no_id_of_an_event_is_refused(event_id: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        position_of(event_id)
    assert refused.value.details["field"] == "Last-Event-ID"


@given(st.builds(Position, *[st.integers(0, 999_999_999)] * 4, st.integers(0, 2**32 - 1)))
def test_a_place_is_read_as_it_was_written(place: Position) -> None:
    assert position_of(str(place)) == place
