"""What it costs to read the answer of an AgentApp that sends many small events beside much that is there."""

from time import process_time

import pytest

from registry.transports.base import AgentMessage, Reply, TextSoFar
from tests.registry.transports.agentscope.apps import Document, content, delta, frames, message, response, run
from tests.registry.transports.agentscope.read_answers import MEGABYTE, events_in


def test_text_that_changes_is_told_once_for_all_that_came_at_once() -> None:
    changes = [content(text=text, status="in_progress") for text in "ab" * 500]
    long = delta("x" * 500_000, index=1)
    events = events_in(frames(run([message(status="created"), long, *changes, message()])), 8 * MEGABYTE)
    assert events[1:] == [TextSoFar(f"b\n\n{long['text']}"), Reply(AgentMessage(f"b\n\n{long['text']}"))]


@pytest.mark.parametrize(
    "more",
    [
        [message(status="in_progress")] * 5000,
        [delta("y", index=None)] * 20_000,
        [content(text=None, status="in_progress")] * 5000,
        [content("image", image_url=f"https://x.example/{n}", index=2000 + n) for n in range(90)],
    ],
    ids=["messages", "no index", "bare", "embeds"],
)
def test_small_events_beside_many_contents_cost_little(more: list[Document]) -> None:
    others = [content("refusal", refusal="#1 " * 300, index=n) for n in range(900)]
    data = frames([message(status="created"), delta("#1 " * 10_000), *others, *more, response()])
    began = process_time()
    assert isinstance(events_in(data, 65536)[-1], Reply)
    assert process_time() - began < 2.5
