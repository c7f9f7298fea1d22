"""Agents and their samples in bulk, put into the Router's index as if they had been embedded there."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from accounts.models import User
from registry.models import Agent, Revision, SampleIndex, SampleQuery
from registry.routing.vectors import Vectors

# The graph is built in memory, many times faster than row by row.
BUILD_MEMORY = "512MB"
INDEX = next(index for index in SampleQuery._meta.indexes if index.name == "nearest_samples")


@dataclass(frozen=True, slots=True)
class Samples:
    """Texts, the name of each one's agent, and their vectors."""

    texts: Sequence[str]
    agents: Sequence[str]
    vectors: Vectors


def put(samples: Samples, *, owner: User, embedder: str) -> dict[str, Agent]:
    """Published agents of `owner` that are ready, by their names; `embedder` made the vectors."""
    agents = _agents(list(dict.fromkeys(samples.agents)), owner)
    SampleIndex.objects.update_or_create(defaults={"serving": embedder})
    # Not atomic: no index is made while foreign keys wait to be checked.
    with connection.cursor() as cursor, connection.schema_editor(atomic=False) as editor:
        editor.remove_index(SampleQuery, INDEX)
        copying = "COPY registry_samplequery (agent_id, revision_id, source, text, embedding) FROM STDIN"
        with cursor.copy(copying) as copy:
            for text, name, vector in zip(samples.texts, samples.agents, samples.vectors, strict=True):
                agent = agents[name]
                copy.write_row((agent.pk, agent.current_revision_id, "given", text, str(vector.tolist())))
        cursor.execute(f"SET maintenance_work_mem = '{BUILD_MEMORY}'")
        editor.add_index(SampleQuery, INDEX)
        cursor.execute("ANALYZE")
    return agents


def remove(agents: dict[str, Agent]) -> None:
    """What the next measurement must not find."""
    pks = [agent.pk for agent in agents.values()]
    SampleQuery.objects.filter(agent__in=pks).delete()
    Agent.objects.filter(pk__in=pks).update(current_revision=None)


def _agents(names: list[str], owner: User) -> dict[str, Agent]:
    made = Agent.objects.bulk_create(
        Agent(owner=owner.owner, handle=f"agent-{number}", name=name, published=True)
        for number, name in enumerate(names)
    )
    revisions = Revision.objects.bulk_create(
        Revision(agent=agent, target="http://127.0.0.1:1/", transport="query_http", state=Revision.State.READY)
        for agent in made
    )
    for agent, revision in zip(made, revisions, strict=True):
        agent.current_revision = revision
    Agent.objects.bulk_update(made, ["current_revision"], batch_size=1000)
    return dict(zip(names, made, strict=True))
