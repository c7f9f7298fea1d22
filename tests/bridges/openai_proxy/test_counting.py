"""Tokens through the proxy: counted against the user's and the agent's day, and refused when it is used up."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2
import pytest

from tests.agents import answer, chunks
from tests.bridges.openai_proxy.conftest import PROXY, Asker, error_of, used
from tests.llm_server import Completion, ScriptedModel, failure
from tests.sessions_app.people import wait_until
from tests.sites import Site

SAID = (7, 3)  # tests.llm_server.USAGE


def agent_total(asker: Asker) -> int:
    """Today's tokens of an agent that has a limit, all users together."""
    from accounts.models import AgentUsage

    return sum(AgentUsage.objects.filter(agent=asker.agent.pk).values_list("tokens", flat=True))


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_is_counted_for_the_user_and_the_agent(ann: Asker, model: ScriptedModel, stream: bool) -> None:
    assert ann.chat(stream=stream).status_code == 200

    assert used(ann.user) == used(ann.user, ann.agent) == SAID

    assert ann.post("completions", prompt="x", stream=stream).status_code == 200
    assert ann.post("embeddings", input="x").status_code == 200

    assert used(ann.user) == used(ann.user, ann.agent) == (7 + 7 + 5, 3 + 3)


def test_a_users_own_call_is_counted_for_no_agent(
    proxy: Site, model: ScriptedModel, make_user: Any, api_key: Any
) -> None:
    from accounts.models import UsageDay

    user = make_user()
    with proxy.client(api_key(user)) as http:
        assert http.post(f"{PROXY}/chat/completions", json={"model": "m"}).status_code == 200

    row = UsageDay.objects.get(user=user)
    assert (row.agent, row.queries, row.prompt_tokens, row.completion_tokens) == (None, 0, *SAID)


def test_looking_at_models_costs_nothing(ann: Asker, model: ScriptedModel) -> None:
    assert ann.http.get(f"{PROXY}/models").status_code == 200
    assert used(ann.user) == (0, 0)


@pytest.mark.parametrize("stream", [False, True])
def test_a_server_that_tells_no_usage_is_estimated(ann: Asker, model: ScriptedModel, stream: bool) -> None:
    model.reset(Completion("x" * 40, usage=None))

    assert ann.chat("y" * 400, stream=stream).status_code == 200

    prompt, completion = used(ann.user)
    assert 100 <= prompt <= 110, "a token is about four characters"
    assert 10 <= completion <= 13


def test_a_call_that_the_server_refuses_costs_nothing(ann: Asker, model: ScriptedModel) -> None:
    model.reset(failure(400))

    assert ann.chat().status_code == 400
    assert used(ann.user) == (0, 0)


def test_a_usage_out_of_this_world_is_bounded(ann: Asker, model: ScriptedModel) -> None:
    from bridges.openai_proxy.metering import TOKENS_MAX

    model.reset(answer({"usage": {"prompt_tokens": -5, "completion_tokens": 2**62}}))

    assert ann.chat().status_code == 200
    assert used(ann.user) == (0, TOKENS_MAX)


def test_what_was_streamed_is_counted_where_the_client_leaves(ann: Asker, model: ScriptedModel) -> None:
    model.reset(Completion("word " * 40, hang_after=20, usage=None))

    with ann.http.stream("POST", f"{PROXY}/chat/completions", json={"model": "m", "stream": True}) as said:
        seen = ""
        for piece in said.iter_text():
            seen += piece
            if seen.count("word") == 20:
                break
    wait_until(lambda: used(ann.user) != (0, 0))

    assert 20 <= used(ann.user)[1] <= 30
    assert used(ann.user) == used(ann.user, ann.agent)


def test_who_leaves_before_the_first_word_pays_for_the_question(ann: Asker, model: ScriptedModel) -> None:
    model.reset(chunks(end=False))

    with pytest.raises(httpx2.ReadTimeout):
        ann.http.post(f"{PROXY}/chat/completions", json={"model": "m", "prompt": "x" * 400}, timeout=0.3)
    wait_until(lambda: used(ann.user) != (0, 0))

    assert used(ann.user) == (101, 0)


def test_a_stream_that_breaks_off_is_counted(ann: Asker, model: ScriptedModel) -> None:
    model.reset(Completion("word " * 40, cut_after=20))

    ann.chat(stream=True)

    assert 20 <= used(ann.user)[1] <= 30


@pytest.mark.parametrize(
    ("limits", "whose"), [({"user": {"daily_token_limit": 15}}, "Your"), ({"agent": {"daily_token_limit": 15}}, "The")]
)
def test_a_used_up_day_is_refused(asker: Any, model: ScriptedModel, limits: dict[str, Any], whose: str) -> None:
    ann = asker(**limits)
    assert [ann.chat().status_code for _ in range(2)] == [200, 200]
    before = used(ann.user)

    refused = ann.chat()

    assert refused.status_code == 429
    assert 0 < int(refused.headers["retry-after"]) <= 24 * 60 * 60
    assert refused.headers["x-should-retry"] == "false"
    error = error_of(refused)
    assert (error["type"], error["code"]) == ("insufficient_quota", "insufficient_quota")
    assert error["message"].startswith(whose)
    assert used(ann.user) == before == (14, 6)
    assert len(model.requests) == 2
    assert ann.http.get(f"{PROXY}/models").status_code == 200, "which costs nothing"


def test_the_limit_of_an_agent_is_that_of_all_its_users(
    asker: Any, model: ScriptedModel, make_user: Any, call_token: Any, proxy: Site
) -> None:
    ann = asker(agent={"daily_token_limit": 10})
    assert ann.chat().status_code == 200

    with proxy.client(call_token(make_user(), ann.agent)) as bob:
        assert bob.post(f"{PROXY}/chat/completions", json={"model": "m"}).status_code == 429


def test_a_limit_of_nothing_refuses_the_first_call(asker: Any, model: ScriptedModel) -> None:
    assert asker(user={"daily_token_limit": 0}).chat().status_code == 429
    assert model.requests == []


def test_no_limit_refuses_nothing(asker: Any, model: ScriptedModel) -> None:
    assert asker(user={"daily_token_limit": None}).chat().status_code == 200


def test_many_calls_at_once_are_all_counted(asker: Any, model: ScriptedModel) -> None:
    ann = asker(agent={"daily_token_limit": 10**9})

    with ThreadPoolExecutor(20) as pool:
        said = list(pool.map(lambda number: ann.chat(stream=number % 2 == 0).status_code, range(60)))

    assert said == [200] * 60
    assert used(ann.user) == used(ann.user, ann.agent) == (60 * 7, 60 * 3)
    assert agent_total(ann) == 600


def test_no_prompt_and_no_token_is_logged(ann: Asker, proxy: Site, model: ScriptedModel) -> None:
    model.reset(Completion("an answer of its own kind"))
    ann.chat("a question of its own kind")
    model.reset(failure(400, message="a complaint of its own kind"))
    ann.chat("a question of its own kind")

    logged = proxy.log.read_text()
    assert "of its own kind" not in logged
    assert ann.token not in logged
