"""The admin's lists of sessions and runs: they find, they count nothing, they show nothing of what was said."""

import uuid
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import User
from sessions_app.models import AgentContext, Run, Session
from sessions_app.sharing.links import share_session
from tests.agents import Behaviour, answer
from tests.sessions_app.operators import LINKS, RUNS, SECRET, SESSIONS, Operator, run_of
from tests.sessions_app.people import Person
from tests.sites import Site

MakeUser = Callable[..., User]
AgentOf = Callable[[Person, Behaviour], str]


@pytest.mark.parametrize("path", [SESSIONS, RUNS, LINKS])
def test_lists_are_for_those_who_may_see_them(
    site: Site, told: Session, make_user: MakeUser, operator: Any, path: str
) -> None:
    model = path.split("/")[1]

    assert Operator(site, None).get(path).status_code == 302
    assert Operator(site, told.owner).get(path).status_code == 302
    assert operator().get(path).status_code == 403
    assert operator(f"sessions_app.view_{model}").get(path).status_code == 200


def test_lists_and_pages_show_nothing_of_what_was_said(told: Session, root: Operator) -> None:
    run = run_of(told)
    AgentContext.objects.create(session=told, agent=told.agent, context={"kept": SECRET})
    link = share_session(session=told)
    pages = [
        *(root.page(SESSIONS, q=told.handle), root.page(f"{SESSIONS}{told.pk}/change/")),
        *(root.page(RUNS, q=told.handle), root.page(f"{RUNS}{run.pk}/change/")),
        *(root.page(LINKS, q=told.handle), root.page(f"{LINKS}{link.pk}/change/")),
        root.page(f"{SESSIONS}{told.pk}/delete/"),
    ]

    for page in pages:
        assert told.handle in page
        assert SECRET not in page
        assert link.token not in page


@pytest.mark.parametrize(
    ("path", "lookup"),
    [
        (SESSIONS, "name"),
        (SESSIONS, "title"),
        (SESSIONS, "description"),
        (SESSIONS, "messages__text"),
        (LINKS, "token"),
    ],
)
def test_no_address_tells_by_and_by_what_is_not_shown(told: Session, root: Operator, path: str, lookup: str) -> None:
    answer = root.get(path, **{f"{lookup}__startswith": "a"})

    assert answer.status_code in (302, 400)


def test_a_run_is_found_by_user_agent_state_error_time_id_and_session(
    asker: Person, agent_of: AgentOf, root: Operator
) -> None:
    agent = agent_of(asker, answer({}, status=500))
    handle = asker.new_session(agent)
    run = asker.post(handle, "fail")["run"]
    asker.settled(handle)
    row = Run.objects.get(pk=run)
    later = row.created + timedelta(seconds=1)
    near = {"created_from_0": f"{row.created:%Y-%m-%d}", "created_from_1": f"{row.created:%H:%M:%S}"}
    mine = {"session__owner__id__exact": asker.user.pk}

    def shown(**query: Any) -> bool:
        return run in root.page(RUNS, **query)

    assert shown(q=run)
    assert shown(q=handle)
    assert shown(**mine)
    assert shown(agent__id__exact=row.agent_id)
    assert shown(**mine, state="failed", error=row.error_code)
    assert shown(**mine, **near)
    assert not shown(**mine, state="completed")
    assert not shown(**mine, state="unfinished")
    assert not shown(**mine, error="agent_timeout")
    assert not shown(**mine, created_from_0=f"{later:%Y-%m-%d}", created_from_1=f"{later:%H:%M:%S}")
    assert not shown(q="no-such-session")
    assert shown(**mine, created_from_0="no date"), "what is no date is left out"


def test_a_session_is_found_by_owner_state_and_its_words(told: Session, hanging: Run, root: Operator) -> None:
    def shown(**query: Any) -> bool:
        return told.handle in root.page(SESSIONS, **query)

    assert shown(q=told.handle)
    assert shown(owner__id__exact=told.owner_id)
    assert not shown(owner__id__exact=told.owner_id, state="working")
    assert hanging.session.handle in root.page(SESSIONS, owner__id__exact=told.owner_id, state="working")
    assert not shown(owner__id__exact=told.owner_id, state="deleted")
    Session.objects.filter(pk=told.pk).update(deleted=timezone.now(), archived=True)
    assert shown(owner__id__exact=told.owner_id, state="deleted")
    assert shown(owner__id__exact=told.owner_id, state="archived")


@pytest.mark.parametrize("path", [SESSIONS, RUNS])
def test_lists_count_nothing_and_take_as_many_queries_however_long_they_are(
    told: Session, asker: Person, path: str
) -> None:
    client = Client()
    client.force_login(
        User.objects.create_superuser(f"root-{uuid.uuid4().hex[:12]}"),
        backend="django.contrib.auth.backends.ModelBackend",
    )

    def queries() -> list[str]:
        with CaptureQueriesContext(connection) as captured:
            assert client.get(f"/admin/{path}?o=1&_facets=True").status_code == 200
        return [query["sql"] for query in captured.captured_queries]

    queries()  # Django looks up content types once a process.
    few = queries()
    for number in range(4):
        asker.settled(asker.post(asker.new_session(), f"number {number}")["session"])
    many = queries()

    assert len(many) == len(few)
    assert not [sql for sql in many if "COUNT(" in sql.upper() and "sessions_app" in sql]
    assert "sessions_app_message" not in " ".join(many)


def test_what_is_gone_leads_back(root: Operator) -> None:
    for path in (f"{SESSIONS}0/change/", f"{RUNS}{uuid.uuid4()}/change/", f"{RUNS}nonsense/change/"):
        assert root.get(path).status_code == 302, path
    for path in (f"{SESSIONS}0/content/", f"{RUNS}{uuid.uuid4()}/cancel/", f"{RUNS}nonsense/retry/"):
        assert root.get(path).status_code == 404, path
