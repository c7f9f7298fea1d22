"""The sample queries of an agent over REST, and the corrections among them."""

from ninja import Field, Query, Router, Schema

from accounts.auth import Authenticated, user_of
from registry.access import agent_for, correction_to_delete_for, owners_of, suggestion_for
from registry.corrections import remembering
from registry.corrections.remembering import ToldSample

samples_router = Router()

ID_MAX = 2**63 - 1


class SampleFilters(Schema):
    limit: int = Field(100, ge=1, le=500)
    after: int = Field(0, ge=0, le=ID_MAX, description="The `next` of the page before.")
    suggested: bool | None = Field(None, description="Only suggestions, or only what counts for everybody.")


class SampleQueryPage(Schema):
    items: list[ToldSample]
    next: int | None


@samples_router.get("/{owner}/{handle}/sample-queries", response=SampleQueryPage)
def list_samples(request: Authenticated, owner: str, handle: str, page: Query[SampleFilters]) -> SampleQueryPage:
    """What counts for everybody, and your own corrections; owners of the agent also see those that others suggest."""
    user = user_of(request.auth)
    agent = agent_for(user, owner, handle)
    mine = agent.owner_id in owners_of(user)
    samples = remembering.samples_for(agent, None if mine else user, suggested=page.suggested)
    found = list(samples.filter(pk__gt=page.after).order_by("pk")[: page.limit + 1])
    shown = found[: page.limit]
    return SampleQueryPage(
        items=[remembering.told(sample, user, mine=mine) for sample in shown],
        next=shown[-1].pk if len(found) > page.limit else None,
    )


@samples_router.post("/{owner}/{handle}/sample-queries/{sample}/accept", response=ToldSample)
def accept(request: Authenticated, owner: str, handle: str, sample: int) -> ToldSample:
    """Lets a suggestion lead everybody's queries to your agent."""
    user = user_of(request.auth)
    suggestion = suggestion_for(user, owner, handle, sample)
    return remembering.told(remembering.accept_correction(correction=suggestion), user, mine=True)


@samples_router.delete("/{owner}/{handle}/sample-queries/{sample}", response={204: None})
def delete(request: Authenticated, owner: str, handle: str, sample: int) -> None:
    """Deletes a correction of yours; or any of your agent's, suggested or accepted."""
    correction, mine = correction_to_delete_for(user_of(request.auth), owner, handle, sample)
    if mine:
        remembering.dismiss_correction(correction=correction)
    else:
        remembering.forget_correction(correction=correction)
