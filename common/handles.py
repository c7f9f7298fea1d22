"""Handles: the names of owners and agents, as they stand in URLs, prompts and `owner/handle`."""

import re
from uuid import UUID

from django.core.exceptions import ValidationError
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from common.errors import InvalidRequest

HANDLE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,49}")
AGENT_ID = re.compile(rf"({HANDLE.pattern})/({HANDLE.pattern})")
ADDRESS = re.compile(rf"\s*@({HANDLE.pattern}(?:/{HANDLE.pattern})?)(?=[\s,:]|$)[,:]?\s*")
# Who owns the agents that a site brings.
SITE_OWNER = "fixie"
RULE = gettext_noop("1 to 50 letters, digits, - and _, starting with a letter or a digit")
NO_HANDLE = format_lazy(_("A handle is {rule}."), rule=_(RULE))


def validate_handle(value: str) -> None:
    """A Django validator: raises ValidationError where `value` is not a handle."""
    if not HANDLE.fullmatch(value):
        raise ValidationError(NO_HANDLE, code="handle")


def check_handle(value: str, *, field: str = "handle") -> str:
    """Returns `value`, or raises InvalidRequest naming `field`."""
    if not HANDLE.fullmatch(value):
        raise InvalidRequest(NO_HANDLE, field=field)
    return value


def split_agent_id(agent_id: str) -> tuple[str, str]:
    """`"owner/handle"` → `("owner", "handle")`, or raises InvalidRequest."""
    match = AGENT_ID.fullmatch(agent_id)
    if match is None:
        raise InvalidRequest("An agent is named owner/handle.", field="agent", value=agent_id[:200])
    return match[1], match[2]


def split_agent_name(name: str) -> tuple[str, str]:
    """As `split_agent_id`; a handle alone has the owner "", who is the one that asks or else the site."""
    return ("", name) if HANDLE.fullmatch(name) else split_agent_id(name)


def split_address(text: str) -> tuple[str | None, str]:
    """The agent that a text is addressed to, or None, and the rest: it starts with `@owner/handle` or `@handle`."""
    match = ADDRESS.match(text)
    return (match[1], text[match.end() :]) if match else (None, text)


def parse_uuid(value: str) -> UUID | None:
    """The UUID written in `value`, or None."""
    try:
        return UUID(value)
    except ValueError:
        return None
