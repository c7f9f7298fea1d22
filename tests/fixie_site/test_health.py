"""Health for load balancers: alive, and ready only when everything behind the site is."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2

from registry.routing import lexical, minilm
from tests.databases import another_database
from tests.sites import Site, free_port

EMBEDDER = minilm.NAME if minilm.folder() else lexical.NAME
READY = {"status": "ready", "database": True, "migrations": True, "worker": True, "embedder": EMBEDDER}


class Starting(Site):
    """A site that is waited for only until it answers at all."""

    def _wait(self) -> None:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                httpx2.get(f"{self.url}/healthz", timeout=5)
                return
            except httpx2.TransportError:
                time.sleep(0.05)
        raise RuntimeError(self.log.read_text()[-4000:])


@contextmanager
def starting(**settings: str) -> Iterator[Site]:
    site = Starting(**settings)
    try:
        yield site
    finally:
        site.kill()


def get(site: Site, path: str, **options: Any) -> httpx2.Response:
    return httpx2.get(f"{site.url}{path}", timeout=20, **options)


def test_a_running_site_is_alive_and_ready_for_anybody_who_asks(site: Site) -> None:
    alive = get(site, "/healthz")
    assert (alive.status_code, alive.json()) == (200, {"status": "alive"})
    ready = get(site, "/readyz")
    assert (ready.status_code, ready.json()) == (200, READY)
    for path in ("/healthz", "/readyz"):
        answer = get(site, path, headers={"Authorization": "Bearer nonsense"})
        assert answer.status_code == 200
        assert "csrftoken" not in answer.cookies


def test_a_site_without_its_database_is_alive_says_that_it_is_not_ready_and_does_so_soon() -> None:
    nowhere = f"postgresql://nobody@127.0.0.1:{free_port()}/nothing"
    with starting(DATABASE_URL=nowhere) as site:
        assert get(site, "/healthz").status_code == 200
        begin = time.monotonic()
        answer = get(site, "/readyz")
        assert time.monotonic() - begin < 5, "a load balancer has given up by now"
        assert answer.status_code == 503
        assert answer.json() == {**READY, "status": "not ready", "database": False, "migrations": False}


def test_a_site_whose_database_lacks_migrations_is_not_ready() -> None:
    with another_database(migrated=False) as address, starting(DATABASE_URL=address) as site:
        assert get(site, "/healthz").status_code == 200
        answer = get(site, "/readyz")
        assert answer.status_code == 503
        assert answer.json() == {**READY, "status": "not ready", "migrations": False}
