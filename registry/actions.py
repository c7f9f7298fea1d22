"""Everything that writes agents and their revisions. One verb a function, its own transaction, no network."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Unpack

from django.db import IntegrityError, transaction
from django.utils.translation import gettext_lazy as _

from accounts.models import Owner, User
from accounts.quotas import forget_minute
from common.errors import FixieError, InvalidRequest, NotFound
from registry.access import check_may_set_command, owner_for
from registry.corpora.actions import plan_corpora, stop_reading
from registry.fields import AgentFields, ManagedFields, check_fields, check_metadata
from registry.liveness import checks
from registry.manifests.manifest import ReadManifest, manifest_as_dict
from registry.models import Agent, Corpus, Revision
from registry.routing.samples import index_later
from registry.specs import forget_spec, says_the_same
from registry.words import keep_words

State = Revision.State
Kind = Revision.Deployment
ERROR_MAX = 4000


@dataclass(frozen=True, slots=True)
class Reading:
    """How reading the manifest at `url` ended."""

    url: str
    result: ReadManifest | FixieError


def draft_agent(*, by: User, owner: str | None = None, **fields: Unpack[AgentFields]) -> Agent:
    """An unsaved agent that `create_agent` would accept now; `owner` defaults to `by` themselves.

    Raises InvalidRequest naming the field.
    """
    check_fields(fields)
    if "handle" not in fields:
        raise InvalidRequest(_("An agent needs a handle."), field="handle")
    chosen = by.owner if owner is None else owner_for(by, owner)
    if chosen is None:
        raise _not_yours()
    _check_free(chosen, fields["handle"])
    return Agent(owner=chosen, **fields)


def create_agent(
    *, by: User, owner: str | None = None, reading: Reading | None = None, **fields: Unpack[AgentFields]
) -> Agent:
    """Registers an agent, with a first revision where `reading` says what is at its address.

    An agent whose manifest could not be read is registered all the same, its revision in state error.
    Raises InvalidRequest naming the field.
    """
    agent = draft_agent(by=by, owner=owner, **fields)
    with transaction.atomic():
        # An organization that is being deleted waits for this agent, or this agent finds it gone.
        if Owner.objects.select_for_update(no_key=True).filter(pk=agent.owner_id).first() is None:
            raise _not_yours()
        with _handle_is_free(agent.handle):
            agent.save()
        keep_words(agent.pk)
        if reading is not None:
            _add(agent, by, reading)
    return agent


def _not_yours() -> InvalidRequest:
    return InvalidRequest(_("The owner must be you or an organization you are a member of."), field="owner")


def check_changes(agent: Agent, fields: AgentFields) -> None:
    """Raises InvalidRequest where `update_agent` would."""
    check_fields(fields)
    if fields.get("handle", agent.handle) != agent.handle:
        _check_free(agent.owner, fields["handle"])


def update_agent(*, agent: Agent, by: User, reading: Reading | None = None, **fields: Unpack[ManagedFields]) -> Agent:
    """Changes the given fields; a `reading` of another address becomes a new current revision.

    Returns the agent as it now is, with its owner and current revision. Raises InvalidRequest naming the
    field, or NotFound where the agent has been deleted meanwhile.
    """
    check_changes(agent, fields)
    with transaction.atomic():
        agent = locked_agent(agent.pk)
        protocol = agent.protocol
        if fields:
            _write(agent, fields)
            index_later(agent.pk)
        if reading is not None:
            _deploy(agent, by, reading, anew=agent.protocol != protocol)
        forget_on_commit(agent)
    return agent


def delete_agent(*, agent: Agent) -> None:
    """Deletes an agent and its revisions. What it said in sessions stays, without its name.

    Does nothing where the agent is gone already.
    """
    with transaction.atomic():
        # The lock makes a message of this agent that is being written wait, rather than fail our commit.
        found = Agent.objects.select_for_update().filter(pk=agent.pk).first()
        if found is not None:
            forget_on_commit(found)
            stop_reading(Corpus.objects.filter(revision__agent=found))
            found.delete()
            # After the commit: within it, a query that is being accepted would wait here, and be waited for.
            transaction.on_commit(partial(forget_minute, agent.pk))


def add_revision(
    *,
    agent: Agent,
    by: User | None,
    reading: Reading,
    metadata: dict[str, str] | None = None,
    current: bool = True,
    reindex: bool = False,
) -> Revision:
    """Adds a deployment at `reading.url`, in state error where it could not be read; makes it current unless told
    not to.

    `metadata` is what the client that deploys wants to remember. With `reindex` the corpora of one that becomes
    current are read anew, also where they have not changed. Raises InvalidRequest for metadata that are too
    large, NotFound where the agent has been deleted meanwhile.
    """
    check_metadata(metadata or {})
    with transaction.atomic():
        return _add(locked_agent(agent.pk), by, reading, metadata, current=current, reindex=reindex)


def set_current_revision(*, agent: Agent, revision: int, by: User | None = None) -> Agent:
    """Lets another of the agent's revisions answer from now on.

    Raises NotFound naming `revision`, and InvalidRequest where that is a command and `by` may not set one.
    """
    with transaction.atomic():
        locked = locked_agent(agent.pk)
        forget_on_commit(locked)
        found = _revision_of(locked, revision)
        if found.deployment == Kind.COMMAND and found.pk != locked.current_revision_id:
            check_may_set_command(by, field="revision")
        make_current(locked, found)
        return locked


def delete_revision(*, agent: Agent, revision: int) -> Agent:
    """Deletes a revision. Without its current one an agent answers nothing until another is made current.

    Raises NotFound naming `revision`.
    """
    with transaction.atomic():
        locked = locked_agent(agent.pk)
        found = _revision_of(locked, revision)
        if locked.current_revision_id == found.pk:
            forget_on_commit(locked)
            locked.current_revision = None
            locked.save(update_fields=["current_revision", "modified"])
        stop_reading(found.corpora.all())
        found.delete()
        return locked


def _revision_of(agent: Agent, revision: int) -> Revision:
    found = agent.revisions.filter(pk=revision).first()
    if found is None:
        raise NotFound(_("The agent has no such revision."), field="revision")
    return found


def record_manifest(*, revision: Revision, reading: Reading) -> Revision:
    """Notes what reading an external revision's manifest again gave; returns the revision that now serves.

    A revision in state error is mended in place, or gets the new reason. A changed manifest of the current
    revision becomes a new revision of the same deployment. Otherwise, and where a revision that works cannot
    be read just now, nothing changes. Raises NotFound where the agent or the revision has been deleted meanwhile.
    """
    with transaction.atomic():
        agent = locked_agent(revision.agent_id)
        return _record(agent, _revision_of(agent, revision.pk), reading)


def _write(agent: Agent, fields: ManagedFields) -> None:
    for field, value in fields.items():
        setattr(agent, field, value)
    with _handle_is_free(agent.handle):
        agent.save(update_fields=[*fields, "modified"])
    keep_words(agent.pk)


def _check_free(owner: Owner, handle: str) -> None:
    if owner.agents.filter(handle=handle).exists():
        raise _taken(handle)


@contextmanager
def _handle_is_free(handle: str) -> Iterator[None]:
    """Somebody may have taken the handle since it was checked."""
    try:
        with transaction.atomic():
            yield
    except IntegrityError:
        raise _taken(handle) from None


def _taken(handle: str) -> InvalidRequest:
    return InvalidRequest(_("There is already an agent with the handle %(handle)s."), field="handle", handle=handle)


def locked_agent(agent_id: int) -> Agent:
    """The agent, locked against every other write here; messages that refer to it are not held up."""
    agents = Agent.objects.select_related("owner", "current_revision", "liveness", "index")
    agent = agents.select_for_update(of=("self",), no_key=True).filter(pk=agent_id).first()
    if agent is None:
        raise NotFound(_("This agent has been deleted."), field="agent")
    return agent


def _deploy(agent: Agent, by: User | None, reading: Reading, *, anew: bool) -> Revision:
    """Makes the agent run at `reading.url`: a new revision, unless it runs there already.

    `anew`: it is to speak another protocol there. Then one that cannot be read is in state error, too.
    """
    current = agent.current_revision
    if current is None or (current.deployment, current.target) != (Kind.EXTERNAL, reading.url):
        return _add(agent, by, reading)
    if anew and isinstance(reading.result, FixieError):
        return _add(agent, by, reading)
    return _record(agent, current, reading)


def _record(agent: Agent, revision: Revision, reading: Reading) -> Revision:
    if isinstance(reading.result, FixieError):
        if revision.state == State.ERROR:
            revision.error = _reason(reading.result)
            revision.save(update_fields=["error"])
        return revision
    if revision.state == State.ERROR:
        _fill(revision, reading.result)
        revision.save(update_fields=["state", "error", "transport", "options", "manifest"])
        if revision.pk == agent.current_revision_id:
            plan_corpora(revision=revision, previous=None)
            index_later(agent.pk)
        return revision
    current = agent.current_revision
    if current is None or revision.pk != current.pk or says_the_same(revision, reading.result):
        return current or revision
    return _add(agent, revision.created_by, reading)


def _add(
    agent: Agent,
    by: User | None,
    reading: Reading,
    metadata: dict[str, str] | None = None,
    *,
    current: bool = True,
    reindex: bool = False,
) -> Revision:
    revision = Revision(
        agent=agent, deployment=Kind.EXTERNAL, target=reading.url, created_by=by, metadata=metadata or {}
    )
    if isinstance(reading.result, FixieError):
        revision.state, revision.error = State.ERROR, _reason(reading.result)
    else:
        _fill(revision, reading.result)
    revision.save()
    if current:
        make_current(agent, revision, reindex=reindex)
    return revision


def _fill(revision: Revision, read: ReadManifest) -> None:
    revision.state, revision.error = State.READY, ""
    revision.transport, revision.options = read.transport, read.options
    revision.manifest = manifest_as_dict(read.manifest)


def _reason(error: FixieError) -> str:
    # An agent's own words may be in it.
    return error.message.replace("\0", "")[:ERROR_MAX]


def make_current(agent: Agent, revision: Revision, *, reindex: bool = False) -> None:
    """Lets `revision` answer the agent's queries from now on. Call it inside the transaction that made it."""
    plan_corpora(revision=revision, previous=agent.current_revision_id, reindex=reindex)
    agent.current_revision = revision
    agent.save(update_fields=["current_revision", "modified"])
    checks.begin_anew(agent)
    index_later(agent.pk)


def forget_on_commit(agent: Agent) -> None:
    transaction.on_commit(partial(forget_spec, agent.current_revision_id))
