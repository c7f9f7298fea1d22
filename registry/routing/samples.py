"""What an agent can be asked, as the Router's index has it."""

import hashlib
import json
from collections.abc import Iterator

from django.db import transaction
from procrastinate.contrib.django import app
from procrastinate.exceptions import AlreadyEnqueued

from registry.manifests.manifest import manifest_from_dict
from registry.models import Agent, SampleQuery

TASK = "registry.index_agent"
# Of one agent. Each costs a vector, and a place in the index.
SAMPLES_MAX = 2000
# Of the description, which says in its first sentence what the agent is for.
SENTENCE_MAX = 300

Source = SampleQuery.Source


def index_later(agent: int) -> None:
    """Has the agent's samples indexed as soon as the present transaction is committed.

    The transaction holds the agent's row: a task that begins meanwhile waits for it, and sees what it has changed.
    """
    try:
        with transaction.atomic():
            lock = f"index:{agent}"
            app.configure_task(TASK, lock=lock, queueing_lock=lock).defer(agent=agent)
    except AlreadyEnqueued:
        return


def texts_of(agent: Agent) -> dict[str, str]:
    """The samples of an agent that comes with its current revision: text to source, at most SAMPLES_MAX.

    The agent's own name, which where there are few samples is as good as another one (`benchmarks/router.py`); what
    was given at registration, with its capabilities, the manifest's sample queries, and the questions of its few-shots.
    """
    texts: dict[str, str] = {}
    for source, text in _all(agent):
        if text.strip() and len(texts) < SAMPLES_MAX:
            texts.setdefault(text.strip(), source)
    return texts


def digest_of(texts: dict[str, str]) -> bytes:
    """Tells whether two agents' texts, or one's at two times, are the same."""
    return hashlib.sha256(json.dumps(texts).encode()).digest()


def _all(agent: Agent) -> Iterator[tuple[str, str]]:
    yield Source.NAME, _name(agent)
    yield from ((Source.GIVEN, query) for query in agent.queries)
    yield from ((Source.GIVEN, _words(capability)) for capability in agent.capabilities)
    revision = agent.current_revision
    if revision is None or revision.manifest is None:
        return
    manifest = manifest_from_dict(revision.manifest)
    yield from ((Source.MANIFEST, query) for query in manifest.sample_queries)
    lines = (line for few_shot in manifest.few_shots for line in few_shot.splitlines())
    yield from ((Source.FEW_SHOT, line.removeprefix("Q:")) for line in lines if line.startswith("Q:"))


def _name(agent: Agent) -> str:
    """Its name, or what its handle says, with the first sentence about it."""
    name = agent.name.strip() or _words(agent.handle)
    paragraph = agent.description.strip().partition("\n")[0]
    sentence = paragraph.partition(". ")[0][:SENTENCE_MAX]
    return f"{name}: {sentence}" if sentence else name


def _words(name: str) -> str:
    return name.replace("-", " ").replace("_", " ")
