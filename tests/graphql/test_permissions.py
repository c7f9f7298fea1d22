"""Who may see and do what: owner, admin and member of the organization, outsider, stranger, agent, dead keys.

Whoever is refused has changed nothing.
"""

import uuid
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.graphql import conversations, documents
from tests.graphql.asking import Asker, Json
from tests.graphql.conftest import Team
from tests.sites import Site

if TYPE_CHECKING:
    from registry.models import Agent

URL = "http://127.0.0.1:9009/agent"
PRIVATE = "{user {username}}"
AGENT = """query($id: String!) {agentById(agentId: $id) {
    agentId queryUrl funcUrl
    owner {... on UserType {username firstName lastName email organization {handle} dailyQueryLimit dailyUsedQueries}}
    currentRevision {state deployment {... on ExternalDeployment {url}} metadata {key value}}
    allRevisions {deployment {... on ExternalDeployment {url}} metadata {key value}}
}}"""
SEND = 'mutation($s: String!) {sendSessionMessage(messageData: {session: $s, text: "hi"}) {response {text}}}'

# Every query and mutation, with what it is asked of; `agent`, `revision` and `session` are somebody else's.
OPERATIONS: dict[str, tuple[str, Callable[[Json], Json]]] = {
    "user": (documents.GET_USERNAME, lambda w: {}),
    "allAgents": (documents.GET_AGENTS, lambda w: {}),
    "allSessions": (documents.GET_SESSIONS, lambda w: {}),
    "agentById": (documents.GET_AGENT_BY_ID, lambda w: {"agentId": w["agent"]}),
    "sessionByHandle": (documents.GET_MESSAGES, lambda w: {"handle": w["session"]}),
    "createAgent": (documents.CREATE_AGENT, lambda w: {"handle": f"{w['owner']}/new", "description": ""}),
    "updateAgent": (documents.UPDATE_AGENT, lambda w: {"handle": w["agent"], "name": "Stolen", "published": True}),
    "updateAgent, its revision": (
        documents.SET_CURRENT_AGENT_REVISION,
        lambda w: {"handle": w["agent"], "currentRevisionId": w["revision"]},
    ),
    "deleteAgent": (
        documents.DELETE_AGENT,
        lambda w: {"owner": w["owner"], "handle": w["agent"].partition("/")[2]},
    ),
    "createAgentRevision": (
        documents.CREATE_AGENT_REVISION,
        lambda w: {
            "handle": w["agent"],
            "metadata": [],
            "makeCurrent": True,
            "reindexCorpora": False,
            "externalDeployment": {"url": URL},
        },
    ),
    "deleteAgentRevision": (
        documents.DELETE_REVISION,
        lambda w: {"handle": w["agent"], "revisionId": w["revision"]},
    ),
    "createSession": (documents.CREATE_SESSION, lambda w: {"frontendAgentId": w["agent"]}),
    "deleteSession": (documents.DELETE_SESSION, lambda w: {"handle": w["session"]}),
    "sendSessionMessage": (SEND, lambda w: {"s": w["session"]}),
    "branchSession": (conversations.BRANCH, lambda w: {"data": {"session": w["session"], "seq": 1, "text": "hi"}}),
    "sharedLink": (conversations.LINK, lambda w: {"session": w["session"]}),
    "shareSession": (conversations.SHARE, lambda w: {"session": w["session"]}),
    "revokeSharedLink": (conversations.REVOKE, lambda w: {"session": w["session"]}),
}
EVERYBODYS = ("user", "allAgents", "allSessions", "agentById")


@pytest.fixture
def agent(team: Team) -> "Agent":
    """A private agent of the team with two revisions, of which the second is current."""
    from registry.actions import add_revision, create_agent
    from tests.registry.readings import reads

    made = create_agent(by=team.admin.user, owner=team.handle, handle=f"a-{uuid.uuid4().hex[:8]}", reading=reads(URL))
    add_revision(agent=made, by=team.admin.user, reading=reads(URL + "2"), metadata={"client": "test"})
    made.refresh_from_db()
    return made


