"""Procrastinate's jobs in the admin: what is shown of them, and what an operator does to them."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from procrastinate.contrib.django import app
from procrastinate.contrib.django.models import ProcrastinateEvent, ProcrastinateJob

from accounts.models import User
from tests.sessions_app.operators import allowed

JOBS = "/admin/procrastinate/procrastinatejob/"
SECRET = "what somebody asked"
SEE, CHANGE = "procrastinate.view_procrastinatejob", "procrastinate.change_procrastinatejob"
MakeUser = Callable[..., User]


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    return client


@pytest.fixture
def able(make_user: MakeUser) -> User:
    return allowed(make_user(), SEE, CHANGE)


def job(state: str = "todo", **args: Any) -> int:
    """A job that no worker takes for days."""
    task = app.configure_task("registry.remember_correction", queue="nobody's", schedule_in={"days": 9})
    deferred: int = task.defer(**args)
    if state != "todo":
        with connection.cursor() as cursor:
            cursor.execute("UPDATE procrastinate_jobs SET status = %s WHERE id = %s", [state, deferred])
    return deferred


def state_of(number: int) -> str:
    return str(ProcrastinateJob.objects.get(pk=number).status)


def test_arguments_are_shown_but_for_what_people_wrote(able: User) -> None:
    client, run = browser_of(able), str(uuid.uuid4())
    number = job(user=4711, run=run, text=SECRET)

    for page in (
        client.get(JOBS, {"q": number}).content.decode(),
        client.get(f"{JOBS}{number}/change/").content.decode(),
        client.get(f"{JOBS}{number}/cancel/").content.decode(),
    ):
        assert SECRET not in page
    page = client.get(JOBS, {"q": number}).content.decode()
    assert "user: 4711" in page
    assert f"run: {run}" in page
    assert f"text: {len(SECRET)} characters" in page
    assert client.get(JOBS, {"args__text__startswith": "w"}).status_code in (302, 400)


def test_jobs_are_found_by_state_task_and_queue(able: User) -> None:
    client = browser_of(able)
    number = job("failed", user=1)

    def shown(**query: Any) -> bool:
        return f"{JOBS}{number}/change/" in client.get(JOBS, query).content.decode()

    assert shown(state="failed", task="registry.remember_correction", queue="nobody's")
    assert not shown(state="todo", queue="nobody's")
    assert not shown(task="execute_run", queue="nobody's")
    assert not shown(q="no number")


def test_a_failed_job_is_done_again_and_that_is_noted(able: User) -> None:
    number = job("failed", user=1, text=SECRET)

    browser_of(able).post(f"{JOBS}{number}/retry/", {"asked": "1"})

    assert ProcrastinateEvent.objects.filter(job=number, type="retried").exists()
    entry = LogEntry.objects.get(user=able)
    assert (entry.object_id, entry.get_change_message()) == (str(number), "Had it done again.")
    assert SECRET not in entry.object_repr


def test_waiting_jobs_are_canceled_and_others_say_why_not(able: User) -> None:
    client = browser_of(able)
    waiting, at_work = job(user=1), job("doing", user=2)

    client.post(JOBS, {"asked": "1", "action": "cancel", "_selected_action": [waiting, at_work]})

    assert (state_of(waiting), state_of(at_work)) == ("cancelled", "doing")
    assert "Only a job that waits can be canceled." in client.get(JOBS).content.decode()
    assert [entry.object_id for entry in LogEntry.objects.filter(user=able)] == [str(waiting)]


@pytest.mark.parametrize("path", ["retry", "cancel"])
def test_who_may_only_look_changes_nothing(make_user: MakeUser, path: str) -> None:
    number = job("failed" if path == "retry" else "todo", user=1)
    before = state_of(number)

    for user, status in ((make_user(), 302), (allowed(make_user()), 403), (allowed(make_user(), SEE), 403)):
        assert browser_of(user).post(f"{JOBS}{number}/{path}/", {"asked": "1"}).status_code == status
    assert Client().post(f"{JOBS}{number}/{path}/", {"asked": "1"}).status_code == 302

    assert state_of(number) == before
    assert browser_of(allowed(make_user(), SEE)).get(f"{JOBS}{number}/change/").status_code == 200


@pytest.mark.parametrize("model", ["procrastinateworker", "procrastinateevent", "procrastinateperiodicdefer"])
def test_workers_events_and_periodic_jobs_are_listed(make_user: MakeUser, model: str) -> None:
    job(user=1)
    client = browser_of(allowed(make_user(), f"procrastinate.view_{model}"))

    assert client.get(f"/admin/procrastinate/{model}/").status_code == 200
