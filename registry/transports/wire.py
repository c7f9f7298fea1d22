"""The documents of the Fixie agent protocol: what is sent to an agent, and how its answers are read.

Formats: the Fixie Agent Protocol (Funcs), the Fixie Architecture (bare queries), and those of the
published `fixieai` 1.0.4, which adds `access_token`, `error` and answers in JSON lines. No network here.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit, urlunsplit

import orjson

from common.errors import AgentFailed, AgentInvalidResponse, AgentUnreachable, FixieError
from registry.transports.base import AgentMessage, Call, EmbedRef

MAX_ERROR_TEXT = 4000
MAX_ERROR_DETAILS = 8 * 1024
# Of one message: looking for ten thousand names in a text takes seconds.
MAX_EMBEDS = 100
# What stands in front of an agent says this, not the agent.
_GATEWAY = (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT)
_REFUSED = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


def headers_of(call: Call) -> dict[str, str]:
    return {
        "authorization": f"Bearer {call.token}",
        "content-type": "application/json",
        "accept": "application/json",
        "idempotency-key": call.idempotency_key,
    }


def func_url(target: str, func: str) -> str:
    """The address of a Func: one path segment below the agent's, whose query string stays at the end."""
    parts = urlsplit(target)
    return urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/{quote(func, safe='')}"))


def func_body(call: Call) -> bytes:
    """`{"message": {"text", "embeds"}, "access_token"}`."""
    return orjson.dumps({"message": as_dict(call.message), "access_token": call.token})


def query_body(call: Call) -> bytes:
    """A query in both of its shapes at once: the SDK reads `message`, a seed agent `text` and `embeds`.

    Each passes over the other's fields, so that nobody has to guess which of the two an agent is.
    """
    message = as_dict(call.message)
    return orjson.dumps({"message": message, **message, "access_token": call.token})


def as_dict(message: AgentMessage) -> dict[str, Any]:
    embeds = {key: {"content_type": embed.content_type, "uri": embed.uri} for key, embed in message.embeds.items()}
    return {"text": message.text, "embeds": embeds}


def read_func_answer(body: bytes) -> AgentMessage:
    """`{"message": {"text", "embeds"?}, "error"?}`, or `{"result": a string or a message}`.

    Raises AgentFailed where `error` is set, AgentInvalidResponse for anything else.
    """
    answer = _object(_json(body), "The answer")
    if answer.get("message") is None and "result" in answer:
        result = answer["result"]
        return AgentMessage(clean(result)) if isinstance(result, str) else read_message(result, "result")
    return _checked(answer, read_message(answer.get("message"), "message"))


def read_query_answer(body: bytes) -> AgentMessage:
    """`{"message": {"text", "embeds"?}, "error"?}`, or the bare message. Raises as `read_func_answer`."""
    return _query_answer(_json(body))


def _query_answer(value: Any) -> AgentMessage:
    answer = _object(value, "The answer")
    if answer.get("message") is None and "text" in answer:
        return _checked(answer, read_message(answer, ""))
    return _checked(answer, read_message(answer.get("message"), "message"))


def _checked(answer: Mapping[str, Any], message: AgentMessage) -> AgentMessage:
    if answer.get("error") is not None:
        raise AgentFailed(message.text[:MAX_ERROR_TEXT] or "The agent failed.", **_error_details(answer["error"]))
    return message


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        raise AgentInvalidResponse("The agent's answer is not JSON.") from None


