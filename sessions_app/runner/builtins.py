"""Funcs that the platform itself answers for every Code Shot agent."""

from django.utils import timezone

from registry.transports.base import Manifest
from sessions_app.llm.format import funcs_named
from sessions_app.llm.passages import PREFIX
from sessions_app.runner.context import RunContext

# As the published agents' few-shots have it: "Friday June 24 2022 01:55 PM UTC-08:00".
DATETIME_FORMAT = "%A %B %d %Y %I:%M %p"


def builtin_answer(name: str, manifest: Manifest) -> str | None:
    """What the built-in Func `name` says, or None where that is none.

    `fixie_NAME` always is the platform's. `NAME` alone is, unless the agent's few-shots call it with an
    argument: none of these takes one, so it must be a Func of the agent's own. Local time is that of `TIME_ZONE`.
    """
    bare = name.removeprefix(PREFIX)
    if bare == name and any(funcs_named(manifest.few_shots).get(name, ())):
        return None
    if bare == "base_prompt":
        return manifest.base_prompt
    if bare == "local_datetime":
        now = timezone.localtime()
        return f"{now:{DATETIME_FORMAT}} UTC{now.isoformat()[-6:]}"
    if bare == "utc_datetime":
        return f"{timezone.now():{DATETIME_FORMAT}} UTC"
    return None


async def found_by(name: str, text: str, ctx: RunContext) -> str | None:
    """What the built-in Func `name` finds for `text` in documents, or None where that is none.

    `NAME` alone may be a Func of the agent's own as well, which goes first. Raises ModelUnavailable.
    """
    match name.removeprefix(PREFIX):
        case "query_corpus":
            return await ctx.query_corpus(text)
        case "query_embed":
            return await ctx.query_embed(text)
    return None
