"""What operators do to sessions and runs, and that it is noted."""

from collections.abc import Callable
from typing import Any

from accounts.models import CreditEntry
from sessions_app.models import Run, Session, SharedLink
from sessions_app.sharing.links import share_session
from tests.agents import Behaviour, answer
from tests.sessions_app.operators import LINKS, RUNS, SESSIONS, Operator, run_of
from tests.sessions_app.people import Person, wait_until

AgentOf = Callable[[Person, Behaviour], str]


def test_an_operator_cancels_a_run_at_work(hanging: Run, operator: Any) -> None:
    onlooker, able = operator("sessions_app.view_run"), operator("sessions_app.view_run", "sessions_app.change_run")

    assert onlooker.do(f"{RUNS}{hanging.pk}/cancel/").status_code == 403
    assert Run.objects.get(pk=hanging.pk).status == "in_progress"
    assert able.get(f"{RUNS}{hanging.pk}/cancel/").status_code == 200
    assert Run.objects.get(pk=hanging.pk).status == "in_progress", "asked first"

    assert able.do(f"{RUNS}{hanging.pk}/cancel/").status_code == 302
    wait_until(lambda: Run.objects.get(pk=hanging.pk).status == "canceled")
    assert able.noted(hanging.pk) == ["Canceled it."]
    able.do(f"{RUNS}{hanging.pk}/cancel/")
    assert able.noted(hanging.pk) == ["Canceled it."], "once more changes nothing"


def test_an_operator_cancels_several_runs_waiting_or_at_work(hanging: Run, asker: Person, root: Operator) -> None:
    waiting = asker.post(hanging.session.handle, "wait for it")["run"]
    chosen = {"action": "cancel", "_selected_action": [waiting, str(hanging.pk)]}

    assert root.do(RUNS, **chosen).status_code == 302

    for run in (waiting, hanging.pk):
        wait_until(lambda run=run: Run.objects.get(pk=run).status == "canceled")
        assert root.noted(run) == ["Canceled it."]
    assert Session.objects.get(pk=hanging.session_id).runs == []


def test_a_failed_query_is_asked_again_for_the_user_and_costs_them_nothing(
    asker: Person, agent_of: AgentOf, operator: Any
) -> None:
    handle = asker.new_session(agent_of(asker, answer({}, status=500)))
    failed = asker.post(handle, "fail")["run"]
    asker.settled(handle)
    page = f"{RUNS}{failed}/retry/"
    halfway = operator("sessions_app.view_run", "sessions_app.change_run")
    able = operator("sessions_app.view_run", "sessions_app.change_run", "accounts.add_creditentry")

    assert halfway.do(page).status_code == 403
    assert Run.objects.filter(session__handle=handle).count() == 1
    first = able.do(page)
    again = able.do(page)

    assert first.status_code == again.status_code == 302
    assert first.headers["location"] == again.headers["location"], "a form sent twice asks once"
    retried = Run.objects.filter(session__handle=handle).exclude(pk=failed).get()
    assert str(retried.pk) in first.headers["location"]
    asker.settled(handle)
    assert [message["text"] for message in asker.messages(handle) if message["kind"] == "query"] == ["fail", "fail"]
    assert CreditEntry.objects.get(user=asker.user).amount == 1
    assert able.noted(failed) == [f"Asked it again, as run {retried.pk}."]


def test_what_did_not_fail_is_not_asked_again(told: Session, root: Operator) -> None:
    run = run_of(told)

    assert "Ask again" not in root.page(f"{RUNS}{run.pk}/change/")
    assert root.do(f"{RUNS}{run.pk}/retry/").status_code == 302

    assert Run.objects.filter(session=told).count() == 1
    assert not CreditEntry.objects.filter(user=told.owner).exists()
    assert "Only a query that failed" in root.page(f"{RUNS}{run.pk}/change/")


def test_a_session_is_deleted_after_asking_and_it_is_noted(told: Session, operator: Any) -> None:
    onlooker = operator("sessions_app.view_session")
    able = operator("sessions_app.view_session", "sessions_app.delete_session")
    page = f"{SESSIONS}{told.pk}/delete/"

    assert onlooker.http.post(f"/admin/{page}", data={"post": "yes"}).status_code == 403
    assert able.get(page).status_code == 200
    assert Session.objects.filter(pk=told.pk).exists()
    assert able.http.post(f"/admin/{page}", data={"post": "yes"}).status_code == 302

    assert not Session.objects.filter(pk=told.pk).exists()
    assert len(able.noted(told.pk)) == 1


def test_a_shared_link_is_revoked_by_who_may(told: Session, operator: Any) -> None:
    link = share_session(session=told)
    onlooker = operator("sessions_app.view_sharedlink")
    able = operator("sessions_app.view_sharedlink", "sessions_app.change_sharedlink")

    assert onlooker.do(f"{LINKS}{link.pk}/revoke/").status_code == 403
    assert SharedLink.objects.get(pk=link.pk).revoked is None
    assert able.do(f"{LINKS}{link.pk}/revoke/").status_code == 302

    assert SharedLink.objects.get(pk=link.pk).revoked is not None
    assert able.noted(told.pk) == ["Revoked a shared link."]
