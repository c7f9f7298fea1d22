"""Handing a query to an agent that does its own language work, and relaying what it says as it comes."""

from contextlib import aclosing

from common.errors import FixieError
from registry.reported import note_limits
from registry.transports.base import (
    AgentMessage,
    LimitsLeft,
    Progress,
    Reply,
    StepTaken,
    TextDelta,
    TextSoFar,
    TokensUsed,
)
from sessions_app.llm.base import Usage
from sessions_app.llm.format import Kind, marker
from sessions_app.runner.active import ActiveRun
from sessions_app.runner.context import Step

# Of one run so many steps are kept, each with so many characters: an agent may take thousands.
STEPS_MAX, STEP_MAX = 200, 64 * 1024
NOT_SHOWN = "Thought: The agent took more steps, which are not kept."
# Progress is kept as a step whenever there is so much more of it, in per cent.
PROGRESS_STEP = 10.0

_MARKS = {"func_call": Kind.ASK_FUNC, "func_output": Kind.FUNC_SAYS}


async def answer(run: ActiveRun) -> AgentMessage:
    """The agent's answer to the run's query; its text is live while it comes. Raises the transport's FixieErrors."""
    call = await run.query_call()
    relay = _Relay(run)
    async with aclosing(run.transport.send(run.spec.deployment, call)) as events:
        async for event in events:
            if isinstance(event, Reply):
                if event.context is not None:
                    await run.keep_context(event.context)
                return event.message
            if isinstance(event, TextDelta):
                run.write(event.text)
            elif isinstance(event, TextSoFar):
                run.rewrite(event.text)
            elif isinstance(event, TokensUsed):
                run.count(Usage(event.prompt_tokens, event.completion_tokens))
            elif isinstance(event, LimitsLeft):
                await note_limits(run.spec.agent, event)
            else:
                await relay.take(event)
    raise FixieError("The agent's transport ended without a reply.")


class _Relay:
    """The steps that an agent tells of, into the transcript."""

    def __init__(self, run: ActiveRun) -> None:
        self._run = run
        # Of an earlier process, which died: the agent, asked again, tells of them once more.
        self._told: list[Step] = list(run.steps)
        self._taken = 0
        self._percent = 0.0

    async def take(self, event: StepTaken | Progress) -> None:
        if isinstance(event, StepTaken):
            await self._append(event.kind, _line(event), event)
        elif event.percent is None:
            if event.text:
                await self._append("thought", f"Thought: {event.text}")
        elif event.percent >= self._percent + PROGRESS_STEP or event.percent >= 100 > self._percent:
            self._percent = event.percent
            await self._append("thought", f"Thought: {event.percent:.0f} % {event.text}".rstrip())

    async def _append(self, kind: str, text: str, step: StepTaken | None = None) -> None:
        self._taken += 1
        if self._taken > STEPS_MAX:
            return
        if self._taken == STEPS_MAX:
            kind, text, step = "thought", NOT_SHOWN, None
        text = text if len(text) <= STEP_MAX else f"{text[:STEP_MAX]} …"
        before = self._told[self._taken - 1] if self._taken <= len(self._told) else None
        if before is None or (before.kind, before.text) != (kind, text):
            await self._run.append(kind, text, step.embeds if step else None)


def _line(step: StepTaken) -> str:
    """The step in the Code Shot format, in which all steps are kept."""
    mark = _MARKS.get(step.kind)
    # What cannot stand in the marker's brackets.
    name = step.name.translate({ord("["): "(", ord("]"): ")", ord("\n"): " "})[:100] or "tool"
    return f"{marker(mark, name) if mark else 'Thought:'} {step.text}".rstrip()
