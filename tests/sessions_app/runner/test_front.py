"""The Fixie agent without a language model: it finds agents, cuts compound queries, asks, and joins the answers."""

import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from registry.bootstrap import ensure_front_agent
from sessions_app.runner.front_words import NOBODY_HERE, is_small_talk, own_answer
from sessions_app.runner.route_steps import Decision, Verdict
from tests.agents import Behaviour, ScriptedAgent, answer
from tests.sessions_app.asking import asks, says
from tests.sessions_app.embedded import contents, reader, ref, returning
from tests.sessions_app.fronting import Zoo, kinds, routed
from tests.sessions_app.people import Json, Person, error_of
from tests.sessions_app.streaming import held
from tests.sites import Site

LLAMAS = ("Shear the purple llama", "Shear a striped llama", "How many purple llamas are there?")
KITES = ("What is 15 % of 80 kite strings?", "What is 20 % of 60 kite strings?")
ASKED = ["query", "func_call", "func_output", "agent_call", "agent_output", "response"]
SCORED = re.compile(r"[01]\.\d\d [\w-]+/[\w-]+: .*")


@pytest.fixture(scope="module", autouse=True)
def front(echo: str) -> str:
    """The id of the Fixie agent."""
    return ensure_front_agent().agent_id


@pytest.fixture
def zoo(asker: Person, scripted: ScriptedAgent) -> Zoo:
    return Zoo(scripted, asker.http)


def fails(text: str) -> Behaviour:
    said = {"message": {"text": text}, "error": {"code": "broken", "message": text, "details": {}}}
    return answer(said, status=500)


def repeats(prefix: str) -> Behaviour:
    return answer(lambda request: {"message": {"text": f"{prefix}: {request.json['message']['text']}"}})


def told(person: Person, text: str, **fields: Any) -> list[Json]:
    """The messages of a new session without a front agent in which this was asked."""
    session = person.new_session(None)
    person.post(session, text, **fields)
    return person.settled(session)


def test_a_query_goes_to_the_agent_that_knows_it_and_the_route_is_told(asker: Person, zoo: Zoo) -> None:
    llamas = zoo.agent(repeats("Shorn"), *LLAMAS)
    messages = told(asker, "please shear the purple llama")
    assert kinds(messages) == ASKED
    [(text, said)] = routed(messages)
    best, *others = said.splitlines()
    assert text == "please shear the purple llama"
    assert re.fullmatch(rf"0\.\d\d {llamas}: Shear the purple llama", best)
    assert all(SCORED.fullmatch(line) for line in others)
    assert messages[3]["text"] == f"Ask Agent[{llamas}]: please shear the purple llama"
    assert (messages[-1]["text"], messages[-1]["agent"]) == ("Shorn: please shear the purple llama", "fixie/fixie")
    assert zoo.asked(llamas) == ["please shear the purple llama"]


def test_a_compound_query_is_answered_by_the_agent_of_each_part(asker: Person, zoo: Zoo) -> None:
    llamas, kites = zoo.agent(says("3 + 4 = 7"), *LLAMAS), zoo.agent(repeats("Kites"), *KITES)
    messages = told(asker, "How many purple llamas are there, and what is 15 % of that in kite strings?")
    assert kinds(messages) == [
        "query",
        *["func_call", "func_output"] * 2,
        *["agent_call", "agent_output"] * 2,
        "response",
    ]
    assert [text for text, _ in routed(messages)] == [
        "How many purple llamas are there",
        "what is 15 % of that in kite strings?",
    ]
    assert zoo.asked(llamas) == ["How many purple llamas are there"]
    assert zoo.asked(kites) == ["what is 15 % of 7 in kite strings?"]
    assert messages[-1]["text"] == (
        "How many purple llamas are there: 3 + 4 = 7\n\n"
        "What is 15 % of 7 in kite strings? Kites: what is 15 % of 7 in kite strings?"
    )


def test_a_later_query_may_speak_of_the_answer_before_it(asker: Person, zoo: Zoo) -> None:
    llamas, kites = zoo.agent(says("There are 40."), *LLAMAS), zoo.agent(says("6"), *KITES)
    session = asker.new_session(None)
    asker.post(session, "How many purple llamas are there?")
    asker.settled(session)
    asker.post(session, "What is 15 % of that in kite strings?")
    assert asker.settled(session)[-1]["text"] == "6"
    assert zoo.asked(llamas) == ["How many purple llamas are there?"]
    assert zoo.asked(kites) == ["What is 15 % of 40 in kite strings?"]


def test_what_only_one_agent_knows_as_a_whole_is_not_cut(asker: Person, zoo: Zoo) -> None:
    whole = "Shear the purple llama and then tell me its weight"
    llamas = zoo.agent(repeats("Shorn"), whole, *LLAMAS)
    assert zoo.asked(llamas) == []
    assert told(asker, whole)[-1]["text"] == f"Shorn: {whole}"