def _object(value: Any, name: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise AgentInvalidResponse(f"{name} of the agent is not a JSON object.")
    return value


def read_message(value: Any, field: str) -> AgentMessage:
    """`{"text", "embeds"?}`, which stands in the field `field` of an answer. Raises AgentInvalidResponse."""
    message = _object(value, f"The field `{field}` in the answer")
    text = message.get("text")
    if not isinstance(text, str):
        raise _wrong(field, "text", "is not a string")
    embeds = message.get("embeds")
    if embeds is None:
        return AgentMessage(clean(text))
    if not isinstance(embeds, dict):
        raise _wrong(field, "embeds", "is not an object")
    if len(embeds) > MAX_EMBEDS:
        raise _wrong(field, "embeds", f"has more than {MAX_EMBEDS} of them")
    return AgentMessage(clean(text), {clean(key): _embed(embed, key) for key, embed in embeds.items()})


def _embed(value: Any, key: str) -> EmbedRef:
    embed = value if isinstance(value, dict) else {}
    content_type, uri = embed.get("content_type"), embed.get("uri")
    if not isinstance(content_type, str) or not isinstance(uri, str):
        raise _wrong("embeds", key[:100], "is not an object with the strings `content_type` and `uri`")
    return EmbedRef(clean(content_type), clean(uri))


def _wrong(where: str, name: str, problem: str) -> AgentInvalidResponse:
    field = f"{where}.{name}" if where else name
    return AgentInvalidResponse(f"The field `{field}` in the agent's answer {problem}.", field=field)


def clean(text: str) -> str:
    """`text` without U+0000, which PostgreSQL cannot store."""
    return text.replace("\x00", "\N{REPLACEMENT CHARACTER}") if "\x00" in text else text


def failure_of(status: int, body: bytes, *, func: str | None = None) -> FixieError:
    """The error behind an answer with an error status: what the agent says of it, else what the status says."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        answer = None
    answer = answer if isinstance(answer, dict) else {}
    details: dict[str, Any] = {"status": status, **_error_details(answer.get("error"))}
    if func is not None and status == HTTPStatus.NOT_FOUND:
        details |= {"reason": "unknown_func", "func": func}
    text = _user_text(answer)
    if text is None and status in _GATEWAY:
        return AgentUnreachable(f"The agent is not there (HTTP {status}).", **details)
    return AgentFailed(text or _status_text(status, func), **details)


def _user_text(answer: Mapping[str, Any]) -> str | None:
    error, message = answer.get("error"), answer.get("message")
    for candidate in (message, answer):
        if isinstance(candidate, dict) and isinstance(text := candidate.get("text"), str) and text.strip():
            return clean(text)[:MAX_ERROR_TEXT]
    if isinstance(error, dict) and isinstance(text := error.get("message"), str) and text.strip():
        return clean(text)[:MAX_ERROR_TEXT]
    return None


def _status_text(status: int, func: str | None) -> str:
    if func is not None and status == HTTPStatus.NOT_FOUND:
        return f"The agent has no Func[{func[:100]}]."
    if status in _REFUSED:
        return f"The agent refused the call (HTTP {status})."
    return f"The agent answered with HTTP status {status}."


def _error_details(error: Any) -> dict[str, Any]:
    """What of an agent's `error` may be passed on as ours: its code, message and details, bounded.

    The SDK puts its Python traceback into the details; that is for the agent's owner, who has it in the log.
    """
    if not isinstance(error, dict):
        return {}
    passed = {
        name: clean(value)[:MAX_ERROR_TEXT] for name in ("code", "message") if isinstance(value := error.get(name), str)
    }
    details = error.get("details")
    if isinstance(details, dict):
        shown = {key: value for key, value in details.items() if key != "traceback"}
        with suppress(orjson.JSONEncodeError):  # nested too deeply
            encoded = orjson.dumps(shown)
            if len(encoded) <= MAX_ERROR_DETAILS and b"\\u0000" not in encoded:
                return {"error": {**passed, "details": shown}}
    return {"error": passed}


class QueryAnswers:
    """Puts the answer to a query together from pieces cut anywhere.

    It is JSON lines, each an answer that takes the place of the one before. Or it is one JSON document laid out
    over several lines (Flask does so in debug mode), which the first line gives away by not being JSON itself.
    """

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes` bound one line, or the document."""
        self._max_bytes = max_bytes
        self._tail = bytearray()
        self._is_document = False
        self._count = 0

    def feed(self, chunk: bytes) -> Iterator[AgentMessage]:
        """The answers that `chunk` completes. Raises AgentFailed, AgentInvalidResponse."""
        if self._is_document or b"\n" not in chunk:
            self._keep(chunk)
            return
        *lines, rest = (bytes(self._tail) + chunk).split(b"\n")
        self._tail.clear()
        for number, line in enumerate(lines):
            if self._count == 0 and line.strip() and not _is_json(line):
                self._is_document = True
                self._keep(b"\n".join([*lines[number:], rest]))
                return
            yield from self._answer(line)
        self._keep(rest)

    def finish(self) -> Iterator[AgentMessage]:
        """The last answer, where no newline ended it. Raises as `feed`, also where there was no answer at all."""
        try:
            yield from self._answer(bytes(self._tail))
        except AgentInvalidResponse:
            if self._count == 0:
                raise
            raise AgentInvalidResponse("The agent broke off in the middle of a line.") from None
        if self._count == 0:
            raise AgentInvalidResponse("The agent's answer is empty.")

    def _answer(self, line: bytes) -> Iterator[AgentMessage]:
        if len(line) > self._max_bytes:
            raise self._too_large()
        if stripped := line.strip():
            message = read_query_answer(stripped)
            self._count += 1
            yield message

    def _keep(self, piece: bytes) -> None:
        self._tail += piece
        if len(self._tail) > self._max_bytes:
            raise self._too_large()

    def _too_large(self) -> AgentInvalidResponse:
        return AgentInvalidResponse(
            f"The agent's answer is larger than {self._max_bytes} bytes.", max_bytes=self._max_bytes
        )


def _is_json(line: bytes) -> bool:
    try:
        orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return True
