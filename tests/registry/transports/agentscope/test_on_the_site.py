"""An AgentApp on the running site: registered by its address, asked, and shown like any agent."""

import base64
import json
import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agents import Behaviour, ScriptedAgent, answer
from tests.registry.transports.agentscope.apps import (
    ROOT,
    content,
    delta,
    message,
    query_in,
    response,
    run,
    said,
    sends,
    streamed,
)
from tests.sessions_app.people import Json, Person, error_of, wait_until

PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 40


@pytest.fixture
def app() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as running:
        running.on("/", answer(ROOT), method="GET")
        yield running


@pytest.fixture
def agent(asker: Person, app: ScriptedAgent) -> str:
    """The id of the person's agent, which runs at the app."""
    fields = {"handle": f"app-{uuid.uuid4().hex[:8]}", "deployment_url": app.url}
    made = asker.http.post("/api/agents", json=fields)
    assert made.status_code == 201, made.text
    return str(made.json()["agent_id"])


def asked(
    asker: Person, agent: str, app: ScriptedAgent, behaviour: Behaviour, text: str = "go", **more: Any
) -> list[Json]:
    """The messages of a new session in which this was asked."""
    app.on("/process", behaviour)
    session = asker.new_session(agent)
    asker.post(session, text, **more)
    return asker.settled(session)


def test_its_text_streams_and_is_the_answer(asker: Person, agent: str, app: ScriptedAgent) -> None:
    app.on("/process", sends(run(streamed("It is ", "sun", "ny.")), cut=5))
    lines = asker.ask(agent, "Weather?", stream=True).text.splitlines()
    texts = [json.loads(line)["message"]["text"] for line in lines]
    assert texts[-1] == "It is sunny."
    assert all(texts[-1].startswith(text) for text in texts)


def test_its_thoughts_and_tools_are_steps(asker: Person, agent: str, app: ScriptedAgent) -> None:
    call = content("data", data={"call_id": "c1", "name": "weather", "arguments": '{"city": "Rome"}'})
    output = content("data", data={"call_id": "c1", "output": "sunny"})
    documents = run(
        streamed("I look it up.", kind="reasoning", id="m1"),
        said(call, kind="plugin_call", id="m2"),
        said(output, kind="plugin_call_output", id="m3", role="tool"),
        streamed("It is sunny.", id="m4"),
    )
    found = [(one["kind"], one["text"]) for one in asked(asker, agent, app, sends(documents))]
    assert found == [
        ("query", "go"),
        ("thought", "Thought: I look it up."),
        ("func_call", 'Ask Func[weather]: {"city": "Rome"}'),
        ("func_output", "Func[weather] says: sunny"),
        ("response", "It is sunny."),
    ]


def test_its_pictures_and_files_are_embeds_that_can_be_had(asker: Person, agent: str, app: ScriptedAgent) -> None:
    app.on("/chart.png", answer(body=PNG, content_type="image/png"), method="GET")
    contents = [
        content(text="Here you are:"),
        content("image", image_url=f"{app.url}/chart.png"),
        content("image", image_url=f"data:image/png;base64,{base64.b64encode(PNG + b'1').decode()}"),
        content("audio", data=base64.b64encode(b"sound").decode(), format="mp3"),
        content("file", file_data=base64.b64encode(b"%PDF-1.7").decode(), filename="report.pdf"),
    ]
    *_, last = asked(asker, agent, app, sends(run(said(*contents))))
    assert last["text"] == "Here you are:\n\n#1\n\n#2\n\n#3\n\nreport.pdf: #4"
    kinds = {key: embed["content_type"] for key, embed in last["embeds"].items()}
    assert kinds == {"1": "image/png", "2": "image/png", "3": "audio/mpeg", "4": "application/pdf"}
    assert asker.http.get(last["embeds"]["1"]["uri"], headers={"Authorization": ""}).content == PNG


def test_an_embed_that_cannot_be_had_is_told(asker: Person, agent: str, app: ScriptedAgent) -> None:
    *_, last = asked(asker, agent, app, sends(run(said(content("image", image_url=f"{app.url}/gone.png")))))
    assert last["kind"] == "response"
    assert "could not be fetched" in last["text"]


