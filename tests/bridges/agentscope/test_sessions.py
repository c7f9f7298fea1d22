"""Which conversation a request belongs to, whose it is, and requests that come twice."""

import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings

from sessions_app.models import Message, Run, Session
from tests.agents import Behaviour
from tests.bridges.agentscope.reading import process, request, whole
from tests.sessions_app.asking import says
from tests.sessions_app.embedded import data_uri
from tests.sessions_app.people import Person, error_of
from tests.sites import running_site

Register = Callable[[Person, Behaviour], str]


def session_of(person: Person, **fields: object) -> str:
    return str(whole(person, "fixie/echo", request("hi", **fields))["session_id"])


def test_a_session_of_ours_goes_on_with_its_own_agent(asker: Person, agent_of: Register) -> None:
    session = asker.new_session(agent_of(asker, says("mine")))
    answer = process(asker, None, request("hi", session_id=session))
    assert (answer.text, answer.response["session_id"]) == ("mine", session)
    assert process(asker, "fixie/echo", request("echo", session_id=session)).text == "echo"
    kinds = [message["kind"] for message in asker.messages(session)]
    assert kinds == ["query", "response"] * 2


def test_without_a_session_the_site_s_agent_answers_in_a_new_one_or_the_one_that_is_addressed(asker: Person) -> None:
    handle = process(asker, None, request("@fixie/echo hello")).response["session_id"]
    assert asker.session(handle)["agent"] == "fixie/echo"
    assert asker.messages(handle)[-1]["text"] == "hello"


def test_a_name_of_the_callers_own_is_one_session_for_good(asker: Person) -> None:
    session = session_of(asker, session_id="1764056632961")
    assert session_of(asker, session_id="1764056632961") == session
    assert session_of(asker, session_id=session) == session
    assert session_of(asker, session_id="Some Name / ☃") == session_of(asker, session_id="Some Name / ☃")
    assert session_of(asker, session_id="b-looks-like-ours") == session_of(asker, session_id="b-looks-like-ours")
    assert len({session, session_of(asker, session_id=""), session_of(asker)}) == 3
    assert len(asker.messages(session)) == 6


def test_users_of_one_client_do_not_share_their_sessions(asker: Person) -> None:
    names = [("7", "ann"), ("7", "ben"), ("7", ""), ("ann\n7", "")]
    sessions = {session_of(asker, session_id=session, user_id=user) for session, user in names}
    assert len(sessions) == 4
    assert session_of(asker, session_id="7", user_id="ann") in sessions


def test_the_handle_of_a_users_session_is_no_other_users(asker: Person) -> None:
    anns = session_of(asker, session_id="7", user_id="ann")
    assert session_of(asker, session_id=anns, user_id="ann") == anns
    assert session_of(asker, session_id=anns) == anns
    assert len(asker.messages(anns)) == 6
    bens = session_of(asker, session_id=anns, user_id="ben")
    assert bens != anns
    assert len(asker.messages(anns)) == 6
    assert session_of(asker, session_id=anns, user_id="ben") == bens


def test_a_name_outlives_a_new_secret_key_and_is_told_by_nobody_without_it(asker: Person) -> None:
    old, anns = session_of(asker, session_id="7"), session_of(asker, session_id="7", user_id="ann")
    with (
        running_site(SECRET_KEY="x" * 50, SECRET_KEY_FALLBACKS=settings.SECRET_KEY) as site,
        site.client(asker.key) as http,
    ):
        later = Person(asker.user, asker.key, http)
        assert session_of(later, session_id="7") == old
        assert session_of(later, session_id=anns, user_id="ann") == anns
        new = session_of(later, session_id="new")
    assert session_of(asker, session_id="new") != new


def test_somebody_elses_session_is_a_name_like_any_other(asker: Person, person: Callable[..., Person]) -> None:
    other = person()
    theirs = [other.new_session("fixie/echo"), session_of(other, session_id="shared")]
    before = Message.objects.filter(session__owner=other.user).count()
    for name in [*theirs, "shared", "never-was-one"]:
        mine = session_of(asker, session_id=name)
        assert mine not in theirs
        assert session_of(asker, session_id=name) == mine
        assert Session.objects.get(handle=mine).owner == asker.user
    assert Message.objects.filter(session__owner=other.user).count() == before


def test_many_first_words_at_once_are_said_in_one_session(asker: Person) -> None:
    body = request("hi", session_id="everybody at once")
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda _: whole(asker, "fixie/echo", body)["session_id"], range(8)))
    assert len(set(found)) == 1
    assert len(asker.messages(found[0])) == 16


def test_the_same_response_id_again_is_the_same_answer(asker: Person) -> None:
    name = f"mine-{uuid.uuid4()}"
    picture = {"type": "image", "image_url": data_uri(b"\x89PNG\r\n\x1a\n", "image/png")}
    for fields in ({"response_id": name}, {"response_id": name, "session_id": "other"}, {"id": name}):
        response = whole(asker, "fixie/echo", request("look", picture, **fields))
        assert (response["id"], response["output"][0]["content"][0]["text"]) == (name, "look #1")
    assert Run.objects.filter(session__owner=asker.user).count() == 1
    again = process(asker, "fixie/echo", request("look", picture, response_id=name)).checked()
    assert again.response["id"] == name


def test_an_id_that_we_gave_is_the_same_answer_too(asker: Person) -> None:
    first = process(asker, "fixie/echo", request("hi"))
    again = process(asker, "fixie/echo", request("hi", response_id=first.id))
    assert (again.id, again.steady()) == (first.id, first.steady())
    assert Run.objects.filter(session__owner=asker.user).count() == 1


def test_a_response_id_of_another_query_is_refused(asker: Person) -> None:
    whole(asker, "fixie/echo", request("one", response_id="r-1"))
    answer = asker.http.post("/agents/fixie/echo/process", json=request("two", response_id="r-1"))
    assert (answer.status_code, error_of(answer)["details"]["field"]) == (400, "response_id")
    assert Run.objects.filter(session__owner=asker.user).count() == 1


def test_a_response_id_that_looks_like_ours_and_is_not_is_the_callers_own(
    asker: Person, person: Callable[..., Person]
) -> None:
    theirs = process(person(), "fixie/echo", request("secret")).id
    for name in (theirs, f"response_{uuid.uuid4()}"):
        first = whole(asker, "fixie/echo", request("hi", response_id=name))
        assert (first["id"], first["output"][0]["content"][0]["text"]) == (name, "hi")
        assert whole(asker, "fixie/echo", request("hi", response_id=name))["session_id"] == first["session_id"]
