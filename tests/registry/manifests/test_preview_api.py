"""`POST /api/preview`: what is at an address, what is wrong with it and where; and whether a handle is free."""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx2
import jwt
import pytest

from tests.agents import Behaviour, ScriptedAgent, answer, hang
from tests.registry.readings import GOOD, serve_manifest
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

BAD_SHOT = "Q: Roll 3d8\nAsk Func[roll]: 8 3\nA: 5"
YAML = """# An agent
base_prompt: I roll dice.
few_shots:
  - |
    Q: Roll a die
    A: 4
  - |
    Q: Roll 3d8
    Ask Func[roll]: 8 3
    A: 5
temperature: hot
"""
ONE_TEXT = """base_prompt: I roll dice.
few_shots: |

  Q: Roll a die
  A: 4

  Q: Roll 3d8
  Ask Func[roll]: 8 3
  A: 5
"""


@pytest.fixture
def agent() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as server:
        yield server


@pytest.fixture
def user(make_user: Callable[..., "User"]) -> "User":
    return make_user()


@pytest.fixture
def http(site: Site, user: "User", api_key: Callable[..., str]) -> Iterator[httpx2.Client]:
    with site.client(api_key(user)) as client:
        yield client


def look(http: httpx2.Client, url: str, **more: str) -> dict[str, Any]:
    found = http.post("/api/preview", json={"url": url, **more})
    assert found.status_code == 200, found.text
    return dict(found.json())


def served(http: httpx2.Client, agent: ScriptedAgent, behaviour: Behaviour) -> dict[str, Any]:
    serve_manifest(agent, behaviour)
    return look(http, agent.url)


def yaml(text: str) -> Behaviour:
    return answer(body=text.encode(), content_type="application/yaml")


def places(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    return [(each["field"], each["line"], each["few_shot"], each["few_shot_line"]) for each in found["problems"]]


def test_it_tells_what_an_agent_says_of_itself_and_stores_nothing(
    http: httpx2.Client, agent: ScriptedAgent, user: "User"
) -> None:
    found = served(http, agent, answer({**GOOD, "sample_queries": ["Throw a die"]}))

    assert (found["transport"], found["error"], found["problems"]) == ("code_shot", None, [])
    assert found["manifest"]["base_prompt"] == "I roll dice."
    assert (found["few_shots"], found["funcs"]) == (GOOD["few_shots"], ["roll"])
    assert found["queries"] == ["Throw a die", "Roll 3d8"]
    assert json.loads(found["source"]["text"])["base_prompt"] == "I roll dice."
    assert found["source"]["text"].count("\n") > 3
    assert not user.owner.agents.exists()


def test_the_token_that_comes_with_it_is_for_an_agent_that_nobody_can_have(
    http: httpx2.Client, agent: ScriptedAgent, user: "User"
) -> None:
    served(http, agent, answer(GOOD))

    token = agent.requests[-1].headers["authorization"].removeprefix("Bearer ")
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["aid"] == f"{user.username}/-"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (YAML, [("few_shots", 9, 2, 2), ("temperature", 11, None, None)]),
        (ONE_TEXT, [("few_shots", 8, 2, 2)]),
        ("few_shots: 7\n", [("few_shots", 1, None, None)]),
        ("base_prompt: x\n", [("few_shots", None, None, None)]),
    ],
)
def test_problems_of_yaml_are_told_with_their_lines(
    http: httpx2.Client, agent: ScriptedAgent, text: str, expected: list[Any]
) -> None:
    found = served(http, agent, yaml(text))

    assert found["error"]["code"] == "agent_invalid_response"
    assert places(found) == expected
    assert found["source"] == {"language": "yaml", "text": text, "cut": False}
    assert found["manifest"] is None


def test_json_is_laid_out_so_that_its_problems_have_lines(http: httpx2.Client, agent: ScriptedAgent) -> None:
    manifest = {"few_shots": ["Q: Hi\nA: Hello", BAD_SHOT], "corpora": [{"urls": []}], "llm_settings": {"model": 3}}

    found = served(http, agent, answer(manifest))

    lines = found["source"]["text"].split("\n")
    shown = {problem["field"]: lines[problem["line"] - 1].strip() for problem in found["problems"]}
    assert shown["few_shots"] == json.dumps(BAD_SHOT)
    assert shown["corpora[0].urls"].startswith('"urls"')
    assert shown["llm_settings.model"] == '"model": 3'
    assert found["few_shots"][1] == BAD_SHOT


@pytest.mark.parametrize(
    ("behaviour", "words", "line"),
    [
        (answer(body=b'{\n "few_shots": [\n}', content_type="application/json"), "is not JSON", 3),
        (yaml("few_shots:\n  - a: [1\nb: 2\n"), "is not YAML: line 3", 3),
        (yaml("a: &x 1\nfew_shots: *x\n"), "aliases", 2),
        (answer(body=b"<p>Hello", content_type="text/html"), "a web page, not with a manifest", None),
        (answer([1]), "must be an object", None),
    ],
)
def test_what_is_no_manifest_is_said_in_plain_words(
    http: httpx2.Client, agent: ScriptedAgent, behaviour: Behaviour, words: str, line: int | None
) -> None:
    found = served(http, agent, behaviour)

    assert words in found["error"]["message"]
    assert [problem["line"] for problem in found["problems"]] == ([line] if line else [])


