"""Corpora over REST: how far an agent of yours has read its documents, which of them failed, reading them anew."""

from ninja import Query, Router

from accounts.auth import Authenticated, user_of
from registry.access import own_agent_for, own_corpus_for
from registry.corpora.actions import reindex_corpora
from registry.corpora.schemas import CorporaOut, DocumentFilters, DocumentPage, corpora_out, document_page
from registry.corpora.state import corpora_of

corpora_router = Router()


@corpora_router.get("/{owner}/{handle}/corpora", response=CorporaOut)
def list_corpora(request: Authenticated, owner: str, handle: str) -> CorporaOut:
    """The corpora of an agent of yours, in its manifest's order, and how far they are read."""
    return corpora_out(corpora_of(own_agent_for(user_of(request.auth), owner, handle)))


@corpora_router.post("/{owner}/{handle}/corpora/reindex", response={202: CorporaOut})
def reindex(request: Authenticated, owner: str, handle: str) -> CorporaOut:
    """Has the corpora of an agent of yours read anew. What was read before is searched until then."""
    agent = own_agent_for(user_of(request.auth), owner, handle)
    reindex_corpora(agent=agent)
    return corpora_out(corpora_of(agent))


@corpora_router.get("/{owner}/{handle}/corpora/{corpus}/documents", response=DocumentPage)
def list_documents(
    request: Authenticated, owner: str, handle: str, corpus: int, filters: Query[DocumentFilters]
) -> DocumentPage:
    """The documents of a corpus of an agent of yours; `next` is the `after` of the following page."""
    return document_page(own_corpus_for(user_of(request.auth), owner, handle, corpus), filters)