@pytest.fixture
def world(team: Team, agent: "Agent") -> Json:
    """Names of what belongs to the team, and of a session of its admin's."""
    session = team.admin.ask(documents.CREATE_SESSION, frontendAgentId="fixie/echo")["createSession"]["session"]
    return {
        "owner": team.handle,
        "agent": f"{team.handle}/{agent.handle}",
        "revision": str(agent.revisions.order_by("pk")[0].pk),
        "session": session["handle"],
    }


def state(world: Json) -> list[Any]:
    """All that the operations could change."""
    from registry.models import Agent, Revision
    from sessions_app.models import Message, Session, SharedLink

    agents = Agent.objects.filter(owner__handle=world["owner"]).order_by("pk")
    return [
        list(agents.values_list("pk", "handle", "name", "published", "current_revision", "modified")),
        list(Revision.objects.filter(agent__in=agents).order_by("pk").values_list("pk", "target")),
        list(Session.objects.filter(handle=world["session"]).values_list("pk", "last_seq")),
        Message.objects.filter(session__handle=world["session"]).count(),
        Session.objects.filter(branched_from__handle=world["session"]).count(),
        list(SharedLink.objects.filter(session__handle=world["session"]).values_list("pk", "last_seq", "revoked")),
    ]


@pytest.fixture
def tokens(site: Site, settings: Any, team: Team) -> list[str]:
    """The tokens of a call, good and expired: what agents have in their hands."""
    from accounts.tokens import CallClaims, sign_call_token

    settings.SITE_URL = site.url
    claims = CallClaims(user_id=team.admin.user.pk, agent_id="fixie/echo", session="", run="", chain=())
    return [sign_call_token(claims, lifetime=lifetime) for lifetime in (60, -60)]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_strangers_and_agents_are_turned_away(
    site: Site, tokens: list[str], team: Team, world: Json, operation: str
) -> None:
    document, variables = OPERATIONS[operation]
    before = state(world)
    for key in (None, *tokens, "nonsense", team.admin.key[:-4] + "AAAA", revoked_key(team)):
        with site.client(key) as http:
            answer = http.post("/graphql", json={"query": document, "variables": variables(world)})
        assert answer.status_code == 401, (key, answer.text)
        assert answer.headers["WWW-Authenticate"] == "Bearer"
        (error,) = answer.json()["errors"]
        assert error["extensions"]["code"] == "unauthenticated"
    assert state(world) == before


def revoked_key(team: Team) -> str:
    """A key of the team's admin that is good no more."""
    from accounts import actions

    made = actions.create_api_key(user=team.admin.user, name="revoked")
    actions.revoke_api_key(key=made.key, by=team.admin.user)
    return made.token


@pytest.mark.parametrize("operation", [each for each in OPERATIONS if each not in EVERYBODYS])
def test_outsiders_find_nothing_and_change_nothing(team: Team, world: Json, operation: str) -> None:
    document, variables = OPERATIONS[operation]
    before = state(world)
    error = team.outsider.refused(document, **variables(world))
    expected = ("invalid_request", "owner") if operation == "createAgent" else ("not_found", None)
    assert error["code"] == expected[0]
    assert expected[1] in (None, error["details"]["field"])
    assert state(world) == before


def test_outsiders_see_no_private_agent(team: Team, world: Json) -> None:
    assert team.outsider.ask(AGENT, id=world["agent"]) == {"agentById": None}
    listed = team.outsider.ask(documents.GET_AGENTS)["allAgents"]
    assert world["agent"] not in [each["agentId"] for each in listed]


