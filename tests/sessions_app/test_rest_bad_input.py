"""Every field of every call has a limit and a clear answer, and nothing that is sent makes the site fail."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from accounts.models import UsageDay, User
from sessions_app.models import Message, Session
from tests.sessions_app.people import Json, Person, error_of
from tests.sites import Site

LIMIT = 64 * 1024
BODIES_THAT_ARE_NOT_JSON = [
    b"\xff\xfe",
    b'{"text": "\xff"}',
    b'{"text": "\xed\xa0\x80"}',
    rb'{"text": "\ud800"}',
    b"hello",
    b"{",
]
BODIES_THAT_ARE_NOT_JSON += [
    b'{"text": NaN}',
    b"[" * 5000,
    b'{"text": "raw \x00"}',
    b'{"text": "tab\n"}',
    b"\xef\xbb\xbf{}",
]
BODIES_OF_THE_WRONG_SHAPE: list[Any] = [None, [], "text", 5, True, {}, [{"text": "hi"}], {"text": None}, {"text": 5}]
BODIES_OF_THE_WRONG_SHAPE += [{"text": ["hi"]}, {"text": {"text": "hi"}}, {"message": "hi"}, {"message": {"text": 5}}]


def nothing_was_kept(asker: Person) -> bool:
    return not (
        Message.objects.filter(session__owner=asker.user).exists() or UsageDay.objects.filter(user=asker.user).exists()
    )


def both(asker: Person, text: str, **fields: Any) -> list[Any]:
    """The same text posted to a session and put to an agent."""
    session = asker.new_session()
    body = {"text": text, **fields}
    return [
        asker.http.post(f"/api/sessions/{session}/messages", content=json.dumps(body)),
        asker.http.post("/api/agents/fixie/echo", content=json.dumps({"message": {"text": text}, **fields})),
    ]


@pytest.mark.parametrize("letter", ["a", "é", "\u20ac", "\U0001f3b2", "\x01"])
def test_a_text_of_64_kib_in_utf_8_is_taken_and_one_byte_more_is_not(asker: Person, letter: str) -> None:
    size = len(letter.encode())
    text = letter * (LIMIT // size) + "." * (LIMIT % size)
    posted, answered = both(asker, text)
    assert posted.status_code == 202
    assert answered.json()["message"]["text"] == text
    for refused in both(asker, text + "."):
        error = error_of(refused)
        assert (refused.status_code, error["code"]) == (413, "payload_too_large")
        assert (error["details"]["size"], error["details"]["limit"]) == (LIMIT + 1, LIMIT)
        assert error["details"]["field"].endswith("text")


@pytest.mark.parametrize("text", ["", " ", "\n\t \u3000\u2028", "nul\0", "\0", "\ud800", "a\udfffb"])
def test_a_text_that_says_nothing_or_cannot_be_stored_is_refused(asker: Person, text: str) -> None:
    for refused in both(asker, text):
        error = error_of(refused)
        assert (refused.status_code, error["code"]) == (400, "invalid_request")
        assert error["details"]["field"] in ("text", "message.text", "body")
    assert nothing_was_kept(asker)


@pytest.mark.parametrize("body", BODIES_THAT_ARE_NOT_JSON)
def test_a_body_that_is_not_json_is_refused_by_every_call(asker: Person, body: bytes) -> None:
    for path in (f"/api/sessions/{asker.new_session()}/messages", "/api/agents/fixie/echo", "/api/sessions"):
        refused = asker.http.post(path, content=body)
        assert (refused.status_code, error_of(refused)["details"]["field"]) == (400, "body"), path
    assert nothing_was_kept(asker)


@pytest.mark.parametrize("body", BODIES_OF_THE_WRONG_SHAPE)
def test_json_of_the_wrong_shape_is_refused_by_every_call_that_needs_a_text(asker: Person, body: Any) -> None:
    for path in (f"/api/sessions/{asker.new_session()}/messages", "/api/agents/fixie/echo"):
        refused = asker.http.post(path, content=json.dumps(body))
        error = error_of(refused)
        assert (refused.status_code, error["code"]) == (400, "invalid_request"), path
        assert error["details"]["field"]
    assert nothing_was_kept(asker)


def test_no_body_at_all_is_refused(asker: Person) -> None:
    for path in (f"/api/sessions/{asker.new_session()}/messages", "/api/agents/fixie/echo", "/api/sessions"):
        assert asker.http.post(path).status_code == 400, path


def test_fields_nobody_knows_are_passed_over(asker: Person) -> None:
    posted, answered = both(asker, "hi", unknown={"deep": [1, None]}, seq=7, kind="response", user="root")
    assert (posted.status_code, answered.status_code) == (202, 200)
    assert posted.json()["seq"] == 1


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"if_busy": "wait"}, "if_busy"),
        ({"if_busy": ""}, "if_busy"),
        ({"if_busy": None}, "if_busy"),
        ({"if_busy": ["reject"]}, "if_busy"),
    ],
)
def test_an_unknown_way_to_wait_is_refused(asker: Person, fields: Json, field: str) -> None:
    for refused in both(asker, "hi", **fields):
        assert (refused.status_code, error_of(refused)["details"]["field"]) == (400, field)
    assert nothing_was_kept(asker)


@pytest.mark.parametrize("client_id", ["", "x" * 201, 5, ["x"], {}, True])
def test_a_client_id_has_1_to_200_characters(asker: Person, client_id: object) -> None:
    address = f"/api/sessions/{asker.new_session()}/messages"
    refused = asker.http.post(address, json={"text": "hi", "client_id": client_id})
    assert (refused.status_code, error_of(refused)["details"]["field"]) == (400, "client_id")
    assert nothing_was_kept(asker)
    assert asker.http.post(address, json={"text": "hi", "client_id": "x" * 200}).status_code == 202
    assert asker.http.post(address, json={"text": "hi", "client_id": None}).status_code == 202


@pytest.mark.parametrize(
    "session", ["no-such-session", "", "x" * 100, "nul\0", "é", "' OR true --", "a/b", "%", "\u202e"]
)
def test_a_session_that_is_none_is_missing(asker: Person, session: str) -> None:
    refused = asker.ask("fixie/echo", "hi", session=session)
    assert (refused.status_code, error_of(refused)["details"]["field"]) == (404, "session")
    assert nothing_was_kept(asker)


@pytest.mark.parametrize(("session", "status"), [("x" * 101, 400), (5, 400), ([], 400), (None, 200)])
def test_a_session_is_named_by_a_string_of_100_characters(asker: Person, session: object, status: int) -> None:
    assert asker.ask("fixie/echo", "hi", session=session).status_code == status


@pytest.mark.parametrize(
    "handle", ["no-such-session", "%00", "x" * 300, "%C3%A9", "%FF", "%27%20OR%20true", "%E2%80%AE"]
)
def test_an_odd_handle_in_an_address_is_missing(asker: Person, handle: str) -> None:
    for method, path, body in (
        ("GET", f"/api/sessions/{handle}", None),
        ("GET", f"/api/sessions/{handle}/messages", None),
        ("GET", f"/api/sessions/{handle}/events", None),
        ("POST", f"/api/sessions/{handle}/messages", {"text": "hi"}),
        ("DELETE", f"/api/sessions/{handle}", None),
    ):
        refused = asker.http.request(method, path, json=body)
        assert refused.status_code == 404, (method, path, refused.text)
        assert error_of(refused)["code"] == "not_found"


@pytest.mark.parametrize(
    "run", ["x", "0", "%00", "01890000-0000-7000-8000-00000000000g", "x" * 300, "%C3%A9", "-" * 36]
)
def test_an_odd_run_is_missing(asker: Person, run: str) -> None:
    refused = asker.http.post(f"/api/runs/{run}/cancel")
    assert (refused.status_code, error_of(refused)["details"]["field"]) == (404, "run")


@pytest.mark.parametrize(
    ("agent", "status"),
    [
        ("fixie/no-such-agent", 404),
        ("nobody/echo", 404),
        ("fixie/ec ho", 400),
        ("fixie/%00", 400),
        ("fi%00xie/echo", 400),
        ("-fixie/echo", 400),
        ("fixie/_", 400),
        ("fixie/%C3%A9cho", 400),
        (f"fixie/{'x' * 51}", 400),
        ("fixie/%F0%9F%8E%B2", 400),
        ("fixie/ECHO", 404),
    ],
)
def test_an_agent_that_is_none_is_missing_and_an_odd_handle_is_named(asker: Person, agent: str, status: int) -> None:
    refused = asker.ask(agent, "hi")
    error = error_of(refused)
    assert refused.status_code == status
    assert error["details"]["field"] in (("agent",) if status == 404 else ("owner", "handle"))
    assert nothing_was_kept(asker)
    assert not Session.objects.filter(owner=asker.user).exists()


@pytest.mark.parametrize("place", ["x", "-1", "1.5", "\u0663", "9" * 40, "1e3", "", "0x1"])
def test_a_last_event_id_that_is_no_number_is_passed_over(asker: Person, place: str) -> None:
    session = asker.new_session()
    asker.post(session, "hi")
    asker.settled(session)
    headers = {"Last-Event-ID": place.encode()}
    with asker.http.stream("GET", f"/api/sessions/{session}/events", headers=headers) as answer:  # type: ignore[arg-type]
        assert answer.status_code == 200
        assert next(answer.iter_lines()) == "id: 1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=8,
)
TEXT = st.text(max_size=50) | st.sampled_from(
    ["\0", "\ud800", "@fixie/echo hi", "@a/b", "x" * 101, "fixie/echo", "fixie"]
)
ANY = TEXT | JSON
# What looks like a body that is understood, with anything in its fields.
NEARLY = st.fixed_dictionaries(
    {},
    optional={
        "text": ANY,
        "message": ANY | st.fixed_dictionaries({"text": ANY}),
        "session": ANY,
        "stream": ANY,
        "if_busy": ANY | st.sampled_from(["enqueue", "reject", "interrupt"]),
        "client_id": ANY,
        "agent": ANY,
        "name": ANY,
        "description": ANY,
        "handle": ANY,
        "owner": ANY,
        "published": ANY,
        "more_info_url": ANY,
        "deployment_url": TEXT,
    },
)


@pytest.fixture(scope="module")
def fuzzer(site: Site, echo: str) -> Person:
    """Somebody who may ask without end."""
    from accounts import actions

    user = User.objects.create_user("fuzzer", daily_query_limit=10**6)
    key = actions.create_api_key(user=user, name="test").token
    return Person(user, key, site.client(key, verify=False))


@pytest.fixture(scope="module")
def fuzzed(fuzzer: Person) -> str:
    """A session of theirs."""
    return fuzzer.new_session()


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(body=JSON | NEARLY)
def test_no_body_makes_any_call_fail(fuzzer: Person, fuzzed: str, body: Any) -> None:
    for path in (
        "/api/agents",
        "/api/agents/fixie/echo",
        "/api/refresh/fixie/echo",
        "/api/sessions",
        f"/api/sessions/{fuzzed}/messages",
        "/api/runs/01890000-0000-7000-8000-000000000000/cancel",
    ):
        answered = fuzzer.http.post(path, content=json.dumps(body))
        assert answered.status_code < 500, (path, body, answered.text)
        if answered.status_code >= 400:
            error_of(answered)


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    query=st.dictionaries(
        st.sampled_from(["since", "before", "limit", "after"]),
        st.text(max_size=20)
        | st.integers().map(str)
        | st.sampled_from(["0", "2147483647", "2147483648", "1_0", "+1", "\0"]),
    )
)
def test_no_query_string_makes_any_call_fail(fuzzer: Person, fuzzed: str, query: dict[str, str]) -> None:
    for path in ("/api/sessions", f"/api/sessions/{fuzzed}/messages", "/api/agents"):
        answered = fuzzer.http.get(
            path, params={name: value.encode("utf-8", "replace") for name, value in query.items()}
        )  # type: ignore[misc]
        assert answered.status_code < 500, (path, query, answered.text)
