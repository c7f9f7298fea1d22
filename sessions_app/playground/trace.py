"""A run made visible to those who may change its agent: what was sent, what came back, and how long each took.

Prompts are not stored. They are made again of what is stored, by the functions that made them for the run.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import User
from common.db import run_db
from registry.models import Agent
from registry.specs import spec_of
from registry.transports import wire
from registry.transports.agentscope import asking
from registry.transports.base import AgentMessage, Call, Deployment, Exchange, Manifest
from registry.transports.stdio_jsonrpc import documents
from sessions_app.durations import between
from sessions_app.llm.catalog import language_model
from sessions_app.llm.chat_prompt import messages
from sessions_app.llm.format import Kind, Line, read_step, render
from sessions_app.models import Message, Run, Session
from sessions_app.references import naming
from sessions_app.runner.active import history_before, query_text
from sessions_app.runner.code_shot import prompt_of

# The width of the bars that show when something happened, in their own units.
WIDTH = 1000
LEAST = 4
RUNS_SHOWN = 10
# What is quicker is no waiting.
A_WAIT = timedelta(milliseconds=100)
TOKEN = "THE-TOKEN-OF-THIS-CALL"  # noqa: S105 -- stands for one
CALLS, OUTPUTS = ("func_call", "agent_call"), ("func_output", "agent_output")
STEPS = ("thought", *CALLS, *OUTPUTS)


def session_name(agent: Agent) -> str:
    """What the sessions of an agent's playground are called."""
    return f"Playground: {agent.agent_id}"


@dataclass(frozen=True, slots=True)
class Bar:
    """When something happened: its place in `WIDTH`, and how long it took in words."""

    x: int
    width: int
    took: str


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a prompt, by whose it is."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Step:
    """A call with its argument and its answer, which is None while it is awaited; `name` is empty for a thought."""

    kind: str
    name: str
    text: str
    answer: str | None
    bar: Bar


@dataclass(frozen=True, slots=True)
class Round:
    """One completion: what the model was sent, what it wrote, and the call that this led to."""

    prompt: list[Part]
    said: str
    bar: Bar
    call: Step | None

    @property
    def size(self) -> int:
        return sum(len(part.text) for part in self.prompt)


@dataclass(frozen=True, slots=True)
class Trace:
    """A run. Of a Code Shot it has `rounds`, of others the `request` and their `steps`.

    `is_older` is whether the agent has been deployed anew since: prompts are made with its present manifest.
    """

    run: Run
    query: str
    answer: str | None
    error: str | None
    took: str
    waited: str
    is_over: bool
    is_older: bool
    rounds: list[Round] = field(default_factory=list)
    request: str = ""
    steps: list[Step] = field(default_factory=list)


async def trace_of(run: Run, agent: Agent) -> Trace:
    """The run of the agent, which comes with its owner and its current revision."""
    found = await run_db(_messages, run)
    revision = agent.current_revision
    spec = spec_of(revision, agent.agent_id) if revision and revision.state == "ready" else None
    trace = _Clock(run).trace(found, is_older=revision is None or revision.created > run.created)
    if spec is None:
        return trace
    text = query_text(trace.query, agent.agent_id)
    history = await history_before(run.session_id, run.query_seq)
    if spec.transport == "code_shot":
        given = _Given(
            spec.manifest, naming(text, found[0].embed_keys), history if spec.manifest.conversational else []
        )
        return replace(trace, rounds=list(_Clock(run).rounds(found, given)))
    return replace(trace, request=_request(spec.transport, spec.deployment, _call(run, text, history)))


def run_for(user: User, agent: Agent, run: UUID) -> Run | None:
    """A run of the agent that `user` asked for themselves."""
    mine = Run.objects.filter(session__owner=user, session__deleted=None, parent=None, agent=agent)
    return mine.select_related("session").filter(pk=run).first()


def session_of(user: User, agent: Agent) -> Session | None:
    """The session in which `user` last tried the agent out."""
    tried = Session.objects.visible_to(user).filter(agent=agent, name=session_name(agent))
    return tried.order_by("-created").first()


def tried_in(session: Session) -> list[Message]:
    """What was asked in a session last, the latest first."""
    asked = Message.objects.filter(session=session, kind=Message.Kind.QUERY)
    return list(asked.order_by("-seq")[:RUNS_SHOWN])


def _messages(run: Run) -> list[Message]:
    """The query, the run's own messages, and the answers of the agents it asked, as steps of its own."""
    asked = Q(run__parent=run.pk, run__parent_step__isnull=False, kind__in=("agent_call", "agent_output"))
    found = Message.objects.filter(session=run.session_id, seq__gte=run.query_seq).filter(Q(run=run.pk) | asked)
    return list(found.order_by("seq"))


