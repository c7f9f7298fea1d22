"""Agents' text as HTML: shown, and never more than shown. `static/js/markdown.js`."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser, Page

from tests.browser.stage import Stage

RENDER = """async (text) => {
    const { blocksOf } = await import("/static/js/markdown.js");
    const root = document.createElement("div");
    root.append(...blocksOf(text).flatMap((block) => block.nodes()));
    document.body.append(root);
    const markup = root.innerHTML;
    await new Promise((resolve) => setTimeout(resolve, 20));
    root.remove();
    return markup;
}"""


@pytest.fixture(scope="module")
async def modules(browser: Browser, stage: Stage) -> AsyncIterator[Page]:
    # The stage's strict policy would stop scripts too: what is tested here must hold without it.
    context = await browser.new_context(bypass_csp=True)
    page = await context.new_page()
    await page.goto(stage.module_url)
    await page.evaluate("() => { globalThis.hacked = 0; globalThis.alert = () => { hacked += 1; }; }")
    yield page
    await context.close()


async def rendered(page: Page, text: str) -> str:
    markup: str = await page.evaluate(RENDER, text)
    assert await page.evaluate("hacked") == 0
    return markup


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg onload=alert(1)><script>alert(1)</script></svg>",
        "<svg><animate onbegin=alert(1) attributeName=x dur=1s>",
        "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 onerror=alert(1)&gt;'>",
        "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
        "<details open ontoggle=alert(1)>x</details>",
        "<form action=https://evil.example><input name=q><button>Go</button></form>",
        "<a href='javascript:alert(1)'>x</a>",
        "[x](javascript:alert(1))",
        "[x](JaVaScRiPt:alert(1))",
        "[x](&#106;avascript:alert(1))",
        "[x](java\nscript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "![x](javascript:alert(1))",
        "![x](data:image/svg+xml,<svg onload=alert(1)>)",
        "<style>body{display:none}</style>",
        "<p style='position:fixed;inset:0'>over everything</p>",
        "<div id=session-data class=dock>clobber</div>",
        "<base href=https://evil.example>",
        "<meta http-equiv=refresh content='0;url=https://evil.example'>",
        "<object data=x></object><embed src=x>",
        "```html\n<script>alert(1)</script>\n```",
    ],
)
async def test_nothing_in_an_answer_runs_or_reaches_the_page_around_it(modules: Page, text: str) -> None:
    markup = await rendered(modules, text)
    for forbidden in ("<script", "<svg", "<style", "<iframe", "<form", "<base", "<meta", "<object", " style=", " id="):
        assert forbidden not in markup
    for scheme in ('="javascript:', '="data:', 'class="dock"'):
        assert scheme not in markup.lower()
    assert not await modules.evaluate(
        """(markup) => [...new DOMParser().parseFromString(markup, "text/html").querySelectorAll("*")]
            .some((element) => [...element.attributes].some(({name}) => name.startsWith("on")))""",
        markup,
    )


async def test_links_open_elsewhere_and_tell_nothing(modules: Page) -> None:
    markup = await rendered(modules, "[x](https://example.com/a?b=c)")
    assert 'href="https://example.com/a?b=c"' in markup
    assert 'target="_blank"' in markup
    assert 'rel="noopener noreferrer nofollow"' in markup


async def test_images_are_web_addresses_or_nothing(modules: Page) -> None:
    assert "<img" in await rendered(modules, "![a cat](/static/img/icon.svg)")
    assert "<img" not in await rendered(modules, "![a cat](ftp://example.com/cat.png)")
    assert "a cat" in await rendered(modules, "![a cat](ftp://example.com/cat.png)")


async def test_task_lists_tables_and_code_are_shown_for_everyone(modules: Page) -> None:
    assert 'aria-label="Done"' in await rendered(modules, "- [x] bread\n- [ ] milk")
    assert '<div class="table-frame" tabindex="0"><table>' in await rendered(modules, "|a|b|\n|---|---|\n|1|2|")
    assert '<pre tabindex="0"><code class="language-python">' in await rendered(modules, "```python\nx\n```")


async def test_headings_stay_below_the_page_heading(modules: Page) -> None:
    markup = await rendered(modules, "# One\n\n###### Six")
    assert "<h2>One</h2>" in markup
    assert "<h6>Six</h6>" in markup


async def test_line_breaks_of_an_answer_are_kept(modules: Page) -> None:
    assert await rendered(modules, "one\ntwo") == "<p>one<br>two</p>"


@pytest.mark.parametrize("text", ["x" * 1_000_000, "*" * 300_000, "[" * 100_000, "> " * 20_000, "- " * 5_000 + "x"])
async def test_an_enormous_or_hostile_text_is_shown_in_a_second_or_two(modules: Page, text: str) -> None:
    started = await modules.evaluate("performance.now()")
    await rendered(modules, text)
    assert await modules.evaluate("performance.now()") - started < 3000
