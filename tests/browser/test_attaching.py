"""Files in the composer: dropped, pasted, refused at once or by the site, tried again, cancelled, shown."""

import asyncio
from typing import Any
from urllib.parse import unquote

from playwright.async_api import Page, Route, expect

from common.db import run_db
from tests.browser.test_chat import open_session
from tests.browser.test_embeds import attach, file, picture
from tests.sessions_app.embedded import contents
from tests.sessions_app.people import Person
from tests.sites import Site

DRAG = """([kind, name, type, text]) => {
    const data = new DataTransfer();
    data.items.add(new File([text], name, { type }));
    document.body.dispatchEvent(new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""
DISHONEST = "What is in it is not what its name says. Give it the right ending, or save it anew."
PASTE = """([types, name, type, bytes]) => {
    const data = new DataTransfer();
    if (name) data.items.add(new File([new Uint8Array(bytes)], name, { type }));
    for (const [kind, text] of types) data.setData(kind, text);
    const event = new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true });
    document.activeElement.dispatchEvent(event);
    return event.defaultPrevented;
}"""


async def test_a_file_can_be_dropped_anywhere(at_home: Page, site: Site, me: Person) -> None:
    handle = await open_session(at_home, site, me)
    note = ["notes.txt", "text/plain", "my notes"]
    await at_home.evaluate(DRAG, ["dragenter", *note])
    await expect(at_home.get_by_text("Drop files to attach them")).to_be_visible()
    await at_home.evaluate(DRAG, ["drop", *note])
    await expect(at_home.get_by_text("Drop files to attach them")).to_have_count(0)
    await expect(at_home.locator(".chip")).to_contain_text("#1 notes.txt 8 bytes")
    await expect(at_home.get_by_label("Message")).to_be_focused()
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator(".query")).to_contain_text("#1")
    await expect(at_home.get_by_text("Sending…")).to_have_count(0)
    assert contents(me.settled(handle)[0]["embeds"]) == {"1": "my notes"}


async def test_a_file_keeps_its_name_after_it_is_sent(at_home: Page, site: Site, me: Person) -> None:
    page, handle = at_home, await open_session(at_home, site, me)
    name = "Übung <1>\u202efdp.txt"
    await attach(page, file(name, b"my notes", "text/plain"))
    await expect(page.locator(".chip progress")).to_have_count(0)
    await page.get_by_label("Message").fill("Read #1")
    await page.keyboard.press("Enter")
    kept = "#1 Übung 1 fdp.txt 8 bytes"
    await expect(page.locator(".query .caption")).to_have_text(kept)
    # The echo has sent it back.
    await expect(page.locator(".reply .caption")).to_have_text(kept)
    await page.reload()
    await expect(page.locator(".query .caption")).to_have_text(kept)
    saved = await page.locator(".query .caption").evaluate(
        "(link) => fetch(link.href).then((answer) => answer.headers.get('content-disposition'))"
    )
    assert unquote(saved) == "inline; filename*=utf-8''Übung 1 fdp.txt"
    shared = (await run_db(me.http.post, f"/api/sessions/{handle}/share")).json()["url"]
    await page.goto(shared)
    await expect(page.locator(".query .caption")).to_have_text(kept)


async def test_a_pasted_picture_is_shown_and_a_pasted_text_stays_a_text(at_home: Page, site: Site, me: Person) -> None:
    await open_session(at_home, site, me)
    image = ["image.png", "image/png", list(picture())]
    assert await at_home.evaluate(PASTE, [[], *image])
    shown = at_home.locator(".chip-picture")
    assert await shown.evaluate("(image) => image.decode().then(() => image.naturalHeight)") == 32
    uri = await shown.get_attribute("src")
    assert uri
    assert uri.startswith("blob:")
    # A spreadsheet offers its cells as a picture, too.
    assert not await at_home.evaluate(PASTE, [[["text/plain", "1"], ["text/html", "<b>1</b>"]], *image])
    await at_home.get_by_role("button", name="Remove image.png").click()
    await expect(at_home.get_by_label("Message")).to_be_focused()
    assert await at_home.evaluate("(uri) => fetch(uri).then(() => 'kept', () => 'revoked')", uri) == "revoked"


async def test_what_the_site_would_refuse_is_said_before_it_is_sent(at_home: Page, site: Site, me: Person) -> None:
    await open_session(at_home, site, me)
    uploads: list[Any] = []
    at_home.on("request", lambda request: uploads.append(request) if "/api/embeds" in request.url else None)
    await at_home.evaluate("document.querySelector('fixie-composer').maxEmbedBytes = 1000")
    await attach(
        at_home,
        file("large.txt", b"x" * 1001, "text/plain"),
        file("empty.txt", b"", "text/plain"),
        file("cat.png", b"GIF89a....", "image/png"),
        file("script.svg", b"PK\x03\x04", "image/svg+xml"),
    )
    told = at_home.locator(".refused-files li")
    await expect(told).to_have_text(
        [
            "large.txt is not attached. It is too large: at most 1,000 bytes.",
            "empty.txt is not attached. It is empty.",
            f"cat.png is not attached. {DISHONEST}",
            f"script.svg is not attached. {DISHONEST}",
        ]
    )
    assert uploads == []
    await at_home.get_by_label("Message").fill("Hello")
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator(".prose")).to_have_text("Hello")
    await expect(told).to_have_count(0)


async def test_only_so_many_files_fit_and_that_is_told_before(at_home: Page, site: Site, me: Person) -> None:
    await open_session(at_home, site, me)
    files = [file(f"{number}.txt", b"the same", "text/plain") for number in range(17)]
    await attach(at_home, *files[:14])
    await expect(at_home.locator(".chip progress")).to_have_count(0)
    await expect(at_home.locator("#composer-hint")).to_have_text("2 more files fit")
    await attach(at_home, *files[14:])
    await expect(at_home.locator(".chip")).to_have_count(16)
    await expect(at_home.locator(".refused-files")).to_contain_text(
        "16.txt is not attached. A message may have 16 files."
    )


async def test_a_file_that_did_not_go_up_is_tried_again(at_home: Page, site: Site, me: Person) -> None:
    await open_session(at_home, site, me)
    details = {"field": "size", "limit": 2 * 1024**3, "used": 2 * 1024**3}
    refusal = {"error": {"code": "payload_too_large", "message": "bytes", "details": details}}
    await at_home.route("**/api/embeds", lambda route: route.fulfill(status=413, json=refusal))
    await attach(at_home, file("notes.txt", b"x", "text/plain"))
    problem = at_home.locator(".chip [role=alert]")
    await expect(problem).to_have_text("There is no room for it: all your files together may have 2 GB.")
    await expect(at_home.get_by_role("button", name="Send")).to_have_attribute("aria-disabled", "true")
    await at_home.unroute("**/api/embeds")
    await at_home.get_by_role("button", name="Retry").click()
    await expect(at_home.locator(".chip")).to_contain_text("#1 notes.txt 1 bytes")
    await at_home.keyboard.press("Enter")
    await expect(at_home.locator(".query")).to_contain_text("#1")


async def held_uploads(page: Page) -> asyncio.Event:
    """Uploads stay on their way until this is set."""
    held = asyncio.Event()

    async def hold(route: Route) -> None:
        await held.wait()
        await route.continue_()

    await page.route("**/api/embeds", hold)
    return held


async def test_what_is_sent_before_its_files_are_there_goes_with_them(at_home: Page, site: Site, me: Person) -> None:
    page, handle = at_home, await open_session(at_home, site, me)
    held = await held_uploads(page)
    await attach(page, file("notes.txt", b"my notes", "text/plain"))
    await page.get_by_label("Message").fill("Read #1")
    await page.keyboard.press("Enter")
    for place in ("#composer-hint", "[role=status].connection"):
        await expect(page.locator(place)).to_have_text("Will be sent as soon as the files are there.")
    await expect(page.get_by_role("button", name="Send")).to_have_attribute("aria-busy", "true")
    held.set()
    await expect(page.locator(".query")).to_contain_text("Read #1")
    await expect(page.get_by_text("Sending…")).to_have_count(0)
    assert contents(me.settled(handle)[0]["embeds"]) == {"1": "my notes"}


async def test_what_is_changed_while_it_waits_for_its_files_is_not_sent(at_home: Page, site: Site, me: Person) -> None:
    page = at_home
    await open_session(page, site, me)
    held = await held_uploads(page)
    await attach(page, file("notes.txt", b"my notes", "text/plain"))
    await page.keyboard.type("Read")
    await page.keyboard.press("Enter")
    await page.keyboard.type(" it")
    await expect(page.locator("#composer-hint")).to_have_text("Can be sent when the files are there.")
    held.set()
    await expect(page.locator(".chip")).to_contain_text("8 bytes")
    await expect(page.locator(".chip progress")).to_have_count(0)
    await expect(page.get_by_label("Message")).to_have_value("Read it")
    await expect(page.locator(".query")).to_have_count(0)


async def test_what_is_sent_while_its_files_are_looked_at_goes_with_them(at_home: Page, site: Site, me: Person) -> None:
    page, handle = at_home, await open_session(at_home, site, me)
    looked = asyncio.Event()

    async def hold(route: Route) -> None:
        await looked.wait()
        await route.continue_()

    # What looks at a file is loaded with the first.
    await page.route("**/file-checks.js", hold)
    await attach(page, file("notes.txt", b"my notes", "text/plain"))
    await page.get_by_label("Message").fill("Read #1")
    await page.keyboard.press("Enter")
    await expect(page.locator("#composer-hint")).to_have_text("Will be sent as soon as the files are there.")
    looked.set()
    await expect(page.locator(".query")).to_contain_text("Read #1")
    await expect(page.get_by_text("Sending…")).to_have_count(0)
    assert contents(me.settled(handle)[0]["embeds"]) == {"1": "my notes"}


async def test_an_upload_can_be_cancelled(at_home: Page, site: Site, me: Person) -> None:
    await open_session(at_home, site, me)
    held = await held_uploads(at_home)
    await attach(at_home, file("notes.txt", b"x", "text/plain"))
    await expect(at_home.locator("#composer-hint")).to_have_text("Can be sent when the files are there.")
    async with at_home.expect_event("requestfailed"):
        await at_home.get_by_role("button", name="Cancel notes.txt").click()
    await expect(at_home.locator(".chip")).to_have_count(0)
    await expect(at_home.get_by_label("Message")).to_be_focused()
    held.set()
