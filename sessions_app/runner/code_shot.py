"""The Code Shot loop: the model writes, the platform makes the calls it asks for, until there is an answer."""

import re
from collections.abc import Container, Iterable, Mapping
from contextlib import aclosing
from itertools import pairwise

from django.conf import settings

from common.errors import AgentFailed, ModelUnavailable, NotFound
from common.handles import HANDLE
from registry.transports.base import AgentMessage, EmbedRef, Exchange, Manifest
from sessions_app.llm.base import LanguageModel, ModelOptions, Prompt, Usage
from sessions_app.llm.format import Kind, Line, agents_named, funcs_named, marker, quoted, read_step, render
from sessions_app.llm.passages import CORPUS_FEW_SHOTS, PREFIX, is_search
from sessions_app.runner.builtins import builtin_answer, found_by
from sessions_app.runner.context import RunContext, Step
from sessions_app.runner.reading import AnswerText, CompletionReader, Found, storable
from sessions_app.runner.route_steps import ROUTE

# So often a model hears that a Func, or an agent, does not exist before the run fails.
UNKNOWN_FORGIVEN = 2
# The same call with the same answer is made so often; then the model goes round in circles.
SAME_CALLS = 2
# So many completions in a row may bring nothing.
EMPTY_COMPLETIONS = 2
FUNC_NAME = re.compile(r"(?!_)\w+")
WORD = re.compile(r"\w+")
AGENT_NAME = re.compile(rf"(?<![\w/-])(?:{HANDLE.pattern}/)?{HANDLE.pattern}(?![\w/-])")
CALLS = ("func_call", "agent_call")
ANSWERED_BY = {Kind.ASK_FUNC: Kind.FUNC_SAYS, Kind.ASK_AGENT: Kind.AGENT_SAYS}


async def answer(ctx: RunContext, model: LanguageModel, *, askable: Container[str] | None = None) -> AgentMessage:
    """Answers the run's query with the agent's few-shots, its Funcs and other agents, and streams the answer's text.

    Asked are the agents that `askable` holds; without it those that the agent's own few-shots and base prompt name.
    A run that was taken over goes on from its stored steps; a call without its output is made again, as the
    same step. A Func or an agent that does not exist is told to the model twice. Any other failure of theirs ends the
    run: `AgentFailed` carries their own words for the user. Also raises `AgentFailed` where the model goes
    round in circles or takes more than `RUN_MAX_STEPS` steps, `ModelUnavailable` where it says nothing.
    """
    history = await ctx.history() if ctx.manifest.conversational else []
    return await _Loop(ctx, model, history, askable).answer()


def prompt_of(manifest: Manifest, query: str, history: Iterable[Exchange], steps: Iterable[str]) -> Prompt:
    """What the model is given after `steps`, the texts of those that the run has stored."""
    return Prompt(
        base_prompt=manifest.base_prompt,
        few_shots=manifest.few_shots or (CORPUS_FEW_SHOTS if manifest.corpora else ()),
        query=query,
        history=tuple(
            f"{render(Line(Kind.QUESTION, past.query))}\n{render(Line(Kind.ANSWER, past.answer))}" for past in history
        ),
        lines=tuple(quoted(step) for step in steps),
    )


