"""However much a document asks for, the statements that answer it stay few: no N+1."""

import asyncio
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.db.backends.signals import connection_created

from tests.graphql import documents
from tests.graphql.asking import Asker
from tests.graphql.conftest import Team

if TYPE_CHECKING:
    from accounts.auth import Caller

FULL_AGENTS = """{allAgents(limit: 50) {
    agentId name description queries moreInfoUrl published queryUrl funcUrl created modified
    owner {__typename ... on UserType {username email organization {handle name} dailyUsedQueries}
                      ... on OrganizationType {handle name}}
    currentRevision {id isCurrent deployment {... on ExternalDeployment {url}} metadata {key value}}
    allRevisions(limit: 3) {id isCurrent state deployment {... on ExternalDeployment {url}} metadata {key value}}
}}"""
FULL_SESSIONS = """{allSessions(limit: 20) {
    handle name description frontendAgentId created lastSeq
    messages(limit: 10) {id text sentBy {handle agentId} type inReplyTo {id} timestamp embedKeys}
    embeds(limit: 5) {key embed {id contentType created contentHash size owner {username} url}}
}}"""


@pytest.fixture
def counted(database: None) -> Iterator[Callable[..., int]]:
    """`counted(asker, document, **variables)` → how many statements of the ORM answering takes."""
    from accounts.auth import Caller

    statements: list[str] = []

    def count(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append(sql)
        return execute(sql, params, many, context)

    def watch(connection: Any, **_: Any) -> None:
        if count not in connection.execute_wrappers:
            connection.execute_wrappers.append(count)

    def measure(asker: Asker, document: str, **variables: Any) -> int:
        # Not `caller_with_key`, which notes now and then that the key was used.
        caller = Caller(user_id=asker.user.pk, jti=asker.user.api_keys.get().jti)
        statements.clear()
        asyncio.run(execute(caller, document, variables))
        return len(statements)

    connection_created.connect(watch)
    yield measure
    connection_created.disconnect(watch)


async def execute(caller: "Caller", document: str, variables: dict[str, Any]) -> None:
    from accounts.graphql import Context
    from common.db import close_pool
    from fixie_site.graphql import schema

    result = await schema.execute(document, variable_values=variables, context_value=Context(caller))
    assert not result.errors, result.errors
    await close_pool()


def many_agents(team: Team, count: int) -> None:
    from registry.actions import add_revision, create_agent
    from tests.registry.readings import reads

    for n in range(count):
        owner = team.handle if n % 2 else None
        agent = create_agent(by=team.admin.user, owner=owner, handle=f"many-{n}", reading=reads())
        add_revision(agent=agent, by=team.admin.user, reading=reads())


def many_sessions(asker: Asker, count: int) -> None:
    uploaded = asker.http.post("/api/embeds", files={"file": ("a.txt", b"some text", "text/plain")})
    assert uploaded.status_code == 201, uploaded.text
    for _ in range(count):
        session = asker.ask(documents.CREATE_SESSION, frontendAgentId="fixie/echo")["createSession"]["session"]
        question = {"text": "See #1", "embeds": {"1": {"id": uploaded.json()["id"]}}}
        answer = asker.http.post(f"/api/sessions/{session['handle']}/messages", json=question)
        assert answer.status_code == 202, answer.text


def test_one_agent_is_one_statement_of_the_pool(counted: Callable[..., int], team: Team) -> None:
    many_agents(team, 2)
    for agent in ("many-0", f"{team.handle}/many-1", "fixie/echo", "no/body"):
        assert counted(team.admin, documents.GET_AGENT_BY_ID, agentId=agent) == 0


def test_an_agents_revisions_are_one_more_and_their_corpora_another(counted: Callable[..., int], team: Team) -> None:
    many_agents(team, 2)
    assert counted(team.admin, documents.GET_REVISIONS, agentId=f"{team.handle}/many-1") == 2


def test_agents_with_all_that_they_have(counted: Callable[..., int], team: Team) -> None:
    many_agents(team, 2)
    few = counted(team.admin, FULL_AGENTS)
    # The caller, the agents, their queries, revisions, the caller's owners, organization and usage.
    assert few <= 7
    from registry.models import Agent

    Agent.objects.filter(
        handle__startswith="many-", owner__in=[team.admin.user.owner, team.organization.owner]
    ).delete()
    many_agents(team, 12)
    assert counted(team.admin, FULL_AGENTS) <= few


def test_the_clients_list_of_agents(counted: Callable[..., int], team: Team) -> None:
    many_agents(team, 4)
    assert counted(team.admin, documents.GET_AGENTS) == 2


def test_sessions_with_all_that_they_have(counted: Callable[..., int], ann: Asker) -> None:
    many_sessions(ann, 1)
    few = counted(ann, FULL_SESSIONS)
    # The caller, the sessions, their messages and their embeds.
    assert few == 4
    many_sessions(ann, 6)
    assert counted(ann, FULL_SESSIONS) == few


def test_the_clients_reading_of_messages(counted: Callable[..., int], ann: Asker) -> None:
    many_sessions(ann, 1)
    session = ann.ask(documents.GET_SESSIONS)["allSessions"][0]["handle"]
    assert counted(ann, documents.GET_MESSAGES, handle=session) == 3
    assert counted(ann, documents.GET_EMBEDS, handle=session) == 3


def test_a_user_read_thirty_times_is_read_once(counted: Callable[..., int], team: Team) -> None:
    aliases = " ".join(f"a{n}: user {{username organization {{handle}} dailyUsedQueries}}" for n in range(30))
    # The same user is asked for thirty times at once; what stands below is loaded together.
    assert counted(team.admin, f"{{{aliases}}}") <= 30 + 2