@pytest.mark.parametrize("who", ["admin", "mate"])
def test_members_see_and_change_their_agents(team: Team, world: Json, who: str) -> None:
    member: Asker = getattr(team, who)
    seen = member.ask(AGENT, id=world["agent"])["agentById"]
    assert seen["queryUrl"] == seen["funcUrl"] == URL + "2"
    assert seen["currentRevision"]["metadata"] == [{"key": "client", "value": "test"}]
    assert [each["deployment"]["url"] for each in seen["allRevisions"]] == [URL + "2", URL]
    short = world["agent"]
    member.ask(documents.SET_CURRENT_AGENT_REVISION, handle=short, currentRevisionId=world["revision"])
    member.ask(documents.UPDATE_AGENT, handle=short, name="Better")
    member.ask(documents.DELETE_REVISION, handle=short, revisionId=world["revision"])
    made = member.ask(documents.CREATE_AGENT, handle=f"{team.handle}/by-{who}", description="")
    assert made["createAgent"]["agent"]["agentId"] == f"{team.handle}/by-{who}"


def test_only_admins_delete_agents_of_an_organization(team: Team, world: Json) -> None:
    names = {"owner": world["owner"], "handle": world["agent"].partition("/")[2]}
    before = state(world)
    assert team.mate.refused(documents.DELETE_AGENT, **names)["code"] == "not_found"
    assert state(world) == before
    team.admin.ask(documents.DELETE_AGENT, **names)
    assert team.admin.ask(AGENT, id=world["agent"]) == {"agentById": None}


def test_of_a_published_agent_others_see_no_address_and_no_metadata(team: Team, world: Json) -> None:
    team.admin.ask(documents.UPDATE_AGENT, handle=world["agent"], published=True)
    seen = team.outsider.ask(AGENT, id=world["agent"])["agentById"]
    assert (seen["queryUrl"], seen["funcUrl"]) == (None, None)
    assert seen["currentRevision"] == {"state": "ready", "deployment": {"url": None}, "metadata": None}
    assert seen["allRevisions"] == [{"deployment": {"url": None}, "metadata": None}] * 2
    before = state(world)
    for operation in ("updateAgent", "deleteAgent", "createAgentRevision", "deleteAgentRevision"):
        document, variables = OPERATIONS[operation]
        assert team.outsider.refused(document, **variables(world))["code"] == "not_found"
    assert state(world) == before


def test_of_others_one_reads_the_name_alone(team: Team) -> None:
    agent = team.admin.ask(documents.CREATE_AGENT, handle="mine", description="", published=True)
    name = agent["createAgent"]["agent"]["agentId"]
    private = ["firstName", "lastName", "email", "organization", "dailyQueryLimit", "dailyUsedQueries"]
    seen = team.mate.ask(AGENT, id=name)["agentById"]["owner"]
    assert seen == {"username": team.admin.user.username, **dict.fromkeys(private)}
    assert team.admin.ask(AGENT, id=name)["agentById"]["owner"]["email"] == team.admin.user.email


def test_sessions_are_their_owners_alone(team: Team, world: Json) -> None:
    before = state(world)
    for other in (team.mate, team.outsider):
        for document in (documents.GET_SESSION, documents.GET_MESSAGES, documents.GET_EMBEDS, documents.DELETE_SESSION):
            variables = {"session_id": world["session"]} if "session_id" in document else {"handle": world["session"]}
            assert other.refused(document, **variables)["code"] == "not_found"
        assert other.refused(SEND, s=world["session"])["code"] == "not_found"
        for name in ("branchSession", "sharedLink", "shareSession", "revokeSharedLink"):
            document, variables_of = OPERATIONS[name]
            assert other.refused(document, **variables_of(world))["code"] == "not_found"
        assert world["session"] not in str(other.ask(documents.GET_SESSIONS))
    assert state(world) == before


def test_a_user_who_is_no_longer_active_is_turned_away(ann: Asker) -> None:
    ann.user.is_active = False
    ann.user.save()
    answer = ann.send(PRIVATE)
    assert (answer.status_code, answer.json()["errors"][0]["extensions"]["code"]) == (401, "unauthenticated")
