"""Embeds: 20 MB through a site that holds none of it, and signed URLs against the yardstick."""

import os
import statistics
import time
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

import httpx2

from benchmarks.load import Round, bounded, load
from benchmarks.pairs import yardstick
from benchmarks.people import key_of, new_user
from benchmarks.report import Row
from benchmarks.server import Server, serving
from common.ids import uuid7
from embeds import links

MB = 1_000_000
SIZE = 20 * MB
PART_SECONDS = 60.0
CALLS = 1000
CONTENT_TYPE = "application/octet-stream"


def measure(*, quick: bool) -> list[Row]:
    with serving() as server, server.client(key_of(new_user())) as http:
        memory = _memory(server, http, times=2 if quick else 5)
        alone = bounded(load(server.port, yardstick(1).requests, 0.3 if quick else 1.0, expect=b"alive"), PART_SECONDS)
    return [*memory, *_links(alone)]


def _memory(server: Server, http: httpx2.Client, *, times: int) -> list[Row]:
    """Each a few times, after the same with little has warmed the process up."""
    _announced(http, MB)
    _download(http, _by_form(http, MB), MB)
    url = _by_form(http, SIZE)
    return [
        _growth(server, "upload of 20 MB, by form: growth of the site", times, lambda: _by_form(http, SIZE)),
        _growth(server, "upload of 20 MB, announced: growth of the site", times, lambda: _announced(http, SIZE)),
        _growth(server, "download of 20 MB: growth of the site", times, lambda: _download(http, url, SIZE)),
    ]


def _growth(server: Server, name: str, times: int, step: Callable[[], object]) -> Row:
    """The highest that resident memory gets above what it was, after all of `times`."""
    before = server.memory()
    server.forget_peak()
    began = time.perf_counter()
    for _ in range(times):
        step()
    rate = times * SIZE / MB / (time.perf_counter() - began)
    growth = (server.peak_memory() - before) / MB
    return Row(name, growth, "MB", at_most=30.0, detail=f"from {before / MB:.0f} MB, {times} times; {rate:.0f} MB/s")


def _by_form(http: httpx2.Client, size: int) -> str:
    """The URL of a new embed."""
    answer = http.post("/api/embeds", files={"file": ("f", os.urandom(size), CONTENT_TYPE)})
    return str(answer.raise_for_status().json()["url"])


def _announced(http: httpx2.Client, size: int) -> None:
    about = {"content_type": CONTENT_TYPE, "size": size}
    upload = http.post("/api/embeds/uploads", json=about).raise_for_status().json()
    http.put(upload["url"], content=os.urandom(size), headers=upload["headers"]).raise_for_status()
    http.post(f"/api/embeds/uploads/{upload['id']}/complete").raise_for_status()


def _download(http: httpx2.Client, url: str, size: int) -> None:
    with http.stream("GET", url) as answer:
        if sum(len(piece) for piece in answer.iter_raw()) != size:
            raise RuntimeError("The download is not whole.")


def _links(alone: Round) -> list[Row]:
    embeds = [uuid7() for _ in range(CALLS)]
    urls = [urlsplit(links.signed_url(embed)) for embed in embeds]
    requests = [(url.path, dict(parse_qsl(url.query))) for url in urls]
    return [
        _call("signing a URL", alone, lambda i: links.signed_url(embeds[i])),
        _call("verifying a URL", alone, lambda i: links.verified("GET", *requests[i])),
    ]


def _call(name: str, alone: Round, call: Callable[[int], object]) -> Row:
    times = []
    for number in range(CALLS):
        began = time.perf_counter()
        call(number)
        times.append(time.perf_counter() - began)
    cost = statistics.median(times)
    detail = f"{cost * 1e6:.0f} µs to {alone.p50 * 1e6:.0f} µs"
    return Row(name, cost / alone.p50, "x yardstick", at_most=0.2, detail=detail)
