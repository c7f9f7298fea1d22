"""A site that lets agents call without end, and one with small limits; agents, and what they keep."""

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.sites import Site, running_site
from tests.storage_kv.memories import Memory, memory

if TYPE_CHECKING:
    from accounts.models import User

SITE_URL = "http://storage.example"
SMALL = {"STORAGE_MAX_KEYS": "10", "STORAGE_MAX_BYTES": "2000", "STORAGE_VALUE_MAX_BYTES": "500"}


@pytest.fixture(autouse=True)
def one_address(settings: object) -> None:
    """Tokens that a test signs are for the sites below, which have one address."""
    settings.SITE_URL = SITE_URL


@pytest.fixture(scope="session")
def site(database: None) -> Iterator[Site]:
    with running_site(SITE_URL=SITE_URL, STORAGE_CALLS_PER_MINUTE="1000000", WORKER_IN_PROCESS="false") as site:
        yield site


@pytest.fixture(scope="session")
def small_site(database: None) -> Iterator[Site]:
    with running_site(SITE_URL=SITE_URL, WORKER_IN_PROCESS="false", **SMALL) as site:
        yield site


@pytest.fixture
def new_agent(make_user: Callable[..., "User"]) -> Callable[..., str]:
    """`new_agent(**fields)` → the id of a new agent of somebody's, which nobody else sees."""
    from registry.actions import create_agent

    def make(owner: "User | None" = None, **fields: object) -> str:
        return create_agent(by=owner or make_user(), handle=f"agent-{uuid.uuid4().hex[:8]}", **fields).agent_id

    return make


@pytest.fixture
def storage(site: Site, new_agent: Callable[..., str], make_user: Callable[..., "User"]) -> Memory:
    """What a new agent keeps about a new user: nothing yet."""
    return memory(site, new_agent(), make_user())


@pytest.fixture
def small(small_site: Site, new_agent: Callable[..., str], make_user: Callable[..., "User"]) -> Memory:
    """`storage` on the site with small limits, which counts the calls."""
    return memory(small_site, new_agent(), make_user())