def test_an_attachment_reaches_it_and_comes_back(asker: Person, agent: str, app: ScriptedAgent) -> None:
    def back(request: Any) -> list[Json]:
        return run(said(*query_in(request)))

    uri = f"data:image/png;base64,{base64.b64encode(PNG).decode()}"
    embeds = {"1": {"content_type": "image/png", "uri": uri}}
    query, last = asked(asker, agent, app, sends(back), "See #1", embeds=embeds)
    assert last["text"] == "See #1"
    assert last["embeds"] == query["embeds"]
    sent = query_in(app.requests[-1])[1]
    assert asker.http.get(sent["image_url"], headers={"Authorization": ""}).content == PNG


def test_it_is_told_what_was_said_before_in_its_session(asker: Person, agent: str, app: ScriptedAgent) -> None:
    app.on("/process", sends(run(streamed("One."))), sends(run(streamed("Two."))))
    session = asker.new_session(agent)
    for text in ("First?", "Second?"):
        asker.post(session, text)
        asker.settled(session)
    first, second = (request.json for request in app.requests if request.method == "POST")
    told = [(one["role"], one["content"][0]["text"]) for one in second["input"]]
    assert told == [("user", "First?"), ("assistant", "One."), ("user", "Second?")]
    assert first["session_id"] == second["session_id"] == session
    assert second["user_id"] == str(asker.user.pk)


def test_the_tokens_it_used_are_counted(asker: Person, agent: str, app: ScriptedAgent) -> None:
    asked(asker, agent, app, sends(run(streamed("4"), usage={"input_tokens": 120, "output_tokens": 30})))
    (used,) = [row for row in asker.http.get("/api/usage").json()["items"] if row["agent"] == agent]
    assert (used["queries"], used["prompt_tokens"], used["completion_tokens"]) == (1, 120, 30)


def test_an_agent_that_lies_about_its_tokens_costs_its_asker_nothing(
    asker: Person, agent: str, app: ScriptedAgent
) -> None:
    asker.user.daily_token_limit = 1000
    asker.user.save()
    lie = {"input_tokens": 10**9, "output_tokens": 10**30}
    lies = [message("reasoning", id=f"msg_lie_{number}", usage=lie) for number in range(3)]
    story = run(streamed("4"))
    for _ in range(3):
        last = asked(asker, agent, app, sends([*story[:1], *lies, *story[1:]]))[-1]
        assert (last["kind"], last["text"]) == ("response", "4")


@pytest.mark.parametrize(
    ("behaviour", "code", "words"),
    [
        (
            sends([response("failed", error={"code": "E", "message": "I have no dice."})]),
            "agent_error",
            "I have no dice.",
        ),
        (sends(run(streamed("Hel"))[:-2]), "agent_invalid_response", "broke off"),
        (answer({"detail": "Not today."}, status=500), "agent_error", "Not today."),
        (answer(body=b"<html>", content_type="text/html"), "agent_invalid_response", "text/html"),
    ],
)
def test_what_goes_wrong_is_told_in_words(
    asker: Person, agent: str, app: ScriptedAgent, behaviour: Behaviour, code: str, words: str
) -> None:
    app.on("/process", behaviour)
    error = error_of(asker.ask(agent, "go"))
    assert error["code"] == code
    assert words in error["message"]


def test_stopping_the_query_closes_the_call(asker: Person, agent: str, app: ScriptedAgent) -> None:
    app.on("/process", sends([message(status="created"), delta("Once upon")], end=False))
    session = asker.new_session(agent)
    posted = asker.post(session, "A tale!")
    wait_until(lambda: any(request.method == "POST" for request in app.requests))
    time.sleep(0.1)
    stopped = asker.http.post(f"/api/runs/{posted['run']}/cancel")
    assert stopped.status_code < 300, stopped.text
    assert app.left.wait(5)
    assert asker.settled(session)[-1]["text"] == "Once upon"
