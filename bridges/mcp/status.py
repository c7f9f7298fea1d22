"""What became of tasks: each is a run of the caller's own, at the top of its tree."""

from accounts.models import User
from bridges.mcp.agents import availability
from bridges.mcp.outputs import Overview, Task
from common.errors import InvalidRequest, error_of
from common.handles import parse_uuid
from sessions_app import attachments
from sessions_app.actions import UNFINISHED
from sessions_app.frames import embeds_frame
from sessions_app.models import Message, Run, Session, naming_agents

TASKS_SHOWN = 20
AGENTS_SHOWN = 50


def task_of(user: User, task_id: str) -> Task:
    """The user's task with this id, with its answer or what went wrong. Raises InvalidRequest where there is none."""
    number = parse_uuid(task_id)
    mine = naming_agents(Run.objects.filter(session__in=Session.objects.visible_to(user))).select_related("session")
    run = mine.filter(pk=number).first() if number is not None else None
    if run is None:
        raise InvalidRequest("There is no such task, or it is not yours.", field="task_id")
    # Asked after the run, and only once that has ended: its last message was stored with its end.
    return _task(run) if run.status in UNFINISHED else _with_ending(_task(run), run)


def overview(user: User) -> Overview:
    """The user's latest tasks, the newest first, without their answers; and which agents there are to ask."""
    # By the sessions, which are found by their owner; there are no more of them than tasks are shown.
    latest = list(Session.objects.visible_to(user).newest_first(after=None)[:TASKS_SHOWN])
    runs = naming_agents(Run.objects.filter(session__in=latest, parent=None)).select_related("session")
    tasks = [_task(run) for run in runs.order_by("-created", "-pk")[:TASKS_SHOWN]]
    return Overview(tasks=tasks, agents=availability(user, AGENTS_SHOWN))


def _task(run: Run) -> Task:
    return Task(
        task_id=str(run.pk),
        agent_id=run.agent.agent_id if run.agent else "",
        session=run.session.handle,
        status=run.status,
        created=run.created.isoformat(),
    )


def _with_ending(task: Task, run: Run) -> Task:
    said = Message.objects.filter(session=run.session, seq__gt=run.query_seq, run=run, kind__in=("response", "error"))
    last = said.order_by("-seq").first()
    if last is not None and last.kind == "response":
        shown = attachments.shown(run.session_id, last.embed_keys)
        task.result, task.embeds = last.text, embeds_frame(last.embed_keys, shown) or None
    if run.error_code:
        words = last.text if last is not None and last.kind == "error" else "The query was stopped."
        task.error = error_of(run.error_code, words).as_dict()
    return task
