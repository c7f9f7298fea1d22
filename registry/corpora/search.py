"""The passages of an agent's corpora that answer a question."""

from collections import Counter
from dataclasses import dataclass

import structlog

from common.db import fetch_safely
from registry.corpora.passages import Found, Passage, best
from registry.models import Corpus
from registry.routing.embedder import embed_query, embedder_named
from registry.routing.vectors import as_text

log = structlog.get_logger()

# So many of the nearest are looked at closer.
NEAREST = 60
UNREAD = (Corpus.Status.PENDING, Corpus.Status.INDEXING)

_CORPORA = """
SELECT c.status, c.embedder, c.documents_done, c.vector_count, c.error
FROM registry_agent a JOIN registry_corpus c ON c.revision_id = a.current_revision_id
WHERE a.id = %(agent)s AND c.replaces_id IS NULL ORDER BY c.position"""

# Every passage is compared: there is no index on them, so that nothing near is missed.
_FIND = """
SELECT k.text, d.source, d.title, d.id, k.position, 1 - (k.embedding <=> %(vector)s::halfvec)
FROM registry_agent a JOIN registry_corpus c ON c.revision_id = a.current_revision_id
    JOIN registry_chunk k ON k.corpus_id = c.id JOIN registry_corpusdocument d ON d.id = k.document_id
WHERE a.id = %(agent)s AND c.replaces_id IS NULL AND c.embedder = %(embedder)s
ORDER BY k.embedding <=> %(vector)s::halfvec LIMIT %(nearest)s"""


@dataclass(frozen=True, slots=True)
class Library:
    """What there is to search of an agent: how many corpora, how many of them are still being read, and what was read.

    `embedders` are those of the vectors: more than one while the site moves to another. `errors` say why corpora could
    not be read.
    """

    corpora: int
    unread: int
    documents: int
    embedders: frozenset[str]
    errors: tuple[str, ...]


async def library_of(agent: int) -> Library:
    """The corpora of the current revision of the agent with this id."""
    rows = await fetch_safely(_CORPORA, {"agent": agent})
    statuses = Counter(status for status, *_ in rows)
    return Library(
        corpora=len(rows),
        unread=sum(statuses[status] for status in UNREAD),
        documents=sum(documents for _, _, documents, _, _ in rows),
        embedders=frozenset(embedder for _, embedder, _, vectors, _ in rows if vectors),
        errors=tuple(error for status, _, _, _, error in rows if status == Corpus.Status.FAILED),
    )


async def passages(agent: int, question: str, library: Library, k: int = 5) -> list[Passage]:
    """The `k` best passages of the agent's corpora for the question, the best first. Raises ModelUnavailable."""
    found: list[Found] = []
    for name in library.embedders:
        by = await embedder_named(name)
        if by is None:
            # They are embedded anew in the background, and are there again then.
            log.warning("corpora_of_no_embedder", embedder=name)
            continue
        vector = await embed_query(question, by)
        params = {"agent": agent, "embedder": name, "nearest": NEAREST, "vector": as_text(vector)}
        found += [Found(*row) for row in await fetch_safely(_FIND, params)]
    return best(question, found, k)
