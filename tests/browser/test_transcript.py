"""What a chat makes of the socket's frames, whatever their order: `static/js/transcript.js`."""

import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
from playwright.async_api import Browser, Page

from tests.browser.stage import Frame, Stage, delta, message, said, snapshot, state

APPLY = """async ({page, frames, earlier, unfinished, after}) => {
    const { Transcript, statusOf } = await import("/static/js/transcript.js");
    const transcript = new Transcript();
    transcript.load(page);
    const outcomes = frames.map((frame) => transcript.apply(frame));
    if (earlier) transcript.prepend(earlier);
    if (unfinished) transcript.settle(new Set(unfinished));
    after?.forEach((frame) => transcript.apply(frame));
    const turns = transcript.turns.map((turn) => ({...turn, status: statusOf(turn)}));
    return {outcomes, turns, lastSeq: transcript.lastSeq, firstSeq: transcript.firstSeq};
}"""
EMPTY: Frame = {"messages": [], "runs": [], "last_seq": 0}
# Signs of two UTF-16 units each, and signs of several code points.
TEXT = (
    "Grüße 👩\u200d👩\u200d👧 and \U0001d4b3\U0001d4b4: e\u0301, नमस्ते, \U0001f1e9\U0001f1ea, "
    "\u202b\u05e9\u05dc\u05d5\u05dd\u202c, 🎲🎲🎲 end."
)


@pytest.fixture(scope="module")
async def modules(browser: Browser, stage: Stage) -> AsyncIterator[Page]:
    page = await browser.new_page()
    await page.goto(stage.module_url)
    yield page
    await page.close()


async def applied(page: Page, *frames: Frame, start: Frame = EMPTY, **more: Any) -> Any:
    return await page.evaluate(APPLY, {"page": start, "frames": list(frames), **more})


def asked() -> list[Frame]:
    return [said(1, "query", "Hi"), state("in_progress")]


async def test_deltas_counted_in_code_points_put_the_text_together_exactly(modules: Page) -> None:
    for size in (1, 2, 3, 7):
        pieces = [delta(at, TEXT[at : at + size]) for at in range(0, len(TEXT), size)]
        result = await applied(modules, *asked(), *pieces)
        assert result["turns"][0]["text"] == TEXT
        assert result["turns"][0]["length"] == len(TEXT)


async def test_overlapping_and_repeated_deltas_add_nothing_twice(modules: Page) -> None:
    rng = random.Random(7)
    for _ in range(20):
        frames, reached = [], 0
        while reached < len(TEXT):
            start = rng.randint(0, reached)
            end = min(len(TEXT), start + rng.randint(1, 9))
            frames.append(delta(start, TEXT[start:end]))
            reached = max(reached, end)
        result = await applied(modules, *asked(), *frames)
        assert result["turns"][0]["text"] == TEXT
        assert "gap" not in result["outcomes"]


async def test_a_lost_delta_shows_as_a_gap_and_a_snapshot_mends_it(modules: Page) -> None:
    frames = [delta(0, "🎲a"), delta(3, "c"), snapshot("🎲abc"), delta(4, "d")]
    result = await applied(modules, *asked(), *frames)
    assert result["outcomes"][2:] == ["changed", "gap", "changed", "changed"]
    assert result["turns"][0]["text"] == "🎲abcd"


async def test_a_delta_that_contradicts_what_is_there_is_a_gap(modules: Page) -> None:
    result = await applied(modules, *asked(), delta(0, "one way"), delta(4, "day"))
    assert result["outcomes"][-1] == "gap"
    assert result["turns"][0]["text"] == "one way"


async def test_the_stored_response_replaces_the_streamed_text_and_late_deltas_are_ignored(modules: Page) -> None:
    late = [delta(4, " late"), snapshot("older")]
    result = await applied(modules, *asked(), delta(0, "half"), said(2, "response", "whole"), *late)
    turn = result["turns"][0]
    assert (turn["text"], turn["answer"]["text"], turn["status"]) == ("", "whole", "completed")
    assert result["outcomes"][-2:] == ["ignored", "ignored"]


async def test_messages_count_once_and_a_missing_one_is_a_gap(modules: Page) -> None:
    frames = [*asked(), said(3, "response", "early"), said(2, "thought", "Thought: so"), said(3, "response", "now")]
    result = await applied(modules, *frames, said(2, "thought", "again"))
    assert result["outcomes"] == ["changed", "changed", "gap", "changed", "changed", "ignored"]
    assert result["lastSeq"] == 3
    assert [step["text"] for step in result["turns"][0]["steps"]] == ["Thought: so"]


