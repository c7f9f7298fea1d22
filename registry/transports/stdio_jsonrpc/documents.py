"""What is said over the pipes: JSON-RPC 2.0, one document a line (seed `stdio-json-rpc-agents`). No process here."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from common.errors import AgentFailed, AgentInvalidResponse
from registry.transports.base import AgentMessage, Call, EmbedRef, LimitsLeft, Progress, Reply
from registry.transports.wire import MAX_EMBEDS, MAX_ERROR_DETAILS, MAX_ERROR_TEXT, clean, read_message

# The context's field for the attachments of a call. It is ours: what an agent leaves there is not kept.
EMBEDS = "embeds"
# Of the seed, and of the Model Context Protocol, whose servers speak the same.
PROGRESS = ("progress", "notifications/progress")
LIMIT_MAX = 2**31 - 1
# Servers of the Model Context Protocol say one of these (the second is of its library for Python), or something of
# `initialize`, to who has not introduced himself; and they want a word after he has.
NOT_INITIALIZED = -32002
NOT_INITIALIZED_IN_PYTHON = (-32602, "invalid request parameters")
GREETED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
ONLY_JSON = "Only answers belong on its standard output, one JSON document a line; logs go to standard error."


@dataclass(frozen=True, slots=True)
class Answer:
    """The end of a call. `matched` is whether it bore the call's id: one without may as well be of an earlier call."""

    result: Reply | AgentFailed
    limits: LimitsLeft | None
    matched: bool


def request(number: int, call: Call) -> bytes:
    """The line that asks: `tools/call` of `execute_task` with the prompt and the context."""
    context = {name: value for name, value in call.context.items() if name != EMBEDS}
    if embeds := call.message.embeds:
        context[EMBEDS] = {key: {"content_type": each.content_type, "uri": each.uri} for key, each in embeds.items()}
    arguments = {"prompt": call.message.text, "context": context}
    params = {"name": "execute_task", "arguments": arguments}
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}) + b"\n"