def test_of_a_part_that_nobody_knows_the_answer_says_so_beside_the_others(asker: Person, zoo: Zoo) -> None:
    llamas = zoo.agent(says("Shorn."), *LLAMAS, description="Shears llamas by hand.")
    messages = told(asker, "Shear the purple llama and tell me who discovered penicillin")
    assert [part for part, _ in routed(messages)] == ["Shear the purple llama", "tell me who discovered penicillin"]
    assert zoo.asked(llamas) == ["Shear the purple llama"]
    shorn, nobody = messages[-1]["text"].split("\n\n")
    assert shorn == "Shear the purple llama: Shorn."
    assert re.fullmatch(
        r"For “tell me who discovered penicillin” no agent here fits; the nearest is @[\w/-]+( \(.+\))?\.", nobody
    )


def test_where_no_part_is_answered_that_is_the_querys_failure(asker: Person, zoo: Zoo) -> None:
    zoo.agent(fails("The shears are blunt."), *LLAMAS)
    last = told(asker, "Shear the purple llama and tell me who discovered penicillin")[-1]
    assert last["kind"] == "error"
    assert "The shears are blunt." in last["text"]
    assert "For “tell me who discovered penicillin” no agent here fits" in last["text"]


@pytest.mark.parametrize("text", ["Shear the purple llama and tell me its price", "Shear the purple llama and rock on"])
def test_what_may_belong_to_the_request_before_it_is_left_with_it(asker: Person, zoo: Zoo, text: str) -> None:
    llamas = zoo.agent(repeats("Shorn"), *LLAMAS)
    assert told(asker, text)[-1]["text"] == f"Shorn: {text}"
    assert zoo.asked(llamas) == [text]


def test_a_part_for_two_agents_names_both_beside_the_others_answers(asker: Person, zoo: Zoo) -> None:
    first = zoo.agent(says("one"), *LLAMAS, description="Shears llamas by hand.")
    second = zoo.agent(says("two"), *LLAMAS, description="Shears llamas by machine.")
    zoo.agent(says("12"), *KITES)
    text = told(asker, "What is 15 % of 80 kite strings? Shear the purple llama")[-1]["text"]
    kites, llamas = text.split("\n\n")
    assert kites == "What is 15 % of 80 kite strings? 12"
    named = [(first, f"@{first} (Shears llamas by hand)"), (second, f"@{second} (Shears llamas by machine)")]
    assert llamas in [
        f"For “Shear the purple llama” ask {one} or {other}: put its name first, as in @{agent} Shear the purple llama"
        for (agent, one), (_, other) in (named, named[::-1])
    ]


def test_the_answer_grows_while_the_agent_writes_it(asker: Person, zoo: Zoo, gate: threading.Event) -> None:
    zoo.agent(held(gate), *LLAMAS)
    session = asker.new_session(None)
    query = {"session": session, "message": {"text": "Shear the purple llama"}, "stream": True}
    with asker.http.stream("POST", "/api/agents/None", json=query) as stream:
        lines = stream.iter_lines()
        assert "On Shear the purple llama" in next(lines)
        gate.set()
        assert "On Shear the purple llama: done" in list(lines)[-1]


def test_where_two_agents_are_near_it_asks_which_one(asker: Person, zoo: Zoo) -> None:
    first = zoo.agent(says("one"), *LLAMAS, description="Shears llamas by hand.")
    second = zoo.agent(says("two"), *LLAMAS, description="Shears llamas by machine.")
    messages = told(asker, "Shear the purple llama")
    assert kinds(messages) == ["query", "func_call", "func_output", "response"]
    assert routed(messages)[0][1].startswith("Two agents are near:\n")
    text = messages[-1]["text"]
    assert text.startswith("Two agents could answer this. Which one shall I ask?")
    assert f"- @{first}: Shears llamas by hand." in text
    assert f"- @{second}: Shears llamas by machine." in text
    assert re.search(rf"@(?:{first}|{second}) Shear the purple llama$", text)
    assert told(asker, f"@{second} Shear the purple llama")[-1]["text"] == "two"


def test_where_none_fits_it_says_so_and_names_the_nearest(asker: Person, zoo: Zoo) -> None:
    zoo.agent(says("one"), *LLAMAS)
    messages = told(asker, "Zygomorphic quasar epistemology?")
    assert kinds(messages) == ["query", "func_call", "func_output", "response"]
    assert routed(messages)[0][1].startswith("No agent fits this well enough. The nearest are:\n")
    text = messages[-1]["text"]
    assert text.startswith("No agent here fits this well enough. The nearest are:\n- @")
    assert 1 <= text.count("\n- @") <= 3
    assert text.endswith(" Zygomorphic quasar epistemology?")


async def test_on_a_site_without_agents_it_says_how_to_register_one() -> None:
    assert await own_answer(Decision("Roll a die", Verdict.NOBODY, ())) == NOBODY_HERE


def test_a_greeting_is_answered_with_examples_of_what_to_ask(asker: Person, zoo: Zoo) -> None:
    llamas = zoo.agent(says("one"), *LLAMAS)
    text = told(asker, "Hello there!")[-1]["text"]
    assert text.startswith("Hello! I am Fixie")
    assert len(re.findall(r"^- (?!@)", text, re.MULTILINE)) <= 3
    assert zoo.asked(llamas) == []


