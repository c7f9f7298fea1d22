"""The Fixie agent: finds the agents that can answer a query, asks them, and answers with what they say."""

import asyncio
from collections.abc import Callable

from common.errors import AgentFailed, Canceled, FixieError
from registry.routing.router import Route
from registry.transports.base import AgentMessage
from sessions_app.llm.base import LanguageModel
from sessions_app.llm.format import read_step
from sessions_app.references import named, naming
from sessions_app.runner import planning, splitting
from sessions_app.runner.context import RunContext
from sessions_app.runner.failover import ask_in_turn, is_passing_over
from sessions_app.runner.front_words import own_answer
from sessions_app.runner.route_steps import Decision, Verdict, decided, leading_decisions, steps_of

# So many agents are named for each part.
CONSIDERED = 5
# The least chance that any of them is right for a part; and how near a sample query has to be to one that begins like
# no English request.
LIKELY, SURE = 0.5, 0.75
# Stands for an answer that is not known yet, while it is found out who could answer a part that speaks of it.
SOME_ANSWER = "7 km"

OnText = Callable[[str], None]


async def answer(ctx: RunContext, model: LanguageModel) -> AgentMessage:
    """Answers by asking other agents, and streams what they say.

    A language model plans; without one, the query is cut at its own conjunctions. What was decided is stored before
    anybody is asked. A run that was taken over decides nothing again, and asks nobody who has answered.

    Where a rule prefers several agents, and one is not there, the next is asked. An agent that fails is the query's
    failure, where it was the only one that was asked; else the answer tells it in its place.
    """
    if model.is_general:
        return await planning.answer(ctx, model)
    return await _Asking(ctx, leading_decisions(ctx.steps) or await _decided(ctx)).answer()


async def _decided(ctx: RunContext) -> list[Decision]:
    """Who is to answer which part of the query; stored in one statement, so that it is all there or not at all."""
    routed = await _routed(ctx)
    await ctx.append_all([step for text, route in routed for step in steps_of(text, route)])
    return [decided(text, route) for text, route in routed]


async def _routed(ctx: RunContext) -> list[tuple[str, Route]]:
    text = ctx.query.text.strip()
    parts = splitting.parts(text)
    if len(parts) == 1:
        return [(text, await _route(ctx, text))]
    whole, *routes = await asyncio.gather(*(_route(ctx, each) for each in (text, *parts)))
    routed = list(zip(parts, routes, strict=True))
    return routed if _are_requests(routed, whole) else [(text, whole)]


async def _route(ctx: RunContext, text: str) -> Route:
    return await ctx.route(splitting.filled(text, SOME_ANSWER), CONSIDERED)


def _are_requests(routed: list[tuple[str, Route]], whole: Route) -> bool:
    """Whether each part is a request of its own, with an agent for one of them, and no sample query is as near to the
    whole as to one that is answered."""
    known = [_is_answered(part, route) for part, route in routed]
    if not any(known) or not all(is_known or _fits_nobody(*one) for is_known, one in zip(known, routed, strict=True)):
        return False
    nearest = max(
        route.candidates[0].similarity for is_known, (_, route) in zip(known, routed, strict=True) if is_known
    )
    return not whole.candidates or nearest > whole.candidates[0].similarity


def _is_answered(part: str, route: Route) -> bool:
    if route.rule is not None:
        return True
    chance = sum(candidate.score for candidate in route.candidates)
    if route.abstain or chance < LIKELY:
        return False
    return splitting.is_request(part) or route.candidates[0].similarity >= SURE


def _fits_nobody(part: str, route: Route) -> bool:
    """Whether `part` is plainly a request of its own, and for no agent here: that is told beside the others' answers.

    One that speaks of the others may be meant for the agent that is asked for them.
    """
    return route.abstain and splitting.is_request(part) and splitting.stands_alone(part)


class _Asking:
    """Goes through the parts of a query, one after the other: a later one may speak of an earlier one's answer."""

    def __init__(self, ctx: RunContext, decisions: list[Decision]) -> None:
        self._ctx = ctx
        self._decisions = decisions
        # What an earlier process asked for already.
        self._stored = ctx.steps[2 * len(decisions) :]
        own = named(ctx.query.text)
        self._unnamed = [key for key in ctx.embed_keys if key not in own]

    async def answer(self) -> AgentMessage:
        before = await self._answer_before()
        if len(self._decisions) == 1:
            [decision] = self._decisions
            text = await self._said(decision, splitting.filled(decision.text, before), self._ctx.rewrite)
        else:
            text = await self._joined(before)
        self._ctx.rewrite(text)
        return AgentMessage(text)

    async def _answer_before(self) -> str:
        """The session's last answer, where the query begins by speaking of it."""
        if not splitting.refers(self._decisions[0].text):
            return ""
        history = await self._ctx.history()
        return history[-1].answer if history else ""

    async def _joined(self, last: str) -> str:
        """Each part with its answer, or whom to ask for it. Raises AgentFailed where no part has an answer."""
        paragraphs: list[str] = []
        failures = 0
        for decision in self._decisions:
            if told := await own_answer(decision, is_part=True):
                last, failures = "", failures + (decision.verdict is Verdict.NOBODY)
                paragraphs.append(told)
                continue
            question = splitting.filled(decision.text, last)
            try:
                last = said = await self._said(decision, question, self._below(paragraphs, question))
            except Canceled:
                raise
            except FixieError as error:
                last, said, failures = "", error.message, failures + 1
            paragraphs.append(_paragraph(question, said))
        text = "\n\n".join(paragraphs)
        if failures == len(self._decisions):
            raise AgentFailed(text)
        return text

    def _below(self, paragraphs: list[str], question: str) -> OnText:
        return lambda text: self._ctx.rewrite("\n\n".join([*paragraphs, _paragraph(question, text)]))

    async def _said(self, decision: Decision, question: str, on_text: OnText) -> str:
        text = await own_answer(decision)
        if text is not None:
            return text
        return await self._asked(decision.in_turn, naming(question, self._unnamed), on_text)

    async def _asked(self, agents: list[str], question: str, on_text: OnText) -> str:
        """What the first of these agents that is there says, or said to an earlier process."""
        while len(agents) > 1 and self._passed_over_before(agents[0], question):
            agents = agents[1:]
        if self._asked_before(agents[0], question):
            _, *self._stored = self._stored
            if self._stored and self._stored[0].kind == "agent_output":
                output, *self._stored = self._stored
                return read_step(output.text).text
            if self._stored:
                raise AgentFailed(f"{agents[0]} failed.", agent=agents[0])
        return (await ask_in_turn(self._ctx, agents, question, on_text=on_text)).text

    def _asked_before(self, agent: str, question: str) -> bool:
        """Whether the first stored step is this very call."""
        call = read_step(self._stored[0].text) if self._stored else None
        return call is not None and (call.name, call.text) == (agent, question.strip())

    def _passed_over_before(self, agent: str, question: str) -> bool:
        """Whether an earlier process went on from this agent to the next: at once, or after it had called it."""
        was_asked = self._asked_before(agent, question)
        place = 1 if was_asked else 0
        # After a call that failed for good may stand that the next part of the query passes over the same agent.
        if len(self._stored) <= place or not is_passing_over(self._stored[place], agent, was_asked=was_asked):
            return False
        self._stored = self._stored[place + 1 :]
        return True


def _paragraph(question: str, said: str) -> str:
    """A question and its answer, which begins on a line of its own where it has several."""
    asked = question if question.endswith("?") else f"{question.rstrip('.!')}:"
    return f"{asked[:1].upper()}{asked[1:]}" + ("\n" if "\n" in said else " ") + said
