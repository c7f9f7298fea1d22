"""Branching and sharing a session over GraphQL, as over REST."""

from typing import Any

import pytest

from tests.graphql import documents
from tests.graphql.asking import Asker, Json
from tests.graphql.conversations import BRANCH, LINK, REVOKE, SHARE

SEND = """mutation($s: String!, $text: String!) {
    sendSessionMessage(messageData: {session: $s, text: $text}) {response {text}}
}"""
TEXTS = "query($handle: String!) {sessionByHandle(handle: $handle) {messages {seq text}}}"


def new_session(asker: Asker) -> str:
    made = asker.ask(documents.CREATE_SESSION, frontendAgentId="fixie/echo")
    return str(made["createSession"]["session"]["handle"])


def say(asker: Asker, session: str, text: str) -> None:
    assert asker.ask(SEND, s=session, text=text)["sendSessionMessage"]["response"]["text"] == text


@pytest.fixture
def session(ann: Asker) -> str:
    """In which two questions were answered."""
    made = new_session(ann)
    say(ann, made, "one")
    say(ann, made, "two")
    return made


def branch(asker: Asker, session: str, **data: Any) -> Json:
    return dict(asker.ask(BRANCH, data={"session": session, **data})["branchSession"])


def texts(asker: Asker, session: str) -> list[str]:
    return [each["text"] for each in asker.ask(TEXTS, handle=session)["sessionByHandle"]["messages"]]


def test_a_question_is_asked_in_other_words_in_a_branch(ann: Asker, session: str) -> None:
    made = branch(ann, session, seq=3, text="zwei", clientId="once")

    assert made["seq"] == 3
    assert made["session"]["handle"] != session
    assert texts(ann, made["session"]["handle"])[:3] == ["one", "one", "zwei"]
    assert texts(ann, session) == ["one", "one", "two", "two"], "the old one stays as it is"
    again = branch(ann, session, seq=3, text="zwei", clientId="once")
    assert (again["run"], again["session"]["handle"]) == (made["run"], made["session"]["handle"])


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"seq": 2, "text": "hi"}, "seq"),
        ({"seq": 99, "text": "hi"}, "seq"),
        ({"seq": -1, "text": "hi"}, "seq"),
        ({"seq": 1, "text": " "}, "text"),
    ],
)
def test_what_cannot_be_branched_is_refused_by_name(ann: Asker, session: str, data: Json, field: str) -> None:
    error = ann.refused(BRANCH, data={"session": session, **data})
    assert (error["code"], error["details"]["field"]) == ("invalid_request", field)


def test_a_session_is_shared_brought_up_to_date_and_shared_no_more(ann: Asker, session: str) -> None:
    assert ann.ask(LINK, session=session) == {"sharedLink": None}
    link = ann.ask(SHARE, session=session)["shareSession"]["link"]
    assert link["lastSeq"] == 4
    assert ann.ask(LINK, session=session)["sharedLink"] == link
    assert ann.http.get(f"/api/sessions/{session}/share").json()["link"]["url"] == link["url"]

    say(ann, session, "three")
    updated = ann.ask(SHARE, session=session)["shareSession"]["link"]
    assert (updated["url"], updated["lastSeq"]) == (link["url"], 6)

    path = "/shared/" + link["url"].rpartition("/")[2]
    assert ann.http.get(path).status_code == 200
    for _ in range(2):
        assert ann.ask(REVOKE, session=session)["revokeSharedLink"]["session"] == {"handle": session}
    assert ann.ask(LINK, session=session) == {"sharedLink": None}
    assert ann.http.get(path).status_code == 404


def test_there_is_nothing_to_share_before_something_was_asked(ann: Asker) -> None:
    error = ann.refused(SHARE, session=new_session(ann))
    assert (error["code"], error["details"]["field"]) == ("invalid_request", "session")
