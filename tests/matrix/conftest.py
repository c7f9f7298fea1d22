"""One agent of each transport, for everybody, and somebody to ask them."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.agents import ScriptedAgent
from tests.matrix.agents import SUBJECTS, Subject
from tests.sessions_app.people import Person
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User


@pytest.fixture
def asker(site: Site, echo: str, make_user: Callable[..., "User"], api_key: Callable[..., str]) -> Iterator[Person]:
    user = make_user()
    key = api_key(user)
    with site.client(key) as http:
        yield Person(user, key, http)


@pytest.fixture(scope="session")
def server() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as server:
        yield server


@pytest.fixture
def subject(request: pytest.FixtureRequest, server: ScriptedAgent, asker: Person) -> Subject:
    """An agent of the transport that the test is for."""
    return SUBJECTS[request.param](server, asker)
