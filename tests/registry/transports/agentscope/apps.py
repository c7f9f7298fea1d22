"""AgentApps for tests: the documents of the Agent API protocol, and an HTTP server that sends them, however badly."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.agents import Behaviour, Exchange, Request, hang

Document = dict[str, Any]
ROOT = {
    "service": "AgentScope Runtime",
    "mode": "daemon_thread",
    "endpoints": {"process": "/process", "stream": "/process/stream", "health": "/health"},
}


def response(status: str = "completed", **more: Any) -> Document:
    return {"object": "response", "id": "response_1", "status": status, **more}


def message(kind: str = "message", status: str = "completed", id: str = "msg_1", **more: Any) -> Document:
    return {"object": "message", "id": id, "type": kind, "status": status, "role": "assistant", **more}


def content(kind: str = "text", msg_id: str = "msg_1", index: int = 0, **more: Any) -> Document:
    return {
        **{"object": "content", "type": kind, "index": index, "msg_id": msg_id},
        **{"delta": False, "status": "completed", **more},
    }


def delta(text: str, **more: Any) -> Document:
    return content(**{"text": text, "delta": True, "status": "in_progress", **more})


def said(*contents: Document, kind: str = "message", id: str = "msg_1", **more: Any) -> list[Document]:
    """A message with these contents, as it comes without deltas."""
    placed = [{**one, "msg_id": id, "index": number} for number, one in enumerate(contents)]
    return [
        message(kind, "in_progress", id, content=None, **more),
        *placed,
        message(kind, id=id, content=placed, **more),
    ]


def streamed(*words: str, id: str = "msg_1", kind: str = "message") -> list[Document]:
    """A message with one text, as it comes in deltas."""
    whole = content(text="".join(words), msg_id=id)
    pieces = [delta(word, msg_id=id) for word in words]
    return [message(kind, "created", id), *pieces, whole, message(kind, id=id, content=[whole])]


def run(*messages: Iterable[Document], **last: Any) -> list[Document]:
    """The documents of a whole answer, numbered."""
    documents = [response("created"), response("in_progress"), *(one for each in messages for one in each)]
    return [{**one, "sequence_number": number} for number, one in enumerate([*documents, response(**last)])]


def frames(documents: Iterable[Document]) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(one).encode() for one in documents)


def sends(
    documents: Iterable[Document] | Callable[[Request], Iterable[Document]],
    *,
    cut: int = 0,
    end: bool = True,
    before: bytes = b"",
) -> Behaviour:
    """A stream of these documents, after the bytes `before`, in pieces of `cut` bytes. Without `end` it stays open."""

    async def behave(exchange: Exchange) -> None:
        chosen = documents(exchange.request) if callable(documents) else documents
        data = before + frames(chosen)
        await exchange.head(200, {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"})
        for piece in _pieces(data, cut or len(data)):
            await exchange.write(b"%x\r\n%b\r\n" % (len(piece), piece))
        if not end:
            await hang()(exchange)
        await exchange.write(b"0\r\n\r\n")

    return behave


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def query_in(request: Request) -> list[Document]:
    """The contents of the query in a request."""
    contents: list[Document] = request.json["input"][-1]["content"]
    return contents


def echoes() -> Behaviour:
    """Answers with what it was asked, in deltas, and then with what else the query holds."""

    def documents(request: Request) -> list[Document]:
        text, *others = query_in(request)
        begin, *between, _ = streamed(*(text["text"][n : n + 3] for n in range(0, len(text["text"]), 3)))
        more = [{**content(one["type"], index=number), **one} for number, one in enumerate(others, start=1)]
        return run([begin, *between, *more, message(content=None)])

    return sends(documents)
