"""Embeds that agents send back: fetched, stored, under keys of the session, and said of where they cannot be had."""

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest

from common.db import run_db
from registry.transports.base import AgentMessage, EmbedRef
from sessions_app import fetching
from tests.agents import Behaviour, Exchange, ScriptedAgent, answer, hang
from tests.sessions_app.embedded import contents, data_uri, embeds_of, reader, ref, returning
from tests.sessions_app.people import Person, wait_until
from tests.sessions_app.streaming import begin, end, reached
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

AgentOf = Callable[[Person, Behaviour], str]


def asked(person: Person, agent: str, text: str = "go", **fields: Any) -> list[dict[str, Any]]:
    """The messages of a new session in which this was asked."""
    session = person.new_session(agent)
    person.post(session, text, **fields)
    return person.settled(session)


@pytest.mark.parametrize(
    "uri",
    [data_uri("made"), "data:base64,bWFkZQ==", "data:text/plain,made", "AGENT/made.txt"],
    ids=["data", "of_the_sdk", "plain_data", "url"],
)
def test_what_an_agent_sends_back_is_kept_and_shown(
    asker: Person, agent_of: AgentOf, scripted: ScriptedAgent, uri: str
) -> None:
    scripted.on("/made.txt", answer(body=b"made", content_type="text/plain"), method="GET")
    embed = {"content_type": "text/plain", "uri": uri.replace("AGENT", scripted.url)}
    response = asked(asker, agent_of(asker, returning("Here is #it.", {"it": embed})))[-1]
    assert (response["kind"], response["text"]) == ("response", "Here is #1.")
    assert contents(response["embeds"]) == {"1": "made"}
    assert response["embeds"]["1"]["content_type"].startswith("text/plain")
    assert response["embeds"]["1"]["id"] in embeds_of(asker)


def test_keys_of_an_answer_make_way_for_those_of_the_question(asker: Person, agent_of: AgentOf) -> None:
    agent = agent_of(asker, returning("#1 of #2", {"1": ref("made"), "2": ref("asked")}))
    query, response = asked(asker, agent, "#1", embeds={"1": ref("asked")})
    assert response["text"] == "#2 of #1"
    assert contents(response["embeds"]) == {"1": "asked", "2": "made"}
    assert response["embeds"]["1"] == query["embeds"]["1"]


def test_an_agent_of_the_platform_sends_embeds_back(asker: Person) -> None:
    query, response = asked(asker, "fixie/echo", "#1", embeds={"1": ref("mine")})
    assert response["embeds"] == query["embeds"]
    assert len(embeds_of(asker)) == 1


def test_a_stream_brings_its_embeds_with_its_last_line(asker: Person, agent_of: AgentOf) -> None:
    lines = [{"text": "Pain"}, {"text": "Painted: #1", "embeds": {"1": ref("x")}}, {"text": "Painted: #a, #b"}]
    lines[-1]["embeds"] = {"a": ref("y"), "b": ref("z")}

    async def behave(exchange: Exchange) -> None:
        await begin(exchange)
        for line in lines:
            data = json.dumps({"message": line}).encode() + b"\n"
            await exchange.write(b"%x\r\n%b\r\n" % (len(data), data))
        await end(exchange)

    response = asked(asker, agent_of(asker, behave))[-1]
    assert response["text"] == "Painted: #1, #2"
    assert contents(response["embeds"]) == {"1": "y", "2": "z"}


BAD = [
    ("data:image/png;base64,$$$", ""),
    ("AGENT/missing", "404"),
    ("http://169.254.169.254/latest/meta-data", ""),
    ("ftp://example.com/x", ""),
    ("SITE/attachment/x?expires=9999999999&signature=x", ""),
    ("", ""),
    ("AGENT/again-and-again", "redirect"),
]


