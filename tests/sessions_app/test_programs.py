"""Agents that are programs on the site's machine, deployed by an administrator and asked by everybody."""

import asyncio
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from registry.transports.stdio_jsonrpc.options import CommandLine
from tests.registry.transports.stdio_jsonrpc.programs import SEED_AGENT, Program
from tests.sessions_app.people import Person, error_of, wait_until
from tests.sites import Site, running_site

if TYPE_CHECKING:
    from accounts.models import User
    from registry.models import Agent

Deploy = Callable[..., str]


@pytest.fixture
def administrator() -> "User":
    from accounts.models import User

    return User.objects.create_superuser(f"root-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def keeper(make_user: Callable[..., "User"]) -> "User":
    return make_user()


@pytest.fixture
def deploy(keeper: "User", administrator: "User") -> Iterator[Deploy]:
    """`deploy(program)` → the id of a published agent of the keeper's that runs it."""
    from registry.actions import create_agent, delete_agent
    from registry.commands import deploy_command

    made: list[tuple[Agent, Program | CommandLine]] = []  # programs, for their directories live as long as they

    def new(program: Program | CommandLine) -> str:
        agent = create_agent(by=keeper, handle=f"tool-{uuid.uuid4().hex[:8]}", published=True)
        command = program.command if isinstance(program, Program) else program
        deploy_command(agent=agent, by=administrator, command=command)
        made.append((agent, program))
        return agent.agent_id

    yield new
    for agent, _ in made:
        delete_agent(agent=agent)


def said(asker: Person, session: str) -> list[tuple[str, str]]:
    """Kinds and texts of the session's messages, once nothing is being answered."""
    return [(message["kind"], message["text"]) for message in asker.settled(session)]


def answers(asker: Person, session: str, text: str) -> str:
    asker.post(session, text)
    return said(asker, session)[-1][1]


def test_the_seeds_agent_is_asked_like_any_other(asker: Person, deploy: Deploy) -> None:
    agent = deploy(CommandLine(str(SEED_AGENT)))
    session = asker.new_session(agent)
    assert answers(asker, session, "test") == "Processed: test"
    assert answers(asker, asker.new_session(), f"@{agent} again") == "Processed: again"


def test_progress_becomes_steps_with_percentages(asker: Person, deploy: Deploy) -> None:
    program = Program(args=("progress Reading",))
    session = asker.new_session(deploy(program))
    asker.post(session, "go")
    steps = [(kind, text) for kind, text in said(asker, session) if kind == "thought"]
    assert steps == [("thought", f"Thought: {percent} % Reading") for percent in (25, 50, 75, 100)]


def test_context_is_carried_within_a_session_and_not_between(asker: Person, deploy: Deploy) -> None:
    agent = deploy(Program(args=("count",)))
    first, second = asker.new_session(agent), asker.new_session(agent)
    assert [answers(asker, first, "x"), answers(asker, first, "x")] == ["call 1", "call 2"]
    assert answers(asker, second, "x") == "call 1"
    assert answers(asker, first, "x") == "call 3"


def test_context_outlives_a_site_and_no_program_does(asker: Person, deploy: Deploy) -> None:
    program = Program(args=("count",))
    session = asker.new_session(deploy(program))
    assert answers(asker, session, "x") == "call 1"
    there = program.processes()
    with running_site(RUN_LEASE_SECONDS="15") as other:
        elsewhere = Person(asker.user, asker.key, other.client(asker.key))
        assert answers(elsewhere, session, "x") == "call 2"
        assert len(program.processes()) == len(there) + 1
        other.stop()
        assert program.processes() == there
    assert answers(asker, session, "x") == "call 3"


def test_a_program_that_breaks_down_is_an_error_that_people_can_read(asker: Person, deploy: Deploy) -> None:
    program = Program()
    program.does("die 3", "line Hello!", "echo")
    session = asker.new_session(deploy(program))
    assert answers(asker, session, "x") == "The agent's program ended with exit code 3 before it answered."
    assert answers(asker, session, "x").startswith("The agent wrote a line that is not JSON.")
    assert answers(asker, session, "x") == "x"


def test_canceling_a_query_ends_its_process(asker: Person, deploy: Deploy) -> None:
    program = Program()
    program.does("hang", "echo")
    session = asker.new_session(deploy(program))
    run = asker.post(session, "x")["run"]
    wait_until(lambda: (program.directory / "does").read_text() == "echo")  # it has begun with the first
    assert asker.http.post(f"/api/runs/{run}/cancel").status_code in (200, 202)
    wait_until(lambda: not program.processes())
    assert answers(asker, session, "again") == "again"


# Its log


def logged(person: Person, agent: str) -> str:
    answer = person.http.get(f"/api/agents/{agent}/log")
    assert answer.status_code == 200, answer.text
    return "".join(entry["text"] for entry in answer.json()["entries"])


@pytest.fixture
def keepers(person: Callable[..., Person], keeper: "User", site: Site, api_key: Any) -> Iterator[Person]:
    """The keeper, with a client."""
    key = api_key(keeper)
    with site.client(key) as client:
        yield Person(keeper, key, client)


def test_owners_read_what_a_program_logs(asker: Person, keepers: Person, deploy: Deploy) -> None:
    program = Program(args=(r"log a\x00b \xff\xfe end",))
    agent = deploy(program)
    assert logged(keepers, agent) == ""
    assert answers(asker, asker.new_session(agent), "x") == "logged"
    text = wait_until(lambda: logged(keepers, agent))
    assert text == "a\N{REPLACEMENT CHARACTER}b \N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} end\n"
    entry = keepers.http.get(f"/api/agents/{agent}/log").json()["entries"][0]
    assert set(entry) == {"created", "process", "text"}


def test_others_do_not(
    asker: Person, person: Callable[..., Person], keepers: Person, administrator: "User", deploy: Deploy, site: Site
) -> None:
    agent = deploy(Program(args=("log secret",)))
    answers(asker, asker.new_session(agent), "x")
    wait_until(lambda: "secret" in logged(keepers, agent))
    refused = asker.http.get(f"/api/agents/{agent}/log")
    assert (refused.status_code, error_of(refused)["code"]) == (404, "not_found")
    assert site.client().get(f"/api/agents/{agent}/log").status_code == 401
    assert "secret" in logged(person(is_superuser=True), agent)


def test_only_the_newest_of_a_flood_is_kept(asker: Person, keepers: Person, deploy: Deploy) -> None:
    from registry.agent_log import KEPT

    program = Program(args=("flood_stderr 20",))
    agent = deploy(program)
    session = asker.new_session(agent)
    for _ in range(2):
        assert answers(asker, session, "x") == "flooded"
    wait_until(lambda: logged(keepers, agent).endswith("the last line\n"))
    asyncio.run(asyncio.sleep(1.2))
    text = logged(keepers, agent)
    assert text.endswith("the last line\n")
    assert "bytes left out]" in text
    assert len(text) < KEPT + 100


def test_the_page_of_an_agent_shows_its_log_to_those_who_keep_it(
    asker: Person, keepers: Person, administrator: "User", deploy: Deploy
) -> None:
    from tests.registry.admin.test_admin import Browser

    agent = deploy(Program(args=("log <b>bold</b>",)))
    page = f"/agents/{agent}"
    assert "Nothing yet" in Browser(keepers.user).get(page).content.decode()
    answers(asker, asker.new_session(agent), "x")
    wait_until(lambda: logged(keepers, agent))
    for reader in (keepers.user, administrator):
        shown = Browser(reader).get(page).content.decode()
        assert "&lt;b&gt;bold&lt;/b&gt;" in shown
    owners = Browser(keepers.user).get(page).content.decode()
    assert "as a program on this machine" in owners
    others = Browser(asker.user).get(page).content.decode()
    assert "bold" not in others
    assert "What it logs" not in others


def test_administrators_find_logs_in_the_admin(
    asker: Person, keepers: Person, administrator: "User", deploy: Deploy
) -> None:
    from tests.registry.admin.test_admin import Browser

    agent = deploy(Program(args=("log a needle in it",)))
    answers(asker, asker.new_session(agent), "x")
    wait_until(lambda: logged(keepers, agent))
    logs = Browser(administrator).get("/admin/registry/agentlog/", {"q": agent.split("/")[1]}).content.decode()
    assert "a needle in it" in logs
