"""What the form that registers an agent asks while it is filled in: what is at an address, whether a handle is free.

Nothing is stored. Not below `/api/agents`, where each word is the handle of an agent.
"""

from dataclasses import asdict
from typing import Any, Self

from ninja import Field, Query, Router, Schema
from pydantic import ConfigDict

from accounts.auth import Authenticated, user_of
from common.db import run_db
from common.errors import InvalidRequest
from registry import actions
from registry.fields import URL_MAX, check_protocol
from registry.manifests import previewing
from registry.manifests.manifest import manifest_as_dict
from registry.manifests.previewing import Preview

preview_router = Router()


class PreviewIn(Schema):
    model_config = ConfigDict(extra="forbid")

    url: str = Field(description="A http(s) address.", max_length=URL_MAX)
    protocol: str = Field("", description="What it speaks: `fixie` or `agentscope`; empty: what is found there.")
    owner: str = Field("", description="Who is to own it: you (the default), or an organization of yours.")
    handle: str = Field(
        "", description="What it is to be called, where you know. Agents may answer under no other name."
    )


class PreviewError(Schema):
    code: str
    message: str


class ProblemOut(Schema):
    """`line` counts in `source`, `few_shot` and `few_shot_line` in the few-shots, all from 1; null: nowhere there."""

    message: str
    field: str | None
    line: int | None
    few_shot: int | None
    few_shot_line: int | None


class SourceOut(Schema):
    """The manifest as it came, JSON laid out. `cut`: it goes on."""

    language: str = Field(description="`json` or `yaml`")
    text: str
    cut: bool


class PreviewOut(Schema):
    """What is at an address. `error` is null where an agent can be registered there."""

    url: str
    transport: str | None = Field(description="How the site would speak to it.")
    error: PreviewError | None
    refused: bool = Field(description="It answered 401 or 403: it may answer only under its own `owner` and `handle`.")
    problems: list[ProblemOut]
    source: SourceOut | None
    few_shots: list[str] = Field(description="As they were sent, also where they cannot be used.")
    funcs: list[str] = Field(description="Those that the few-shots call.")
    agents: list[str] = Field(description="Those that the few-shots ask.")
    queries: list[str] = Field(description="What it can be asked, by its manifest.")
    manifest: dict[str, Any] | None = Field(description="As the site keeps it.")

    @classmethod
    def of(cls, found: Preview) -> Self:
        error = found.error
        return cls(
            url=found.url,
            transport=found.transport,
            error=PreviewError(code=error.code, message=error.told()) if error else None,
            refused=found.refused,
            problems=[ProblemOut(**asdict(problem)) for problem in found.problems],
            source=SourceOut(**asdict(found.source)) if found.source else None,
            few_shots=found.few_shots,
            funcs=found.funcs,
            agents=found.agents,
            queries=found.queries,
            manifest=manifest_as_dict(found.manifest) if found.manifest else None,
        )


class Name(Schema):
    handle: str
    owner: str = Field("", description="You (the default), or an organization of yours.")


class AvailableOut(Schema):
    """`reason` says why not."""

    available: bool
    reason: str


@preview_router.post("", response=PreviewOut, summary="Look at what is at an address")
async def preview(request: Authenticated, payload: PreviewIn) -> PreviewOut:
    """Reads the manifest there, and stores nothing. 30 times a minute for each user and process."""
    check_protocol(payload.protocol)
    user = await run_db(user_of, request.auth)
    return PreviewOut.of(await previewing.look(user, **payload.model_dump()))


@preview_router.get("/name", response=AvailableOut, summary="Whether a handle is free")
def available(request: Authenticated, name: Query[Name]) -> AvailableOut:
    """Whether you could register an agent under this name now."""
    try:
        actions.draft_agent(by=user_of(request.auth), owner=name.owner or None, handle=name.handle)
    except InvalidRequest as error:
        return AvailableOut(available=False, reason=error.told())
    return AvailableOut(available=True, reason="")
