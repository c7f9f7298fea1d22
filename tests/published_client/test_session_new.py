"""`fixie session new`: a new conversation, on the terminal or in the browser."""

from pathlib import Path

from tests.published_client.somebody import Somebody


def test_it_opens_on_the_terminal(ann: Somebody, agent: str) -> None:
    console = ann.terminal("session", "new", "-a", agent, "Shout hello")
    console.until("1❯ HELLO!\n")
    console.left()
    assert len(ann.client.get_sessions()) == 1


def test_it_opens_in_the_browser(ann: Somebody, agent: str, tmp_path: Path) -> None:
    shown = ann.fixie("session", "new", "--web", "-a", agent, **ann.browser(tmp_path))
    assert shown.code == 0
    (session,) = ann.client.get_sessions()
    assert ann.opened(tmp_path) == f"{ann.site.url}/sessions/{session}"
    page = ann.signed_in().get(f"/sessions/{session}")
    assert page.status_code == 200
    assert agent in page.text


def test_an_unknown_agent_is_named_and_makes_no_session(ann: Somebody) -> None:
    shown = ann.fixie("session", "new", "-a", "nobody/nothing")
    assert shown.code == 2
    assert "Agent nobody/nothing does not exist" in shown.err
    assert ann.client.get_sessions() == []
