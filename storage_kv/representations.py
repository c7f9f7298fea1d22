"""How values look over HTTP: as JSON with a text in it, or as the bytes that were put."""

import base64
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

import orjson
from django.http import HttpRequest, HttpResponse

from storage_kv.conditions import etag_of, is_known
from storage_kv.models import StorageUsage, StoredValue
from storage_kv.requests import BYTES
from storage_kv.store import Value, Written

JSON = "application/json"
TEXT = "text/plain; charset=utf-8"
# An agent may put a page with scripts: nothing of it may run as a part of this site.
HARMLESS = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Content-Disposition": "attachment",
}


def value_response(request: HttpRequest, value: Value) -> HttpResponse:
    """The value in the form it was set in, or in the other one where `Accept` rules that out; 304 where it is known."""
    headers = {"ETag": etag_of(value.version), "Cache-Control": "private, no-cache", "Vary": "Accept"}
    if is_known(request.headers, headers["ETag"]):
        return HttpResponse(status=304, headers=headers)
    if _wants_json(request, value):
        content, content_type = _as_json(value), JSON
    else:
        content, content_type = value.value, value.content_type or TEXT
        headers |= HARMLESS
    headers["Content-Length"] = str(len(content))  # what HEAD is asked for
    return HttpResponse(content, content_type=content_type, headers=headers)


def written_response(key: str, value: Value, written: Written, *, status: int) -> HttpResponse:
    """The new value's entry, without the value."""
    entry = _entry(key, len(value.value), value.content_type, value.version, written.modified)
    headers = {"ETag": entry["etag"]}
    return HttpResponse(orjson.dumps(entry), content_type=JSON, status=status, headers=headers)


def entry_of(stored: Any) -> dict[str, Any]:
    """A value in a list; `stored` comes from `access.entries`, with its `size`."""
    return _entry(stored.key, stored.size, stored.content_type, stored.version, stored.modified)


def usage_entry(usage: StorageUsage) -> dict[str, Any]:
    return {"agent": usage.agent.agent_id, "keys": usage.keys, "bytes": usage.bytes}


def next_link(request: HttpRequest, last: StoredValue) -> str:
    """The `Link` header (RFC 8288) to the page after the one that ends with `last`."""
    query = urlencode({**request.GET.dict(), "after": last.key}, quote_via=quote)
    return f'<{quote(request.path)}?{query}>; rel="next"'


def _entry(key: str, size: int, content_type: str, version: UUID, modified: datetime) -> dict[str, Any]:
    return {
        "key": key,
        "size": size,
        "content_type": content_type or None,
        "etag": etag_of(version),
        "modified": modified,
    }


def _wants_json(request: HttpRequest, value: Value) -> bool:
    accept = request.META.get("HTTP_ACCEPT", "*/*")
    if accept == "*/*":
        return not value.content_type
    if not value.content_type:
        others = TEXT.partition(";")[0], BYTES
        return request.accepts(JSON) or not any(map(request.accepts, others))
    own = value.content_type.partition(";")[0].strip()
    return request.accepts(JSON) and not request.accepts(own) and not request.accepts(BYTES)


def _as_json(value: Value) -> bytes:
    if not value.content_type:
        return orjson.dumps({"data": value.value.decode()})
    # Bytes as the package `fixieai` writes them into its texts (fixieai.agents.user_storage).
    packed = {"type": "_bytes_ascii", "data": base64.b64encode(value.value).decode()}
    return orjson.dumps({"data": orjson.dumps(packed).decode()})