@pytest.mark.parametrize(("uri", "reason"), BAD)
def test_an_answer_outlives_an_embed_that_cannot_be_had(
    asker: Person, agent_of: AgentOf, scripted: ScriptedAgent, site: Site, uri: str, reason: str
) -> None:
    again = answer(body=b"", status=302, headers={"location": "/again-and-again"})
    scripted.on("/again-and-again", again, method="GET")
    bad = {"content_type": "image/png", "uri": uri.replace("AGENT", scripted.url).replace("SITE", site.url)}
    agent = agent_of(asker, returning("See #2 and #good.", {"2": bad, "good": ref("fine")}))
    response = asked(asker, agent, "#2", embeds={"2": ref("asked")})[-1]
    assert response["kind"] == "response"
    said, note = response["text"].split("\n\n")
    # The key of what is missing is that of another embed here.
    assert said == "See attachment 2 and #1."
    assert note.startswith("(Attachment 2 could not be fetched: ")
    assert reason in note
    assert contents(response["embeds"]) == {"1": "fine"}


def test_an_embed_that_is_too_large_is_said_to_be(asker: Person, agent_of: AgentOf, scripted: ScriptedAgent) -> None:
    scripted.on("/large", answer(body=bytes(25 * 1024 * 1024 + 1), content_type="image/png"), method="GET")
    embeds = {"1": {"content_type": "image/png", "uri": f"{scripted.url}/large"}}
    response = asked(asker, agent_of(asker, returning("See #1.", embeds)))[-1]
    assert response["text"].startswith("See attachment 1.\n\n(Attachment 1 could not be fetched: ")
    assert "26214400" in response["text"]
    assert embeds_of(asker) == set()


def test_more_embeds_than_a_message_may_have_are_said_to_be_left_out(asker: Person, agent_of: AgentOf) -> None:
    agent = agent_of(asker, returning("Many.", {f"k{number}": ref(str(number)) for number in range(18)}))
    response = asked(asker, agent)[-1]
    assert list(contents(response["embeds"]).values()) == [str(number) for number in range(16)]
    assert response["text"] == (
        "Many.\n\n(Attachment k16 could not be fetched: A message may have 16.)"
        "\n\n(Attachment k17 could not be fetched: A message may have 16.)"
    )


def test_a_run_can_be_stopped_while_an_embed_is_fetched(
    asker: Person, agent_of: AgentOf, scripted: ScriptedAgent
) -> None:
    path = f"/{uuid4().hex}"
    scripted.on(path, hang(), method="GET")
    embeds = {"1": {"content_type": "image/png", "uri": scripted.url + path}}
    session = asker.new_session(agent_of(asker, returning("See #1.", embeds)))
    run = asker.post(session, "go")["run"]
    wait_until(lambda: path in [request.path for request in scripted.requests])
    assert asker.http.post(f"/api/runs/{run}/cancel").status_code == 202
    assert [message["text"] for message in asker.settled(session)] == ["go", "See #1."]
    runs = asker.http.get(f"/api/sessions/{session}/messages").json()["runs"]
    assert [each["status"] for each in runs] == ["canceled"]


async def test_an_embed_that_takes_too_long_costs_the_answer_nothing(
    make_user: Callable[..., "User"], scripted: ScriptedAgent
) -> None:
    user = await run_db(make_user)
    path = f"/{uuid4().hex}"
    scripted.on(path, hang(), method="GET")
    late = {key: EmbedRef("image/png", scripted.url + path) for key in ("1", "2")}
    message = AgentMessage("See #1 and #3.", {**late, "3": EmbedRef("text/plain", data_uri("in time"))})
    text, kept = await fetching.received(message, owner=user.pk, seconds=0.5)
    assert text.splitlines() == [
        "See attachment 1 and #3.",
        "",
        "(Attachment 1 could not be fetched: It did not arrive in time.)",
        "",
        "(Attachment 2 could not be fetched: It did not arrive in time.)",
    ]
    assert list(kept) == ["3"]


