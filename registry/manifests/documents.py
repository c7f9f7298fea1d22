"""JSON and YAML written by strangers, read into plain values without letting them cost much."""

import re
from math import isfinite
from typing import Any

import orjson
import yaml
from django.utils.translation import gettext_lazy as _

from common.errors import AgentInvalidResponse
from registry.transports.wire import clean

MAX_DEPTH = 20
MAX_EVENTS = 50_000
MAX_INTEGER = 2**53

_KEPT_TAGS = ("tag:yaml.org,2002:bool", "tag:yaml.org,2002:null")
_DIGITS = list("-+0123456789")


class _Loader(yaml.CSafeLoader):
    """YAML with the scalars of JSON: no dates, no base 60, no merge keys."""


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _KEPT_TAGS]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9]{1,17}\.[0-9]{0,25}(?:[eE][-+]?[0-9]{1,3})?$"), _DIGITS
)
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})$"), _DIGITS)


def read_document(body: bytes, content_type: str) -> dict[str, Any]:
    """The object in `body`: JSON, or YAML unless the type says JSON. Bounded in depth and in cost.

    Strings are free of U+0000. Raises AgentInvalidResponse saying what is wrong and where.
    """
    media_type = content_type.partition(";")[0].strip().lower()
    if media_type in ("text/html", "application/xhtml+xml"):
        raise AgentInvalidResponse(_("The agent answers GET with a web page, not with a manifest in JSON or YAML."))
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if "json" in media_type:
            raise AgentInvalidResponse(
                _("The manifest is not JSON: %(problem)s."), problem=str(error), line=error.lineno
            ) from None
        value = _yaml(body)
    if not isinstance(value, dict):
        raise AgentInvalidResponse(_("The manifest must be an object with named fields."))
    plain: dict[str, Any] = _plain(value, 0)
    return plain


def _yaml(body: bytes) -> Any:
    try:
        text = body.decode()
        _check_events(text)
        return yaml.load(text, _Loader)  # noqa: S506 -- a safe loader with fewer types
    except UnicodeDecodeError:
        raise AgentInvalidResponse(_("The manifest is not UTF-8 text.")) from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else None
        place = f"line {line}: " if line else ""
        raise AgentInvalidResponse(
            _("The manifest is not YAML: %(problem)s."), problem=f"{place}{error.problem}", line=line
        ) from None
    except (yaml.YAMLError, ValueError):
        raise AgentInvalidResponse(_("The manifest is neither JSON nor YAML.")) from None


def _check_events(text: str) -> None:
    """Looks for what a small document could grow large or deep with, before anything is built from it."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, _Loader)):
        if number > MAX_EVENTS:
            raise AgentInvalidResponse(_("The manifest holds more than %(limit)s values."), limit=MAX_EVENTS)
        if isinstance(event, yaml.AliasEvent):
            raise _not_accepted("aliases (*name)", event)
        if isinstance(event, yaml.NodeEvent) and getattr(event, "tag", None) is not None:
            raise _not_accepted("tags (!name)", event)
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise _too_deep()


def _not_accepted(what: str, event: yaml.Event) -> AgentInvalidResponse:
    line = event.start_mark.line + 1 if event.start_mark else 1
    return AgentInvalidResponse(f"Line {line} of the manifest: YAML {what} are not accepted.", line=line)


def _too_deep() -> AgentInvalidResponse:
    return AgentInvalidResponse(f"The manifest is nested more than {MAX_DEPTH} levels deep.")


def _plain(value: Any, depth: int) -> Any:
    """`value` as it may be stored: JSON only, no U+0000, no number that a JSON reader would bend."""
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_key(key): _plain(item, depth + 1) for key, item in value.items()}
    if (isinstance(value, int) and abs(value) > MAX_INTEGER) or (isinstance(value, float) and not isfinite(value)):
        raise AgentInvalidResponse(_("The manifest holds a number that is too large."))
    return value


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise AgentInvalidResponse(f"The manifest's field names must be text, not {str(key)[:100]}.")
    return clean(key)
