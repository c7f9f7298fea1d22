"""Embeds that come with a question: by every edge, under keys of the session, and on to the agent."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from accounts import actions
from accounts.models import ApiKey
from tests.agents import Behaviour, ScriptedAgent, answer
from tests.sessions_app.embedded import content_at, contents, data_uri, embeds_of, left_by, reader, ref, upload
from tests.sessions_app.people import Json, Person, error_of
from tests.sessions_app.sockets import Socket, socket_to, works
from tests.sites import Site

AgentOf = Callable[[Person, Behaviour], str]


@pytest.fixture
def reading(asker: Person, agent_of: AgentOf) -> str:
    """The id of an agent that says what it was handed."""
    return agent_of(asker, reader())


@pytest.fixture
def secret(person: Callable[..., Person]) -> str:
    """The id of somebody else's embed."""
    return upload(person(), "secret")


def ask_with(person: Person, agent: str, text: str, embeds: Json, **fields: Any) -> Any:
    body = {"message": {"text": text, "embeds": embeds}, **fields}
    return person.http.post(f"/api/agents/{agent}", json=body)


def test_an_agent_is_handed_what_comes_with_a_question(
    asker: Person, agent_of: AgentOf, scripted: ScriptedAgent
) -> None:
    agent = agent_of(asker, answer({"text": "Thanks."}))
    answered = ask_with(asker, agent, "What is in #1?", {"1": ref("<p>a cat</p>", "text/html")})
    assert answered.status_code == 200, answered.text
    sent = scripted.requests[-1].json
    assert sent["text"] == "What is in #1?"
    assert sent["embeds"] == sent["message"]["embeds"]
    assert sent["embeds"]["1"]["content_type"].startswith("text/html")
    assert content_at(sent["embeds"]["1"]["uri"]) == "<p>a cat</p>"


def test_a_message_shows_its_embeds_and_the_session_all_of_them(asker: Person, session: str) -> None:
    mine = upload(asker, "my notes")
    asker.post(session, "See #1 and #2", embeds={"1": {"id": mine}, "2": ref("more")})
    query, response = asker.settled(session)
    assert contents(query["embeds"]) == {"1": "my notes", "2": "more"}
    assert query["embeds"]["1"]["id"] == mine
    assert {"id", "content_type", "name", "size", "uri"} == set(query["embeds"]["1"])
    assert (query["embeds"]["1"]["name"], query["embeds"]["1"]["size"]) == ("notes", 8)
    # The echo has sent them back.
    assert (response["text"], set(response["embeds"])) == ("See #1 and #2", {"1", "2"})
    listed = asker.http.get(f"/api/sessions/{session}/embeds").json()["items"]
    assert [(each["key"], each["owner"], content_at(each["url"])) for each in listed] == [
        (1, asker.user.username, "my notes"),
        (2, asker.user.username, "more"),
    ]
    assert listed[0]["id"] == mine


def test_a_message_without_embeds_has_none(asker: Person, session: str) -> None:
    asker.post(session, "issue #1 of 2")
    assert [message["embeds"] for message in asker.settled(session)] == [{}, {}]
    assert asker.http.get(f"/api/sessions/{session}/embeds").json() == {"items": []}


def test_a_key_that_is_taken_becomes_the_next_number_in_the_text_too(asker: Person, reading: str) -> None:
    session = asker.new_session(reading)
    asker.post(session, "#1", embeds={"1": ref("one")})
    asker.post(session, "#1, not #12, ##1", embeds={"1": ref("two")})
    asker.post(session, "#chart", embeds={"chart": ref("three")})
    asker.post(session, "again #1", embeds={"1": ref("one")})
    asker.post(session, "#mine", embeds={"mine": ref("two")})
    said = [(each["kind"], each["text"]) for each in asker.settled(session)]
    assert [text for kind, text in said if kind == "query"] == ["#1", "#2, not #12, ##1", "#3", "again #1", "#2"]
    assert [text for kind, text in said if kind == "response"] == [
        "no. 1; 1=one",
        "no. 2, not no. 12, no. no. 1; 2=two",
        "no. 3; 3=three",
        "again no. 1; 1=one",
        "no. 2; 2=two",
    ]


def test_an_agent_is_handed_those_that_a_question_only_names(asker: Person, reading: str) -> None:
    session = asker.new_session()
    asker.post(session, "Keep #1 and #2", embeds={"1": ref("one"), "2": ref("two")})
    asker.settled(session)
    asker.post(session, f"@{reading} What of #2 and #7?", embeds={"5": ref("five")})
    *_, query, response = asker.settled(session)
    assert response["text"] == "What of no. 2 and no. 7?; 2=two 5=five"
    assert set(query["embeds"]) == {"2", "5"}


