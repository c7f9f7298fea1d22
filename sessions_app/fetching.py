"""Embeds that come by reference, from clients and from agents: found or fetched before a message is stored."""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from uuid import UUID

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.auth import Caller, user_of
from common.db import run_db
from common.errors import AgentTimeout, FixieError, InvalidRequest, NotFound
from common.handles import parse_uuid
from embeds import actions
from embeds.access import own_embeds
from embeds.models import Embed
from registry.transports.base import AgentMessage, EmbedRef
from sessions_app.references import rewritten

KEY_LENGTH_MAX = 100
# So many embeds of one message are fetched at a time.
AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Offer:
    """An embed as a client names it: the `id` of one that was uploaded before, or a `uri` and its `content_type`."""

    id: str | None = None
    content_type: str | None = None
    uri: str | None = None


async def resolved(caller: Caller, offers: Mapping[str, Offer], *, field: str = "embeds") -> dict[str, UUID]:
    """The embeds, by key, that a client sends with a message; those with a `uri` are fetched and stored.

    Raises FixieErrors whose `field` is `{field}.KEY…`.
    """
    if not offers:
        return {}
    _check(offers, field)
    found = await run_db(_uploaded, caller, offers, field)
    refs = {key: EmbedRef(offer.content_type or "", offer.uri) for key, offer in offers.items() if offer.uri}
    for key, result in (await fetched(refs, owner=caller.user_id, seconds=settings.AGENT_CALL_TIMEOUT)).items():
        if isinstance(result, FixieError):
            raise type(result)(result.message, **{**result.details, "field": f"{field}.{key}"})
        found[key] = result.pk
    return {key: found[key] for key in offers}


def _check(offers: Mapping[str, Offer], field: str) -> None:
    limit = settings.MESSAGE_MAX_EMBEDS
    if len(offers) > limit:
        raise InvalidRequest(_("A message may have %(limit)s embeds."), field=field, limit=limit)
    for key, offer in offers.items():
        place = f"{field}.{key[:KEY_LENGTH_MAX]}"
        if not 0 < len(key) <= KEY_LENGTH_MAX:
            raise InvalidRequest(f"The key of an embed has 1 to {KEY_LENGTH_MAX} characters.", field=place)
        if (offer.id is None) == (not offer.uri):
            raise InvalidRequest("An embed has either an id, or a content_type and a uri.", field=place)


def _uploaded(caller: Caller, offers: Mapping[str, Offer], field: str) -> dict[str, UUID]:
    """The caller's own embeds among the offers. Asks for the caller in any case: others may not make us fetch."""
    user = user_of(caller)
    ids: dict[str, UUID] = {}
    for key, offer in offers.items():
        if offer.id is not None:
            # What is no UUID names nothing, like the zero one.
            ids[key] = parse_uuid(offer.id) or UUID(int=0)
    try:
        own_embeds(user.pk, list(ids.values()))
    except NotFound as error:
        wrong = next(key for key, embed in ids.items() if str(embed) == error.details["embed"])
        raise NotFound(error.message, field=f"{field}.{wrong}.id") from None
    return ids


async def fetched(refs: Mapping[str, EmbedRef], *, owner: int, seconds: float) -> dict[str, Embed | FixieError]:
    """What came of each: the embed, kept for `owner`, or why there is none. Nobody waits longer than `seconds`."""
    turns = asyncio.Semaphore(AT_ONCE)
    ends = asyncio.get_running_loop().time() + seconds

    async def fetch(ref: EmbedRef) -> Embed | FixieError:
        try:
            async with asyncio.timeout_at(ends), turns:
                return await actions.fetch(owner=owner, content_type=ref.content_type, uri=ref.uri)
        except TimeoutError:
            return AgentTimeout("It did not arrive in time.", timeout=seconds)
        except FixieError as error:
            return error

    return dict(zip(refs, await asyncio.gather(*map(fetch, refs.values())), strict=True))


async def received(message: AgentMessage, *, owner: int, seconds: float) -> tuple[str, dict[str, UUID]]:
    """An agent's text, and those of its embeds that could be had.

    The text says which ones could not, and does not refer to them any more: their keys may be other embeds' in
    the session.
    """
    if not message.embeds:
        return message.text, {}
    limit = settings.MESSAGE_MAX_EMBEDS
    results = await fetched(dict(islice(message.embeds.items(), limit)), owner=owner, seconds=seconds)
    kept = {key: result.pk for key, result in results.items() if isinstance(result, Embed)}
    problems = {key: result.message for key, result in results.items() if isinstance(result, FixieError)}
    problems |= dict.fromkeys(islice(message.embeds, limit, None), f"A message may have {limit}.")
    text = rewritten(message.text, {key: _called(key) for key in problems})
    return "\n\n".join([text, *_notes(problems.items())]) if problems else text, kept


def _called(key: str) -> str:
    return f"attachment {key[:KEY_LENGTH_MAX]}"


def _notes(problems: Iterable[tuple[str, str]]) -> list[str]:
    return [f"({_called(key).capitalize()} could not be fetched: {problem})" for key, problem in problems]
