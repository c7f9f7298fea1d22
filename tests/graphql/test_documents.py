"""Every document of the published client, word for word, does what its method is there for."""

import json
import uuid
from collections.abc import Callable
from datetime import datetime

from tests.graphql import documents
from tests.graphql.asking import Asker
from tests.graphql.conftest import Team


def handle() -> str:
    return f"agent-{uuid.uuid4().hex[:8]}"


def create(asker: Asker, **fields: object) -> str:
    """The id of a new agent, made with the client's document."""
    variables = {"handle": handle(), "name": "Dice", "description": "Rolls dice.", **fields}
    return str(asker.ask(documents.CREATE_AGENT, **variables)["createAgent"]["agent"]["agentId"])


def deploy(asker: Asker, agent: str, url: str, *, current: bool = True, **metadata: str) -> str:
    """The id of a new revision, as the client makes it: multipart/form-data, without a file."""
    variables = {
        "handle": agent.partition("/")[2],
        "metadata": [{"key": key, "value": value} for key, value in metadata.items()],
        "makeCurrent": current,
        "reindexCorpora": False,
        "externalDeployment": {"url": url},
        "managedDeployment": None,
    }
    operations = json.dumps({"query": documents.CREATE_AGENT_REVISION, "variables": variables})
    answer = asker.http.post("/graphql", files={"operations": (None, operations), "map": (None, "{}")})
    assert "errors" not in answer.json(), answer.text
    revision = answer.json()["data"]["createAgentRevision"]["revision"]["id"]
    assert isinstance(revision, str)
    return revision


def test_a_user_reads_about_themselves(team: Team) -> None:
    user = team.admin.user
    assert team.admin.ask(documents.GET_USERNAME)["user"] == {
        "username": user.username,
        "firstName": "",
        "lastName": "",
        "email": user.email,
        "organization": {"handle": team.handle, "name": "Team"},
        "dailyQueryLimit": 1000,
        "dailyUsedQueries": 0,
        "avatar": None,
    }


def test_used_queries_are_counted(ann: Asker) -> None:
    session = ann.ask(documents.CREATE_SESSION, frontendAgentId="fixie/echo")["createSession"]["session"]["handle"]
    ann.ask(
        'mutation($s: String!) {sendSessionMessage(messageData: {session: $s, text: "hi"}) {response {text}}}',
        s=session,
    )
    assert ann.ask(documents.GET_USERNAME)["user"]["dailyUsedQueries"] == 1


def test_a_new_agent_reads_as_it_was_made(ann: Asker) -> None:
    agent = create(ann, moreInfoUrl="https://example.com/dice", published=True)
    assert agent.startswith(f"{ann.user.username}/")
    read = ann.ask(documents.GET_AGENT_BY_ID, agentId=agent)["agentById"]
    assert datetime.fromisoformat(read.pop("created")) <= datetime.fromisoformat(read.pop("modified"))
    assert read == {
        "agentId": agent,
        "handle": agent.partition("/")[2],
        "name": "Dice",
        "description": "Rolls dice.",
        "queries": [],
        "moreInfoUrl": "https://example.com/dice",
        "published": True,
        "owner": {"__typename": "UserType", "username": ann.user.username},
        "queryUrl": None,
        "funcUrl": None,
    }


def test_times_parse_with_the_pythons_of_the_client(ann: Asker) -> None:
    read = ann.ask(documents.GET_AGENT_BY_ID, agentId=create(ann))["agentById"]
    assert read["created"].endswith("+00:00")
    assert read["modified"].endswith("+00:00")


def test_an_agent_that_is_not_there_is_null(ann: Asker) -> None:
    for unknown in (f"{ann.user.username}/none", "no/body", "nobody", "a/b/c", "", "/", "fixie/\0", "fixie/\u00e9"):
        assert ann.ask(documents.GET_AGENT_BY_ID, agentId=unknown) == {"agentById": None}, unknown


def test_a_handle_alone_names_an_agent_of_ones_own(ann: Asker) -> None:
    agent = create(ann)
    read = ann.ask(documents.GET_AGENT_BY_ID, agentId=agent.partition("/")[2])
    assert read["agentById"]["agentId"] == agent


