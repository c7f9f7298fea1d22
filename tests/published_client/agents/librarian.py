"""A Code Shot agent with both kinds of corpora and no few-shots, as the original's own examples are."""

import os

import fixieai

CORPORA = [fixieai.UrlDocumentCorpus([f"{os.environ['PAGES']}/visit"], exclude_patterns=["*.pdf"])]
agent = fixieai.CodeShotAgent("I answer questions about the library.", [], CORPORA, conversational=True)


@agent.register_corpus_func
def shelves(request: fixieai.CorpusRequest) -> fixieai.CorpusResponse:
    """A partition a shelf, each with two pages of a book."""
    if request.partition is None:
        return fixieai.CorpusResponse([fixieai.CorpusPartition("poetry"), fixieai.CorpusPartition("history")])
    page = int(request.page_token or 1)
    text = f"The {request.partition} shelf, board {page}, holds green books with number {page * 7}."
    book = fixieai.CorpusDocument(f"{request.partition}-{page}.txt", text.encode())
    return fixieai.CorpusResponse(page=fixieai.CorpusPage([book], None if page == 2 else "2"))
