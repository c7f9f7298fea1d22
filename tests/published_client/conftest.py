"""The published client `fixieai` 1.0.4, and people who use it."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.agents import ScriptedAgent, answer
from tests.published_client.package import HOME, Package
from tests.published_client.somebody import Somebody
from tests.sites import Site

FEW_SHOTS = [
    "Q: Shout hello\nAsk Func[shout]: hello\nFunc[shout] says: HELLO!\nA: HELLO!",
    "Q: Say hello loudly\nAsk Func[shout]: hello\nFunc[shout] says: HELLO!\nA: HELLO!",
]


@pytest.fixture(scope="session")
def package(site: Site, tmp_path_factory: Any) -> Iterator[Package]:
    """The package at work, pointed at the site."""
    if not (HOME / "installed").exists():
        pytest.skip("The published client is not installed: `make test` does it.")
    with Package(site.url, tmp_path_factory.mktemp("package")) as package:
        yield package


@pytest.fixture
def somebody(
    site: Site, package: Package, make_user: Any, api_key: Any, tmp_path_factory: Any
) -> Iterator[Callable[[], Somebody]]:
    """`somebody()` → a new user with an API key, a home folder and a client."""
    made: list[Somebody] = []

    def make() -> Somebody:
        user = make_user()
        key = api_key(user)
        home = tmp_path_factory.mktemp("home")
        made.append(Somebody(user=user, key=key, home=home, package=package, site=site, http=site.client(key)))
        return made[-1]

    yield make
    for person in made:
        person.http.close()


@pytest.fixture
def ann(somebody: Callable[[], Somebody]) -> Somebody:
    return somebody()


@pytest.fixture
def bob(somebody: Callable[[], Somebody]) -> Somebody:
    """Somebody to whom nothing of ann's belongs."""
    return somebody()


@pytest.fixture(scope="session")
def shouter() -> Iterator[ScriptedAgent]:
    """An agent at work on loopback, for whoever registers it: asked to shout something, it does."""

    def shout(request: Any) -> Any:
        return {"message": {"text": request.json["message"]["text"].upper() + "!"}}

    with ScriptedAgent() as agent:
        manifest = {"type": "code_shot", "base_prompt": "I shout.", "few_shots": FEW_SHOTS}
        agent.on("/", answer(manifest), method="GET")
        agent.on("/shout", answer(shout))
        yield agent


@pytest.fixture
def handle() -> str:
    """One that no other test's agent has."""
    return f"agent-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def agent(ann: Somebody, handle: str, shouter: ScriptedAgent) -> str:
    """The id of ann's agent: the shouter."""
    return ann.new_agent(handle, shouter.url)


@pytest.fixture
def agent_folder(tmp_path: Path, handle: str, shouter: ScriptedAgent) -> Path:
    """A folder with an `agent.yaml` that says where the shouter runs."""
    lines = [
        f"handle: {handle}",
        "name: Shouter",
        "description: Says it loudly.",
        "more_info_url: https://example.com/shouter",
        "entry_point: main:agent",
        f"deployment_url: {shouter.url}",
    ]
    (tmp_path / "agent.yaml").write_text("\n".join(lines) + "\n")
    return tmp_path
