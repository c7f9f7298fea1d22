"""What every test stands on: a migrated PostgreSQL of its own, and people to act as."""

import functools
import os
import tempfile
import threading
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests import databases
from tests.agents import Behaviour, ScriptedAgent
from tests.sessions_app.people import Person
from tests.sites import Site, running_site

if TYPE_CHECKING:
    from accounts.models import User
    from tests.sessions_app.cluster import Cluster

# With the number of its connections: a server keeps what it was made with.
VAR = Path(os.environ.get("FIXIE_TEST_VAR", Path(tempfile.gettempdir()) / f"fixie-tests-400-{os.getuid()}"))
os.environ["VAR"] = str(VAR)
os.environ["FIXIE_ENV"] = "local"
os.environ.pop("DATABASE_URL", None)
# Scripted models answer what tests ask, and are not asked for titles behind their back.
os.environ["SESSION_TITLES"] = "0"
# Not a second for each password and 50 ms for each HTTP client: nobody is kept out here, and TLS is nowhere spoken.
os.environ["PASSWORD_HASHERS"] = "django.contrib.auth.hashers.MD5PasswordHasher"
os.environ["SSL_CERT_DIR"] = os.devnull
os.environ.pop("SSL_CERT_FILE", None)


def pytest_configure(config: pytest.Config) -> None:
    """Starts PostgreSQL and makes this run's database before Django reads its settings."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        return  # Its workers run the tests, each with a database of its own.
    os.environ["DJANGO_SETTINGS_MODULE"] = "fixie_site.settings"
    from fixie_site import embedded

    server = embedded.database()
    server.__enter__()
    config.add_cleanup(functools.partial(server.__exit__, None, None, None))
    name = f"test_{os.getpid()}"
    admin = os.environ["DATABASE_URL"]
    databases.make_hasty(admin)
    databases.make_database(admin, name)
    config.add_cleanup(lambda: databases.drop_database(admin, name))
    os.environ["DATABASE_URL"] = admin.replace("/postgres?", f"/{name}?")
    import django

    django.setup()


@pytest.fixture(scope="session", autouse=True)
def database(django_db_blocker: Any) -> Iterator[None]:
    """Tests share one migrated database and keep apart by names of their own; nothing is rolled back."""
    with django_db_blocker.unblock():
        yield
        _remove_files_of_embeds()
        from django.db import connections

        connections.close_all()
        for connection in connections.all():
            if hasattr(connection, "close_pool"):
                connection.close_pool()


def _remove_files_of_embeds() -> None:
    """Other runs keep theirs in the same folder, and this run's database will be gone."""
    from embeds.files import LocalFiles, files
    from embeds.models import Blob, LooseFile

    storage = files()
    assert isinstance(storage, LocalFiles)
    for path in (*Blob.objects.values_list("path", flat=True), *LooseFile.objects.values_list("path", flat=True)):
        storage.delete(path)


@pytest.fixture
def make_user() -> Callable[..., object]:
    """`make_user(username=None, password=None, **fields)` → a saved User with a name nobody else has."""
    from accounts.models import User

    def make(username: str | None = None, password: str | None = None, **fields: object) -> User:
        name = username or f"user-{uuid.uuid4().hex[:12]}"
        return User.objects.create_user(name, f"{name}@example.com", password, **fields)

    return make


@pytest.fixture
def api_key() -> Callable[..., str]:
    """`api_key(user)` → a new API key of theirs."""
    from accounts import actions

    def make(user: object) -> str:
        return actions.create_api_key(user=user, name="test").token

    return make


@pytest.fixture(scope="session")
def site(database: None) -> Iterator[Site]:
    """The running site: `site.url`, `site.ws_url`, `site.client(key)`."""
    # Its leases are long: on a busy machine a run must not be taken from a site that only waits for a core.
    with running_site(RUN_LEASE_SECONDS="15") as site:
        yield site


@pytest.fixture(scope="session")
def echo(database: None) -> str:
    """The id of a published agent that answers with the query's own words."""
    from accounts.models import User
    from registry.bootstrap import ensure_internal_agent, ensure_organization

    owner = User.objects.create_user(f"keeper-{uuid.uuid4().hex[:8]}", "keeper@example.com")
    ensure_organization(handle="fixie", name="Fixie", member=owner)
    ensure_internal_agent(owner_handle="fixie", handle="echo", name="Echo", description="", target="echo")
    return "fixie/echo"


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
def cluster(database: None) -> Iterator["Cluster"]:
    """A site of several processes, on a database server of its own."""
    from tests.sessions_app.cluster import Cluster  # imports Django

    with tempfile.TemporaryDirectory(prefix="fixie-cluster-") as directory:
        Path(directory).chmod(0o755)  # PostgreSQL runs as somebody else where tests run as root
        cluster = Cluster(Path(directory) / "postgres")
        yield cluster
        cluster.close()
