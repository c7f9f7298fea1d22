"""The page of an agent: who sees it, what it shows them, the sessions it begins, and what its owners change there."""

import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.registry.indexed import indexed_agent, sample
from tests.registry.readings import fails, reads
from tests.sessions_app.test_views import signed_in

if TYPE_CHECKING:
    from accounts.models import Organization, User
    from registry.models import Agent

MakeUser = Callable[..., "User"]
SHOTS = ("Q: Roll a die\nA: 4", "Q: Roll 3d8\nA: 3 4 5")
URL = "http://127.0.0.1:9009/agent"


@pytest.fixture
def user(make_user: MakeUser) -> "User":
    return make_user()


@pytest.fixture
def organization(user: "User") -> "Organization":
    from accounts.models import Organization
    from accounts.organizations import save_organization

    organization = save_organization(organization=Organization(name="Ours"), handle=f"org-{uuid.uuid4().hex[:8]}")
    organization.members.add(user)
    return organization


def agent_of(user: "User", **fields: object) -> "Agent":
    from registry.actions import create_agent

    given = {"reading": reads(few_shots=SHOTS), "name": "Dice", "description": "Rolls dice.", **fields}
    return create_agent(by=user, handle=f"dice-{uuid.uuid4().hex[:8]}", **given)


def page_of(client: Client, agent: "Agent") -> str:
    answer = client.get(f"/agents/{agent.agent_id}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_it_says_what_the_agent_is(user: "User") -> None:
    page = page_of(signed_in(user), agent_of(user, more_info_url="https://example.com/dice?a=1&b=2"))

    assert "<title>Dice " in page
    assert "Rolls dice." in page
    assert 'href="https://example.com/dice?a=1&amp;b=2" rel="noopener noreferrer nofollow"' in page
    assert "not published" in page


def test_a_sample_question_begins_a_session_with_the_agent(user: "User") -> None:
    agent, browser = agent_of(user), signed_in(user)
    page = page_of(browser, agent)
    assert '<input type="hidden" name="text" value="Roll 3d8">' in page
    assert f'<input type="hidden" name="agent" value="{agent.agent_id}">' in page

    begun = browser.post("/sessions/new", {"agent": agent.agent_id, "text": ""})

    session = user.sessions.get()
    assert begun["Location"] == f"/sessions/{session.handle}"
    assert session.agent == agent
    assert f'href="/agents/{agent.agent_id}"' in browser.get(begun["Location"]).content.decode()


def test_where_it_runs_is_for_those_who_may_change_it(
    user: "User", make_user: MakeUser, organization: "Organization"
) -> None:
    agent = agent_of(user, owner=organization.owner.handle, published=True)
    teammate = make_user()
    organization.members.add(teammate)

    assert URL in page_of(signed_in(user), agent)
    assert URL in page_of(signed_in(teammate), agent)
    assert URL not in page_of(signed_in(make_user()), agent)


def test_a_broken_agent_says_why_to_those_who_may_change_it(user: "User", make_user: MakeUser) -> None:
    agent = agent_of(user, published=True, reading=fails(reason="The manifest is no JSON."))

    for client, sees in ((signed_in(user), True), (signed_in(make_user()), False)):
        page = page_of(client, agent)
        assert "cannot be asked at the moment" in page
        assert ("The manifest is no JSON." in page) is sees


def test_an_agent_that_runs_nowhere_says_how_to_deploy_it(user: "User") -> None:
    assert "Nowhere yet" in page_of(signed_in(user), agent_of(user, reading=None))


def test_its_texts_are_text(user: "User") -> None:
    evil = "<script>alert(1)</script>"

    page = page_of(
        signed_in(user), agent_of(user, name=evil, description=evil, reading=reads(few_shots=(f"Q: {evil}\nA: x",)))
    )

    assert evil not in page


def test_a_private_agent_is_not_there_for_others(user: "User", make_user: MakeUser) -> None:
    hidden, outsider = agent_of(user), signed_in(make_user())

    for path in (f"/agents/{hidden.agent_id}", "/agents/nobody/nothing", "/agents/a/%00", f"/agents/{'x' * 500}/y"):
        assert outsider.get(path).status_code == 404


def test_who_is_signed_out_reads_what_is_published_and_signs_in_for_the_rest(user: "User") -> None:
    hidden, published = agent_of(user), agent_of(user, published=True)

    answer = Client().get(f"/agents/{hidden.agent_id}")
    assert answer["Location"] == f"/accounts/login/?next=/agents/{hidden.agent_id}"
    page = page_of(Client(), published)
    assert "Rolls dice." in page
    assert "Roll 3d8" in page
    assert URL not in page


def texts_at(agent: "Agent") -> list[tuple[str, Any]]:
    """Corrections alone: the agent's own are indexed in the background, if a site is running."""
    return list(agent.sample_queries.filter(source="correction").order_by("pk").values_list("text", "user"))


@pytest.mark.parametrize(
    ("deployment", "is_told"), [("external", True), ("command", False), ("internal", False), (None, False)]
)
def test_that_a_question_is_asked_each_hour_is_told_of_agents_at_an_address_alone(
    user: "User", deployment: str | None, is_told: bool
) -> None:
    from registry.models import Agent, Revision

    agent = agent_of(user)
    if deployment is None:
        Agent.objects.filter(pk=agent.pk).update(current_revision=None)
    else:
        Revision.objects.filter(agent=agent).update(deployment=deployment)
    page = page_of(signed_in(user), agent)
    assert "With these and its few-shots the Router finds it." in page
    assert ("asked once an hour" in page) == is_told


def test_it_takes_few_queries_however_much_there_is_to_show(user: "User", make_user: MakeUser) -> None:
    agent, browser, clashing = agent_of(user), signed_in(user), agent_of(make_user(), published=True)
    counts = []
    for number in range(6):
        with CaptureQueriesContext(connection) as captured:
            page_of(browser, agent)
        counts.append(len(captured))
        sample(agent, f"public {number}", clash=clashing)
        sample(agent, f"suggested {number}", make_user())

    # The session, its user, the agent, whom they may act for, samples, suggestions, progress, corpora, its log, what it
    # says of its limits, revisions, usage.
    assert max(counts) <= 12


def test_an_agent_that_does_not_answer_says_since_when_and_its_owners_why(user: "User", make_user: MakeUser) -> None:
    from registry.models import Liveness

    agent = agent_of(user, published=True)
    assert "Not answering" not in page_of(signed_in(user), agent)
    last = datetime(2026, 11, 3, 12, 5, tzinfo=UTC)
    Liveness.objects.create(agent=agent, healthy=False, last_alive=last, error="It <refused> us.")

    for client, sees in ((signed_in(user), True), (signed_in(make_user()), False)):
        page = page_of(client, agent)
        assert 'Not answering since <time datetime="2026-11-03T12:05:00+00:00"' in page
        assert ("It &lt;refused&gt; us." in page) is sees

    Liveness.objects.filter(agent=agent).update(healthy=True)
    page = page_of(signed_in(user), agent)
    assert "Not answering" not in page
    assert 'Last seen well <time datetime="2026-11-03T12:05:00+00:00"' in page


def test_an_agent_that_does_not_answer_is_not_offered_to_begin_with(user: "User") -> None:
    from registry.models import Liveness

    question = f"Roll {uuid.uuid4().hex}"
    agent, browser = agent_of(user, reading=reads(few_shots=(f"Q: {question}\nA: x",))), signed_in(user)
    home = browser.get("/").content.decode()
    assert question in home
    assert f"Dice ({agent.agent_id})</option>" in home

    Liveness.objects.create(agent=agent, healthy=False)

    home = browser.get("/").content.decode()
    assert question not in home
    assert f"Dice ({agent.agent_id}), not answering</option>" in home


def test_how_it_is_found_is_for_those_who_may_change_it(user: "User", make_user: MakeUser) -> None:
    from registry.models import AgentIndex

    agent, stranger, other = indexed_agent(user.owner), make_user(), indexed_agent(make_user().owner)
    AgentIndex.objects.filter(agent=agent).update(done=12, total=40, error="The model is away.")
    sample(agent, "Throw <two> dice", source="given", clash=other)
    sample(agent, "Draw a card", make_user())
    shown = [
        "12 of 40 sample queries",
        "The model is away.",
        f'{other.agent_id}</a> answers “<span dir="auto">Throw &lt;two&gt; dice</span>” too',
        "Draw a card",
        "given at registration",
    ]

    mine, theirs = page_of(signed_in(user), agent), page_of(signed_in(stranger), agent)

    assert [words for words in shown if words not in mine] == []
    assert [words for words in shown if words in theirs] == []


def test_owners_say_what_it_can_be_asked(user: "User") -> None:
    agent, browser = agent_of(user, queries=["Flip\na coin"]), signed_in(user)
    assert ">\nFlip a coin</textarea>" in page_of(browser, agent)

    saved = browser.post(f"/agents/{agent.agent_id}/queries", {"queries": " Roll a die \r\n\r\n掷骰子\r\n"})

    assert saved["Location"] == f"/agents/{agent.agent_id}"
    agent.refresh_from_db()
    assert agent.queries == ["Roll a die", "掷骰子"]


def test_what_cannot_be_kept_stays_in_the_form_with_the_reason(user: "User") -> None:
    agent, long = agent_of(user, queries=["Flip a coin"]), "x" * 20_000

    refused = signed_in(user).post(f"/agents/{agent.agent_id}/queries", {"queries": f"fine\n{long}"})

    assert refused.status_code == 400
    page = refused.content.decode()
    assert "queries may be at most 16,384 characters long." in page
    assert f"fine\n{long}</textarea>" in page
    agent.refresh_from_db()
    assert agent.queries == ["Flip a coin"]


def test_suggestions_are_accepted_and_dismissed(user: "User", make_user: MakeUser) -> None:
    agent, browser = agent_of(user), signed_in(user)
    good, bad = sample(agent, "Draw a card", make_user()), sample(agent, "Tell a joke", make_user())

    accepted = browser.post(f"/agents/{agent.agent_id}/sample-queries/{good.pk}/accept", follow=True)
    assert "Accepted “Draw a card”." in accepted.content.decode()
    dismissed = browser.post(f"/agents/{agent.agent_id}/sample-queries/{bad.pk}/delete", follow=True)
    assert "“Tell a joke” no longer leads here." in dismissed.content.decode()

    assert texts_at(agent) == [("Draw a card", None)]


def test_a_reader_sees_and_forgets_their_own_corrections(user: "User", make_user: MakeUser) -> None:
    agent, reader = agent_of(user, published=True), make_user()
    mine, theirs = sample(agent, "Draw a card", reader), sample(agent, "Tell a joke", make_user())
    browser = signed_in(reader)
    page = page_of(browser, agent)
    assert "Draw a card" in page
    assert "Tell a joke" not in page

    browser.post(f"/agents/{agent.agent_id}/sample-queries/{mine.pk}/delete")

    assert texts_at(agent) == [("Tell a joke", theirs.user_id)]


@pytest.mark.parametrize("who", ["outsider", "signed out"])
@pytest.mark.parametrize("change", ["queries", "accept", "delete", "details", "address", "read", "current"])
def test_others_change_nothing(user: "User", make_user: MakeUser, who: str, change: str) -> None:
    agent = agent_of(user, published=True, queries=["Flip a coin"])
    made = sample(agent, "Draw a card", make_user())
    below = {
        "accept": f"sample-queries/{made.pk}/accept",
        "delete": f"sample-queries/{made.pk}/delete",
        "current": f"revisions/{agent.current_revision_id}/current",
    }
    path = f"/agents/{agent.agent_id}/{below.get(change, change)}"
    client = signed_in(make_user()) if who == "outsider" else Client()

    answer = client.post(path, {"queries": "mine", "name": "Mine", "deployment_url": "http://127.0.0.1:1/"})

    assert (answer.status_code, answer.get("Location", "")[:16]) in ((404, ""), (302, "/accounts/login/"))
    assert client.get(path).status_code == 405
    agent.refresh_from_db()
    assert (agent.queries, agent.name, agent.revisions.count()) == (["Flip a coin"], "Dice", 1)
    assert texts_at(agent) == [("Draw a card", made.user_id)]


def test_teammates_change_it_as_owners_do(user: "User", make_user: MakeUser, organization: "Organization") -> None:
    agent, teammate = agent_of(user, owner=organization.owner.handle), make_user()
    organization.members.add(teammate)
    made, browser = sample(agent, "Draw a card", make_user()), signed_in(teammate)

    browser.post(f"/agents/{agent.agent_id}/queries", {"queries": "Roll a die"})
    browser.post(f"/agents/{agent.agent_id}/sample-queries/{made.pk}/accept")

    agent.refresh_from_db()
    assert agent.queries == ["Roll a die"]
    assert texts_at(agent) == [("Draw a card", None)]


def test_another_sites_form_changes_nothing(user: "User") -> None:
    agent, browser = agent_of(user, queries=["Flip a coin"]), Client(enforce_csrf_checks=True)
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")

    assert browser.post(f"/agents/{agent.agent_id}/queries", {"queries": "theirs"}).status_code == 403

    agent.refresh_from_db()
    assert agent.queries == ["Flip a coin"]


def test_owners_change_its_texts(user: "User") -> None:
    agent, browser = agent_of(user), signed_in(user)
    given = {"name": "Würfel", "description": "Rolls.", "more_info_url": "https://example.com/", "published": "on"}

    saved = browser.post(f"/agents/{agent.agent_id}/details", given)

    assert saved["Location"] == f"/agents/{agent.agent_id}"
    agent.refresh_from_db()
    assert (agent.name, agent.description, agent.published) == ("Würfel", "Rolls.", True)
    refused = browser.post(f"/agents/{agent.agent_id}/details", {**given, "name": "x", "more_info_url": "javascript:1"})
    assert refused.status_code == 400
    assert "must be an address that starts with http:// or https://." in refused.content.decode()
    agent.refresh_from_db()
    assert agent.name == "Würfel"


def test_an_older_revision_is_made_current_again(user: "User") -> None:
    from registry.actions import update_agent

    agent, browser = agent_of(user), signed_in(user)
    first = agent.current_revision_id
    update_agent(agent=agent, by=user, reading=fails("http://127.0.0.1:9009/other", "It is <no> JSON."))
    page = page_of(browser, agent)
    assert "Revisions (2)" in page
    assert "It is &lt;no&gt; JSON." in page

    done = browser.post(f"/agents/{agent.agent_id}/revisions/{first}/current", follow=True).content.decode()

    assert f"Revision {first} answers from now on." in done
    agent.refresh_from_db()
    assert agent.current_revision_id == first
    gone = browser.post(f"/agents/{agent.agent_id}/revisions/999999/current", follow=True).content.decode()
    assert "The agent has no such revision." in gone


def test_owners_see_how_much_it_is_asked(user: "User", make_user: MakeUser) -> None:
    from accounts.models import UsageDay

    agent = agent_of(user, published=True)
    assert "Nobody has asked it in the last 30 days." in page_of(signed_in(user), agent)
    today = datetime.now(UTC).date()
    for who in (user, make_user()):
        UsageDay.objects.create(user=who, agent=agent.pk, day=today, queries=21)

    page = page_of(signed_in(user), agent)

    assert "42 questions in the last 30 days" in page
    assert "<svg class=" in page
    assert "questions in the last 30 days" not in page_of(signed_in(make_user()), agent)


def test_who_types_the_handle_deletes_the_agent(user: "User") -> None:
    from registry.models import Agent

    agent, browser = agent_of(user), signed_in(user)
    path = f"/agents/{agent.agent_id}/delete"
    assert agent.handle in browser.get(path).content.decode()
    assert browser.post(path, {"handle": "something"}).status_code == 400
    assert Agent.objects.filter(pk=agent.pk).exists()

    done = browser.post(path, {"handle": agent.handle}, follow=True)

    assert f"Deleted {agent.agent_id}." in done.content.decode()
    assert not Agent.objects.filter(pk=agent.pk).exists()
    again = browser.post(path, {"handle": agent.handle}, follow=True)
    assert "There is no such agent any more" in again.content.decode()
    assert browser.get(path).status_code == 404


def test_of_an_organization_admins_alone_delete_agents(
    user: "User", make_user: MakeUser, organization: "Organization"
) -> None:
    from registry.models import Agent

    agent, teammate = agent_of(user, owner=organization.owner.handle, published=True), make_user()
    organization.members.add(teammate)
    path = f"/agents/{agent.agent_id}/delete"

    for client in (signed_in(teammate), signed_in(make_user()), Client()):
        assert path not in page_of(client, agent)
        client.post(path, {"handle": agent.handle})

    assert Agent.objects.filter(pk=agent.pk).exists()
    organization.membership_set.filter(user=teammate).update(role="admin")
    assert path in page_of(signed_in(teammate), agent)
    signed_in(teammate).post(path, {"handle": agent.handle})
    assert not Agent.objects.filter(pk=agent.pk).exists()