FEW_SHOT = "Q: Describe #image1\nAsk Func[describe]: #image1\nFunc[describe] says: a cat\nA: It shows a cat."
PAINT = "Q: Paint a cat\nAsk Func[paint]: a cat\nFunc[paint] says: #image1\nA: Here you go: #image1"


@pytest.fixture
def painter(asker: Person, scripted: ScriptedAgent) -> str:
    """The id of a Code Shot agent that describes pictures and paints some."""
    handle = f"agent-{uuid4().hex[:8]}"
    manifest = {"type": "code_shot", "base_prompt": "I see and paint.", "few_shots": [FEW_SHOT, PAINT]}
    scripted.on(f"/{handle}", answer(manifest), method="GET")
    scripted.on(f"/{handle}/describe", reader())
    scripted.on(f"/{handle}/paint", returning("#image1", {"image1": ref("a painting")}))
    created = asker.http.post("/api/agents", json={"handle": handle, "deployment_url": f"{scripted.url}/{handle}"})
    assert created.status_code == 201, created.text
    return str(created.json()["agent_id"])


def test_a_func_is_handed_the_embeds_that_its_argument_names(asker: Person, painter: str) -> None:
    session = asker.new_session()
    asker.post(session, "#1", embeds={"1": ref("a dog")})
    asker.post(session, f"@{painter} Describe #2", embeds={"2": ref("a fish")})
    *_, call, output, response = asker.settled(session)
    assert call["text"] == "Ask Func[describe]: #2"
    assert output["text"] == "Func[describe] says: no. 2; 2=a fish"
    assert "a fish" in response["text"]
    assert set(call["embeds"]) == {"2"}


def test_what_a_func_sends_back_is_in_the_answer_that_names_it(asker: Person, painter: str) -> None:
    session = asker.new_session(painter)
    asker.post(session, "#1 is an old one", embeds={"1": ref("old")}, if_busy="enqueue")
    asker.settled(session)
    asker.post(session, "Paint a horse")
    *_, call, output, response = asker.settled(session)
    assert call["text"] == "Ask Func[paint]: a horse"
    assert output["text"] == "Func[paint] says: #2"
    assert response["text"] == "Here you go: #2"
    assert contents(output["embeds"]) == contents(response["embeds"]) == {"2": "a painting"}


def test_a_question_that_does_not_name_its_embeds_does_so_for_the_model(asker: Person, painter: str) -> None:
    *_, call, output, _ = asked(asker, painter, "Describe", embeds={"1": ref("a dog")})
    assert call["text"] == "Ask Func[describe]: #1"
    assert output["text"] == "Func[describe] says: no. 1; 1=a dog"


def test_a_func_whose_embed_cannot_be_had_goes_on(asker: Person, painter: str, scripted: ScriptedAgent) -> None:
    bad = {"image1": {"content_type": "image/png", "uri": f"{scripted.url}/missing"}}
    scripted.on(f"/{painter.partition('/')[2]}/paint", returning("#image1", bad))
    *_, output, response = asked(asker, painter, "Paint a horse")
    assert output["text"].startswith("Func[paint] says: attachment image1\n\n(Attachment image1 could not be fetched: ")
    assert (response["kind"], response["embeds"]) == ("response", {})


def test_an_answer_grows_before_its_embeds_are_there(
    asker: Person, agent_of: AgentOf, scripted: ScriptedAgent, gate: threading.Event
) -> None:
    path = f"/{uuid4().hex}"

    async def late(exchange: Exchange) -> None:
        await reached(gate)
        await answer(body=b"x", content_type="text/plain")(exchange)

    scripted.on(path, late, method="GET")
    agent = agent_of(asker, returning("Here: #1", {"1": {"content_type": "", "uri": scripted.url + path}}))
    with asker.http.stream(
        "POST", f"/api/agents/{agent}", json={"message": {"text": "go"}, "stream": True}
    ) as answered:
        lines = answered.iter_lines()
        assert '"Here: #1"' in next(lines)
        gate.set()
        assert '"embeds":{"1":' in list(lines)[-1]
