"""Manifests: read from an agent at `GET /`, checked, and kept as plain values."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from dataclasses import fields as dataclass_fields
from http import HTTPStatus
from typing import Any

from common.errors import AgentInvalidResponse, FixieError
from common.http import Answer, client
from registry.corpora.declared import read_corpora, stored_corpora
from registry.fields import AGENTSCOPE, FIXIE
from registry.manifests import agent_apps
from registry.manifests.documents import read_document
from registry.manifests.few_shots import normalised, problems_of, split_few_shots
from registry.transports.base import Manifest
from registry.transports.wire import failure_of

MAX_MANIFEST_BYTES = 1024 * 1024
READ_SECONDS = 15.0
MAX_FEW_SHOTS = 200
MAX_FEW_SHOT = 64 * 1024
MAX_BASE_PROMPT = 256 * 1024
MAX_SAMPLE_QUERIES = 1000
MAX_SAMPLE_QUERY = 16 * 1024
MAX_MODEL_NAME = 200
MAX_TEMPERATURE = 2.0
MAX_TOKENS = 1_000_000
MAX_PROBLEMS = 10

CODE_SHOT, STANDALONE = "code_shot", "standalone"
TRANSPORTS = {CODE_SHOT: "code_shot", STANDALONE: "query_http"}
# How servers say that they know no GET here; Python's http.server says "not implemented".
_NO_MANIFEST = (HTTPStatus.NOT_FOUND, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.NOT_IMPLEMENTED)
_ACCEPT = "application/json, application/yaml, text/yaml;q=0.9, */*;q=0.1"


@dataclass(frozen=True, slots=True)
class ReadManifest:
    """A manifest with the values it was read from; the `kind` of the transport that serves the agent, its options."""

    manifest: Manifest
    raw: dict[str, Any]
    transport: str
    options: dict[str, Any] = field(default_factory=dict)


async def read_manifest(
    url: str, *, token: str, protocol: str = "", seen: Callable[[Answer], None] | None = None
) -> ReadManifest:
    """Reads the manifest of the agent at `url`, within 15 seconds and 1 MiB; `seen` is given it as it came, first.

    An agent that knows no GET there is one that only answers queries (Fixie Architecture, "Creating
    an Agent"). An AgentApp of AgentScope Runtime has no manifest: it is known by what it says of itself at its root,
    or at its owner's word, `protocol`. Raises AgentInvalidResponse with `details["problems"]`, AgentFailed,
    AgentTimeout or AgentUnreachable.
    """
    if protocol == AGENTSCOPE:
        return await _look_at_app(url, token)
    answer = await _get(url, token)
    if answer.status in _NO_MANIFEST:
        around = await _app_around(url, token) if protocol != FIXIE else None
        return around or ReadManifest(Manifest(type=STANDALONE), {}, TRANSPORTS[STANDALONE])
    if answer.status >= 300:
        raise failure_of(answer.status, answer.body)
    if seen is not None:
        seen(answer)
    # A megabyte of YAML keeps a processor busy for a while: not the one that serves everybody else.
    raw = await asyncio.to_thread(read_document, answer.body, answer.headers.get("content-type", ""))
    if protocol != FIXIE and agent_apps.is_root(raw):
        return _app(raw)
    manifest = parse_manifest(raw)
    return ReadManifest(manifest, raw, TRANSPORTS[manifest.type])


async def _look_at_app(url: str, token: str) -> ReadManifest:
    """Any answer proves that something serves the address of an AgentApp, but one that says that the server failed."""
    answer = await _get(url, token)
    if answer.status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        raise failure_of(answer.status, answer.body)
    return _app(agent_apps.root_in(answer.body) or {})


async def _app_around(url: str, token: str) -> ReadManifest | None:
    """The AgentApp that takes queries at the very address `url`, which people copy as well as that of its root."""
    root = agent_apps.root_of(url)
    if root is None:
        return None
    try:
        answer = await _get(root, token)
    except FixieError:
        return None
    found = agent_apps.root_in(answer.body)
    return _app(found, {}) if found else None


def _app(root: dict[str, Any], options: dict[str, Any] | None = None) -> ReadManifest:
    chosen = agent_apps.options_of(root) if options is None else options
    return ReadManifest(Manifest(type=STANDALONE), root, AGENTSCOPE, chosen)


async def _get(url: str, token: str) -> Answer:
    headers = {"authorization": f"Bearer {token}", "accept": _ACCEPT}
    return await client().request("GET", url, headers=headers, timeout=READ_SECONDS, max_bytes=MAX_MANIFEST_BYTES)


def manifest_as_dict(manifest: Manifest) -> dict[str, Any]:
    """`manifest` as JSON values, for `Revision.manifest`; equal to itself after a trip through the database."""
    return asdict(manifest, dict_factory=_json_object)


def _json_object(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in fields}


def manifest_from_dict(fields: dict[str, Any]) -> Manifest:
    """The inverse of `manifest_as_dict`; passes over fields that a newer version of this site has stored."""
    names = {field.name for field in dataclass_fields(Manifest)}
    known: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in fields.items() if name in names
    }
    return Manifest(**{**known, "corpora": stored_corpora(fields.get("corpora", []))})


def parse_manifest(raw: dict[str, Any]) -> Manifest:
    """The manifest in `raw`. Raises AgentInvalidResponse with all its problems (up to ten) in words and in details."""
    fields = _Fields(raw)
    manifest = fields.manifest()
    if fields.problems:
        raise _unusable(fields.problems)
    return manifest


def _unusable(problems: list[dict[str, Any]]) -> AgentInvalidResponse:
    shown = problems[:MAX_PROBLEMS]
    words = " ".join(problem["words"] for problem in shown)
    more = f" And {len(problems) - len(shown)} more." if len(problems) > len(shown) else ""
    details = [{name: value for name, value in problem.items() if name != "words"} for problem in shown]
    return AgentInvalidResponse(f"The manifest cannot be used. {words}{more}", problems=details)


class _Fields:
    """Takes the fields of a manifest out of what an agent sent, and notes what is wrong with them.

    A field that is null counts as absent: the SDK sends every field it knows.
    """

    def __init__(self, raw: dict[str, Any]) -> None:
        self.problems: list[dict[str, Any]] = []
        self._raw = raw

    def manifest(self) -> Manifest:
        kind = self._type()
        if kind == STANDALONE:
            queries = self._texts("sample_queries", MAX_SAMPLE_QUERIES, MAX_SAMPLE_QUERY)
            return Manifest(type=STANDALONE, sample_queries=queries)
        conversational = self._flag("conversational")
        return Manifest(
            type=CODE_SHOT,
            base_prompt=self._text("base_prompt", MAX_BASE_PROMPT),
            few_shots=self._few_shots(conversational),
            sample_queries=self._texts("sample_queries", MAX_SAMPLE_QUERIES, MAX_SAMPLE_QUERY),
            corpora=read_corpora(self._raw.get("corpora"), self._complain),
            conversational=conversational,
            model=self._model(),
            temperature=self._number("temperature", 0, MAX_TEMPERATURE),
            max_tokens=self._max_tokens(),
        )

    def _type(self) -> str:
        kind = self._raw.get("type")
        if kind is None:
            kind = STANDALONE if "sample_queries" in self._raw and "few_shots" not in self._raw else CODE_SHOT
        if kind not in (CODE_SHOT, STANDALONE):
            self._complain("type", f"must be {CODE_SHOT} or {STANDALONE}")
        elif kind == CODE_SHOT and self._raw.get("few_shots") is None:
            self._complain("few_shots", "is missing")
        return str(kind)

    def _few_shots(self, conversational: bool) -> tuple[str, ...]:
        value = self._raw.get("few_shots")
        if isinstance(value, str):
            value = split_few_shots(value)
        few_shots = self._checked_texts("few_shots", value, MAX_FEW_SHOTS, MAX_FEW_SHOT)
        for number, few_shot in enumerate(few_shots, start=1):
            for problem in problems_of(few_shot, number, conversational=conversational):
                self.problems.append({**problem.as_dict(), "words": str(problem)})
        return tuple(normalised(few_shot) for few_shot in few_shots)

    def _texts(self, name: str, count: int, size: int) -> tuple[str, ...]:
        return self._checked_texts(name, self._raw.get(name), count, size)

    def _checked_texts(self, name: str, value: Any, count: int, size: int) -> tuple[str, ...]:
        if value is None:
            return ()
        if not isinstance(value, list):
            self._complain(name, "must be a list of texts")
            return ()
        if len(value) > count:
            self._complain(name, f"must hold at most {count} texts")
            return ()
        return tuple(self._each_text(name, value, size))

    def _each_text(self, name: str, values: list[Any], size: int) -> Iterator[str]:
        for number, value in enumerate(values, start=1):
            if not isinstance(value, str):
                self._complain(name, f"must be a list of texts, but number {number} is not a text")
            elif len(value.encode()) > size:
                self._complain(name, f"must hold texts of at most {size} bytes, but number {number} is longer")
            else:
                yield value

    def _text(self, name: str, size: int) -> str:
        value = self._raw.get(name)
        if value is None:
            return ""
        if not isinstance(value, str) or len(value.encode()) > size:
            self._complain(name, f"must be a text of at most {size} bytes")
            return ""
        return normalised(value)

    def _flag(self, name: str) -> bool:
        value = self._raw.get(name)
        if value is not None and not isinstance(value, bool):
            self._complain(name, "must be true or false")
        return value is True

    def _setting(self, *names: str) -> tuple[str, Any]:
        """A wish for the language model: in the SDK's `response_model`, in `llm_settings`, or at the top."""
        for group in ("response_model", "llm_settings", None):
            place = self._raw if group is None else self._raw.get(group)
            for name in names:
                if isinstance(place, dict) and place.get(name) is not None:
                    return (name if group is None else f"{group}.{name}"), place[name]
        return names[0], None

    def _model(self) -> str | None:
        name, value = self._setting("model")
        if value is None or (isinstance(value, str) and 0 < len(value) <= MAX_MODEL_NAME):
            return value
        self._complain(name, f"must be a text of at most {MAX_MODEL_NAME} characters")
        return None

    def _number(self, name: str, least: float, most: float) -> float | None:
        name, value = self._setting(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
            self._complain(name, f"must be a number from {least:g} to {most:g}")
            return None
        return float(value)

    def _max_tokens(self) -> int | None:
        name, value = self._setting("maximum_tokens", "max_tokens")
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= MAX_TOKENS:
            self._complain(name, f"must be a whole number from 1 to {MAX_TOKENS}")
            return None
        return value

    def _complain(self, field: str, reason: str) -> None:
        words = f"{field} {reason}."
        self.problems.append({"few_shot": None, "line": None, "field": field, "reason": reason, "words": words})
