"""What comes back through the proxy: the server's own words, as they come."""

import json

import pytest

from tests.agents import answer, chunks, drip, hang, raw, redirect
from tests.bridges.openai_proxy.conftest import PROXY, SERVER_KEY, TIMEOUT, Asker, error_of
from tests.llm_server import EMBEDDINGS, MODELS, Completion, ScriptedModel, failure

EVENTS = (
    b": a comment\n\n",
    b'data: {"choices": [{"index": 0, "delta": {"content": "It "}}]}\r\n\r\n',
    b'event: x\nid: 1\ndata: {"choices": [{"index": 0,\ndata:  "delta": {"content": "is"}}]}\n\n',
    b"data: no JSON\n\n",
    b"data: [DONE]\n\n",
    b": after the end",
)


def contents(stream: str) -> list[dict]:
    return [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]


def test_a_chat_completion_is_the_servers_own(ann: Asker, model: ScriptedModel) -> None:
    model.reset(answer(body=b'{"object":"chat.completion", "anything" : [1,2]}'))

    said = ann.chat(n=2, max_tokens=9, temperature=0.5, tools=[], unheard_of={"deep": [None]})

    assert (said.status_code, said.headers["content-type"]) == (200, "application/json")
    assert said.content == b'{"object":"chat.completion", "anything" : [1,2]}'
    assert model.requests == [
        {
            "model": "scripted",
            "messages": [{"role": "user", "content": "What time is it?"}],
            "n": 2,
            "max_tokens": 9,
            "temperature": 0.5,
            "tools": [],
            "unheard_of": {"deep": [None]},
        }
    ]


def test_the_server_gets_the_sites_key_and_nothing_of_the_callers(ann: Asker, model: ScriptedModel) -> None:
    ann.http.headers |= {"OpenAI-Organization": "org-1", "Cookie": "a=b", "X-Request-ID": "mine"}

    assert ann.chat().status_code == 200

    headers = model.headers[0]
    assert headers["authorization"] == f"Bearer {SERVER_KEY}"
    assert ann.token not in str(headers)
    assert headers.keys().isdisjoint({"openai-organization", "cookie", "x-request-id"})


def test_a_stream_passes_byte_for_byte(ann: Asker, model: ScriptedModel) -> None:
    whole = b"".join(EVENTS)
    pieces = [whole[start : start + 7] for start in range(0, len(whole), 7)]
    model.reset(chunks(*pieces, content_type="text/event-stream; charset=utf-8"))

    said = ann.chat(stream=True)

    assert said.content == whole
    assert said.headers["content-type"] == "text/event-stream; charset=utf-8"


async def test_what_has_come_is_passed_on_while_the_server_thinks(ann: Asker, model: ScriptedModel) -> None:
    model.reset(Completion("It is noon.", hang_after=1))

    with ann.http.stream("POST", f"{PROXY}/chat/completions", json={"model": "m", "stream": True}) as said:
        first = next(said.iter_bytes())

    assert contents(first.decode())[0]["choices"][0]["delta"] == {"content": "It"}
    assert await model.saw_client_leave(5), "a client that leaves ends the server's work"


async def test_a_client_that_leaves_before_an_answer_ends_the_servers_work(ann: Asker, model: ScriptedModel) -> None:
    import httpx2

    model.reset(hang())

    with pytest.raises(httpx2.ReadTimeout):
        ann.http.post(f"{PROXY}/chat/completions", json={"model": "m"}, timeout=0.3)

    assert await model.saw_client_leave(1)


@pytest.mark.parametrize("options", [None, {}, {"include_usage": False}, {"other": 1}])
def test_a_streams_usage_is_ours_unless_the_caller_asks(ann: Asker, model: ScriptedModel, options: dict | None) -> None:
    said = ann.chat(stream=True, stream_options=options)

    assert model.requests[0]["stream_options"] == {**(options or {}), "include_usage": True}
    assert [chunk["choices"] != [] for chunk in contents(said.text)] == [True] * 4
    assert said.text.endswith("data: [DONE]\n\n")


def test_who_asks_for_a_streams_usage_gets_it(ann: Asker, model: ScriptedModel) -> None:
    said = ann.chat(stream=True, stream_options={"include_usage": True})

    assert contents(said.text)[-1]["usage"]["total_tokens"] == 10


