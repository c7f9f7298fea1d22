"""`fixie session open`: a conversation goes on."""

import pytest

from tests.agents import ScriptedAgent
from tests.published_client.somebody import Somebody


@pytest.fixture
def session(ann: Somebody, handle: str, shouter: ScriptedAgent) -> str:
    """One in which somebody has asked."""
    session = ann.client.create_session(ann.new_agent(handle, shouter.url))
    session.query("Shout hello")
    return str(session.session_id)


def test_it_shows_what_was_said_and_goes_on(ann: Somebody, handle: str, session: str) -> None:
    console = ann.terminal("session", "open", session)
    before = console.until("1❯ HELLO!")
    assert "fixie 🦊❯ Shout hello" in before
    assert f"@{handle}: Ask Func[shout]: hello" in before
    assert f"@{handle}: Func[shout] says: HELLO!" in before
    console.enter("Shout good morning")
    console.until("2❯ GOOD MORNING!\n")
    console.left()


def test_a_message_may_come_with_it(ann: Somebody, session: str) -> None:
    console = ann.terminal("session", "open", session, "Say good night loudly")
    console.until("2❯ GOOD NIGHT!\n")
    console.left()


def test_an_unknown_one_and_somebody_elses_are_refused_in_words(ann: Somebody, bob: Somebody, session: str) -> None:
    for person, name in ((ann, "no-such-session"), (bob, session)):
        shown = person.fixie("session", "open", name)
        assert shown.code == 1
        assert "There is no such session, or it is not yours." in shown.err
