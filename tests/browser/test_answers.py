"""Answers: Markdown as it streams, code, formulas, other hosts' pictures, and what can be done about an answer."""

import itertools
import json
from typing import Any

import pytest
from playwright.async_api import Page, Route, expect

from tests.browser.stage import Frame, Stage, delta, message, said, state
from tests.browser.test_conversation import asked, long_history, stream
from tests.browser.test_markdown import modules, rendered
from tests.browser.test_socket import opened

__all__ = ["modules"]  # a fixture

SAMPLE = """Here is **what I found**, with `code` and *more `of` it*.

- first **item**
- second [link](https://example.com/a_b)
  - nested

1. one
2. two

| city | people |
|------|-------:|
| Bonn | 330,000 |
| Ulm | 126,000 |

```python
def roll(): return `4`
```

Text\n\n---\n\n## A heading\n\nThe price is $5 and the formula $x_1*y_2*z$ ends ~~here~~ there.

<b>bold</b> and 2 * 3 * 4 snake_case_name and https://example.com/x_y_z end.
"""
# For every beginning of the text: the kind of each of its blocks, as it is drawn while more is coming.
KINDS = """(text) => import("/static/js/markdown.js").then(({ blocksOf }) => {
    const kinds = [];
    for (let end = 1; end <= text.length; end += 1) {
        const nodes = blocksOf(text.slice(0, end), { live: true }).flatMap((block) => block.nodes());
        kinds.push(nodes.map((node) => node.className || node.nodeName));
    }
    return kinds;
})"""
VISIBLE = """(text) => import("/static/js/markdown.js").then(({ blocksOf }) => {
    const seen = new Set();
    for (let end = 1; end <= text.length; end += 1) {
        const root = document.createElement("div");
        root.append(...blocksOf(text.slice(0, end), { live: true }).flatMap((block) => block.nodes()));
        for (const mark of root.textContent.match(/\\*\\*|`{1,3}|\\]\\(|\\|-|~~|\\[[a-z]/g) ?? []) seen.add(mark);
    }
    return [...seen];
})"""


def answered(text: str, **more: Any) -> list[Frame]:
    return [message(1, "query", "Tell me"), message(2, "response", text, agent="fixie/dice", **more)]


async def shown(page: Page, stage: Stage, text: str, scene: Frame | None = None, **more: Any) -> None:
    stage.set(answered(text, **more), [state("completed", agent="fixie/dice")], **(scene or {}))
    await opened(page, stage)
    await expect(page.locator(".prose")).not_to_be_empty()


async def test_a_block_is_what_it_is_from_its_first_character_on(modules: Page) -> None:
    drawn: list[list[str]] = await modules.evaluate(KINDS, SAMPLE)
    for end, (before, after) in enumerate(itertools.pairwise(drawn), start=2):
        assert after[: len(before)] == before, SAMPLE[:end][-40:]


async def test_marks_of_markdown_are_not_seen_while_they_are_open(modules: Page) -> None:
    assert await modules.evaluate(VISIBLE, SAMPLE) == ["`"]  # those in the code


@pytest.mark.parametrize(
    "text",
    ["$x_1$ and $y_2$", "\\(a_b * c_d\\)", "\\[ a*b*c \\]", "$$a_1 *b* \\\\ c$$", "*so $a*b$ it* is", "$a < b$ & c"],
)
async def test_formulas_are_left_as_they_are_written(modules: Page, text: str) -> None:
    said = await modules.evaluate(
        """async (text) => {
            const { blocksOf } = await import("/static/js/markdown.js");
            return blocksOf(text).flatMap((block) => block.nodes()).map((node) => node.textContent).join("").trim();
        }""",
        text,
    )
    assert said == (text if "*so" not in text else "so $a*b$ it is")


async def test_amounts_of_money_are_no_formulas(modules: Page) -> None:
    assert await rendered(modules, "$5 *or* $6") == "<p>$5 <em>or</em> $6</p>"


