"""What administrators can do with agents."""

import uuid

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext
from procrastinate.contrib.django.models import ProcrastinateJob

from accounts.models import User
from registry.actions import create_agent
from registry.models import Agent, Revision
from tests.registry.readings import URL, reads

AGENTS = "/admin/registry/agent/"


@pytest.fixture
def administrator() -> User:
    return User.objects.create_superuser(f"root-{uuid.uuid4().hex[:12]}")


class Browser:
    """Somebody's browser, signed in. The site is asynchronous; its sync views run in the test's own thread."""

    def __init__(self, user: User) -> None:
        client = AsyncClient()
        client.force_login(user)
        self.get = async_to_sync(client.get)
        self.post = async_to_sync(client.post)


@pytest.fixture
def browser(administrator: User) -> Browser:
    return Browser(administrator)


def act(browser: Browser, action: str, *agents: Agent) -> None:
    chosen = [agent.pk for agent in agents]
    answer = browser.post(AGENTS, {"action": action, "_selected_action": chosen})
    assert answer.status_code == 302, answer.content


def refreshes(agent: Agent) -> list[int]:
    """Users in whose name tasks will read the agent's manifest."""
    jobs = ProcrastinateJob.objects.filter(task_name="registry.refresh_manifest", args__agent=agent.pk)
    return [job.args["user"] for job in jobs]


def change_form(agent: Agent, **changes: str) -> dict[str, str]:
    form = {"owner": agent.owner.handle, "handle": agent.handle, "name": agent.name, "description": ""}
    management = {"revisions-TOTAL_FORMS": "0", "revisions-INITIAL_FORMS": "0"}
    return {**form, **management, "more_info_url": "", "enabled": "on", "priority": "0", **changes}


def test_the_list_takes_the_same_number_of_queries_however_long_it_is(browser, people):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            assert browser.get(AGENTS, {"q": people.owner.username}).status_code == 200
        return len(captured)

    create_agent(by=people.owner, handle="a0", reading=reads())
    queries()  # Django looks up content types once a process.
    few = queries()
    for number in range(1, 8):
        create_agent(by=people.owner, handle=f"a{number}", reading=reads())

    assert queries() == few


def test_an_agents_page_takes_the_same_number_of_queries_however_many_revisions_it_has(browser, agent, people):
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            page = browser.get(f"{AGENTS}{agent.pk}/change/")
            assert agent.owner.handle in page.content.decode()
        return len(captured)

    queries()  # Django looks up content types once a process.
    few = queries()
    for _ in range(6):
        Revision.objects.create(agent=agent, target=URL, state="ready", created_by=people.owner)

    assert queries() == few


def test_refreshing_asks_a_task_to_read_the_manifests(browser, administrator, agent):
    act(browser, "refresh_manifests", agent)

    assert refreshes(agent) == [administrator.pk]


def test_agents_are_published_and_unpublished(browser, agent):
    act(browser, "publish", agent)
    assert Agent.objects.get(pk=agent.pk).published

    act(browser, "unpublish", agent)
    assert not Agent.objects.get(pk=agent.pk).published


def test_a_new_address_is_deployed_and_read_in_the_background(browser, administrator, agent):
    form = change_form(agent, name="Better dice", deployment_url=URL + "/new")

    answer = browser.post(f"{AGENTS}{agent.pk}/change/", form)

    assert answer.status_code == 302, answer.context["errors"]
    changed = Agent.objects.select_related("current_revision").get(pk=agent.pk)
    assert changed.name == "Better dice"
    assert (changed.current_revision.target, changed.current_revision.state) == (URL + "/new", "error")
    assert refreshes(agent) == [administrator.pk]


@pytest.mark.parametrize("url", ["ftp://example.com", "http://user:secret@example.com", "nonsense"])
def test_a_bad_address_is_refused_on_the_page_and_nothing_changes(browser, agent, url):
    answer = browser.post(f"{AGENTS}{agent.pk}/change/", change_form(agent, name="New", deployment_url=url))

    assert answer.status_code == 200
    assert "The URL" in answer.content.decode()
    assert Agent.objects.get(pk=agent.pk).name == "Dice"
    assert agent.revisions.count() == 1


def test_a_taken_handle_is_refused_on_the_page(browser, agent, people):
    other = create_agent(by=people.owner, owner=agent.owner.handle, handle="other")

    answer = browser.post(f"{AGENTS}{other.pk}/change/", change_form(other, handle=agent.handle))

    assert answer.status_code == 200
    assert Agent.objects.get(pk=other.pk).handle == "other"


def test_an_agent_is_made_for_an_owner_named_by_handle(browser, people):
    form = {
        "owner": people.organization.owner.handle,
        "handle": "made",
        "priority": "0",
        "revisions-TOTAL_FORMS": "0",
        "revisions-INITIAL_FORMS": "0",
    }

    answer = browser.post(f"{AGENTS}add/", form)

    assert answer.status_code == 302, answer.context["errors"]
    assert Agent.objects.filter(owner=people.organization.owner, handle="made").exists()


def test_an_agent_with_revisions_can_be_deleted(browser, agent):
    answer = browser.post(f"{AGENTS}{agent.pk}/delete/", {"post": "yes"})

    assert answer.status_code == 302
    assert not Agent.objects.filter(pk=agent.pk).exists()


def test_revisions_are_listed_and_shown_but_not_changed(browser, agent):
    revisions = "/admin/registry/revision/"
    revision = agent.current_revision

    assert browser.get(revisions, {"q": URL}).status_code == 200
    page = f"{revisions}{revision.pk}/change/"
    assert "I roll dice." in browser.get(page).content.decode()
    assert browser.post(page, {"target": "http://example.com"}).status_code == 403


def test_somebody_who_is_no_administrator_does_not_get_in(people, agent):
    client = Browser(people.owner)

    assert client.get(AGENTS).status_code == 302
    client.post(AGENTS, {"action": "publish", "_selected_action": [agent.pk]})
    assert not Agent.objects.get(pk=agent.pk).published
