"""Operators, and something for them to look at. It is loaded before Django, and imports its models later."""

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.agents import Behaviour, hang
from tests.sessions_app.people import Person
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User
    from sessions_app.models import Run, Session
    from tests.sessions_app.operators import Operator

MakeUser = Callable[..., "User"]
AgentOf = Callable[[Person, Behaviour], str]


@pytest.fixture
def operator(site: Site, make_user: MakeUser) -> Callable[..., "Operator"]:
    """`operator(*permissions)` → somebody who may do this in the admin."""
    from tests.sessions_app.operators import Operator, allowed

    return lambda *permissions: Operator(site, allowed(make_user(), *permissions))


@pytest.fixture
def root(site: Site) -> "Operator":
    from accounts.models import User
    from tests.sessions_app.operators import Operator

    return Operator(site, User.objects.create_superuser(f"root-{uuid.uuid4().hex[:12]}"))


@pytest.fixture
def told(asker: Person, echo: str) -> "Session":
    """A session of the asker's in which something was said that is not everybody's to read."""
    from sessions_app.models import Session
    from tests.sessions_app.operators import SECRET

    handle = asker.new_session(name=f"{SECRET} (its name)")
    asker.post(handle, SECRET)
    asker.settled(handle)
    return Session.objects.get(handle=handle)


@pytest.fixture
def hanging(asker: Person, agent_of: AgentOf) -> Iterator["Run"]:
    """A run that is at work for as long as the test takes."""
    from sessions_app.models import Run

    posted = asker.post(asker.new_session(agent_of(asker, hang())), "take your time")
    yield Run.objects.get(pk=posted["run"])
    asker.http.post(f"/api/runs/{posted['run']}/cancel")
