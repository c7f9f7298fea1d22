"""User Storage over REST: agents keep values about a user; users see and delete what is kept about them."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import register_converter
from django.urls.converters import StringConverter
from ninja import Query, Router

from accounts.auth import Acting, Authenticated, CallerAuth, PrincipalAuth, user_of
from common.db import run_db
from common.ids import uuid7
from storage_kv import access, actions, store
from storage_kv.conditions import condition_of
from storage_kv.representations import entry_of, next_link, usage_entry, value_response, written_response
from storage_kv.requests import bytes_of, checked_key, content_type_of, key_of, text_of
from storage_kv.schemas import BYTES_IN, TEXT_IN, EntryOut, EntryPage, TextOut, UsageOut
from storage_kv.store import Value


class KeyConverter(StringConverter):
    """The rest of a path, whatever it holds; Django's own `path` ends at a line break."""

    regex = r"[\s\S]+"


register_converter(KeyConverter, "storage_key")
storage_router = Router(auth=PrincipalAuth())
KEY = "/{owner}/{handle}/{storage_key:key}"


@storage_router.get("", auth=CallerAuth(), response=list[UsageOut], summary="Which agents keep something about you")
def list_storages(request: Authenticated) -> list[dict[str, Any]]:
    return [usage_entry(usage) for usage in access.storages_of(user_of(request.auth))]


@storage_router.get("/{owner}/{handle}", response=list[EntryOut], summary="List keys")
@storage_router.get("/{owner}/{handle}/", response=list[EntryOut], include_in_schema=False)
async def list_keys(
    request: Acting, response: HttpResponse, owner: str, handle: str, page: Query[EntryPage]
) -> list[dict[str, Any]]:
    """An array of entries by key, in the order of their bytes; `Link` leads to the next page, where there is one."""
    prefix, after = (checked_key(value, field=name) for name, value in (("prefix", page.prefix), ("after", page.after)))
    storage = await access.storage_for(request.auth, owner, handle)
    limit = min(page.limit or settings.STORAGE_MAX_KEYS, settings.STORAGE_MAX_KEYS)
    found = await run_db(lambda: list(access.entries(storage, prefix=prefix, after=after)[: limit + 1]))
    if len(found) > limit:
        response.headers["Link"] = next_link(request, found[limit - 1])
    return [entry_of(stored) for stored in found[:limit]]


@storage_router.delete(
    "/{owner}/{handle}", auth=CallerAuth(), response={204: None}, summary="Delete all that an agent keeps about you"
)
async def forget(request: Authenticated, owner: str, handle: str) -> tuple[int, None]:
    storage = await access.storage_for(request.auth, owner, handle)
    await run_db(actions.forget, storage=storage)
    return 204, None


@storage_router.api_operation(["GET", "HEAD"], KEY, response=TextOut, summary="Read a value")
async def read(request: Acting, owner: str, handle: str, key: str) -> HttpResponse:
    """In the form it was set in: `{"data"}` after a POST, its bytes after a PUT; `Accept` may ask for the other."""
    value = await access.value_for(request.auth, owner, handle, key_of(request, key))
    return value_response(request, value)


@storage_router.post(KEY, response=EntryOut, openapi_extra=TEXT_IN, summary="Set a text")
async def set_text(request: Acting, owner: str, handle: str, key: str) -> HttpResponse:
    """For agents, with the token of a call. `If-Match` and `If-None-Match: *` are heeded; a conflict is a 409."""
    claims = access.agents_call(request.auth, owner, handle)
    key, condition = key_of(request, key), condition_of(request.headers)
    value = Value(uuid7(), content_type="", value=text_of(request))
    written = await store.write(claims, key, value, condition)
    return written_response(key, value, written, status=200)


@storage_router.put(KEY, response={200: EntryOut, 201: EntryOut}, openapi_extra=BYTES_IN, summary="Set bytes")
async def set_bytes(request: Acting, owner: str, handle: str, key: str) -> HttpResponse:
    """The body as it is, with its `Content-Type`. Else like setting a text."""
    claims = access.agents_call(request.auth, owner, handle)
    key, condition = key_of(request, key), condition_of(request.headers)
    value = Value(uuid7(), content_type=content_type_of(request), value=bytes_of(request))
    written = await store.write(claims, key, value, condition)
    return written_response(key, value, written, status=201 if written.created else 200)


@storage_router.delete(KEY, response={204: None}, summary="Delete a value")
async def delete(request: Acting, owner: str, handle: str, key: str) -> tuple[int, None]:
    key, condition = key_of(request, key), condition_of(request.headers)
    storage = await access.storage_for(request.auth, owner, handle)
    await run_db(actions.delete_value, storage=storage, key=key, condition=condition)
    return 204, None