def test_a_question_that_waits_is_handed_what_the_one_before_it_brought(
    asker: Person, agent_of: AgentOf, reading: str
) -> None:
    maker = agent_of(asker, answer({"text": "#new", "embeds": {"new": ref("made")}}))
    session = asker.new_session(maker)
    for text in ("make", f"@{reading} and #1?"):
        asker.post(session, text)
    assert asker.settled(session)[-1]["text"] == "and no. 1?; 1=made"


def test_every_stream_has_the_embeds_of_a_message(asker: Person, session: str) -> None:
    asker.post(session, "#1", embeds={"1": ref("one")})
    stored = asker.settled(session)
    with asker.http.stream("GET", f"/api/sessions/{session}/events") as events:
        lines = (json.loads(line[6:]) for line in events.iter_lines() if line.startswith("data: "))
        assert [next(lines)["message"] for _ in stored] == stored


@pytest.mark.parametrize("stream", [False, True])
def test_the_answer_carries_its_embeds_in_the_shape_of_the_question(asker: Person, stream: bool) -> None:
    answered = ask_with(asker, "fixie/echo", "#1", {"1": ref("one")}, stream=stream)
    *before, last = [json.loads(line) for line in answered.text.splitlines()]
    assert last["message"]["text"] == "#1"
    assert set(last["message"]["embeds"]["1"]) == {"content_type", "uri"}
    assert contents(last["message"]["embeds"]) == {"1": "one"}
    assert all(line["message"] == {"text": "#1"} for line in before)


async def test_over_a_socket_uploaded_embeds_are_named_by_id(asker: Person, session: str, socket: Socket) -> None:
    mine = upload(asker, "notes")
    await socket.send(type="message", text="#1", embeds={"1": {"id": mine}}, client_id="c")
    query, response = [frame["message"] for frame in await socket.ended() if frame["type"] == "message"]
    assert (query["client_id"], query["embeds"]["1"]["id"]) == ("c", mine)
    assert contents(response["embeds"]) == {"1": "notes"}
    assert [message["embeds"] for message in asker.messages(session)] == [query["embeds"], response["embeds"]]


@pytest.mark.parametrize(
    ("embeds", "field"),
    [
        ({"1": {"content_type": "text/plain", "uri": "data:,x"}}, "embeds.1.id"),
        ({"1": {"id": 7}}, "embeds.1.id"),
        ({"1": "x"}, "embeds.1.id"),
        (["x"], "embeds"),
        ({"1": {"id": "nonsense"}}, "embeds.1.id"),
        ({"": {"id": str(uuid4())}}, "embeds."),
        ({str(key): {"id": str(uuid4())} for key in range(17)}, "embeds"),
    ],
)
async def test_what_a_socket_cannot_take_is_refused_by_name(
    asker: Person, session: str, socket: Socket, embeds: Any, field: str
) -> None:
    await socket.send(type="message", text="#1", embeds=embeds, client_id="c")
    error = await socket.error()
    assert (error["details"]["field"], error["client_id"]) == (field, "c")
    assert asker.messages(session) == []
    assert await works(socket)


OFFERS = [
    ({"1": {}}, 400, "embeds.1"),
    ({"1": {"id": str(uuid4()), "uri": "data:,x"}}, 400, "embeds.1"),
    ({"1": {"content_type": "text/plain", "uri": ""}}, 400, "embeds.1"),
    ({"1": {"id": "nonsense"}}, 404, "embeds.1.id"),
    ({"ok": ref("x"), "1": {"id": str(uuid4())}}, 404, "embeds.1.id"),
    ({"": ref("x")}, 400, "embeds."),
    ({"k" * 101: ref("x")}, 400, "embeds." + "k" * 100),
    ({str(key): ref("x") for key in range(17)}, 400, "embeds"),
    ({"1": {"content_type": "image/png", "uri": "data:image/png;base64,$$$"}}, 400, "embeds.1"),
    ({"1": {"content_type": "text/plain", "uri": "ftp://example.com/x"}}, 400, "embeds.1"),
    ({"1": {"content_type": "text/plain", "uri": "http://169.254.169.254/latest"}}, 502, "embeds.1"),
    ({"1": {"content_type": "text/plain", "uri": "NOWHERE/missing"}}, 502, "embeds.1"),
    ({"1": {"content_type": "text/plain", "uri": "SITE/attachment/x?expires=1&signature=x"}}, 403, "embeds.1"),
    ({"1": {"content_type": "no type", "uri": "data:,x"}}, 400, "embeds.1"),
    ({"1": "x"}, 400, "embeds.1"),
    ("x", 400, "embeds"),
]