@pytest.mark.parametrize(
    "text", ["hi", "Hello Fixie!", "Hi, how are you?", "thanks a lot", "What can you do?", "Guten Tag", "你好"]
)
def test_small_talk_is_known(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text", ["hire me", "Hello World in Python", "help me move", "Count the letters in hello", "hi 5 + 5", ""]
)
def test_what_begins_like_small_talk_may_be_none(text: str) -> None:
    assert not is_small_talk(text)


def test_an_agent_that_fails_alone_is_the_querys_failure_in_its_own_words(asker: Person, zoo: Zoo) -> None:
    llamas = zoo.agent(fails("The shears are blunt."), *LLAMAS)
    refused = asker.http.post("/api/agents/None", json={"message": {"text": "Shear the purple llama"}})
    assert refused.status_code == 502
    error = error_of(refused)
    assert (error["code"], error["message"]) == ("agent_error", f"{llamas} could not answer: The shears are blunt.")


def test_in_a_compound_query_the_other_parts_are_answered_all_the_same(asker: Person, zoo: Zoo) -> None:
    llamas, kites = zoo.agent(fails("The shears are blunt."), *LLAMAS), zoo.agent(says("12"), *KITES)
    messages = told(asker, "Shear the purple llama. What is 15 % of 80 kite strings?")
    assert messages[-1]["text"] == (
        f"Shear the purple llama: {llamas} could not answer: The shears are blunt.\n\n"
        "What is 15 % of 80 kite strings? 12"
    )
    assert zoo.asked(kites) == ["What is 15 % of 80 kite strings?"]
    zoo.server.on(f"/{kites.partition('/')[2]}", fails("No wind."))
    last = told(asker, "Shear the purple llama. What is 15 % of 80 kite strings?")[-1]
    assert last["kind"] == "error"
    assert "The shears are blunt." in last["text"]
    assert "No wind." in last["text"]


def test_attachments_go_to_the_agents_and_come_back(asker: Person, zoo: Zoo) -> None:
    llamas, kites = zoo.agent(reader(), *LLAMAS), zoo.agent(returning("See #new", {"new": ref("a kite")}), *KITES)
    messages = told(
        asker,
        "Shear the purple llama; what is 15 % of #7 kite strings?",
        embeds={"7": ref("seven"), "x": ref("unnamed")},
    )
    response = messages[-1]
    assert zoo.asked(llamas) == ["Shear the purple llama #1"]
    assert zoo.asked(kites) == ["what is 15 % of #7 kite strings? #1"]
    assert "1=unnamed" in response["text"]
    assert response["text"].endswith("What is 15 % of #7 kite strings? See #2")
    assert contents(response["embeds"])["2"] == "a kite"


def test_a_handle_alone_names_ones_own_agent_or_the_sites(
    asker: Person, zoo: Zoo, person: Callable[[], Person]
) -> None:
    mine = zoo.agent(says("mine")).partition("/")[2]
    assert told(asker, f"@{mine} hello")[-1]["text"] == "mine"
    assert told(asker, "@echo hello")[-1]["text"] == "hello"
    assert kinds(told(asker, "@fixie Zygomorphic quasar epistemology?"))[-1] == "response"
    asker.http.post("/api/agents", json={"handle": "echo", "deployment_url": f"{zoo.server.url}/{mine}"})
    assert told(asker, "@echo: hello")[-1]["text"] == "mine"
    stranger = person()
    assert told(stranger, "@echo hello")[-1]["text"] == "hello"
    session = stranger.new_session(None)
    refused = stranger.http.post(f"/api/sessions/{session}/messages", json={"text": f"@{mine} hello"})
    assert refused.status_code == 404
    assert error_of(refused)["message"] == f"There is no agent {mine} that you can ask."
    assert stranger.messages(session) == []


def test_where_no_agent_answers_any_more_one_is_told_how_to_ask_one(
    asker: Person, scripted: ScriptedAgent, person: Callable[[], Person]
) -> None:
    owner = person()
    agent = Zoo(scripted, owner.http).agent(says("mine"), published=True)
    session = asker.new_session(agent)
    assert owner.http.patch(f"/api/agents/{agent}", json={"published": False}).status_code == 200
    query = {"session": session, "message": {"text": "hello"}}
    refused = asker.http.post("/api/agents/None", json=query)
    assert (refused.status_code, error_of(refused)["details"]["field"]) == (404, "agent")
    told = asker.http.post("/api/agents/None", json={**query, "stream": True})
    assert "No agent answers in this session. Ask one by name: @owner/handle" in told.text


def test_it_asks_nobody_who_is_asking_it(asker: Person, zoo: Zoo, site: Site) -> None:
    llamas = zoo.agent(asks(site, "fixie/fixie"), *LLAMAS)
    answered = asker.ask(llamas, "Shear the purple llama").json()
    assert answered["message"]["text"].startswith("fixie/fixie: No agent here fits this well enough.")
    assert len(zoo.asked(llamas)) == 1