@dataclass(frozen=True, slots=True)
class _Given:
    manifest: Manifest
    query: str
    history: Sequence[Exchange]

    def prompt(self, steps: Sequence[str]) -> list[Part]:
        prompt = prompt_of(self.manifest, self.query, self.history, steps)
        if language_model().is_general:
            return [Part(_ROLES[message["role"]](), message["content"]) for message in messages(prompt)]
        transcript = "\n".join([*prompt.history, render(Line(Kind.QUESTION, prompt.query)), *prompt.lines])
        few_shots = "\n\n".join(prompt.few_shots)
        parts = ((_("Base prompt"), prompt.base_prompt), (_("Few-shots"), few_shots), (_("Transcript"), transcript))
        return [Part(title, text) for title, text in parts if text]


_ROLES: dict[str, Callable[[], str]] = {
    "system": lambda: _("System"),
    "user": lambda: _("User"),
    "assistant": lambda: _("Assistant"),
}


class _Clock:
    """Puts what a run did into its time."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.start = run.started or run.created
        self.end = max(run.finished or timezone.now(), self.start + timedelta(milliseconds=1))

    def trace(self, found: Sequence[Message], *, is_older: bool) -> Trace:
        run, said = self.run, {message.kind: message.text for message in found[1:]}
        return Trace(
            run=run,
            query=found[0].text,
            answer=said.get("response"),
            error=said.get("error"),
            took=between(run.started, run.finished),
            waited=between(run.created, run.started) if run.started and run.started - run.created >= A_WAIT else "",
            is_over=run.finished is not None,
            is_older=is_older,
            steps=list(self.steps(found)),
        )

    def steps(self, found: Sequence[Message]) -> Iterator[Step]:
        before = self.start
        for message, after in pairwise([*_steps(found), None]):
            assert message is not None
            if message.kind in OUTPUTS:
                before = message.created
                continue
            answer = after if message.kind in CALLS and after is not None and after.kind in OUTPUTS else None
            line = read_step(message.text)
            began = message.created if message.kind in CALLS else before
            ended = answer.created if answer else (self.end if message.kind in CALLS else message.created)
            text = read_step(answer.text).text if answer else None
            yield Step(message.kind, line.name, line.text, text, self.bar(began, ended))
            before = ended

    def rounds(self, found: Sequence[Message], given: _Given) -> Iterator[Round]:
        known: list[str] = []
        said: list[str] = []
        calls = iter([step for step in self.steps(found) if step.kind in CALLS])
        before, sent = self.start, given.prompt(known)
        for message in _steps(found):
            known.append(naming(message.text, message.embed_keys if message.kind == "agent_output" else ()))
            if message.kind in OUTPUTS:
                before, sent, said = message.created, given.prompt(known), []
                continue
            said.append(message.text)
            if message.kind in CALLS:
                yield Round(sent, "\n".join(said), self.bar(before, message.created), next(calls))
        yield from self._last(found, sent, said, before)

    def _last(self, found: Sequence[Message], sent: list[Part], said: list[str], before: datetime) -> Iterator[Round]:
        """The completion that ended with the answer, or is being written, or came to nothing."""
        ending, steps = found[-1], _steps(found)
        if steps and steps[-1].kind in CALLS:
            return  # which is still to be answered, or never was
        if ending.kind == "response":
            said = [*said, render(Line(Kind.ANSWER, ending.text))]
        yield Round(sent, "\n".join(said), self.bar(before, self.end), None)

    def bar(self, start: datetime, end: datetime) -> Bar:
        x = min(self._x(start), WIDTH - LEAST)
        return Bar(x, max(self._x(end) - x, LEAST), between(start, end))

    def _x(self, moment: datetime) -> int:
        share = (moment - self.start) / (self.end - self.start)
        return round(min(max(share, 0.0), 1.0) * WIDTH)


def _steps(found: Sequence[Message]) -> list[Message]:
    return [message for message in found if message.kind in STEPS]


def _call(run: Run, text: str, history: Sequence[Exchange]) -> Call:
    return Call(
        message=AgentMessage(text),
        token=TOKEN,
        idempotency_key=f"{run.pk}/0",
        session=run.session.handle,
        user=str(run.session.owner_id),
        history=history,
    )


def _request(transport: str, deployment: Deployment, call: Call) -> str:
    """What an agent that is no Code Shot was sent, without attachments; empty where nothing leaves this process."""
    match transport:
        case "query_http":
            return _http(deployment.target, wire.headers_of(call), wire.query_body(call))
        case "agentscope":
            return _http(asking.process_url(deployment), asking.headers_of(call), asking.request_of(call))
        case "stdio_jsonrpc":
            return _laid_out(documents.request(1, call))
    return ""


def _http(url: str, headers: dict[str, str], body: bytes) -> str:
    return "\n".join([f"POST {url}", *(f"{name}: {value}" for name, value in headers.items()), "", _laid_out(body)])


def _laid_out(body: bytes) -> str:
    document: Any = json.loads(body)
    return json.dumps(document, ensure_ascii=False, indent=2)