def test_an_agent_without_a_manifest_answers_by_itself(http: httpx2.Client, agent: ScriptedAgent) -> None:
    found = look(http, f"{agent.url}/nothing")

    assert (found["transport"], found["error"], found["source"]) == ("query_http", None, None)


def test_who_cannot_be_reached_is_told_as_an_error(http: httpx2.Client, agent: ScriptedAgent) -> None:
    found = look(http, "http://127.0.0.1:65001/")
    assert found["error"] == {"code": "agent_unreachable", "message": "The agent's machine refused the connection."}
    assert found["source"] is None
    failed = served(http, agent, answer({}, status=500))
    assert failed["error"]["code"] == "agent_error"


@pytest.mark.parametrize("url", ["ftp://example.com", "nonsense", "", "http://169.254.169.254/latest"])
def test_forbidden_addresses_are_refused_by_name(http: httpx2.Client, url: str) -> None:
    refused = http.post("/api/preview", json={"url": url})

    assert refused.status_code == 400
    assert refused.json()["error"]["details"]["field"] == "url"
    assert http.post("/api/preview", json={"url": "http://x.example", "protocol": "x"}).status_code == 400


def test_only_who_is_signed_in_may_look_and_not_without_end(
    site: Site, http: httpx2.Client, agent: ScriptedAgent, make_user: Callable[..., "User"], api_key: Callable[..., str]
) -> None:
    with site.client() as nobody:
        assert nobody.post("/api/preview", json={"url": agent.url}).status_code == 401
    assert agent.requests == []

    answers = [http.post("/api/preview", json={"url": agent.url}).status_code for _ in range(31)]
    assert answers == [200] * 30 + [429]
    with site.client(api_key(make_user())) as other:
        assert other.post("/api/preview", json={"url": agent.url}).status_code == 200


def test_a_slow_agent_is_waited_for_in_the_background(http: httpx2.Client, agent: ScriptedAgent) -> None:
    serve_manifest(agent, hang())
    with pytest.raises(httpx2.TimeoutException):
        http.post("/api/preview", json={"url": agent.url}, timeout=0.5)
    assert http.get("/api/agents").status_code == 200


def test_whether_a_handle_is_free(http: httpx2.Client, user: "User", make_user: Callable[..., "User"]) -> None:
    from registry.actions import create_agent

    handle = f"dice-{uuid.uuid4().hex[:8]}"
    ask = lambda **query: http.get("/api/preview/name", params=query).json()  # noqa: E731
    assert ask(handle=handle) == {"available": True, "reason": ""}
    create_agent(by=user, handle=handle)
    assert ask(handle=handle)["reason"] == f"There is already an agent with the handle {handle}."
    assert not ask(handle="no handle")["available"]
    assert ask(handle="x", owner=make_user().username)["reason"].endswith(
        "must be you or an organization you are a member of."
    )


def test_it_is_read_as_the_agent_that_could_be_registered_under_the_name_and_as_no_other(
    http: httpx2.Client, agent: ScriptedAgent, user: "User", make_user: Callable[..., "User"]
) -> None:
    from accounts.models import Organization
    from accounts.organizations import save_organization
    from registry.actions import create_agent

    serve_manifest(agent, answer(GOOD))
    me, outsider, taken = user.username, make_user(), create_agent(by=user, handle="taken")
    team = save_organization(organization=Organization(name="Team"), handle=f"org-{uuid.uuid4().hex[:8]}")

    def aid(**name: str) -> str:
        look(http, agent.url, **name)
        token = agent.requests[-1].headers["authorization"].removeprefix("Bearer ")
        return str(jwt.decode(token, options={"verify_signature": False})["aid"])

    assert aid(handle="dice") == aid(handle="dice", owner=me) == f"{me}/dice"
    assert aid(handle="dice", owner=team.owner.handle) == f"{me}/-"
    team.members.add(user)
    assert aid(handle="dice", owner=team.owner.handle) == f"{team.owner.handle}/dice"
    assert aid(handle=taken.handle) == aid(handle="no handle") == aid(handle="x", owner=outsider.username) == f"{me}/-"


def test_an_agent_that_lets_nobody_in_is_told_from_one_that_is_broken(
    http: httpx2.Client, agent: ScriptedAgent
) -> None:
    refused = served(http, agent, answer({"detail": "Invalid token"}, status=403))
    assert (refused["refused"], refused["error"]["message"]) == (True, "The agent refused the call (HTTP 403).")
    assert not served(http, agent, answer({}, status=500))["refused"]
    assert not served(http, agent, answer(GOOD))["refused"]