def test_a_server_that_tells_no_usage_is_asked_without(ann: Asker, model: ScriptedModel) -> None:
    refuses = failure(400, message="stream_options is not known")
    model.reset(refuses, "It is noon.", "Still noon.")

    assert "noon" in ann.chat(stream=True, model="quiet").text
    assert ["stream_options" in request for request in model.requests] == [True, False]

    assert "Still" in ann.chat(stream=True, model="quiet", stream_options={"other": 1}).text
    assert model.requests[2]["stream_options"] == {"other": 1}, "and is not asked for it again"


def test_completions_and_embeddings_pass_too(ann: Asker, model: ScriptedModel) -> None:
    assert ann.post("completions", prompt="Time?").json()["choices"][0]["text"] == "It is noon."
    assert "noon" in ann.post("completions", prompt="Time?", stream=True).text
    assert ann.post("embeddings", input=["a", "b"]).json() == EMBEDDINGS


def test_models_are_the_servers(ann: Asker, model: ScriptedModel) -> None:
    assert ann.http.get(f"{PROXY}/models").json() == {"object": "list", "data": MODELS}
    assert ann.http.get(f"{PROXY}/models/scripted").json() == MODELS[0]
    assert ann.http.get(f"{PROXY}/models/huge/model").json() == MODELS[1]


def test_an_error_of_the_server_passes_with_its_status(ann: Asker, model: ScriptedModel) -> None:
    model.reset(failure(429, message="Slow down", param="model", retry_after="7"))

    said = ann.chat()

    assert (said.status_code, said.headers["retry-after"]) == (429, "7")
    assert error_of(said) == {"message": "Slow down", "type": "invalid", "param": "model", "code": None}


def test_an_error_tells_neither_the_sites_key_nor_the_servers_address(ann: Asker, model: ScriptedModel) -> None:
    address = model.url.removeprefix("http://")
    model.reset(failure(400, message=f"Bad key {SERVER_KEY} at {model.url}/chat, {address}"))

    said = ann.chat()

    assert said.status_code == 400
    assert SERVER_KEY not in said.text
    assert "127.0.0.1" not in said.text
    assert error_of(said)["message"].startswith("Bad key [hidden] at [hidden]")


@pytest.mark.parametrize("status", [401, 403])
def test_a_server_that_refuses_the_sites_key_does_not_make_the_callers_look_bad(
    ann: Asker, model: ScriptedModel, status: int
) -> None:
    model.reset(failure(status, message=f"Incorrect API key provided: {SERVER_KEY[:6]}"))

    said = ann.chat()

    assert said.status_code == 502
    assert error_of(said)["message"] == "The language model server refused the site's key."


@pytest.mark.parametrize(
    ("behaviour", "status"),
    [
        (answer(body=b"<html>at 10.0.0.7</html>", status=503, content_type="text/html"), 503),
        (answer(body=b"[]", status=400), 400),
        (redirect("http://127.0.0.1/secret"), 502),
        (raw(), 502),
        (raw(b"SSH-2.0\r\n"), 502),
        (chunks(b"data: {}", end=False, content_type="text/event-stream"), 504),
        (hang(), 504),
        (drip(), 504),
    ],
)
def test_whatever_else_the_server_does_is_told_in_a_sentence(
    ann: Asker, model: ScriptedModel, behaviour: object, status: int
) -> None:
    model.reset(behaviour)

    said = ann.chat(stream=True)

    assert said.status_code == status
    error = error_of(said)
    assert error["message"].startswith("The language model")
    assert (error["type"], error["code"]) == (
        "invalid_request_error" if status == 400 else "server_error",
        "model_unavailable",
    )
    assert said.elapsed.total_seconds() < TIMEOUT + 1


def test_a_stream_that_breaks_off_ends_with_an_error(ann: Asker, model: ScriptedModel) -> None:
    model.reset(Completion("It is noon.", cut_after=2))

    *words, last = contents(ann.chat(stream=True).text)

    assert [chunk["choices"][0]["delta"]["content"] for chunk in words] == ["It", " is"]
    assert last["error"]["message"] == "The language model server broke off in the middle of its answer."


def test_many_callers_stream_at_once(ann: Asker, proxy: object, model: ScriptedModel) -> None:
    from concurrent.futures import ThreadPoolExecutor

    model.reset(Completion("It is noon.", delay=0.05))

    with ThreadPoolExecutor(30) as pool:
        said = list(pool.map(lambda _: ann.chat(stream=True).text, range(30)))

    assert all(text.endswith("[DONE]\n\n") for text in said)
