"""`fixie console`: a conversation on a terminal."""

from tests.published_client.package import PROMPT
from tests.published_client.somebody import Somebody


def test_one_asks_and_asks_again_until_ctrl_d(ann: Somebody, agent: str) -> None:
    console = ann.terminal("console", "--agent", agent, "Shout hello")
    head = console.until("1❯ HELLO!\n")
    (session,) = ann.client.get_sessions()
    assert "Welcome to Fixie!" in head
    assert f"Connected to: {ann.site.url}/sessions/{session}" in head
    assert f"{PROMPT} Shout hello" in head
    console.enter("Shout good morning")
    console.until("2❯ GOOD MORNING!\n")
    assert "Aborted!" in console.left().out
    texts = [message["text"] for message in ann.client.get_session(session).get_messages()]
    assert [texts[0], texts[-1]] == ["Shout hello", "GOOD MORNING!"]


def test_what_cannot_be_asked_now_is_told_and_the_conversation_goes_on(ann: Somebody, agent: str) -> None:
    ann.user.daily_query_limit = 0
    ann.user.save()
    console = ann.terminal("console", "-a", agent, "Shout hello")
    console.until("🚨 429 Client Error: Too Many Requests")
    ann.user.daily_query_limit = 9
    ann.user.save()
    console.enter("Shout hello")
    console.until("2❯ HELLO!\n")
    console.left()


def test_an_unknown_agent_is_named(ann: Somebody) -> None:
    shown = ann.fixie("console", "-a", "nobody/nothing")
    assert shown.code == 2
    assert "Agent nobody/nothing does not exist" in shown.err