def greeting(number: int) -> bytes:
    """The line by which clients of the Model Context Protocol introduce themselves."""
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fixie", "version": "1"}}
    return orjson.dumps({"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}) + b"\n"


def wants_greeting(answer: Answer) -> bool:
    """Whether it is the error of a program that answers nobody who has not introduced himself."""
    if not isinstance(answer.result, AgentFailed) or "error" not in answer.result.details:
        return False
    code, words = answer.result.details["error"].get("code"), answer.result.message.lower()
    return code == NOT_INITIALIZED or (code, words) == NOT_INITIALIZED_IN_PYTHON or "initialize" in words


def read_line(line: bytes, number: int) -> Answer | Progress | None:
    """What a line says to the call with this number; None where it says nothing to it.

    Raises AgentInvalidResponse where it is no JSON-RPC, or answers another call.
    """
    if not line.strip():
        return None
    document = _document(line)
    if "method" in document:
        return _progress(document["params"]) if document["method"] in PROGRESS and _has_params(document) else None
    if "result" not in document and document.get("error") is None:
        raise AgentInvalidResponse("The agent's answer has neither a result nor an error.")
    matched = _is_number(document.get("id"), number)
    if not matched and not _may_lack_id(document):
        said = json.dumps(document.get("id"))[:100]
        raise AgentInvalidResponse(f"The agent answered the call {said} instead of {number}.", id=said, expected=number)
    result = _failure(document["error"]) if document.get("error") is not None else _reply(document)
    return Answer(result, _limits(document), matched)


def _may_lack_id(document: Mapping[str, Any]) -> bool:
    """As the seed's `handle_with_context` answers, and its agents fail where they could not read the request."""
    return "id" not in document or (document["id"] is None and document.get("error") is not None)


def _document(line: bytes) -> dict[str, Any]:
    try:
        document = orjson.loads(line)
    except orjson.JSONDecodeError:
        document = _mended(line)
    if not isinstance(document, dict):
        raise AgentInvalidResponse(f"The agent wrote a line of JSON that is no object. {ONLY_JSON}")
    return document


def _mended(line: bytes) -> Any:
    """What half of a surrogate pair, as in a text that was cut, has made unreadable: that half becomes U+FFFD.

    Raises AgentInvalidResponse for any other line.
    """
    try:
        text = json.dumps(json.loads(line.decode()), ensure_ascii=False)
    except (ValueError, RecursionError):
        raise AgentInvalidResponse(f"{_what_is_wrong(line)} {ONLY_JSON}") from None
    try:
        return orjson.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    except orjson.JSONDecodeError:
        raise AgentInvalidResponse(
            "The agent wrote a line that holds NaN or Infinity, which is not valid JSON, or that is nested too deep."
        ) from None


def _what_is_wrong(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        return "The agent wrote a line that is not JSON."
    rest = text[end:].lstrip()
    several = rest.startswith(("{", "["))
    return f"The agent wrote {'several documents on one line' if several else 'a line that is not only JSON'}."


def _is_number(said: Any, number: int) -> bool:
    return isinstance(said, int | float) and not isinstance(said, bool) and said == number


def _has_params(document: Mapping[str, Any]) -> bool:
    return isinstance(document.get("params"), dict)


def _progress(params: Mapping[str, Any]) -> Progress:
    percent, total = _finite(params.get("percent")), _finite(params.get("total"))
    if percent is None and total is not None and total > 0 and (done := _finite(params.get("progress"))) is not None:
        percent = 100 * done / total
    words = (params.get(name) for name in ("text", "message", "status"))
    text = next((word for word in words if isinstance(word, str)), "")
    return Progress(None if percent is None else min(max(percent, 0.0), 100.0), clean(text)[:MAX_ERROR_TEXT])


def _finite(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None


def _limits(document: Mapping[str, Any]) -> LimitsLeft | None:
    meta = document.get("meta")
    said = meta.get("rate_limit") if isinstance(meta, dict) else None
    if not isinstance(said, dict):
        return None
    left = LimitsLeft(_count(said.get("remaining_minute")), _count(said.get("remaining_today")))
    return None if left == LimitsLeft(None, None) else left


def _count(value: Any) -> int | None:
    number = _finite(value)
    return None if number is None else int(min(max(number, 0), LIMIT_MAX))


def _failure(error: Any) -> AgentFailed:
    if not isinstance(error, dict):
        return AgentFailed(_text(error)[:MAX_ERROR_TEXT] or "The agent failed.")
    message = error.get("message")
    told = clean(message)[:MAX_ERROR_TEXT] if isinstance(message, str) and message.strip() else "The agent failed."
    passed = {name: error[name] for name in ("code", "data") if error.get(name) is not None}
    encoded = _encoded(passed, "error")
    is_told = len(encoded) <= MAX_ERROR_DETAILS and b"\\u0000" not in encoded
    return AgentFailed(told, error=passed if is_told else {})


def _reply(document: Mapping[str, Any]) -> Reply | AgentFailed:
    result, context = document["result"], document.get("context")
    if not isinstance(result, dict):
        return Reply(AgentMessage(_text(result)), _context(context))
    # A handler's whole answer, `{"result", "context"}`, may have become the result.
    context = _context(result.get("context") if context is None else context)
    message = _message(result)
    if result.get("isError") is True:
        return AgentFailed(message.text[:MAX_ERROR_TEXT] or "The agent failed.")
    return Reply(message, context)


def _message(result: Mapping[str, Any]) -> AgentMessage:
    if isinstance(result.get("content"), list):
        return _of_parts(result["content"])
    inner = result.get("result", result)
    if isinstance(inner, dict) and isinstance(inner.get("text"), str):
        return read_message(inner, "result")
    return AgentMessage(_text(inner))


def _of_parts(parts: list[Any]) -> AgentMessage:
    """The content of a tool's result in the Model Context Protocol: `[{"type": "text", "text"}, …]`."""
    texts: list[str] = []
    embeds: dict[str, EmbedRef] = {}
    for part in parts:
        if (embed := _embed(part)) is not None:
            embeds[key := str(len(embeds) + 1)] = embed
            texts.append(f"#{key}")
        else:
            is_text = isinstance(part, dict) and isinstance(part.get("text"), str)
            texts.append(_text(part["text"] if is_text else part))
    if len(embeds) > MAX_EMBEDS:
        raise AgentInvalidResponse(f"The agent's answer has more than {MAX_EMBEDS} attachments.", field="content")
    return AgentMessage("\n".join(texts), embeds)


def _embed(part: Any) -> EmbedRef | None:
    """The attachment that a part is: a picture or sound in base64, or a link."""
    match part:
        case {"type": "image" | "audio", "data": str(data), "mimeType": str(content_type)}:
            return EmbedRef(clean(content_type), clean(f"data:{content_type};base64,{data}"))
        case {"type": "resource_link", "uri": str(uri)}:
            return EmbedRef(clean(str(part.get("mimeType") or "application/octet-stream")), clean(uri))
    return None


def _text(value: Any) -> str:
    """A text as it is, any other value as JSON, nothing for null."""
    if value is None:
        return ""
    if isinstance(value, str):
        return clean(value)
    return _encoded(value, "result", orjson.OPT_INDENT_2).decode()


def _context(context: Any) -> dict[str, Any] | None:
    if context is None:
        return None
    if not isinstance(context, dict):
        raise AgentInvalidResponse("The field `context` in the agent's answer is not an object.", field="context")
    _encoded(context, "context")
    return {name: value for name, value in context.items() if name != EMBEDS}


def _encoded(value: Any, field: str, option: int = 0) -> bytes:
    """`value` as JSON, which can be read deeper than it can be written. Raises AgentInvalidResponse."""
    try:
        return orjson.dumps(value, option=option)
    except TypeError:
        raise AgentInvalidResponse(f"The field `{field}` in the agent's answer is too deep.", field=field) from None
