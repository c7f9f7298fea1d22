"""Embeds where an answer names them by their `#key`: in their own paragraph, in the line, in code, and expired."""

from typing import Any

import pytest
from playwright.async_api import Page, expect

from tests.browser.stage import Frame, Stage, delta, said, state
from tests.browser.test_answers import answered, shown
from tests.browser.test_conversation import asked
from tests.browser.test_socket import opened

PICTURE = "/static/img/icon.svg"
EXPIRED = "/attachment/old"


def embed(kind: str = "image/svg+xml", uri: str = PICTURE) -> Frame:
    return {"id": "x", "content_type": kind, "size": 2048, "uri": uri}


async def test_an_embed_that_stands_alone_is_shown_there(page: Page, stage: Stage) -> None:
    await shown(page, stage, "Before.\n\n#1\n\nAfter.", embeds={"1": embed()})
    kinds = "(root) => [...root.children].map((node) => node.localName)"
    assert await page.locator(".prose").evaluate(kinds) == ["p", "fixie-embed", "p"]
    picture = page.get_by_role("img", name="Attachment 1 (image/svg+xml)")
    assert await picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") > 0
    await expect(page.locator(".reply > .embeds")).to_have_count(0)


async def test_an_embed_named_in_a_sentence_is_a_link_there_and_shown_below(page: Page, stage: Stage) -> None:
    await shown(page, stage, "See #1, and #1 again.\n\nAfter.", embeds={"1": embed()})
    await expect(page.locator(".prose > p").first).to_have_text("See #1, and #1 again.")
    await expect(page.locator(".embed-chip")).to_have_count(2)
    await expect(page.locator(".prose .picture")).to_have_count(1)
    kinds = "(root) => [...root.children].map((node) => node.localName)"
    assert await page.locator(".prose").evaluate(kinds) == ["p", "fixie-embed", "p"]


async def test_what_is_not_named_is_listed_below(page: Page, stage: Stage) -> None:
    await shown(page, stage, "Here is #2.", embeds={key: embed("text/plain") for key in ("1", "2", "3")})
    await expect(page.locator(".reply > .embeds .embed-key")).to_have_text(["#1", "#3"])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("##1 here", "#1 here"),
        ("#12 and #1x", "#12 and #1x"),
        ("`#1` here", "#1 here"),
        ("\\#1 here", "#1 here"),
        ("[#1](https://example.com) here", "#1 here"),
        ("#4 here", "#4 here"),
        ("###1 here", "##1 here"),
    ],
)
async def test_what_names_no_embed_is_text(page: Page, stage: Stage, text: str, read: str) -> None:
    await shown(page, stage, f"So {text}", embeds={"1": embed()})
    named = text == "###1 here"
    assert await page.locator(".prose > p").first.inner_text() == f"So {read}"
    await expect(page.locator(".embed-chip")).to_have_count(1 if named else 0)
    await expect(page.locator(".reply > .embeds li")).to_have_count(0 if named else 1)


async def test_sound_video_and_files_are_shown_as_what_they_are(page: Page, stage: Stage) -> None:
    kinds = {"1": "audio/mpeg", "2": "video/mp4", "3": "application/pdf", "4": "text/html"}
    embeds = {key: embed(kind, "/x") for key, kind in kinds.items()}
    stage.set(answered("#1\n\n#2\n\n#3\n\n#4", embeds=embeds), [state("completed")])
    await page.add_init_script("HTMLMediaElement.prototype.load = () => {};")
    await opened(page, stage)
    await expect(page.locator(".prose .embed.file .caption")).to_have_text(
        ["#3 application/pdf 2 KB", "#4 text/html 2 KB"]
    )
    await expect(page.locator(".prose .embed.audio, .prose .embed.video")).to_have_count(2)


async def test_a_picture_with_an_expired_link_gets_a_fresh_one_once(page: Page, stage: Stage) -> None:
    fresh = [{"key": 1, "url": PICTURE}, {"key": 2, "url": "/attachment/gone"}]
    calls: list[str] = []
    page.on("request", lambda request: calls.append(request.url))
    embeds = {"1": embed(uri=EXPIRED), "2": embed(uri=EXPIRED)}
    await shown(page, stage, "#1\n\n#2", embeds=embeds, scene={"fresh": fresh})
    picture = page.get_by_role("img", name="Attachment 1")
    await expect(picture).to_have_attribute("src", PICTURE)
    await expect(page.get_by_role("img", name="Attachment 2")).to_have_count(0)
    await expect(page.locator(".prose .caption").last).to_have_attribute("href", "/attachment/gone")
    assert sum(url.endswith("/api/sessions/one-two-three/embeds") for url in calls) == 1


async def test_nothing_moves_when_an_embed_comes_that_was_named_while_the_text_was_written(
    page: Page, stage: Stage
) -> None:
    connection = await asked(page, stage)
    text = "Here it is:\n\n#1\n\nThat was it."
    await connection.send(delta(0, text))
    below = page.locator(".prose > p").last
    await expect(below).to_have_text("That was it.")
    before = await below.bounding_box()
    embeds: dict[str, Any] = {"1": embed()}
    await connection.send(said(2, "response", text, embeds=embeds), state("completed"))
    await expect(page.locator(".prose img")).to_be_visible()
    assert await below.bounding_box() == before