async def test_queued_queries_keep_their_order_and_their_own_answers(modules: Page) -> None:
    frames = [said(seq, "query", f"q{seq}", f"run-{seq}") for seq in (1, 2, 3)]
    frames += [state("queued", "run-2", 2), state("in_progress", "run-1", 1)]
    frames += [said(4, "response", "a1", "run-1", in_reply_to=1), said(5, "response", "a2", "run-2", in_reply_to=2)]
    result = await applied(modules, *frames)
    assert [turn["question"]["text"] for turn in result["turns"]] == ["q1", "q2", "q3"]
    assert [turn["status"] for turn in result["turns"]] == ["completed", "completed", "queued"]


async def test_an_ended_run_does_not_begin_again(modules: Page) -> None:
    result = await applied(modules, *asked(), state("canceled"), state("in_progress"), delta(0, "more"))
    assert result["turns"][0]["status"] == "canceled"
    assert result["turns"][0]["text"] == ""


async def test_a_run_that_ended_unheard_is_settled_when_the_server_no_longer_names_it(modules: Page) -> None:
    waiting = [*asked(), said(2, "query", "next", "run-2"), state("queued", "run-2", 2)]
    result = await applied(modules, *waiting, unfinished=["run-2"])
    assert [turn["status"] for turn in result["turns"]] == ["canceled", "queued"]


async def test_a_run_that_was_only_presumed_over_goes_on_when_it_is_heard_of(modules: Page) -> None:
    """It was accepted between the server's two looks: after that at its runs, before that at its messages."""
    going_on = [state("in_progress"), delta(0, "Hel")]
    result = await applied(modules, said(1, "query", "Hi"), unfinished=[], after=going_on)
    assert (result["turns"][0]["status"], result["turns"][0]["text"]) == ("in_progress", "Hel")
    answered = [said(2, "response", "Hello")]
    result = await applied(modules, said(1, "query", "Hi"), unfinished=[], after=answered)
    assert result["turns"][0]["status"] == "completed"


async def test_earlier_messages_complete_a_turn_that_the_page_began_in_its_middle(modules: Page) -> None:
    start = {
        "messages": [message(3, "func_output", "Func[f] says: 2"), message(4, "response", "Two")],
        "runs": [state("completed")],
        "last_seq": 4,
    }
    earlier = {
        "messages": [message(1, "query", "One and one?"), message(2, "func_call", "Ask Func[f]: 1 1")],
        "runs": [],
    }
    result = await applied(modules, start=start, earlier=earlier)
    (turn,) = result["turns"]
    assert turn["question"]["text"] == "One and one?"
    assert [step["seq"] for step in turn["steps"]] == [2, 3]
    assert (result["firstSeq"], result["lastSeq"]) == (1, 4)


async def test_any_order_of_lost_repeated_and_late_frames_ends_in_the_stored_words(modules: Page) -> None:
    """Whenever the transcript asks for a sync it is given one; the end is always the same."""
    rng = random.Random(11)
    stored = [said(1, "query", "Hi"), said(2, "thought", "Thought: hm"), said(3, "response", TEXT)]
    for _ in range(10):
        live = [stored[0], state("in_progress"), stored[1]]
        live += [delta(at, TEXT[at : at + 3]) for at in range(0, len(TEXT), 3)] + [stored[2], state("completed")]
        noisy = [frame for frame in live if rng.random() > 0.2 for _ in range(rng.choice((1, 1, 2)))]
        outcome = await modules.evaluate(
            """async ({frames, stored, text}) => {
                const { Transcript, statusOf } = await import("/static/js/transcript.js");
                const transcript = new Transcript();
                const take = (frame) => {
                    if (transcript.apply(frame) !== "gap") return;
                    for (const one of stored.slice(0, 2)) transcript.apply(one);
                    transcript.apply({type: "snapshot", run: "run-1", text});
                };
                frames.forEach(take);
                stored.forEach((one) => transcript.apply(one));
                return transcript.turns.map((turn) => [turn.answer.text, statusOf(turn), turn.steps.length]);
            }""",
            {"frames": noisy, "stored": stored, "text": TEXT[:9]},
        )
        assert outcome == [[TEXT, "completed", 1]]
