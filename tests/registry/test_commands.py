"""Who may say which program an agent runs: administrators, and nobody else by any way."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Permission
from django.test import AsyncClient

from accounts.models import User
from common.errors import InvalidRequest, NotFound
from registry.actions import create_agent, delete_agent, set_current_revision, update_agent
from registry.commands import deploy_command
from registry.liveness import checks
from registry.liveness.checks import take_up
from registry.models import Agent, Liveness, Revision
from registry.routing.samples import texts_of
from registry.specs import load_spec
from registry.transports.stdio_jsonrpc.options import CommandLine
from tests.registry.admin.test_admin import Browser
from tests.registry.readings import reads

COMMAND = CommandLine("/srv/agent", ("-v",), env={"TOKEN": "secret"})


@pytest.fixture
def administrator() -> User:
    return User.objects.create_superuser(f"root-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def program(people: Any, administrator: User) -> Iterator[Agent]:
    """A published agent of the organization that runs a command."""
    owner = people.organization.owner.handle
    made = create_agent(
        by=people.owner, owner=owner, handle=f"tool-{uuid.uuid4().hex[:8]}", published=True, queries=["Do it"]
    )
    deploy_command(agent=made, by=administrator, command=COMMAND)
    made.refresh_from_db()
    yield made
    delete_agent(agent=made)


def revisions(agent: Agent) -> list[tuple[str, str]]:
    return list(agent.revisions.order_by("pk").values_list("deployment", "target"))


def test_a_command_becomes_the_current_revision(program: Agent) -> None:
    revision = program.current_revision
    assert revision is not None
    assert (revision.deployment, revision.target, revision.transport) == ("command", "/srv/agent", "stdio_jsonrpc")
    assert CommandLine.from_options(revision.options) == COMMAND
    spec = load_spec(revision.pk)
    assert (spec.deployment.options, spec.deployment.revision) == (revision.options, revision.pk)


def test_the_same_command_again_changes_nothing(program: Agent, administrator: User) -> None:
    again = deploy_command(agent=program, by=administrator, command=COMMAND)
    assert again == program.current_revision
    assert len(revisions(program)) == 1
    other = deploy_command(agent=program, by=administrator, command=CommandLine("/srv/agent"))
    program.refresh_from_db()
    assert program.current_revision == other


@pytest.mark.parametrize("who", ["owner", "teammate", "outsider"])
def test_nobody_else_may_set_one(program: Agent, people: Any, who: str) -> None:
    with pytest.raises(InvalidRequest, match="Only administrators") as error:
        deploy_command(agent=program, by=getattr(people, who), command=CommandLine("/bin/sh"))
    assert error.value.details["field"] == "command"
    assert revisions(program) == [("command", "/srv/agent")]


def test_somebody_with_the_permission_may(program: Agent, people: Any) -> None:
    people.outsider.user_permissions.add(Permission.objects.get(codename="set_command"))
    by = User.objects.get(pk=people.outsider.pk)
    deploy_command(agent=program, by=by, command=CommandLine("/srv/other"))
    assert revisions(program)[-1] == ("command", "/srv/other")


def test_a_deleted_agent_has_no_command(program: Agent, administrator: User, people: Any) -> None:
    gone = create_agent(by=people.owner, handle=f"gone-{uuid.uuid4().hex[:8]}")
    pk = gone.pk
    delete_agent(agent=gone)
    gone.pk = pk
    with pytest.raises(NotFound):
        deploy_command(agent=gone, by=administrator, command=COMMAND)


def test_its_owner_points_it_elsewhere_and_not_back(program: Agent, people: Any, administrator: User) -> None:
    first = program.current_revision_id
    assert first is not None
    changed = update_agent(agent=program, by=people.owner, name="Mine", reading=reads())
    assert changed.current_revision is not None
    assert changed.current_revision.deployment == "external"
    for by in (people.owner, None):
        with pytest.raises(InvalidRequest, match="Only administrators"):
            set_current_revision(agent=program, revision=first, by=by)
    program.refresh_from_db()
    assert program.current_revision_id != first
    assert set_current_revision(agent=program, revision=first, by=administrator).current_revision_id == first


def test_the_router_knows_it_by_its_name_its_queries_and_its_capabilities(program: Agent) -> None:
    program.capabilities = ["custom-task"]
    assert set(texts_of(program)) == {program.handle.replace("-", " "), "Do it", "custom task"}


def test_its_address_is_not_checked_for_there_is_none(program: Agent) -> None:
    take_up()
    assert not Liveness.objects.filter(agent=program).exists()
    assert checks.claim(0) == []


# Over REST and GraphQL


def ask(who: User | None, api_key: Any, method: str, path: str, body: Any = None) -> Any:
    headers = {"authorization": f"Bearer {api_key(who)}"} if who else {}
    call = getattr(AsyncClient(), method)
    data = {} if body is None else {"data": body, "content_type": "application/json"}
    return async_to_sync(call)(path, headers=headers, **data)


def test_no_edge_takes_a_command(program: Agent, people: Any, api_key: Any) -> None:
    path = f"/api/agents/{program.agent_id}"
    for extra in ({"command": "/bin/sh"}, {"deployment": "command"}, {"options": {"command": "/bin/sh"}}):
        for method, where, needed in (
            ("post", "/api/agents", {"handle": "new"}),
            ("patch", path, {}),
            ("post", f"{path}/revisions", {"deployment_url": "http://127.0.0.1:1"}),
        ):
            answer = ask(people.owner, api_key, method, where, {**needed, **extra})
            assert answer.status_code == 400, (method, where, answer.content)
    for url in ("/bin/sh", "file:///bin/sh", "stdio_jsonrpc:/bin/sh"):
        assert ask(people.owner, api_key, "patch", path, {"deployment_url": url}).status_code == 400
    assert revisions(program) == [("command", "/srv/agent")]
    assert not Agent.objects.filter(owner=people.owner.owner).exists()


def test_owners_see_that_it_runs_a_command_and_not_which(program: Agent, people: Any, api_key: Any) -> None:
    answer = ask(people.owner, api_key, "get", f"/api/agents/{program.agent_id}")
    revision = answer.json()["revision"]
    assert (revision["deployment"], revision["url"], revision["transport"]) == ("command", None, "stdio_jsonrpc")
    assert b"secret" not in answer.content
    assert b"/srv/agent" not in answer.content


def test_refreshing_it_says_that_there_is_nothing_to_read(program: Agent, people: Any, api_key: Any) -> None:
    answer = ask(people.owner, api_key, "post", f"/api/refresh/{program.agent_id}")
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "It runs a program here; there is no manifest to read."


def test_its_owner_changes_the_rest(program: Agent, people: Any, api_key: Any) -> None:
    answer = ask(people.teammate, api_key, "patch", f"/api/agents/{program.agent_id}", {"name": "Tool"})
    assert answer.json()["name"] == "Tool"
    assert answer.json()["revision"]["deployment"] == "command"


# For administrators


def path_of(agent: Agent) -> str:
    return f"/admin/registry/agent/{agent.pk}/command/"


def filled(**changes: str) -> dict[str, str]:
    limits = {"processes": "3", "start_seconds": "5", "call_seconds": "30", "idle_seconds": "60", "memory_mb": "200"}
    texts = {"command": "/srv/new", "args": "-v\r\n  two words", "cwd": "/srv", "env": "A=b=c\r\nD="}
    return {**limits, **texts, "open_files": "64", **changes}


def test_an_administrator_sets_a_command(program: Agent, administrator: User) -> None:
    browser = Browser(administrator)
    page = browser.get(path_of(program)).content.decode()
    assert "/srv/agent" in page
    assert "TOKEN=secret" in page
    assert browser.post(path_of(program), filled()).status_code == 302
    program.refresh_from_db()
    expected = CommandLine(
        "/srv/new", ("-v", "  two words"), "/srv", {"A": "b=c", "D": ""}, 3, 5.0, 30.0, 60.0, 200, 64
    )
    assert program.current_revision is not None
    assert CommandLine.from_options(program.current_revision.options) == expected
    assert program.current_revision.created_by == administrator


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"command": ""}, "This field is required"),
        ({"cwd": "here"}, "cwd must be a full path"),
        ({"env": "A=b\r\nnothing"}, "Line 2 is not NAME=value"),
        ({"env": "A B=c"}, "env cannot have the name"),
        ({"env": "{A=b"}, "What begins with { is read as a JSON object, and this is none."),
        ({"env": '{"A": 1}'}, "env must be text"),
        ({"args": "[a-z]*"}, "What begins with [ is read as a JSON list, and this is none."),
        ({"args": '["a", 1]'}, "args must be text"),
        ({"processes": "0"}, "processes must be a whole number from 1 to 64"),
        ({"memory_mb": "much"}, "Enter a whole number"),
    ],
)
def test_problems_stand_at_their_field(program: Agent, administrator: User, changes: Any, words: str) -> None:
    answer = Browser(administrator).post(path_of(program), filled(**changes))
    assert answer.status_code == 200
    (field,) = answer.context["form"].errors
    assert field in changes
    assert words in answer.context["form"].errors[field][0]
    assert words in answer.content.decode().replace("&#x27;", "'")
    assert revisions(program) == [("command", "/srv/agent")]


def staff_who_view(people: Any) -> User:
    staff: User = people.outsider
    staff.is_staff = True
    staff.save()
    staff.user_permissions.set(Permission.objects.filter(codename__in=["view_agent", "view_revision", "view_agentlog"]))
    return staff


@pytest.mark.parametrize(
    "lookup",
    [
        "revision/?options__env__TOKEN__startswith=",
        "revision/?options__icontains=",
        "revision/?agent__current_revision__options__env__TOKEN__startswith=",
        "agent/?current_revision__options__env__TOKEN__startswith=",
        "agent/?revisions__options__env__TOKEN__startswith=",
        "agentlog/?agent__current_revision__options__env__TOKEN__startswith=",
    ],
)
def test_who_may_not_set_commands_finds_out_no_secret_by_looking_it_up(
    program: Agent, people: Any, lookup: str
) -> None:
    browser = Browser(staff_who_view(people))
    answers = [browser.get(f"/admin/registry/{lookup}{start}") for start in ("s", "x")]
    assert [answer.status_code for answer in answers] == [400, 400]
    assert browser.get(f"/admin/registry/revision/?agent={program.pk}").status_code == 200


def test_an_administrator_looks_up_by_options(program: Agent, administrator: User) -> None:
    page = Browser(administrator).get(
        f"/admin/registry/revision/?agent={program.pk}&options__env__TOKEN__startswith=sec"
    )
    assert (page.status_code, len(page.context["cl"].result_list)) == (200, 1)


def test_staff_without_the_permission_sees_neither_the_page_nor_secrets(program: Agent, people: Any) -> None:
    staff = people.outsider
    staff.is_staff = True
    staff.save()
    staff.user_permissions.set(Permission.objects.filter(codename__in=["change_agent", "view_agent", "view_revision"]))
    browser = Browser(staff)
    assert browser.get(path_of(program)).status_code == 403
    assert browser.post(path_of(program), filled()).status_code == 403
    page = browser.get(f"/admin/registry/agent/{program.pk}/change/")
    assert page.status_code == 200
    assert "Run a command" not in page.content.decode()
    assert program.current_revision is not None
    revision = browser.get(f"/admin/registry/revision/{program.current_revision.pk}/change/")
    assert revision.status_code == 200
    assert "secret" not in revision.content.decode()
    assert Revision.objects.filter(agent=program).count() == 1


def test_the_agents_page_in_the_admin_leads_there(program: Agent, administrator: User) -> None:
    page = Browser(administrator).get(f"/admin/registry/agent/{program.pk}/change/").content.decode()
    assert f'href="{path_of(program)}"' in page
