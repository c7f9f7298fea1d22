"""A session, a socket to it, and agents for the processes of the cluster."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.agents import ScriptedAgent
from tests.sessions_app.gates import Stage
from tests.sessions_app.people import Person
from tests.sessions_app.sockets import Socket, socket_to
from tests.sites import Site


@pytest.fixture
def session(asker: Person) -> str:
    """The handle of a new session of the asker's with `fixie/echo`."""
    return asker.new_session()


@pytest.fixture
async def socket(site: Site, asker: Person, session: str) -> AsyncIterator[Socket]:
    """An open socket to that session, which has said `synced`."""
    async with socket_to(site, session, asker.key) as socket:
        assert await socket.frame() == {"type": "synced", "seq": 0}
        yield socket


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """Agents and a language model for the processes of the cluster."""
    with ScriptedAgent() as server:
        yield Stage(server)
