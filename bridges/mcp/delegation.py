"""Giving a task to an agent, and waiting for what it says."""

from contextlib import aclosing
from dataclasses import dataclass

import mcp_types as types

from bridges.mcp.arguments import Prompted
from bridges.mcp.asking import Context, ask
from bridges.mcp.errors import result_of
from bridges.mcp.exchange import Exchange
from bridges.mcp.outputs import Task
from bridges.mcp.progress import Progress, Report
from bridges.mcp.results import accepted, answered
from common.errors import AgentSwitchedOff, AgentUnreachable, FixieError, NotFound, RateLimited
from sessions_app.streams import Answer


@dataclass(frozen=True, slots=True)
class Delegated:
    """What is to be done: `agents` are ids that stand in for one another, the preferred one first."""

    agents: list[str]
    asked: Prompted
    context: Context
    background: bool = False


async def delegate(work: Delegated, exchange: Exchange, report: Report) -> types.CallToolResult:
    """The result of the first agent that can be asked, and does not break off before it has begun. Raises MCPError."""
    session, told = work.asked.session, 0.0
    for agent in work.agents:
        is_last = agent == work.agents[-1]
        try:
            posted = await ask(exchange, agent, work.asked.prompt, session=session, context=work.context)
        except FixieError as error:
            if is_last or not _is_of_the_agent(error):
                return result_of(error, {})
            continue
        task = Task(task_id=str(posted.run), agent_id=agent, session=posted.session, status=posted.status)
        if work.background:
            return accepted(task)
        answer, progress = Answer(posted), Progress(task.task_id, report, told)
        try:
            return answered(await _done(task, answer, exchange, progress))
        except FixieError as error:
            # One that has said or done something may have acted.
            has_begun = bool(answer.text) or progress.last > told
            if is_last or has_begun or not isinstance(error, AgentUnreachable):
                return result_of(error, task.document())
        # What the next one is asked stands in the same session, after this one's failure.
        session, told = posted.session, progress.last
    raise AssertionError("a task has at least one agent")


def _is_of_the_agent(error: FixieError) -> bool:
    """Whether another agent may do where this one refuses: not where it is the user's own quota."""
    if isinstance(error, RateLimited):
        return str(error.details.get("which", "")).startswith("agent")
    return isinstance(error, AgentSwitchedOff) or (
        isinstance(error, NotFound) and error.details.get("field") == "agent"
    )


async def _done(task: Task, answer: Answer, exchange: Exchange, progress: Progress) -> Task:
    """The task with its answer. Raises the FixieError that the run ends with."""
    # Not as this is canceled: that is so where the process stops, too, and then another one goes on with the run.
    exchange.begun(answer.posted.run)
    try:
        async with aclosing(answer.frames()) as frames:
            async for frame in frames:
                await progress.take(frame, answer.text)
    finally:
        exchange.begun(None)
    return task.model_copy(update={"status": "completed", "result": answer.text, "embeds": answer.embeds or None})
