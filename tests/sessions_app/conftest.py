"""People with keys, and agents that stream, for the tests of the edges."""

import tempfile
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.agents import Behaviour, ScriptedAgent
from tests.sessions_app.cluster import Cluster
from tests.sessions_app.gates import Stage
from tests.sessions_app.people import Person
from tests.sessions_app.sockets import Socket, socket_to
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User


@pytest.fixture
def person(
    site: Site, echo: str, make_user: Callable[..., "User"], api_key: Callable[..., str]
) -> Iterator[Callable[..., Person]]:
    """`person(**fields)` → somebody new with a key and an HTTP client that sends it."""
    with ExitStack() as stack:

        def make(**fields: object) -> Person:
            user = make_user(**fields)
            key = api_key(user)
            return Person(user, key, stack.enter_context(site.client(key, verify=False)))

        yield make


@pytest.fixture
def asker(person: Callable[..., Person]) -> Person:
    return person()


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


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """Lets `held` agents finish; opened at the end in any case."""
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture(scope="session")
def scripted() -> Iterator[ScriptedAgent]:
    """A server for agents of any behaviour."""
    with ScriptedAgent() as server:
        yield server


@pytest.fixture
def agent_of(scripted: ScriptedAgent) -> Callable[[Person, Behaviour], str]:
    """`agent_of(person, behaviour)` → the id of a new agent of theirs that answers queries so."""

    def register(owner: Person, behaviour: Behaviour) -> str:
        handle = f"agent-{uuid.uuid4().hex[:8]}"
        scripted.on(f"/{handle}", behaviour)
        agent = {"handle": handle, "deployment_url": f"{scripted.url}/{handle}"}
        answer = owner.http.post("/api/agents", json=agent)
        assert answer.status_code == 201, answer.text
        assert answer.json()["revision"]["state"] == "ready", answer.text
        return str(answer.json()["agent_id"])

    return register


@pytest.fixture(scope="session")
def cluster(database: None) -> Iterator[Cluster]:
    """A site of several processes, on a database server of its own."""
    with tempfile.TemporaryDirectory(prefix="fixie-cluster-") as directory:
        Path(directory).chmod(0o755)  # PostgreSQL runs as somebody else where tests run as root
        cluster = Cluster(Path(directory) / "postgres")
        yield cluster
        cluster.close()


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """Agents and a language model for the processes of the cluster."""
    with ScriptedAgent() as server:
        yield Stage(server)
