"""What is wrong, too much or too deep: a clear answer each, and nothing is left of it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.agents import answer
from tests.graphql import documents
from tests.graphql.asking import Asker, error_of
from tests.graphql.test_documents import create, deploy, handle


@pytest.mark.parametrize(
    ("document", "variables", "words"),
    [
        ("{", {}, "Syntax Error"),
        ("{nothing}", {}, "Cannot query field 'nothing'"),
        ("{user}", {}, "must have a selection"),
        ("{agentById {name}}", {}, "agentId"),
        ("{agentById(agentId: 5) {name}}", {}, "String cannot represent"),
        (documents.GET_AGENT_BY_ID, {}, "$agentId"),
        (documents.GET_AGENT_BY_ID, {"agentId": None}, "$agentId"),
        (documents.GET_AGENT_BY_ID, {"agentId": ["a"]}, "$agentId"),
        (documents.GET_AGENT_BY_ID, {"agentId": {"a": 1}}, "$agentId"),
        ("{allAgents(limit: 2147483648) {name}}", {}, "Int cannot represent"),
        ("query($n: Int!) {allAgents(limit: $n) {name}}", {"n": "many"}, "$n"),
        ("{allAgents(limit: 0) {name}}", {}, "limit must be 1 to 1000"),
        ("{allAgents(limit: -1) {name}}", {}, "limit must be 1 to 1000"),
        ("{allAgents(limit: 1001) {name}}", {}, "limit must be 1 to 1000"),
        ("query($n: Int!) {allSessions(limit: $n) {handle}}", {"n": 1001}, "limit must be 1 to 1000"),
        ('{allAgents(after: "\\u0000") {name}}', {}, "NUL"),
        ('subscription {sessionEvents(handle: "a") {__typename}}', {}, "subscription"),
        ("fragment F on UserType {username}", {}, "operation"),
        ("{user {...F}} fragment F on UserType {...F}", {}, "itself"),
    ],
)
def test_a_wrong_document_says_what_is_wrong(ann: Asker, document: str, variables: dict[str, Any], words: str) -> None:
    response = ann.send(document, **variables)
    assert response.status_code in (200, 400), response.text
    first = response.json()["errors"][0]
    assert first["extensions"]["code"] == "invalid_request", response.text
    assert words in first["message"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ("{" + " ".join(f"a{n}: user {{username}}" for n in range(200)) + "}", "more than 30 aliases"),
        ("{user " * 50 + "{username}" + "}" * 50, "deeper than 12 levels"),
        ("{" + "user {username} " * 101 + "}", "more than 100 fields"),
        ("{user {" + "username " * 5000 + "}}", "more than 2000 tokens"),
        ("{user" * 900 + "}" * 900, "nested too deeply"),
        ("{agentById(agentId: " + "[" * 1900 + "]" * 90 + ") {name}}", "nested too deeply"),
        ("{allAgents {name allRevisions {id}}}", "102,001"),
        ("{allSessions {handle messages {text}}}", "1,002,001"),
        ("{" + " ".join(f"a{n}: __schema {{types {{name}}}}" for n in range(9)) + "}", "45,000"),
        (
            "{allSessions(limit: 100) {...F}} fragment F on SessionType {...G ...G} "
            "fragment G on SessionType {messages {...H ...H}} fragment H on MessageType {text}",
            "values",
        ),
    ],
)
def test_a_document_that_asks_too_much_is_refused(ann: Asker, document: str, words: str) -> None:
    response = ann.send(document)
    assert response.status_code == 200, response.text
    error = error_of(response)
    assert error["code"] == "invalid_request"
    assert words in error["message"].replace("\n", " ")


def test_fragments_within_fragments_cost_no_time(ann: Asker) -> None:
    """2 to the power of 60 fields, were they counted one by one."""
    chain = " ".join(f"fragment F{n} on UserType {{...F{n + 1} ...F{n + 1}}}" for n in range(60))
    response = ann.send(f"{{user {{...F0}}}} {chain} fragment F60 on UserType {{username}}")
    assert error_of(response)["code"] == "invalid_request"
    assert response.elapsed.total_seconds() < 5


def test_what_the_limits_allow_is_answered(ann: Asker) -> None:
    aliases = " ".join(f"a{n}: user {{username}}" for n in range(30))
    assert len(ann.ask(f"{{{aliases}}}")) == 30
    assert ann.ask("{allAgents(limit: 100) {agentId allRevisions(limit: 10) {id}}}")["allAgents"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"handle": "no handle"}, "handle"),
        ({"handle": ""}, "handle"),
        ({"handle": "a" * 51}, "handle"),
        ({"handle": "fixie/mine"}, "owner"),
        ({"handle": "no/body/there"}, "owner"),
        ({"name": "a\0b"}, "name"),
        ({"name": "n" * 201}, "name"),
        ({"description": "d" * 10_001}, "description"),
        ({"moreInfoUrl": "javascript:alert(1)"}, "more_info_url"),
        ({"queryUrl": "ftp://example.com/"}, "queryUrl"),
        ({"funcUrl": "http://169.254.169.254/latest"}, "queryUrl"),
        ({"queryUrl": "http://127.0.0.1:9001/a", "funcUrl": "http://127.0.0.1:9002/b"}, "queryUrl"),
        ({"funcUrl": "http://127.0.0.1:9001/" + "a" * 2000}, "queryUrl"),
        ({"funcUrl": "http://127.0.0.1:9001/a\0"}, "queryUrl"),
    ],
)
def test_an_agent_that_cannot_be_is_not_made(ann: Asker, fields: dict[str, Any], field: str) -> None:
    error = ann.refused(documents.CREATE_AGENT, **{"handle": handle(), "description": "", **fields})
    assert (error["code"], error["details"]["field"]) == ("invalid_request", field)
    assert not [each for each in ann.ask(documents.GET_AGENTS)["allAgents"] if mine(ann, each)]


def mine(asker: Asker, agent: dict[str, Any]) -> bool:
    return bool(agent["agentId"].startswith(f"{asker.user.username}/"))


def test_a_handle_is_taken_once(ann: Asker) -> None:
    one, two = create(ann), create(ann)
    short = one.partition("/")[2]
    again = ann.refused(documents.CREATE_AGENT, handle=short, description="")
    renamed = ann.refused(documents.UPDATE_AGENT, handle=two.partition("/")[2], newHandle=short, name="New")
    for error in (again, renamed):
        assert (error["code"], error["details"]["field"]) == ("invalid_request", "handle")
    assert ann.ask(documents.GET_AGENT_BY_ID, agentId=two)["agentById"]["name"] == "Dice"


@pytest.mark.parametrize("revision", ["0", "-1", "abc", "", "9" * 30, "\u0663", "1.0", "1\0"])
def test_a_revision_that_is_not_there_is_not_found(ann: Asker, revision: str) -> None:
    short = create(ann).partition("/")[2]
    for document, name in (
        (documents.SET_CURRENT_AGENT_REVISION, "currentRevisionId"),
        (documents.DELETE_REVISION, "revisionId"),
    ):
        error = ann.refused(document, handle=short, **{name: revision})
        assert (error["code"], error["details"]["field"]) == ("not_found", "revision")


def test_another_agents_revision_is_not_found(ann: Asker, served: Callable[..., str]) -> None:
    one, two = create(ann), create(ann)
    revision = deploy(ann, one, served())
    error = ann.refused(documents.SET_CURRENT_AGENT_REVISION, handle=two.partition("/")[2], currentRevisionId=revision)
    assert error["code"] == "not_found"
    assert ann.ask(documents.GET_REVISION_ID, agentId=one)["agentById"]["currentRevision"] == {"id": revision}


def test_an_update_that_fails_in_its_second_half_changes_nothing(ann: Asker) -> None:
    agent = create(ann)
    document = (
        'mutation($h: String!) {updateAgent(agentData: {handle: $h, name: "New", currentRevisionId: 5}) {agent {name}}}'
    )
    assert ann.refused(document, h=agent)["code"] == "not_found"
    assert ann.ask(documents.GET_AGENT_BY_ID, agentId=agent)["agentById"]["name"] == "Dice"


SEND = """mutation($s: String!, $t: String!) {
    sendSessionMessage(messageData: {session: $s, text: $t}) {response {text}}
}"""
PAGE = """query($s: String!, $since: Int, $n: Int!) {
    sessionByHandle(handle: $s) {messages(since: $since, limit: $n) {seq}}
}"""
REVISION = """mutation(
    $handle: String!, $external: ExternalDeploymentInput, $metadata: [RevisionMetadataKeyValuePairInput!]!
) {
    createAgentRevision(agentHandle: $handle, revision: {externalDeployment: $external, metadata: $metadata}) {
        revision {id state error}
    }
}"""


@pytest.mark.parametrize(
    ("external", "metadata", "field"),
    [
        (None, [], "revision"),
        ({"url": "file:///etc/passwd"}, [], "url"),
        ({"url": "http://[::1"}, [], "url"),
        ({"url": "http://127.0.0.1:9001/"}, [{"key": "a", "value": "1"}, {"key": "a", "value": "2"}], "metadata.key"),
        ({"url": "http://127.0.0.1:9001/"}, [{"key": "a\0", "value": "1"}], "metadata.key"),
        ({"url": "http://127.0.0.1:9001/"}, [{"key": "a", "value": "v" * 2001}], "metadata.value"),
        ({"url": "http://127.0.0.1:9001/"}, [{"key": str(n), "value": ""} for n in range(51)], "metadata"),
    ],
)
def test_a_revision_that_cannot_be_is_not_made(
    ann: Asker, external: dict[str, str] | None, metadata: list[dict[str, str]], field: str
) -> None:
    agent = create(ann)
    error = ann.refused(REVISION, handle=agent, external=external, metadata=metadata)
    assert (error["code"], error["details"]["field"]) == ("invalid_request", field)
    assert ann.ask(documents.GET_REVISIONS, agentId=agent) == {"agentById": {"allRevisions": []}}


def test_a_manifest_that_cannot_be_read_leaves_a_revision_that_says_why(ann: Asker, served: Callable[..., str]) -> None:
    agent = create(ann)
    made = ann.ask(REVISION, handle=agent, external={"url": served(answer("nonsense"))}, metadata=[])
    revision = made["createAgentRevision"]["revision"]
    assert revision["state"] == "error"
    assert "manifest" in revision["error"]


def test_an_uploaded_package_is_refused_and_leaves_nothing(ann: Asker) -> None:
    agent = create(ann)
    variables = {
        "handle": agent.partition("/")[2],
        "metadata": [],
        "makeCurrent": True,
        "reindexCorpora": False,
        "externalDeployment": None,
        "managedDeployment": {"environment": "PYTHON", "codePackage": None},
    }
    operations = json.dumps({"query": documents.CREATE_AGENT_REVISION, "variables": variables})
    parts = {
        "operations": (None, operations),
        "map": (None, json.dumps({"0": ["variables.managedDeployment.codePackage"]})),
        "0": ("upload.tar.gz", b"\x1f\x8b" + b"0" * 3_000_000, "application/gzip"),
    }
    error = error_of(ann.http.post("/graphql", files=parts))
    assert error["code"] == "not_supported"
    assert "deployment_url" in error["message"]
    assert ann.ask(documents.GET_REVISIONS, agentId=agent) == {"agentById": {"allRevisions": []}}


@pytest.mark.parametrize("agent", ["fixie/nobody", "nobody", "a/b/c", "", "\0", "fixie/\0"])
def test_a_session_with_an_agent_that_is_not_there_is_not_made(ann: Asker, agent: str) -> None:
    assert ann.refused(documents.CREATE_SESSION, frontendAgentId=agent)["code"] == "not_found"
    assert ann.ask(documents.GET_SESSIONS) == {"allSessions": []}


@pytest.mark.parametrize("session", ["no-such-session", "", "\0", "a/b"])
def test_a_session_that_is_not_there_is_not_found(ann: Asker, session: str) -> None:
    assert ann.refused(documents.GET_MESSAGES, handle=session)["code"] == "not_found"
    assert ann.refused(documents.DELETE_SESSION, handle=session)["code"] == "not_found"
    assert ann.refused('{allSessions(after: "none") {handle}}')["code"] == "not_found"


def test_messages_are_asked_for_from_a_number_on(ann: Asker) -> None:
    session = ann.ask(documents.CREATE_SESSION, frontendAgentId="fixie/echo")["createSession"]["session"]["handle"]
    for text in ("one", "two"):
        ann.ask(SEND, s=session, t=text)

    def numbers(since: int | None, limit: int) -> list[int]:
        return [each["seq"] for each in ann.ask(PAGE, s=session, since=since, n=limit)["sessionByHandle"]["messages"]]

    assert numbers(None, 1000) == [1, 2, 3, 4]
    assert numbers(None, 3) == [2, 3, 4]
    assert numbers(0, 2) == [1, 2]
    assert numbers(2, 1000) == [3, 4]
    assert numbers(2**31 - 1, 1000) == []
    assert error_of(ann.send(PAGE, s=session, since=-1, n=1))["details"]["field"] == "since"


def test_a_text_that_cannot_be_asked_is_refused(ann: Asker) -> None:
    session = ann.ask(documents.CREATE_SESSION, frontendAgentId="fixie/echo")["createSession"]["session"]["handle"]
    for text, code in (("", "invalid_request"), ("a\0b", "invalid_request"), ("x" * 70_000, "payload_too_large")):
        assert ann.refused(SEND, s=session, t=text)["code"] == code
    assert ann.ask(documents.GET_MESSAGES, handle=session)["sessionByHandle"]["messages"] == []
