"""Websites for tests, on loopback: pages by path, or whatever else a server may say."""

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

from registry.corpora.crawl import crawl
from registry.corpora.documents import Limits, Read, Result, Stopped, Unread
from tests.agents import Behaviour, Request, ScriptedAgent, answer

LIMITS = Limits(documents=50, document_bytes=200_000, total_bytes=2_000_000, seconds=20.0, depth=8, delay=0.0)


def limits(**changes: Any) -> Limits:
    return dataclasses.replace(LIMITS, **changes)


def html(*links: str, text: str = "", title: str = "", head: str = "") -> bytes:
    """A page with a paragraph and links."""
    anchors = "".join(f'<li><a href="{link}">more</a></li>' for link in links)
    return (
        f"<!doctype html><html><head><title>{title}</title>{head}</head>"
        f"<body><main><p>{text}</p></main><ul>{anchors}</ul></body></html>"
    ).encode()


def page(*links: str, headers: dict[str, str] | None = None, **parts: str) -> Behaviour:
    return answer(body=html(*links, **parts), content_type="text/html; charset=utf-8", headers=headers)


class Website(ScriptedAgent):
    """Serves pages by path; `otherwise` answers what has no page of its own."""

    def __init__(self, otherwise: Behaviour | None = None) -> None:
        super().__init__()
        self._otherwise = otherwise

    def page(self, path: str, *links: str, **parts: Any) -> None:
        """A page whose text is about its own path, unless told."""
        self.on(path, page(*links, **{"text": f"All about {path}.", **parts}), method="GET")

    def text(self, path: str, text: str, content_type: str = "text/plain") -> None:
        self.on(path, answer(body=text.encode(), content_type=content_type), method="GET")

    def get(self, path: str, *behaviours: Behaviour) -> None:
        self.on(path, *behaviours, method="GET")

    @property
    def paths(self) -> list[str]:
        """What has been asked for, without the robots.txt and the site map."""
        return [each.path for each in self.requests if each.path not in ("/robots.txt", "/sitemap.xml")]

    def _behaviour(self, request: Request) -> Behaviour:
        path = request.path.partition("?")[0]
        known = ("GET", path) in self._scripts or path in ("/robots.txt", "/sitemap.xml")
        return super()._behaviour(request) if known or self._otherwise is None else self._otherwise


async def crawled(
    urls: Sequence[str],
    exclude: Sequence[str] = (),
    within: Limits = LIMITS,
    *,
    token: str = "",
    done: Collection[str] = (),
) -> list[Result]:
    return [result async for result in crawl(urls, exclude, within, token=token, done=done)]


def read(results: list[Result], base: str = "") -> list[str]:
    """The sources that were read, in order, without `base`."""
    return [result.source.removeprefix(base) for result in results if isinstance(result, Read)]


def unread(results: list[Result], base: str = "") -> dict[str, str]:
    """Why the others were not."""
    return {result.source.removeprefix(base): result.reason for result in results if isinstance(result, Unread)}


def stopped(results: list[Result]) -> str:
    """Which limit ended the reading; nothing where none did."""
    return "".join(result.reason for result in results if isinstance(result, Stopped))
