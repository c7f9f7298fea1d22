"""People with keys, agents that act for them, and the site with its embeds in S3."""

import os
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.agents import ScriptedAgent
from tests.embeds.keeper import Keeper
from tests.s3_server.server import HOME, S3Server, s3_server
from tests.sites import Site, running_site

if TYPE_CHECKING:
    from accounts.models import User


@pytest.fixture
def keeper(site: Site, make_user: Callable[..., "User"], api_key: Callable[..., str]) -> Callable[[], Keeper]:
    """`keeper()` → somebody new who keeps embeds on the site."""
    return lambda: Keeper.new(site, make_user(), api_key)


@pytest.fixture
def ann(keeper: Callable[[], Keeper]) -> Iterator[Keeper]:
    ann = keeper()
    yield ann
    ann.http.close()


@pytest.fixture
def content() -> bytes:
    """Bytes that nobody has brought before."""
    return b"content " + uuid.uuid4().hex.encode()


@pytest.fixture(scope="module")
def web() -> Iterator[ScriptedAgent]:
    """A server that embeds are fetched from."""
    with ScriptedAgent() as web:
        yield web


@pytest.fixture(scope="session")
def s3() -> Iterator[S3Server]:
    if not (HOME / "installed").exists():
        assert not os.environ.get("CI"), "Swift is not installed, and CI skips nothing."
        pytest.skip("OpenStack Swift is not installed: `make test` does it.")
    with s3_server() as server:
        yield server


@pytest.fixture(scope="session")
def s3_site(database: None, s3: S3Server) -> Iterator[Site]:
    """A site that keeps embeds in S3."""
    with running_site(**s3.settings) as site:
        yield site
