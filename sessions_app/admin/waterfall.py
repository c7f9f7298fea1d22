"""A run as bars in time: itself, its steps, and below the question to another agent that one's run."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db.models import Q
from django.db.models.functions import Length

from sessions_app.durations import between, told
from sessions_app.models import Message, Run, naming_agents

# The width of the drawing, in its own units.
WIDTH = 1000
MARKS = 4
# So that what took no time is seen.
LEAST = 3


@dataclass(frozen=True, slots=True)
class Bar:
    """One row. `x` and `width` place its bar in `WIDTH`; `waited` is how much of it, from `x`, was waiting.

    `kind` is `run`, or a message's. `text` is None where the content is not shown; `size` counts its characters.
    """

    kind: str
    agent: str
    depth: int
    run: UUID
    status: str
    took: str
    x: int
    width: int
    waited: int
    size: int | None = None
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Waterfall:
    """`marks` are times along the top, at equal distances, from the start to the end."""

    bars: list[Bar]
    marks: list[str]
    took: str


def runs_of(top: Run) -> list[Run]:
    """The run and all below it, in the order in which they were asked."""
    below = Run.objects.filter(Q(root=top.root_id or top.pk, session=top.session_id), parent__isnull=False)
    tree, known = [top], {top.pk}
    for run in naming_agents(below).order_by("query_seq"):
        if run.parent_id in known:
            known.add(run.pk)
            tree.append(run)
    return tree


def messages_of(runs: Sequence[Run], *, content: bool) -> list[Message]:
    """What these runs were asked and said, in order; without the texts unless `content`."""
    of_runs = Message.objects.filter(
        session=runs[0].session_id, seq__gte=runs[0].query_seq, run__in=[run.pk for run in runs]
    )
    sized = of_runs.annotate(size=Length("text")).order_by("seq")
    return list(sized if content else sized.defer("text"))


def waterfall(runs: Sequence[Run], messages: Sequence[Message], *, now: datetime, content: bool) -> Waterfall:
    """The picture of `runs` (`runs_of`) with their `messages` (`messages_of`); what is unfinished ends `now`."""
    start = runs[0].created
    end = max([run.finished or now for run in runs] + [message.created for message in messages])
    drawing = _Drawing(runs, messages, start, max(end, start + timedelta(milliseconds=1)), now, content)
    span = drawing.end - start
    marks = [told(span / MARKS * number / timedelta(seconds=1)) for number in range(MARKS + 1)]
    return Waterfall(list(drawing.run(runs[0], 0)), marks, between(start, end))


class _Drawing:
    def __init__(
        self,
        runs: Collection[Run],
        messages: Sequence[Message],
        start: datetime,
        end: datetime,
        now: datetime,
        content: bool,
    ) -> None:
        self.start, self.end, self.now, self.content = start, end, now, content
        self.agents: Mapping[UUID, str] = {run.pk: run.agent.agent_id if run.agent else "" for run in runs}
        self.children: dict[UUID, list[Run]] = {}
        self.messages: dict[UUID, list[Message]] = {}
        for run in runs:
            if run.parent_id:
                self.children.setdefault(run.parent_id, []).append(run)
        for message in messages:
            self.messages.setdefault(message.run_id, []).append(message)

    def run(self, run: Run, depth: int) -> Iterator[Bar]:
        ended = run.finished or self.now
        waited = self._x(run.started or ended) - self._x(run.created)
        yield self._bar("run", run, depth, run.created, ended, waited=waited)
        before = run.started or run.created
        children = [*self.children.get(run.pk, ())]
        for message in self.messages.get(run.pk, ()):
            while children and children[0].query_seq < message.seq:
                yield from self.run(children.pop(0), depth + 1)
            asked = message.seq == run.query_seq
            began = message.created if asked else min(before, message.created)
            yield self._bar(message.kind, run, depth + 1, began, message.created, message=message)
            before = max(before, message.created)
        for child in children:
            yield from self.run(child, depth + 1)

    def _bar(
        self,
        kind: str,
        run: Run,
        depth: int,
        start: datetime,
        end: datetime,
        *,
        waited: int = 0,
        message: Message | None = None,
    ) -> Bar:
        x = min(self._x(start), WIDTH - LEAST)
        return Bar(
            kind=kind,
            agent=self.agents[run.pk],
            depth=depth,
            run=run.pk,
            status=run.status if message is None else "",
            took=between(start, end),
            x=x,
            width=max(self._x(end) - x, LEAST),
            waited=waited,
            size=getattr(message, "size", None),
            text=message.text if message is not None and self.content else None,
        )

    def _x(self, moment: datetime) -> int:
        share = (moment - self.start) / (self.end - self.start)
        return round(min(max(share, 0.0), 1.0) * WIDTH)