@pytest.mark.parametrize(("embeds", "status", "field"), OFFERS)
def test_an_embed_that_cannot_be_had_is_refused_by_name_and_nothing_is_posted(
    asker: Person, session: str, site: Site, scripted: ScriptedAgent, embeds: Any, status: int, field: str
) -> None:
    real = json.dumps(embeds).replace("NOWHERE", scripted.url).replace("SITE", site.url)
    before = left_by(asker)
    asked = ask_with(asker, "fixie/echo", "#1", json.loads(real))
    posted = asker.http.post(f"/api/sessions/{session}/messages", json={"text": "#1", "embeds": json.loads(real)})
    assert (asked.status_code, posted.status_code) == (status, status), asked.text
    assert error_of(posted)["details"]["field"] == field
    assert error_of(asked)["details"]["field"] == f"message.{field}"
    assert left_by(asker) == before


def test_nobody_posts_the_embed_of_somebody_else(secret: str, asker: Person, session: str) -> None:
    before = left_by(asker), embeds_of(asker)
    asked = ask_with(asker, "fixie/echo", "#1", {"1": {"id": secret}})
    posted = asker.http.post(f"/api/sessions/{session}/messages", json={"text": "#1", "embeds": {"1": {"id": secret}}})
    missing = asker.http.post(
        f"/api/sessions/{session}/messages", json={"text": "#1", "embeds": {"1": {"id": str(uuid4())}}}
    )
    assert asked.status_code == posted.status_code == 404
    assert posted.json() == missing.json()
    assert (left_by(asker), embeds_of(asker)) == before


async def test_nor_over_a_socket(secret: str, asker: Person, session: str, socket: Socket) -> None:
    await socket.send(type="message", text="#1", embeds={"1": {"id": secret}})
    error = await socket.error()
    assert (error["code"], error["details"]["field"]) == ("not_found", "embeds.1.id")
    assert asker.messages(session) == []


def test_an_embed_that_is_sent_to_a_session_of_somebody_else_is_no_way_in(
    person: Callable[..., Person], session: str
) -> None:
    outsider = person()
    posted = outsider.http.post(f"/api/sessions/{session}/messages", json={"text": "#1", "embeds": {"1": ref("x")}})
    assert posted.status_code == 404
    assert outsider.http.get(f"/api/sessions/{session}/embeds").status_code == 404
    assert left_by(outsider) == (0, 0)


def test_a_revoked_key_does_not_make_the_site_fetch_anything(
    asker: Person, session: str, scripted: ScriptedAgent
) -> None:
    path = f"/{uuid4().hex}"
    scripted.on(path, answer("x"), method="GET")
    actions.revoke_api_key(key=ApiKey.objects.get(user=asker.user), by=asker.user)
    embeds = {"1": {"content_type": "text/plain", "uri": scripted.url + path}}
    posted = asker.http.post(f"/api/sessions/{session}/messages", json={"text": "#1", "embeds": embeds})
    assert posted.status_code == 401
    assert path not in [request.path for request in scripted.requests]


def test_a_url_is_fetched_once_and_kept(asker: Person, session: str, scripted: ScriptedAgent) -> None:
    path = f"/{uuid4().hex}"
    scripted.on(path, answer(body=b"<svg/>", content_type="image/svg+xml"), method="GET")
    asker.post(session, "#1", embeds={"1": {"content_type": "", "uri": scripted.url + path}})
    for message in asker.settled(session):
        assert contents(message["embeds"]) == {"1": "<svg/>"}
        assert message["embeds"]["1"]["content_type"] == "image/svg+xml"
    assert [request.path for request in scripted.requests].count(path) == 1


def test_the_same_client_id_posts_embeds_once(asker: Person, session: str) -> None:
    first = asker.post(session, "#1", embeds={"1": ref("one")}, client_id="c")
    again = asker.post(session, "#1", embeds={"1": ref("one")}, client_id="c")
    assert (again["run"], again["seq"]) == (first["run"], first["seq"])
    assert len(asker.settled(session)) == 2
    assert len(asker.http.get(f"/api/sessions/{session}/embeds").json()["items"]) == 1


def test_messages_posted_at_the_same_moment_share_no_key(asker: Person) -> None:
    session = asker.new_session()
    count = 16

    def post(number: int) -> None:
        asker.post(
            session, f"{number} is #1", embeds={"1": {"content_type": "text/plain", "uri": data_uri(f"n{number}")}}
        )

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(post, range(count)))
    queries = [message for message in asker.settled(session) if message["kind"] == "query"]
    keys = [key for message in queries for key in message["embeds"]]
    assert sorted(map(int, keys)) == list(range(1, count + 1))
    for message in queries:
        number, _, named = message["text"].partition(" is #")
        assert contents(message["embeds"]) == {named: f"n{number}"}


async def test_who_connects_later_gets_the_embeds_too(asker: Person, session: str, site: Site) -> None:
    asker.post(session, "#1", embeds={"1": ref("notes")})
    stored = asker.settled(session)
    async with socket_to(site, session, asker.key) as socket:
        assert [frame["message"] for frame in (await socket.synced())[:2]] == stored
