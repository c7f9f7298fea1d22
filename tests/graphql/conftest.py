"""An organization with members, an outsider and strangers, all with GraphQL in hand; an agent's server."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.agents import Behaviour, ScriptedAgent, answer
from tests.graphql.asking import Asker
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import Organization, User

MANIFEST = {"base_prompt": "I roll dice.", "few_shots": ["Q: Roll 3d8\nAsk Func[roll]: 8 3\nFunc[roll] says: 5\nA: 5"]}


@pytest.fixture
def asker(
    site: Site, echo: str, make_user: Callable[..., "User"], api_key: Callable[..., str]
) -> Iterator[Callable[..., Asker]]:
    """`asker(user=None, key=…)` → somebody with a key, and a client that sends it."""
    with ExitStack() as stack:

        def make(user: "User | None" = None, key: str | None = None) -> Asker:
            user = user or make_user()
            key = key or api_key(user)
            return Asker(user, key, stack.enter_context(site.client(key)))

        yield make


@pytest.fixture
def ann(asker: Callable[..., Asker]) -> Asker:
    return asker()


@pytest.fixture
def stranger(site: Site) -> Iterator[Asker]:
    """Nobody: no key, no cookie."""
    with site.client() as http:
        yield Asker(None, None, http)


@dataclass(frozen=True)
class Team:
    """An organization with an admin and a member, and somebody else."""

    organization: "Organization"
    admin: Asker
    mate: Asker
    outsider: Asker

    @property
    def handle(self) -> str:
        return self.organization.owner.handle


@pytest.fixture
def team(asker: Callable[..., Asker]) -> Team:
    from accounts.organizations import create_organization

    admin, mate, outsider = asker(), asker(), asker()
    organization = create_organization(by=admin.user, handle=f"team-{uuid.uuid4().hex[:8]}", name="Team")
    organization.members.add(mate.user)
    return Team(organization, admin, mate, outsider)


@pytest.fixture(scope="session")
def server() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as server:
        yield server


@pytest.fixture
def served(server: ScriptedAgent) -> Callable[..., str]:
    """`served(behaviour)` → the address of an agent with that manifest; a Code Shot agent's by default."""

    def serve(behaviour: Behaviour | None = None) -> str:
        path = f"/{uuid.uuid4().hex[:8]}"
        server.on(path, behaviour or answer(MANIFEST), method="GET")
        return f"{server.url}{path}"

    return serve
