"""Attachments in the conversation: choosing files, watching them go up, seeing them in messages."""

import struct
import threading
import zlib
from collections.abc import Callable
from typing import Any

from playwright.async_api import FilePayload, Page, Route, expect

from tests.agents import Behaviour, Exchange, answer
from tests.browser.test_chat import open_session
from tests.sessions_app.embedded import contents, data_uri, returning, upload
from tests.sessions_app.people import Person
from tests.sessions_app.streaming import reached
from tests.sites import Site

AgentOf = Callable[[Person, Behaviour], str]


def picture() -> bytes:
    """A PNG of 8 by 32 pixels."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", 8, 32, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x30\x90\xf0" * 8) * 32)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def file(name: str, content: bytes, kind: str) -> FilePayload:
    return {"name": name, "mimeType": kind, "buffer": content}


async def attach(page: Page, *files: FilePayload) -> None:
    async with page.expect_file_chooser() as chooser:
        await page.get_by_role("button", name="Attach files").click()
    await (await chooser.value).set_files(list(files))


async def test_files_are_sent_with_a_message_and_shown_in_it(at_home: Page, site: Site, me: Person) -> None:
    handle = await open_session(at_home, site, me)
    await attach(at_home, file("cat.png", picture(), "image/png"), file("notes.txt", b"my notes", "text/plain"))
    await expect(at_home.locator(".chip")).to_contain_text(["#1 cat.png 78 bytes", "#2 notes.txt 8 bytes"])
    await at_home.get_by_label("Message").fill("What is in #1?")
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator(".chip")).to_have_count(0)
    shown = at_home.locator(".answer .picture img")
    await expect(shown).to_have_attribute("alt", "cat.png (image/png)")
    await expect(at_home.locator(".query .caption").last).to_have_text("#2 notes.txt 8 bytes")
    assert await shown.evaluate("(image) => image.decode().then(() => image.naturalHeight)") == 32
    query, _ = me.settled(handle)
    assert query["text"] == "What is in #1?"
    assert contents({"2": query["embeds"]["2"]}) == {"2": "my notes"}
    await at_home.reload()
    assert await shown.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 8


async def test_files_alone_are_named_under_the_next_keys(at_home: Page, site: Site, me: Person) -> None:
    handle = me.new_session()
    me.post(handle, "#1", embeds={"1": {"id": upload(me, "old")}})
    me.settled(handle)
    await at_home.goto(f"{site.url}/sessions/{handle}")
    await attach(at_home, file("notes.txt", b"new", "text/plain"))
    await expect(at_home.locator(".chip progress")).to_have_count(0)
    await at_home.get_by_role("button", name="Send").click()
    await expect(at_home.locator(".query p").last).to_have_text("#2")
    await expect(at_home.get_by_text("Sending…")).to_have_count(0)
    assert contents(me.settled(handle)[2]["embeds"]) == {"2": "new"}


async def test_a_file_that_does_not_go_up_says_so_and_can_be_removed(at_home: Page, site: Site, me: Person) -> None:
    await open_session(at_home, site, me)
    await at_home.route("**/api/embeds", lambda route: route.abort())
    await attach(at_home, file("notes.txt", b"x", "text/plain"))
    await expect(at_home.locator(".chip [role=alert]")).to_have_text("The upload broke off.")
    await at_home.get_by_label("Message").fill("Hello")
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator(".query")).to_have_count(0)
    await at_home.get_by_role("button", name="Remove notes.txt").click()
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator(".prose")).to_have_text("Hello")


async def test_a_file_that_the_site_refuses_says_why(at_home: Page, site: Site, me: Person) -> None:
    await open_session(at_home, site, me)
    problem = {"error": {"code": "payload_too_large", "message": "That is too much.", "details": {}}}

    async def refuse(route: Route) -> None:
        await route.fulfill(status=413, json=problem)

    await at_home.route("**/api/embeds", refuse)
    await attach(at_home, file("notes.txt", b"x", "text/plain"))
    await expect(at_home.locator(".chip [role=alert]")).to_have_text("That is too much.")


async def test_uploaded_files_survive_a_reload_of_the_page(at_home: Page, site: Site, me: Person) -> None:
    await open_session(at_home, site, me)
    await attach(at_home, file("notes.txt", b"kept", "text/plain"))
    await expect(at_home.locator(".chip")).to_contain_text("#1 notes.txt 4 bytes")
    await at_home.reload()
    await expect(at_home.locator(".chip")).to_contain_text("#1 notes.txt 4 bytes")
    await at_home.get_by_role("button", name="Send").click()
    await expect(at_home.locator(".answer .caption")).to_have_text("#1 notes.txt 4 bytes")


async def test_a_retry_sends_the_embeds_again(at_home: Page, site: Site, me: Person, agent_of: AgentOf) -> None:
    failing = {"message": {"text": "Not now."}, "error": {"code": "x", "message": "x"}}
    seen: list[Any] = []

    async def behave(exchange: Exchange) -> None:
        seen.append(exchange.request.json["embeds"])
        await answer(failing if len(seen) == 1 else {"text": "Now."})(exchange)

    handle = await open_session(at_home, site, me, agent_of(me, behave))
    await attach(at_home, file("notes.txt", b"x", "text/plain"))
    await expect(at_home.locator(".chip progress")).to_have_count(0)
    await at_home.get_by_role("button", name="Send").click()
    await at_home.get_by_role("button", name="Retry").click()
    await expect(at_home.locator(".prose")).to_have_text("Now.")
    assert [list(embeds) for embeds in seen] == [["1"], ["1"]]
    assert len(me.http.get(f"/api/sessions/{handle}/embeds").json()["items"]) == 1


async def test_nothing_jumps_when_a_picture_arrives(at_home: Page, site: Site, me: Person, agent_of: AgentOf) -> None:
    embeds = {"1": {"content_type": "image/png", "uri": data_uri(picture(), "image/png")}}
    gate = threading.Event()
    handle = me.new_session(agent_of(me, returning("Painted.", embeds)))
    me.post(handle, "Paint")
    me.settled(handle)

    async def hold(route: Route) -> None:
        await reached(gate)
        await route.continue_()

    await at_home.route("**/attachment/**", hold)
    await at_home.goto(f"{site.url}/sessions/{handle}")
    frame = at_home.locator(".picture")
    await expect(frame).to_be_visible()
    before = await frame.bounding_box()
    gate.set()
    await at_home.locator(".picture img").evaluate("(image) => image.decode()")
    assert await frame.bounding_box() == before


async def test_an_embed_of_an_odd_kind_is_a_link(at_home: Page, site: Site, me: Person, agent_of: AgentOf) -> None:
    kinds = ["__proto__/x", "constructor/x"]
    embeds = {str(key): {"content_type": kind, "uri": f"data:,{key}"} for key, kind in enumerate(kinds, start=1)}
    handle = me.new_session(agent_of(me, returning("Here.", embeds)))
    me.post(handle, "Odd ones, please")
    me.settled(handle)
    await at_home.goto(f"{site.url}/sessions/{handle}")
    await expect(at_home.locator(".answer .embed")).to_have_text([f"#1 {kinds[0]} 1 bytes", f"#2 {kinds[1]} 1 bytes"])