def test_agents_of_organizations_have_them_as_owners(ann: Asker) -> None:
    read = ann.ask(documents.GET_AGENT_BY_ID, agentId="fixie/echo")["agentById"]
    assert read["owner"] == {"__typename": "OrganizationType", "handle": "fixie"}
    assert (read["queryUrl"], read["funcUrl"]) == (None, None)


def test_all_agents_lists_what_is_published_and_ones_own(ann: Asker, asker: Callable[..., Asker]) -> None:
    other = asker()
    mine, theirs, hidden = create(ann), create(other, published=True), create(other)
    listed = {agent["agentId"]: agent for agent in ann.ask(documents.GET_AGENTS)["allAgents"]}
    assert mine in listed
    assert theirs in listed
    assert hidden not in listed
    assert listed[mine] == {"agentId": mine, "name": "Dice", "description": "Rolls dice.", "moreInfoUrl": None}


def test_an_update_changes_what_is_given_and_no_more(ann: Asker) -> None:
    agent = create(ann, published=True)
    short = agent.partition("/")[2]
    answer = ann.ask(documents.UPDATE_AGENT, handle=short, name="Cards")
    assert answer == {"updateAgent": {"agent": {"agentId": agent}}}
    ann.ask(documents.UPDATE_AGENT, handle=short, newHandle=None, description=None, published=None)
    read = ann.ask(documents.GET_AGENT_BY_ID, agentId=agent)["agentById"]
    assert (read["name"], read["description"], read["published"]) == ("Cards", "Rolls dice.", True)


def test_an_agent_gets_another_handle(ann: Asker) -> None:
    agent, new = create(ann), handle()
    answer = ann.ask(documents.UPDATE_AGENT, handle=agent.partition("/")[2], newHandle=new)
    assert answer["updateAgent"]["agent"]["agentId"] == f"{ann.user.username}/{new}"
    assert ann.ask(documents.GET_AGENT_BY_ID, agentId=agent) == {"agentById": None}


def test_a_deleted_agent_is_gone(ann: Asker) -> None:
    agent = create(ann)
    owner, short = agent.split("/")
    assert ann.ask(documents.DELETE_AGENT, owner=owner, handle=short) == {"deleteAgent": {"agent": {"handle": short}}}
    assert ann.ask(documents.GET_AGENT_BY_ID, agentId=agent) == {"agentById": None}


def test_revisions_are_deployed_listed_chosen_and_deleted(ann: Asker, served: Callable[..., str]) -> None:
    agent, url = create(ann), served()
    short = agent.partition("/")[2]
    assert ann.ask(documents.GET_REVISION_ID, agentId=agent) == {"agentById": {"currentRevision": None}}

    first = deploy(ann, agent, url, command="serve")
    assert ann.ask(documents.GET_REVISION_ID, agentId=agent)["agentById"]["currentRevision"] == {"id": first}
    second = deploy(ann, agent, served(), current=False)
    assert ann.ask(documents.GET_REVISION_ID, agentId=agent)["agentById"]["currentRevision"] == {"id": first}

    listed = ann.ask(documents.GET_REVISIONS, agentId=agent)["agentById"]["allRevisions"]
    assert [(each["id"], each["isCurrent"]) for each in listed] == [(second, False), (first, True)]
    assert listed[1]["deployment"] == {"__typename": "ExternalDeployment", "url": url}
    assert listed[1]["metadata"] == [{"key": "command", "value": "serve"}]
    assert listed[1]["indexedCorpora"] == []

    ann.ask(documents.SET_CURRENT_AGENT_REVISION, handle=short, currentRevisionId=second)
    assert ann.ask(documents.GET_REVISION_ID, agentId=agent)["agentById"]["currentRevision"] == {"id": second}
    answer = ann.ask(documents.DELETE_REVISION, handle=short, revisionId=second)
    assert answer == {"deleteAgentRevision": {"agent": {"agentId": agent}}}
    assert ann.ask(documents.GET_REVISION_ID, agentId=agent) == {"agentById": {"currentRevision": None}}


def test_sample_queries_are_those_of_the_manifest(ann: Asker, served: Callable[..., str]) -> None:
    agent = create(ann)
    deploy(ann, agent, served())
    assert ann.ask(documents.GET_SAMPLE_QUERIES, agentId=agent) == {"agentById": {"queries": ["Roll 3d8"]}}


