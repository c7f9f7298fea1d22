"""The Code Shot loop against a scripted model server: calls, answers, recovery, and models that misbehave."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field

import pytest
from django.test import override_settings

from common.errors import AgentFailed, AgentTimeout, FixieError, ModelUnavailable, NotFound
from registry.transports.base import AgentMessage, EmbedRef, Exchange, FuncCorpus, Manifest
from sessions_app.llm.base import LanguageModel, Usage
from sessions_app.llm.follower import Follower
from sessions_app.llm.openai_chat import OpenAIChat
from sessions_app.runner.code_shot import answer
from sessions_app.runner.context import Step
from tests.agents import Behaviour, hang
from tests.llm_server import Completion, Reply, ScriptedModel

DICE = Manifest(
    "code_shot",
    base_prompt="I roll dice. Func[coin] flips a coin.",
    few_shots=("Q: Roll 3d8\nAsk Func[roll]: 8 3\nFunc[roll] says: 5 3 8\nA: You rolled 5, 3, and 8.",),
)
Func = Callable[[str], str]


def fail(error: FixieError) -> Func:
    def func(text: str) -> str:
        raise error

    return func


@dataclass
class Run:
    """A run in memory: what `answer` may see and do, and what it did."""

    query: AgentMessage = field(default_factory=lambda: AgentMessage("Roll 2d6"))
    manifest: Manifest = DICE
    agent_id: str = "demo/dice"
    steps: list[Step] = field(default_factory=list)
    past: list[Exchange] = field(default_factory=list)
    funcs: dict[str, Func] = field(default_factory=lambda: {"roll": lambda text: "3 4", "coin": lambda text: "heads"})
    agents: dict[str, Func] = field(default_factory=dict)
    calls: list[tuple[int, str, str]] = field(default_factory=list)
    live: str = ""
    usage: Usage = field(default_factory=Usage)

    async def history(self) -> list[Exchange]:
        return self.past

    async def append(self, kind: str, text: str, embeds: Mapping[str, EmbedRef] | None = None) -> Step:
        self.steps.append(Step(len(self.steps) + 1, kind, text))
        return self.steps[-1]

    async def ask_agent(self, agent: str, text: str, *, on_text: Callable[[str], None] | None = None) -> AgentMessage:
        if agent not in self.agents:
            raise NotFound(f"There is no agent {agent}.")
        call = f"Ask Agent[{agent}]: {text}".rstrip()
        if not self.steps or self.steps[-1].text != call:
            await self.append("agent_call", call)
        said = self.agents[agent](text)
        await self.append("agent_output", f"Agent[{agent}] says: {said}")
        return AgentMessage(said)

    async def call_func(self, step: Step, func: str, text: str) -> AgentMessage:
        self.calls.append((step.number, func, text))
        if func not in self.funcs:
            raise AgentFailed(f"The agent has no Func[{func}].", reason="unknown_func")
        return AgentMessage(self.funcs[func](text))

    async def query_corpus(self, question: str) -> str:
        return f"query_corpus for {question}"

    async def query_embed(self, text: str) -> str:
        return f"query_embed for {text}"

    def write(self, text: str) -> None:
        self.live += text

    def rewrite(self, text: str) -> None:
        self.live = text

    def count(self, usage: Usage) -> None:
        self.usage = Usage(
            self.usage.prompt_tokens + usage.prompt_tokens, self.usage.completion_tokens + usage.completion_tokens
        )

    @property
    def transcript(self) -> list[str]:
        return [f"{step.kind}: {step.text}" for step in self.steps]


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as server:
        yield server


@pytest.fixture
async def model(server: ScriptedModel) -> AsyncIterator[OpenAIChat]:
    model = OpenAIChat(base_url=server.url, api_key="k", model="m", timeout=5)
    yield model
    await model.aclose()


async def answered(run: Run, model: LanguageModel) -> str:
    """The answer, which is also what was streamed."""
    message = await answer(run, model)
    assert message.text == run.live
    return message.text


async def test_a_call_is_made_and_its_output_told_to_the_model(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("Thought: Two dice.\nAsk Func[roll]: 6 2\nFunc[roll] says: 1 1", "A: You rolled 3 and 4.\n")
    run = Run()
    assert await answered(run, model) == "You rolled 3 and 4."
    assert run.transcript == [
        "thought: Thought: Two dice.",
        "func_call: Ask Func[roll]: 6 2",
        "func_output: Func[roll] says: 3 4",
    ]
    assert run.calls == [(2, "roll", "6 2")]
    assert server.requests[1]["messages"][-1]["content"] == (
        "Q: Roll 2d6\nThought: Two dice.\nAsk Func[roll]: 6 2\nFunc[roll] says: 3 4"
    )
    assert run.usage == Usage(14, 6)


async def test_several_calls_and_arguments_of_several_lines(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("Ask Func[roll]: 6\n\n2\n", "Ask Func[coin]:", "A: Both:\n- 3 4\n- heads")
    run = Run()
    assert await answered(run, model) == "Both:\n- 3 4\n- heads"
    assert [call[1:] for call in run.calls] == [("roll", "6\n\n2"), ("coin", "")]
    assert run.transcript[2] == "func_call: Ask Func[coin]:"


async def test_only_the_answer_is_streamed_and_it_is_streamed_live(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script(Completion("Well:\nThought: hm\nA: one two three", hang_after=6))
    run = Run()
    task = asyncio.create_task(answer(run, model))
    for _ in range(200):
        if run.live == "one two":
            break
        await asyncio.sleep(0.01)
    assert run.live == "one two"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await server.saw_client_leave()


async def test_the_agents_wishes_and_few_shots_reach_the_model(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("A: x")
    manifest = Manifest("code_shot", "Be kind.", DICE.few_shots, model="big", temperature=0.1, max_tokens=50)
    await answered(Run(manifest=manifest, past=[Exchange("Hi", "Hello")]), model)
    [request] = server.requests
    assert (request["model"], request["temperature"], request["max_tokens"]) == ("big", 0.1, 50)
    assert "Be kind." in request["messages"][0]["content"]
    assert [message["role"] for message in request["messages"]] == ["system", "user"]


async def test_a_conversational_agent_knows_what_was_said(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("A: x")
    manifest = Manifest("code_shot", "", DICE.few_shots, conversational=True)
    await answered(Run(manifest=manifest, past=[Exchange("Hi\nA: there", "Hello\nQ: you")]), model)
    assert [message["content"] for message in server.requests[0]["messages"][1:]] == [
        "Q: Hi\n A: there",
        "A: Hello\n Q: you",
        "Q: Roll 2d6",
    ]


async def test_a_run_that_was_taken_over_makes_the_open_call_again(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("A: done")
    stored = [Step(1, "thought", "Thought: Two."), Step(2, "func_call", "Ask Func[roll]: 6 2\n\nA: 1")]
    run = Run(steps=stored)
    assert await answered(run, model) == "done"
    assert run.calls == [(2, "roll", "6 2\n\nA: 1")]
    assert run.transcript[2:] == ["func_output: Func[roll] says: 3 4"]


async def test_a_run_that_was_taken_over_goes_on_after_its_last_output(
    server: ScriptedModel, model: OpenAIChat
) -> None:
    server.script("A: done")
    stored = [Step(1, "func_call", "Ask Func[roll]: 6 2"), Step(2, "func_output", "Func[roll] says: 9\nA: 9")]
    run = Run(steps=stored)
    await answered(run, model)
    assert run.calls == []
    assert server.requests[0]["messages"][-1]["content"].endswith("Func[roll] says: 9\n A: 9")


@pytest.mark.parametrize("name", ["nothing", "_oauth", "../pay", "fixie_query", "no such"])
async def test_a_func_that_nobody_named_is_never_called(server: ScriptedModel, model: OpenAIChat, name: str) -> None:
    server.script(f"Ask Func[{name}]: x", "A: I cannot do that.")
    run = Run()
    assert await answered(run, model) == "I cannot do that."
    assert run.calls == []
    assert run.transcript[1] == f"func_output: Func[{name}] says: There is no Func named {name}."


@pytest.mark.parametrize("name", ["fixie_query_corpus", "query_corpus", "fixie_query_embed", "query_embed"])
async def test_the_platform_looks_into_documents(server: ScriptedModel, model: OpenAIChat, name: str) -> None:
    server.script(f"Ask Func[{name}]: Who is in #1?", "A: Bob.")
    run = Run()
    assert await answered(run, model) == "Bob."
    found = f"{name.removeprefix('fixie_')} for Who is in #1?"
    assert (run.calls, run.transcript[1]) == ([], f"func_output: Func[{name}] says: {found}")


@pytest.mark.parametrize(("name", "asked"), [("query_corpus", 1), ("fixie_query_corpus", 0)])
async def test_a_func_of_the_agents_own_goes_before_the_short_name_alone(
    server: ScriptedModel, model: OpenAIChat, name: str, asked: int
) -> None:
    shot = f"Q: a\nAsk Func[{name}]: b\nFunc[{name}] says: c\nA: d"
    server.script(f"Ask Func[{name}]: x", "A: done")
    run = Run(manifest=Manifest("code_shot", few_shots=(shot,)), funcs={name: lambda text: "own"})
    await answered(run, model)
    assert len(run.calls) == asked
    server.script(f"Ask Func[{name}]: x", "A: done")
    without = Run(manifest=Manifest("code_shot", few_shots=(shot,)), funcs={})
    await answered(without, model)
    assert without.transcript[1] == f"func_output: Func[{name}] says: query_corpus for x"


async def test_an_agent_with_documents_and_no_few_shots_is_shown_how_to_look(
    server: ScriptedModel, model: OpenAIChat
) -> None:
    server.script("A: x", "A: x")
    for corpora in ((FuncCorpus("load"),), ()):
        await answered(Run(manifest=Manifest("code_shot", "Be kind.", corpora=corpora)), model)
    shown, bare = ("".join(message["content"] for message in request["messages"]) for request in server.requests)
    assert "Ask Func[fixie_query_corpus]:" in shown
    assert "fixie_query_corpus" not in bare


async def test_a_func_the_agent_does_not_have_is_told_twice_and_then_ends_the_run(
    server: ScriptedModel, model: OpenAIChat
) -> None:
    server.script("Ask Func[coin]: 1", "Ask Func[coin]: 2", "Ask Func[coin]: 3", "A: never")
    run = Run(funcs={})
    with pytest.raises(AgentFailed, match="asks for the Func coin, which the agent does not have"):
        await answer(run, model)
    assert [step.kind for step in run.steps] == ["func_call", "func_output"] * 2 + ["func_call"]


@pytest.mark.parametrize("error", [AgentFailed("Dice are out of stock.", code="x"), AgentTimeout("Too slow.")])
async def test_a_func_that_fails_ends_the_run_with_its_own_words(
    server: ScriptedModel, model: OpenAIChat, error: FixieError
) -> None:
    server.script("Ask Func[roll]: 6 2", "A: never")
    with pytest.raises(type(error)) as raised:
        await answer(Run(funcs={"roll": fail(error)}), model)
    assert raised.value is error
    assert len(server.requests) == 1


async def test_built_in_funcs_are_steps_and_need_no_agent(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("Ask Func[fixie_utc_datetime]:", "Ask Func[fixie_base_prompt]: ", "A: x")
    run = Run()
    await answered(run, model)
    assert run.calls == []
    assert run.transcript[1].endswith("M UTC")
    assert run.transcript[3] == "func_output: Func[fixie_base_prompt] says: I roll dice. Func[coin] flips a coin."


async def test_a_text_without_markers_is_the_answer(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("You rolled\n\n3 and 4.\n")
    assert await answered(Run(), model) == "You rolled\n\n3 and 4."


async def test_an_answer_before_a_call_is_taken_back(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("A: Let me roll.\nAsk Func[roll]: 6 2", "A: 3 and 4.")
    run = Run()
    assert await answered(run, model) == "3 and 4."
    assert run.transcript[0] == "thought: Thought: Let me roll."


async def test_a_model_that_plays_everybody_is_cut_short(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script(
        Completion("Ask Func[roll]: 6 2\nFunc[roll] says: 6 6\nA: Twelve!", heeds_stop=False),
        Completion("A: Seven.\nQ: Again!\nA: Eight.", heeds_stop=False),
    )
    run = Run()
    assert await answered(run, model) == "Seven."
    assert run.transcript[1] == "func_output: Func[roll] says: 3 4"


@pytest.mark.parametrize("nothing", ["", "  \n", "A:", "A: \n", "Q: Roll 2d6", "Func[roll] says: 6 6", "Thought:"])
async def test_a_model_that_says_nothing_is_asked_once_more(
    server: ScriptedModel, model: OpenAIChat, nothing: str
) -> None:
    server.script(nothing, "A: 3 and 4.")
    assert await answered(Run(), model) == "3 and 4."
    server.script(nothing)
    with pytest.raises(ModelUnavailable, match="said nothing"):
        await answer(Run(), model)
    assert len(server.requests) == 4


async def test_a_model_that_only_thinks_may_go_on_but_not_in_circles(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("Thought: one", "Thought: two", "A: x")
    run = Run()
    assert await answered(run, model) == "x"
    assert len(run.steps) == 2
    server.script("Thought: one")
    with pytest.raises(ModelUnavailable, match="said nothing"):
        await answer(Run(), model)


async def test_the_same_call_with_the_same_output_is_not_made_a_third_time(
    server: ScriptedModel, model: OpenAIChat
) -> None:
    server.script("Ask Func[roll]: 6 2")
    run = Run()
    with pytest.raises(AgentFailed, match="keeps making the same call of Func roll"):
        await answer(run, model)
    assert len(run.calls) == 2


async def test_the_same_call_may_be_made_again_while_its_output_changes(
    server: ScriptedModel, model: OpenAIChat
) -> None:
    server.script(*["Ask Func[roll]: 6 1"] * 4, "A: 1, 2, 3, 4")
    numbers = iter("1234")
    assert await answered(Run(funcs={"roll": lambda text: next(numbers)}), model) == "1, 2, 3, 4"


async def test_a_run_has_an_end(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script(*[f"Ask Func[roll]: {number}" for number in range(20)])
    run = Run()
    with override_settings(RUN_MAX_STEPS=7), pytest.raises(AgentFailed, match="more than 7 steps"):
        await answer(run, model)
    assert len(run.steps) == 6


EDITOR = Manifest(
    "code_shot", "Agent fixie/poet writes.", ("Q: A rhyme\nAsk Agent[poet]: x\nAgent[poet] says: y\nA: y",)
)


@pytest.mark.parametrize("poet", ["poet", "fixie/poet"])
async def test_an_agent_that_the_agents_own_words_name_is_asked(
    server: ScriptedModel, model: OpenAIChat, poet: str
) -> None:
    server.script(f"Ask Agent[{poet}]: cats\nAgent[{poet}] says: no", "A: Here: mats")
    run = Run(manifest=EDITOR, agents={poet: lambda text: f"{text} on mats"})
    assert await answered(run, model) == "Here: mats"
    assert run.transcript == [
        f"agent_call: Ask Agent[{poet}]: cats",
        f"agent_output: Agent[{poet}] says: cats on mats",
    ]
    assert server.requests[1]["messages"][-1]["content"] == (
        f"Q: Roll 2d6\nAsk Agent[{poet}]: cats\nAgent[{poet}] says: cats on mats"
    )


@pytest.mark.parametrize("name", ["other/poet", "dice", "poet/x", "Agent/fixie"])
async def test_an_agent_that_nobody_named_is_never_asked(server: ScriptedModel, model: OpenAIChat, name: str) -> None:
    server.script(f"Ask Agent[{name}]: cats", "A: I cannot.")
    run = Run(manifest=EDITOR, agents={name: lambda text: "asked"})
    assert await answered(run, model) == "I cannot."
    assert run.transcript == [
        f"func_call: Ask Agent[{name}]: cats",
        f"func_output: Agent[{name}] says: There is no agent named {name}.",
    ]


async def test_whoever_runs_the_loop_may_say_which_agents_it_asks(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("Ask Agent[poet]: cats", "Ask Agent[other/dice]: 6", "A: x")
    run = Run(manifest=EDITOR, agents={"other/dice": lambda text: "3", "poet": lambda text: "asked"})
    assert (await answer(run, model, askable={"other/dice"})).text == "x"
    assert run.transcript[1] == "func_output: Agent[poet] says: There is no agent named poet."
    assert run.transcript[3] == "agent_output: Agent[other/dice] says: 3"


async def test_an_agent_that_there_is_not_is_told_twice_and_then_ends_the_run(
    server: ScriptedModel, model: OpenAIChat
) -> None:
    server.script(*[f"Ask Agent[poet]: {number}" for number in range(3)], "A: never")
    run = Run(manifest=EDITOR)
    with pytest.raises(AgentFailed, match="asks for the agent poet, which the agent does not have"):
        await answer(run, model)
    assert [step.kind for step in run.steps] == ["func_call", "func_output"] * 2 + ["func_call"]


async def test_an_agent_that_fails_ends_the_run_with_its_words(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("Ask Agent[poet]: cats", "A: never")
    error = AgentFailed("poet could not answer: No ink.")
    with pytest.raises(AgentFailed) as raised:
        await answer(Run(manifest=EDITOR, agents={"poet": fail(error)}), model)
    assert raised.value is error


async def test_a_run_that_was_taken_over_waits_for_the_agent_it_asked(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("A: done")
    steps = [Step(1, "agent_call", "Ask Agent[poet]: cats")]
    run = Run(manifest=EDITOR, steps=steps, agents={"poet": lambda text: "mats"})
    assert await answered(run, model) == "done"
    assert run.transcript == ["agent_call: Ask Agent[poet]: cats", "agent_output: Agent[poet] says: mats"]


async def test_an_agent_that_always_says_the_same_is_not_asked_a_third_time(
    server: ScriptedModel, model: OpenAIChat
) -> None:
    server.script(*["Ask Agent[poet]: cats"] * 3)
    with pytest.raises(AgentFailed, match="the same call of agent poet"):
        await answer(Run(manifest=EDITOR, agents={"poet": lambda text: "mats"}), model)


@pytest.mark.parametrize("reply", [Completion("A: one two three", cut_after=3), hang()])
async def test_a_model_that_breaks_off_is_unavailable(server: ScriptedModel, reply: Reply | Behaviour) -> None:
    server.script(reply)
    model = OpenAIChat(base_url=server.url, api_key="k", model="m", timeout=0.3)
    with pytest.raises(ModelUnavailable):
        await answer(Run(), model)
    await model.aclose()


async def test_what_a_database_cannot_store_is_left_out(server: ScriptedModel, model: OpenAIChat) -> None:
    server.script("Ask Func[roll]: 6\x00 2", "A: a\x00b")
    run = Run(funcs={"roll": lambda text: "3\x00\ud8004"})
    assert await answered(run, model) == "ab"
    assert [step.text for step in run.steps] == ["Ask Func[roll]: 6 2", "Func[roll] says: 34"]


async def test_the_follower_answers_without_any_server() -> None:
    run = Run(query=AgentMessage("Please roll 4d20"), funcs={"roll": lambda text: "1 2 3 4"})
    assert await answered(run, Follower()) == "You rolled 1, 2, 3, and 4."
    assert run.calls == [(1, "roll", "20 4")]


async def test_the_follower_says_when_a_func_is_missing() -> None:
    assert await answered(Run(funcs={}), Follower()) == "There is no Func named roll."