async def test_code_says_its_language_and_is_copied_by_keyboard(page: Page, stage: Stage) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await shown(page, stage, "```python\nx = 1\n```")
    await expect(page.locator(".code-language")).to_have_text("python")
    button = page.locator(".copy-code")
    before = await button.bounding_box()
    await button.focus()
    await page.keyboard.press("Enter")
    await expect(button).to_have_text("Copied")
    assert await button.bounding_box() == before
    await expect(page.locator(".announcer")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "x = 1\n"


async def test_the_copied_answer_is_its_markdown(page: Page, stage: Stage) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await shown(page, stage, "It is **so**.")
    await page.locator(".after").get_by_role("button", name="Copy").click()
    await expect(page.locator(".announcer")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == "It is **so**."


async def test_pictures_of_other_hosts_are_loaded_for_who_asks(page: Page, stage: Stage) -> None:
    asked_for: list[str] = []

    async def answer(route: Route) -> None:
        asked_for.append(route.request.url)
        await route.fulfill(body="<svg xmlns='http://www.w3.org/2000/svg'/>", content_type="image/svg+xml")

    await page.route("https://example.com/**", answer)
    await shown(page, stage, "![a cat](https://example.com/cat.svg)\n\n![ours](/static/img/icon.svg)")
    await expect(page.locator(".prose img")).to_have_count(1)
    await expect(page.get_by_role("link", name="a cat")).to_have_attribute("href", "https://example.com/cat.svg")
    assert asked_for == []
    await page.get_by_role("button", name="Show picture from example.com").click()
    picture = page.get_by_role("img", name="a cat")
    await expect(picture).to_be_focused()
    assert asked_for == ["https://example.com/cat.svg"]


async def test_the_same_agent_is_asked_again(page: Page, stage: Stage) -> None:
    await shown(page, stage, "Four.")
    sent: list[Any] = []

    async def answer(route: Route) -> None:
        sent.append(route.request.post_data_json)
        await route.fulfill(status=202, body=json.dumps({"run": "run-2"}), content_type="application/json")

    await page.route("**/api/runs/run-1/ask", answer)
    await page.get_by_role("button", name="Ask again").click()
    await expect(page.locator(".note")).to_have_text("Asked fixie/dice again.")
    assert [body["agent"] for body in sent] == ["fixie/dice"]


async def test_a_changed_question_makes_a_branch_and_is_not_lost_if_it_does_not(page: Page, stage: Stage) -> None:
    await shown(page, stage, "Four.")
    sent: list[Any] = []

    async def refuse(route: Route) -> None:
        sent.append(route.request.post_data_json)
        error = {"error": {"code": "session_busy", "message": "Wait.", "details": {}}}
        await route.fulfill(status=409, body=json.dumps(error), content_type="application/json")

    await page.route("**/branches", refuse)
    await page.locator(".query").get_by_role("button", name="Edit").click()
    box = page.get_by_label("Message")
    await expect(box).to_be_focused()
    await expect(box).to_have_value("Tell me")
    await box.fill("Tell me more")
    await page.keyboard.press("Enter")
    await expect(page.locator(".problem")).to_have_text(
        "An answer is still being written here. Wait for it, or stop it."
    )
    await expect(box).to_have_value("Tell me more")
    (first,) = sent
    assert first == {"seq": 1, "text": "Tell me more", "embeds": {}, "client_id": first["client_id"]}


async def test_the_arrow_key_edits_the_last_question(page: Page, stage: Stage) -> None:
    await shown(page, stage, "Four.")
    await page.get_by_label("Message").press("ArrowUp")
    await expect(page.get_by_label("Message")).to_have_value("Tell me")


async def test_branches_of_a_question_are_a_click_away(page: Page, stage: Stage) -> None:
    branches = [{"session": name, "seq": 1, "current": name == "b"} for name in ("a", "b", "c")]
    await shown_with_branches(page, stage, {"1": branches})
    await expect(page.get_by_role("img", name="Version 2 of 3")).to_have_text("2/3")
    before = page.get_by_role("link", name="The version before")
    await expect(before).to_have_attribute("href", "/sessions/a#m-1")
    await expect(page.get_by_role("link", name="The next version")).to_have_attribute("href", "/sessions/c#m-1")


async def shown_with_branches(page: Page, stage: Stage, branches: dict[str, list[Frame]]) -> None:
    stage.set(answered("Four."), [state("completed")], branches=branches)
    await opened(page, stage)


async def test_an_address_of_a_message_leads_to_it_however_far_back(page: Page, stage: Stage) -> None:
    history = long_history(600)
    stage.set(history[-50:], stored=history[:-50])
    await page.goto(f"{stage.url}#m-101")
    await stage.connection()
    turn = page.locator("#m-101")
    await expect(turn).to_be_in_viewport(timeout=20_000)
    await expect(turn).to_be_focused()
    await expect(turn).to_contain_text("Message 101.")
    await page.evaluate("location.hash = '#m-550'")
    await expect(page.locator("#m-550")).to_be_in_viewport()


async def test_a_waiting_question_can_be_taken_back(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    await connection.send(said(2, "query", "next", "run-2"), state("queued", "run-2", 2))
    await page.get_by_role("button", name="Withdraw").click()
    assert await connection.next() == {"type": "cancel", "run": "run-2"}
    await expect(page.get_by_label("Message")).to_be_focused()
    await connection.send(state("canceled", "run-2", 2, created="2025-01-01T00:00:00Z"))
    await expect(page.get_by_text("Withdrawn", exact=True)).to_be_visible()


async def test_a_failure_tells_the_agents_words_and_what_to_do(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    error = {"code": "agent_error", "retryable": False}
    await connection.send(said(2, "error", "My cupboard is bare."), state("failed", agent="a/b", error=error))
    await expect(page.locator(".failure p")).to_have_text(
        ["a/b reported a problem.", "My cupboard is bare.", "Change your question, try again, or ask someone else."]
    )
    await expect(page.locator(".announcer")).to_contain_text("My cupboard is bare.")


EXPLAIN = """async (error) => (await import("/static/js/errors.js")).explain(error, "a/b")"""


@pytest.mark.parametrize(
    ("code", "details", "words"),
    [
        (
            "quota_exceeded",
            {"which": "queries", "used": 5, "limit": 5, "retry_after": 30},
            "(5 of 5). Try again in 30 s.",
        ),
        ("rate_limited", {"retry_after": 7}, "a/b is asked too often at the moment. Try again in 7 s."),
        ("session_busy", {"waiting": 9}, "9 queries are waiting here already."),
        ("payload_too_large", {"limit": 65536}, "65,536 bytes are allowed"),
        ("agent_unreachable", {}, "a/b could not be reached."),
        ("agent_timeout", {}, "a/b took too long."),
        ("agent_invalid_response", {}, "cannot be read"),
        ("agent_switched_off", {"agent": "x/y"}, "x/y is switched off."),
        ("model_unavailable", {}, "The language model is not available"),
        ("unauthenticated", {}, "You are signed out."),
        ("unavailable", {}, "Try again shortly."),
        ("internal", {}, "It has been logged."),
        ("something_new", {}, "The server's words."),
        ("not_found", {"field": "uri"}, "The server's words."),
    ],
)
async def test_every_error_says_what_happened_and_what_to_do(
    modules: Page, code: str, details: dict[str, Any], words: str
) -> None:
    error = {"code": code, "message": "The server's words.", "details": details}
    assert words in (await modules.evaluate(EXPLAIN, error))["text"]


async def test_who_is_signed_out_is_led_to_signing_in_and_back(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    await connection.drop(4401)
    link = page.get_by_role("alert").get_by_role("link", name="Sign in")
    await expect(link).to_have_attribute("href", "/accounts/login/?next=%2Fchat")


async def test_what_is_selected_in_the_growing_block_stays_selected(page: Page, stage: Stage) -> None:
    connection = await asked(page, stage)
    await stream(connection, "A paragraph with **bold** words")
    bold = page.locator(".prose strong")
    await expect(bold).to_have_text("bold")
    await bold.evaluate("(node) => getSelection().selectAllChildren(node)")
    await connection.send(delta(31, " and more of them"))
    await expect(page.locator(".prose")).to_contain_text("more of them")
    assert await page.evaluate("getSelection().toString()") == "bold"