def test_an_internal_agent_has_no_deployment(ann: Asker) -> None:
    (revision,) = ann.ask(documents.GET_REVISIONS, agentId="fixie/echo")["agentById"]["allRevisions"]
    assert revision["deployment"] is None


def test_a_session_is_made_with_an_agent_or_without(ann: Asker) -> None:
    for agent in ("fixie/echo", None):
        made = ann.ask(documents.CREATE_SESSION, frontendAgentId=agent)["createSession"]["session"]
        assert made["frontendAgentId"] == agent
        read = ann.ask(documents.GET_SESSION, session_id=made["handle"])["sessionByHandle"]
        assert read == {"handle": made["handle"], "name": "", "description": "", "frontendAgentId": agent}
    bare = ann.ask("mutation {createSession {session {handle frontendAgentId}}}")["createSession"]["session"]
    assert ann.ask(documents.GET_SESSIONS)["allSessions"][0]["handle"] == bare["handle"]


def test_a_session_with_an_agent_of_ones_own_by_its_handle(ann: Asker) -> None:
    agent = create(ann)
    made = ann.ask(documents.CREATE_SESSION, frontendAgentId=agent.partition("/")[2])["createSession"]["session"]
    assert made["frontendAgentId"] == agent


def test_a_query_and_its_answer_are_among_the_messages(ann: Asker) -> None:
    session = ann.ask(documents.CREATE_SESSION, frontendAgentId="fixie/echo")["createSession"]["session"]["handle"]
    said = ann.ask(
        """mutation($session: String!, $text: String!) {
            sendSessionMessage(messageData: {session: $session, text: $text}) {response {text}}
        }""",
        session=session,
        text="hello there",
    )
    assert said == {"sendSessionMessage": {"response": {"text": "hello there"}}}
    query, response = ann.ask(documents.GET_MESSAGES, handle=session)["sessionByHandle"]["messages"]
    assert (query["type"], query["sentBy"], query["inReplyTo"]) == ("query", {"handle": "user"}, None)
    assert (response["type"], response["sentBy"]) == ("response", {"handle": "echo"})
    assert response["inReplyTo"] == {"id": query["id"]}
    assert datetime.fromisoformat(response["timestamp"]) >= datetime.fromisoformat(query["timestamp"])


def test_embeds_have_integer_keys_and_links_that_work(ann: Asker) -> None:
    from hashlib import sha256

    session = ann.ask(documents.CREATE_SESSION, frontendAgentId="fixie/echo")["createSession"]["session"]["handle"]
    uploaded = ann.http.post("/api/embeds", files={"file": ("dot.png", b"\x89PNG\r\n\x1a\n" + b"0" * 20, "image/png")})
    assert uploaded.status_code == 201, uploaded.text
    posted = ann.http.post(
        f"/api/sessions/{session}/messages", json={"text": "See #1", "embeds": {"1": {"id": uploaded.json()["id"]}}}
    )
    assert posted.status_code == 202, posted.text
    (held,) = ann.ask(documents.GET_EMBEDS, handle=session)["sessionByHandle"]["embeds"]
    assert held["key"] == 1
    embed = held["embed"]
    assert (embed["id"], embed["contentType"]) == (uploaded.json()["id"], "image/png")
    assert embed["owner"] == {"username": ann.user.username}
    assert datetime.fromisoformat(embed["created"])
    assert embed["contentHash"] == sha256(b"\x89PNG\r\n\x1a\n" + b"0" * 20).hexdigest()
    assert f"/attachment/{embed['id']}?" in embed["url"]


def test_a_deleted_session_is_gone(ann: Asker) -> None:
    session = ann.ask(documents.CREATE_SESSION, frontendAgentId=None)["createSession"]["session"]["handle"]
    assert ann.ask(documents.DELETE_SESSION, handle=session) == {"deleteSession": {"session": {"handle": session}}}
    gone = ann.refused(documents.GET_SESSION, session_id=session)
    assert gone["code"] == "not_found"
    assert ann.ask(documents.GET_SESSIONS) == {"allSessions": []}
