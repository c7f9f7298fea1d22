"""`fixie query`: one question, one answer."""

from collections.abc import Iterator

import pytest

from registry.bootstrap import ensure_front_agent
from tests.agents import ScriptedAgent, answer
from tests.published_client.somebody import Somebody
from tests.sessions_app.fronting import Zoo


@pytest.fixture
def failing(ann: Somebody, handle: str) -> Iterator[str]:
    """An agent that says that it failed."""
    with ScriptedAgent() as server:
        server.on("/", answer({"type": "standalone"}), method="GET")
        said = {"message": {"text": "The oven is cold."}, "error": {"code": "cold", "message": "cold", "details": {}}}
        server.on("/", answer(said, status=500))
        yield ann.new_agent(f"{handle}-failing", server.url)


def test_it_prints_the_answer_and_leaves_no_session(ann: Somebody, agent: str) -> None:
    shown = ann.fixie("query", "-a", agent, "Shout good morning")
    assert (shown.code, shown.out, shown.err) == (0, "GOOD MORNING!\n", "")
    assert ann.client.get_sessions() == []


def test_kept_and_verbose_it_tells_the_session(ann: Somebody, agent: str) -> None:
    shown = ann.fixie("query", "--keep", "-v", "--agent", agent, "Shout hello")
    (session,) = ann.client.get_sessions()
    assert f"Session ID: {session}\nSession URL: {ann.site.url}/sessions/{session}\n" in shown.out
    assert shown.out.endswith("HELLO!\n")


def test_my_own_agent_needs_only_its_handle(ann: Somebody, agent: str) -> None:
    assert ann.fixie("query", "-a", agent.split("/")[1], "Shout hello").out == "HELLO!\n"


def test_without_an_agent_the_fixie_agent_finds_one(ann: Somebody, echo: str) -> None:
    ensure_front_agent()
    with ScriptedAgent() as server:
        zoo = Zoo(server, ann.http)
        zoo.agent(answer({"message": {"text": "Whispered."}}), "Whisper a green word", "Whisper the green word twice")
        assert ann.fixie("query", "Whisper the green word").out == "Whispered.\n"
        console = ann.terminal("console", "Whisper a green word")
        console.until("1❯ Whispered.\n")
        console.left()
    assert ann.fixie("query", f"@{echo} hello").out == "hello\n"
    assert "Hello! I am Fixie" in ann.fixie("query", "hello").out


def test_an_unknown_agent_is_named(ann: Somebody) -> None:
    shown = ann.fixie("query", "-a", "nobody/nothing", "Shout hello")
    assert shown.code == 2
    assert "Agent nobody/nothing does not exist" in shown.err
    assert ann.client.get_sessions() == []


def test_a_failing_agent_is_heard_in_its_own_words(ann: Somebody, failing: str) -> None:
    assert ann.fixie("query", "-a", failing, "Bake").out == "The oven is cold.\n"


def test_a_spent_quota_is_told(ann: Somebody, agent: str) -> None:
    ann.user.daily_query_limit = 0
    ann.user.save()
    shown = ann.fixie("query", "-a", agent, "Shout hello")
    assert shown.code == 1
    assert "429 Client Error: Too Many Requests" in shown.err
