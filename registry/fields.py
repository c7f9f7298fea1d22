"""What people may write about an agent, and the sentence they get where they may not."""

from typing import TypedDict, cast

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.utils.translation import gettext_lazy as _

from common.errors import InvalidRequest
from common.handles import check_handle

NAME_MAX = 200
DESCRIPTION_MAX = 10_000
URL_MAX = 2000
QUERIES_MAX = 1000
QUERY_MAX = 16 * 1024
METADATA_MAX = 50
METADATA_KEY_MAX = 200
METADATA_VALUE_MAX = 2000
CAPABILITIES_MAX = 100
CAPABILITY_MAX = 100
# What an agent speaks where its owner says so; empty: what it says itself.
FIXIE, AGENTSCOPE = "fixie", "agentscope"
PROTOCOLS = ("", FIXIE, AGENTSCOPE)
# What PostgreSQL keeps as an `integer`.
INT_MAX = 2**31 - 1

_LIMITS = {"name": NAME_MAX, "description": DESCRIPTION_MAX, "more_info_url": URL_MAX}
_is_url = URLValidator(schemes=["http", "https"])


class AgentFields(TypedDict, total=False):
    """The fields of an agent that its owner writes."""

    handle: str
    name: str
    description: str
    more_info_url: str
    queries: list[str]
    published: bool
    enabled: bool
    protocol: str


class ManagedFields(AgentFields, total=False):
    """And those that an administrator writes.

    Before `daily_query_limit` is changed `accounts.quotas.spread` is called, in the same transaction.
    """

    capabilities: list[str]
    priority: int
    minute_query_limit: int | None
    daily_query_limit: int | None


def check_fields(fields: AgentFields) -> None:
    """Raises InvalidRequest naming the first field that cannot be stored."""
    if "handle" in fields:
        check_handle(fields["handle"])
    for field, limit in _LIMITS.items():
        check_text(str(fields.get(field, "")), field=field, limit=limit)
    check_link(fields.get("more_info_url", ""))
    check_queries(fields.get("queries", []))
    check_protocol(fields.get("protocol", ""))
    # They may be an administrator's.
    _check_managed(cast(ManagedFields, fields))


def _check_managed(fields: ManagedFields) -> None:
    check_capabilities(fields.get("capabilities", []))
    check_number(fields.get("priority"), field="priority", least=-INT_MAX)
    check_number(fields.get("minute_query_limit"), field="minute_query_limit", least=0)
    check_number(fields.get("daily_query_limit"), field="daily_query_limit", least=0)


def check_text(text: str, *, field: str, limit: int) -> str:
    """Returns `text`, or raises InvalidRequest where it is longer than `limit` or holds a NUL character."""
    if len(text) > limit:
        raise InvalidRequest(_("%(field)s may be at most %(limit)s characters long."), field=field, limit=limit)
    if "\0" in text:
        raise InvalidRequest(_("%(field)s holds a NUL character, which cannot be stored."), field=field)
    return text


def check_link(url: str) -> None:
    """Raises InvalidRequest unless `url` is empty or a http(s) address that a page may link to."""
    try:
        if url:
            _is_url(url)
    except ValidationError:
        raise InvalidRequest(
            _("more_info_url must be an address that starts with http:// or https://."), field="more_info_url"
        ) from None


def check_queries(queries: list[str]) -> None:
    """Raises InvalidRequest unless these are few texts of some length that are not too long, none of them empty."""
    if len(queries) > QUERIES_MAX:
        raise InvalidRequest(_("queries may be at most %(limit)s."), field="queries", limit=QUERIES_MAX)
    for query in queries:
        check_text(query, field="queries", limit=QUERY_MAX)
        if not query.strip():
            raise InvalidRequest(_("queries may not be empty texts."), field="queries")


def check_protocol(protocol: str) -> None:
    """Raises InvalidRequest unless this is one of PROTOCOLS."""
    if protocol not in PROTOCOLS:
        words = " or ".join(name for name in PROTOCOLS if name)
        raise InvalidRequest(f"protocol must be empty or {words}.", field="protocol", allowed=list(PROTOCOLS))


def check_capabilities(capabilities: list[str]) -> None:
    """Raises InvalidRequest unless these are few and short texts, none of them empty."""
    if len(capabilities) > CAPABILITIES_MAX:
        raise InvalidRequest(f"capabilities may be at most {CAPABILITIES_MAX}.", field="capabilities")
    for capability in capabilities:
        check_text(capability, field="capabilities", limit=CAPABILITY_MAX)
        if not capability.strip():
            raise InvalidRequest("capabilities may not be empty texts.", field="capabilities")


def check_number(value: int | None, *, field: str, least: int) -> None:
    """Raises InvalidRequest for a number that is less than `least` or too large to be stored."""
    if value is not None and not least <= value <= INT_MAX:
        raise InvalidRequest(f"{field} must be a number from {least} to {INT_MAX}.", field=field)


def check_metadata(metadata: dict[str, str]) -> None:
    """Raises InvalidRequest unless these are few and short texts."""
    if len(metadata) > METADATA_MAX:
        raise InvalidRequest(f"metadata may have {METADATA_MAX} entries.", field="metadata", limit=METADATA_MAX)
    for key, value in metadata.items():
        check_text(key, field="metadata.key", limit=METADATA_KEY_MAX)
        check_text(value, field="metadata.value", limit=METADATA_VALUE_MAX)
