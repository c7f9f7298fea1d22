"""What a site has from its first start: organizations, agents inside the platform, sample agents.

Every function may be called at each start, by several processes at once, and leaves alone what is as asked.
"""

from django.db import transaction

from accounts.models import Membership, Organization, Owner, User
from common.errors import InvalidRequest
from common.handles import SITE_OWNER, check_handle
from registry.actions import Reading, create_agent, make_current, update_agent
from registry.fields import AgentFields, check_fields
from registry.models import Agent, Revision


def ensure_organization(*, handle: str, name: str, member: User) -> Organization:
    """The organization `handle`, made if it is missing, with `member` as an admin of it.

    Raises InvalidRequest where a user has the handle.
    """
    with transaction.atomic():
        owner, _ = Owner.objects.get_or_create(handle=check_handle(handle))
        if User.objects.filter(owner__handle__iexact=handle).exists():
            raise InvalidRequest(f"{handle} is the name of a user.", field="handle")
        organization, _ = Organization.objects.get_or_create(owner=owner, defaults={"name": name})
        Membership.objects.update_or_create(
            organization=organization, user=member, defaults={"role": Membership.Role.ADMIN}
        )
        return organization


def ensure_internal_agent(
    *, owner_handle: str, handle: str, name: str, description: str, target: str, transport: str = "internal"
) -> Agent:
    """The published agent `owner_handle/handle`, running the internal agent `target` of this platform.

    The owner must exist. An existing agent keeps the name and description that people gave it.
    """
    fields = AgentFields(handle=handle, name=name, description=description)
    check_fields(fields)
    with transaction.atomic():
        # The owner's lock makes processes that start together take turns.
        owner = Owner.objects.select_for_update(no_key=True).get(handle=owner_handle)
        agent, _ = Agent.objects.select_related("owner", "current_revision").get_or_create(
            owner=owner, handle=handle, defaults={**fields, "published": True}
        )
        if not _runs_inside(agent.current_revision, target, transport):
            make_current(agent, _internal_revision(agent, target, transport))
        return agent


def ensure_front_agent() -> Agent:
    """`fixie/fixie`, which finds the right agents for a query and asks them. The organization must exist."""
    return ensure_internal_agent(
        owner_handle=SITE_OWNER,
        handle="fixie",
        name="Fixie",
        description="Finds the agents that can answer, asks them, and puts their answers together.",
        target="fixie",
        transport="front",
    )


def ensure_external_agent(*, by: User, owner: str, handle: str, name: str, description: str, reading: Reading) -> Agent:
    """The published agent `owner/handle`, running at `reading.url`; `by` may act for the owner.

    A reading that failed leaves an agent that runs there already as it is. Raises InvalidRequest.
    """
    with transaction.atomic():
        Owner.objects.select_for_update(no_key=True).filter(handle=owner).first()
        agent = Agent.objects.filter(owner__handle=owner, handle=handle).first()
        if agent is not None:
            return update_agent(agent=agent, by=by, reading=reading)
        fields = AgentFields(handle=handle, name=name, description=description, published=True)
        return create_agent(by=by, owner=owner, reading=reading, **fields)


def _runs_inside(revision: Revision | None, target: str, transport: str) -> bool:
    inside = (Revision.Deployment.INTERNAL, target, transport)
    return revision is not None and (revision.deployment, revision.target, revision.transport) == inside


def _internal_revision(agent: Agent, target: str, transport: str) -> Revision:
    internal = Revision.Deployment.INTERNAL
    return agent.revisions.create(deployment=internal, target=target, transport=transport, state=Revision.State.READY)
