"""Content that means harm, in a real page under the site's own policy: it is shown, and does nothing."""

import asyncio

import pytest
from playwright.async_api import Page, expect

from fixie_site.content_policy import policy_for
from tests.browser import stage as staging
from tests.browser.scenes import unfolded
from tests.browser.stage import Stage, message, state
from tests.browser.test_answers import answered
from tests.browser.test_inline_embeds import embed
from tests.browser.test_socket import opened

HARM = """
<img src=x onerror=alert(1)> <svg onload=alert(1)><script>alert(1)</script></svg> <style>body{display:none}</style>

[a](javascript:alert(1)) [b](data:text/html,<script>alert(1)</script>) ![c](javascript:alert(1))

<form action="https://evil.example"><input name=q><button>Go</button></form>
<a href="https://evil.example" ping="https://evil.example" id=session-data name=body>clobber</a>

<iframe srcdoc="<script>parent.alert(1)</script>"></iframe><base href="https://evil.example">
<b style="position:fixed">x</b>
"""
WATCH = """() => {
    globalThis.harm = [];
    globalThis.alert = () => harm.push("alert");
    document.addEventListener("securitypolicyviolation", ({ violatedDirective, blockedURI }) =>
        harm.push(`${violatedDirective} ${blockedURI}`));
}"""


@pytest.fixture(autouse=True)
def policy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stage's pages come with the policy of the site's."""
    monkeypatch.setattr(staging, "POLICY", policy_for("/sessions/x"))


async def shown(page: Page, stage: Stage, text: str, **more: object) -> None:
    await page.add_init_script(f"({WATCH})()")
    stage.set(answered(text, **more), [state("completed")])
    # What is enormous takes seconds on a busy machine.
    await opened(page, stage, within=20_000)
    await expect(page.locator(".prose")).not_to_be_empty()


async def harm(page: Page) -> list[str]:
    await page.wait_for_timeout(50)
    found: list[str] = await page.evaluate("harm")
    return found


async def test_markup_that_means_harm_does_nothing_and_breaks_no_rule(page: Page, stage: Stage) -> None:
    asked_for: list[str] = []
    page.on("request", lambda request: asked_for.append(request.url))
    await shown(page, stage, HARM)
    assert await harm(page) == []
    assert [url for url in asked_for if "evil" in url or url.endswith("/x")] == []
    assert (
        await page.locator(".prose :is(script, style, svg, form, iframe, base, [style], [id], [name], [ping])").count()
        == 0
    )
    await expect(page.get_by_label("Message")).to_be_visible()


async def test_it_does_nothing_either_while_it_streams(page: Page, stage: Stage) -> None:
    await page.add_init_script(f"({WATCH})()")
    stage.set([message(1, "query", "x")], [state("in_progress")])
    connection = await opened(page, stage)
    for at in range(0, len(HARM), 7):
        await connection.send(staging.delta(at, HARM[at : at + 7]))
    await expect(page.locator(".prose")).to_contain_text("clobber")
    assert await harm(page) == []


async def test_an_svg_attachment_with_a_script_is_a_picture(page: Page, stage: Stage) -> None:
    script = "<script>parent.alert(1)</script>"
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9' onload='parent.alert(1)'>{script}</svg>"
    await page.route("**/attachment/svg", lambda route: route.fulfill(body=svg, content_type="image/svg+xml"))
    embeds = {"1": embed(uri="/attachment/svg"), "2": embed("text/html", "/attachment/html")}
    await shown(page, stage, "#1\n\n#2", embeds=embeds)
    picture = page.get_by_role("img", name="Attachment 1")
    assert await picture.evaluate("(image) => image.decode().then(() => image.naturalWidth)") == 9
    await expect(page.locator(".prose .embed.file")).to_contain_text("text/html")
    assert await harm(page) == []


@pytest.mark.parametrize(
    "text",
    [
        "x" * 1_000_000,
        "x\u202e\u2067 desrever \u0336" + "a\u0300\u0301\u0302" * 20_000,
        "".join(f"{' ' * 2 * depth}- {depth}\n" for depth in range(120)),
        "|a|b|\n|---|---|\n" + "|1|2|\n" * 10_000,
    ],
    ids=["one line", "marks that pile up", "lists in lists", "a table of 10,000 rows"],
)
async def test_what_is_enormous_is_shown_soon_and_no_wider_than_the_window(page: Page, stage: Stage, text: str) -> None:
    await page.set_viewport_size({"width": 360, "height": 700})
    async with asyncio.timeout(20):
        await shown(page, stage, text)
    assert await page.evaluate("document.documentElement.scrollWidth") <= 360
    await expect(page.get_by_label("Message")).to_be_in_viewport()
    assert await harm(page) == []


async def test_marks_that_pile_up_and_reversed_text_stay_in_their_place(page: Page, stage: Stage) -> None:
    await shown(page, stage, "zalgo" + "\u0300" * 500 + "\n\nleft \u202eright\n\nnext")
    clipped = "(node) => getComputedStyle(node).overflow"
    assert await page.locator(".prose > p").first.evaluate(clipped) == "clip"
    last = page.locator(".prose > p").last
    await expect(last).to_have_text("next")
    assert await last.evaluate("(node) => getComputedStyle(node).direction") == "ltr"


async def test_steps_and_names_that_mean_harm_are_text(page: Page, stage: Stage) -> None:
    text = "Ask Func[<img src=x onerror=alert(1)>]: <b>{</b> \x1b[2J"
    await page.add_init_script(f"({WATCH})()")
    messages = [message(1, "query", HARM), message(2, "func_call", text), message(3, "response", "ok", agent="a/b")]
    stage.set(messages, [state("completed")])
    await opened(page, stage)
    await unfolded(page)
    await expect(page.locator(".step")).to_contain_text("Called <img src=x onerror=alert(1)>")
    assert await page.locator(".query p, .step").locator("b, img, script, form").count() == 0
    assert await harm(page) == []