class _Loop:
    def __init__(
        self, ctx: RunContext, model: LanguageModel, history: list[Exchange], askable: Container[str] | None
    ) -> None:
        self._ctx = ctx
        self._model = model
        self._askable = askable
        self._steps = list(ctx.steps)
        self._has_written = False
        self._history = history

    async def answer(self) -> AgentMessage:
        if self._steps:
            await self._resume(self._steps[-1])
        empty = 0
        while empty < EMPTY_COMPLETIONS:
            known = len(self._steps)
            said = await self._complete()
            if isinstance(said, str):
                return AgentMessage(said)
            if said is not None:
                await self._ask(said)
            empty = empty + 1 if len(self._steps) == known else 0
        raise ModelUnavailable("The language model said nothing that answers the question.")

    async def _resume(self, last: Step) -> None:
        """Brings to its end what the last step began before the run was taken over."""
        if last.kind == "func_call":
            await self._call(last)
        elif last.kind == "agent_call":
            await self._ask_agent(read_step(last.text))

    async def _complete(self) -> Line | str | None:
        """One completion: the call it asks for, the answer, or None where it holds neither."""
        reader = CompletionReader()
        asked: Line | None = None
        async with aclosing(self._model.complete(self._prompt(), self._options())) as pieces:
            async for piece in pieces:
                if isinstance(piece, Usage):
                    self._ctx.count(piece)
                    continue
                asked = await self._take(reader.feed(piece)) or asked
                if reader.is_done:
                    break
        asked = await self._take(reader.finish()) or asked
        if reader.unmarked:
            self._write(reader.unmarked)
        return asked or reader.answer or reader.unmarked or None

    async def _take(self, found: list[Found]) -> Line | None:
        """Stores thoughts and streams answer text as they come; returns the call that is asked for."""
        for item in found:
            if isinstance(item, AnswerText):
                self._write(item.text)
            elif item.kind is Kind.THOUGHT:
                await self._think(item.text)
            else:
                return item
        return None

    def _write(self, text: str) -> None:
        self._ctx.write(text)
        self._has_written = True

    async def _think(self, text: str) -> None:
        """Stores a thought, once where the model only repeats itself. It may have begun as an answer."""
        if self._has_written:
            self._ctx.rewrite("")
            self._has_written = False
        step = f"{marker(Kind.THOUGHT)} {text}"
        if not self._steps or self._steps[-1].text != step:
            self._check_room(1)
            await self._append("thought", step)

    async def _ask(self, line: Line) -> None:
        self._check_room(2)
        text = f"{marker(line.kind, line.name)} {line.text}".rstrip()
        self._check_progress(text, line)
        if line.kind is Kind.ASK_AGENT and self._may_ask(line.name):
            try:
                await self._ask_agent(line)
            except NotFound:
                pass
            else:
                return
        await self._call(await self._append("func_call", text))

    async def _ask_agent(self, line: Line) -> None:
        """Asks an agent; question and answer become steps. Raises NotFound where the user can ask no such agent."""
        await self._ctx.ask_agent(line.name, line.text)
        self._steps = list(self._ctx.steps)

    async def _call(self, step: Step) -> None:
        """Makes the stored call and stores what was answered.

        A question to an agent that there is not is stored in this way, too: it has no run of its own.
        """
        line = read_step(step.text)
        output = await self._output(step, line)
        text = f"{marker(ANSWERED_BY[line.kind], line.name)} {storable(output.text)}".rstrip()
        await self._append("func_output", text, output.embeds)

    async def _output(self, step: Step, line: Line) -> AgentMessage:
        if line.kind is Kind.ASK_AGENT:
            return AgentMessage(self._no_such("agent", line.name))
        built_in = builtin_answer(line.name, self._ctx.manifest)
        if built_in is not None:
            return AgentMessage(built_in)
        is_ours = (is_search(line.name) and line.name.startswith(PREFIX)) or self._is_the_routers(line.name)
        if is_ours or not self._is_known(line.name):
            return await self._not_the_agents(line)
        try:
            return await self._ctx.call_func(step, line.name, line.text)
        except AgentFailed as error:
            if error.details.get("reason") != "unknown_func":
                raise
            return await self._not_the_agents(line)

    async def _not_the_agents(self, line: Line) -> AgentMessage:
        """What answers where the agent has no such Func: documents, or that there is none."""
        found = await found_by(line.name, line.text, self._ctx)
        return AgentMessage(self._no_such("Func", line.name) if found is None else found)

    def _is_known(self, func: str) -> bool:
        """Whether the agent's own words name this Func: nothing else of the agent may be called by a model."""
        manifest = self._ctx.manifest
        if func in funcs_named(manifest.few_shots):
            return True
        return FUNC_NAME.fullmatch(func) is not None and func in WORD.findall(manifest.base_prompt)

    def _is_the_routers(self, func: str) -> bool:
        """Whether an agent's own Func would pass for the Router's, whose choices readers of the transcript trust."""
        return func == ROUTE and self._askable is None

    def _may_ask(self, agent: str) -> bool:
        """The same of other agents, unless somebody else decides: no user's words may choose them."""
        if self._askable is not None:
            return agent in self._askable
        manifest = self._ctx.manifest
        return agent in agents_named(manifest.few_shots) or agent in AGENT_NAME.findall(manifest.base_prompt)

    def _no_such(self, what: str, name: str) -> str:
        """What the model hears of a Func or an agent that does not exist. Raises AgentFailed where it knows already."""
        told = f"There is no {what} named "
        heard = sum(read_step(step.text).text.startswith(told) for step in self._steps)
        if heard >= UNKNOWN_FORGIVEN:
            raise AgentFailed(f"The agent's language model asks for the {what} {name}, which the agent does not have.")
        return f"{told}{name}."

    def _check_room(self, steps: int) -> None:
        limit = settings.RUN_MAX_STEPS
        if len(self._steps) + steps > limit:
            raise AgentFailed(f"The agent took more than {limit} steps and was stopped.", limit=limit)

    def _check_progress(self, call: str, line: Line) -> None:
        """Raises AgentFailed where this call was made before, again and again, and always answered the same."""
        outputs = [after.text for step, after in pairwise(self._steps) if step.kind in CALLS and step.text == call]
        if len(outputs) >= SAME_CALLS and len(set(outputs[-SAME_CALLS:])) == 1:
            what = "agent" if line.kind is Kind.ASK_AGENT else "Func"
            problem = f"The agent keeps making the same call of {what} {line.name} and was stopped."
            raise AgentFailed(problem, **{what.lower(): line.name})

    async def _append(self, kind: str, text: str, embeds: Mapping[str, EmbedRef] | None = None) -> Step:
        step = await self._ctx.append(kind, text, embeds)
        self._steps.append(step)
        return step

    def _prompt(self) -> Prompt:
        steps = [step.text for step in self._steps]
        return prompt_of(self._ctx.manifest, self._ctx.query.text, self._history, steps)

    def _options(self) -> ModelOptions:
        manifest = self._ctx.manifest
        return ModelOptions(manifest.model, manifest.temperature, manifest.max_tokens)
