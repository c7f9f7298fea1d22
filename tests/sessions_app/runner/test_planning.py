"""The Fixie agent with a language model: what the model is told, what it may ask for, and what it hears."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from registry.bootstrap import ensure_front_agent
from registry.models import Agent, RoutingRule
from tests.agents import ScriptedAgent, answer
from tests.llm_server import ScriptedModel
from tests.sessions_app.asking import says
from tests.sessions_app.embedded import reader, ref
from tests.sessions_app.fronting import Zoo, kinds, routed
from tests.sessions_app.people import Person, wait_until
from tests.sites import Site, running_site

if TYPE_CHECKING:
    from accounts.models import User

OWLS = ("Feed the snowy owl", "Feed a barn owl")
BELLS = ("Ring the copper bell twice", "Ring a bell")


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel() as model:
        yield model


@pytest.fixture(scope="module")
def planned(echo: str, model: ScriptedModel) -> Iterator[Site]:
    """A site with this language model."""
    ensure_front_agent()
    with running_site(LLM_BASE_URL=model.url, RUN_LEASE_SECONDS="15") as site:
        yield site


@pytest.fixture
def asker(planned: Site, make_user: Callable[..., "User"], api_key: Callable[..., str]) -> Iterator[Person]:
    user = make_user()
    key = api_key(user)
    with planned.client(key) as http:
        yield Person(user, key, http)


@pytest.fixture
def zoo(asker: Person, scripted: ScriptedAgent) -> Zoo:
    return Zoo(scripted, asker.http)


def system(model: ScriptedModel, request: int = 0) -> str:
    return str(model.requests[request]["messages"][0]["content"])


def transcript(model: ScriptedModel, request: int = -1) -> str:
    """What the model was told of the run so far."""
    return str(model.requests[request]["messages"][-1]["content"])


def test_the_model_plans_over_the_agents_that_the_router_offers(asker: Person, zoo: Zoo, model: ScriptedModel) -> None:
    owls = zoo.agent(says("It ate a mouse."), *OWLS, description="Feeds owls.")
    model.reset(f"Ask Agent[{owls}]: Feed the snowy owl", "A: The owl has eaten a mouse.")
    session = asker.new_session(None)
    asker.post(session, "Could somebody feed the snowy owl?")
    messages = asker.settled(session)
    assert kinds(messages) == ["query", "func_call", "func_output", "agent_call", "agent_output", "response"]
    assert messages[-1]["text"] == "The owl has eaten a mouse."
    assert zoo.asked(owls) == ["Feed the snowy owl"]
    assert f'- {owls}: Feeds owls. For example: "Feed the snowy owl", "Feed a barn owl"' in system(model)
    first, call, best = transcript(model, 0).splitlines()[:3]
    assert (first, call) == (
        "Q: Could somebody feed the snowy owl?",
        "Ask Func[fixie_route]: Could somebody feed the snowy owl?",
    )
    assert best.startswith("Func[fixie_route] says: ")
    assert owls in best
    assert transcript(model, 1).endswith(f"Ask Agent[{owls}]: Feed the snowy owl\nAgent[{owls}] says: It ate a mouse.")


def test_where_the_agent_that_a_rule_prefers_is_not_there_the_next_one_is_asked_and_the_model_reads_it(
    asker: Person, zoo: Zoo, model: ScriptedModel
) -> None:
    owls = [zoo.agent(behaviour) for behaviour in (answer(body=b"", status=503), says("It ate a mouse."))]
    word = f"word{owls[0][-8:]}"
    rule = RoutingRule.objects.create(keywords=[word])
    for position, owl in enumerate(owls):
        rule.preferences.create(agent=Agent.objects.get(handle=owl.partition("/")[2]), position=position)
    wait_until(lambda: asker.http.post("/api/route", json={"text": word}).json()["rule"])
    model.reset(f"Ask Agent[{owls[0]}]: Feed it", "A: It has eaten.")
    session = asker.new_session(None)
    asker.post(session, f"Feed the {word}")
    messages = asker.settled(session)
    rule.delete()
    told = transcript(model, 1).splitlines()
    assert messages[-1]["text"] == "It has eaten."
    assert told[-4] == f"Ask Agent[{owls[0]}]: Feed it"
    assert told[-3].startswith(f"Thought: {owls[0]} is passed over: ")
    assert told[-2:] == [f"Ask Agent[{owls[1]}]: Feed it", f"Agent[{owls[1]}] says: It ate a mouse."]


def test_a_query_of_several_steps_finds_an_agent_for_each(asker: Person, zoo: Zoo, model: ScriptedModel) -> None:
    owls, bells = zoo.agent(says("two mice"), *OWLS), zoo.agent(says("Dong."), *BELLS)
    model.reset(
        f"Ask Agent[{owls}]: Feed the snowy owl",
        "Ask Func[fixie_route]: Ring the copper bell",
        f"Ask Agent[{bells}]: Ring the copper bell for two mice",
        "A: Two mice, dong.",
    )
    session = asker.new_session(None)
    asker.post(session, "Feed the snowy owl, and ring the copper bell for what it ate")
    messages = asker.settled(session)
    assert messages[-1]["text"] == "Two mice, dong."
    assert [text for text, _ in routed(messages)] == [messages[0]["text"], "Ring the copper bell"]
    assert bells in routed(messages)[1][1].splitlines()[0]
    assert zoo.asked(bells) == ["Ring the copper bell for two mice"]


def test_an_agent_that_was_not_offered_is_not_asked_unless_the_user_names_it(
    asker: Person, zoo: Zoo, model: ScriptedModel
) -> None:
    hidden = zoo.agent(says("hidden"))
    model.reset(f"Ask Agent[{hidden}]: Feed the snowy owl", "Ask Agent[demo/dice]: Throw two dice", "A: Nobody can.")
    session = asker.new_session(None)
    asker.post(session, "Feed the snowy owl")
    assert asker.settled(session)[-1]["text"] == "Nobody can."
    assert f"Agent[{hidden}] says: There is no agent named {hidden}." in transcript(model)
    assert "Agent[demo/dice] says: There is no agent named demo/dice." in transcript(model)
    assert zoo.asked(hidden) == []
    model.reset(f"Ask Agent[{hidden}]: Feed the snowy owl", "A: It did.")
    asker.post(session, f"Let @{hidden} feed the snowy owl")
    assert asker.settled(session)[-1]["text"] == "It did."
    assert zoo.asked(hidden) == ["Feed the snowy owl"]


def test_the_model_hears_that_an_agent_failed(asker: Person, zoo: Zoo, model: ScriptedModel) -> None:
    failure = {"message": {"text": "No mice left."}, "error": {"code": "x", "message": "x", "details": {}}}
    owls = zoo.agent(answer(failure, status=500), *OWLS)
    model.reset(f"Ask Agent[{owls}]: Feed the snowy owl", "A: There are no mice left.")
    session = asker.new_session(None)
    asker.post(session, "Feed the snowy owl")
    assert asker.settled(session)[-1]["text"] == "There are no mice left."
    assert transcript(model).endswith(f"Agent[{owls}] says: {owls} could not answer: No mice left.")


def test_it_answers_small_talk_itself_and_remembers_the_conversation(asker: Person, model: ScriptedModel) -> None:
    model.reset("A: Hello! Ask me anything.", "A: You said hello.")
    session = asker.new_session(None)
    asker.post(session, "Hello")
    assert kinds(asker.settled(session)) == ["query", "func_call", "func_output", "response"]
    asker.post(session, "What did I say?")
    assert asker.settled(session)[-1]["text"] == "You said hello."
    said = [message["content"] for message in model.requests[1]["messages"][1:-1]]
    assert said == ["Q: Hello", "A: Hello! Ask me anything."]


def test_attachments_are_named_to_the_model_and_handed_on(asker: Person, zoo: Zoo, model: ScriptedModel) -> None:
    owls = zoo.agent(reader(), *OWLS)
    model.reset(f"Ask Agent[{owls}]: Feed the snowy owl with #1", "A: Fed.")
    session = asker.new_session(None)
    asker.post(session, "Feed the snowy owl", embeds={"1": ref("a mouse")})
    messages = asker.settled(session)
    assert transcript(model, 0).startswith("Q: Feed the snowy owl #1\n")
    assert messages[-2]["text"].endswith("1=a mouse")
