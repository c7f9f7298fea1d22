"""Beginning a session with its first question, over REST and on the pages: both or neither."""

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client

from accounts.models import Membership, User
from sessions_app.models import Session
from tests.sessions_app.embedded import contents, upload
from tests.sessions_app.people import Json, Person, error_of
from tests.sites import Site

if TYPE_CHECKING:
    from registry.models import Agent

MakePerson = Callable[..., Person]


def begin(person: Person, text: str, status: int = 202, **fields: Any) -> Json:
    answer = person.http.post("/api/sessions/begin", json={"text": text, **fields})
    assert answer.status_code == status, answer.text
    return dict(answer.json()) if status == 202 else error_of(answer)


@pytest.fixture
def private(asker: Person) -> Iterator["Agent"]:
    """An agent of the asker's organization that repeats what it is asked, and that nobody else sees."""
    from accounts.models import Organization
    from accounts.organizations import save_organization
    from registry.actions import delete_agent
    from registry.bootstrap import ensure_internal_agent

    handle = f"org-{uuid.uuid4().hex[:8]}"
    organization = save_organization(organization=Organization(name="Org"), handle=handle)
    organization.members.add(asker.user, through_defaults={"role": Membership.Role.ADMIN})
    agent = ensure_internal_agent(owner_handle=handle, handle="echo", name="Hidden", description="", target="echo")
    agent.published = False
    agent.save()
    yield agent
    delete_agent(agent=agent)


def test_a_session_begins_with_its_question_and_its_files(asker: Person) -> None:
    posted = begin(asker, "Look at #1", agent="fixie/echo", embeds={"1": {"id": upload(asker, "a note")}})
    query, response = asker.settled(posted["session"])
    assert (query["text"], response["text"], posted["seq"]) == ("Look at #1", "Look at #1", 1)
    assert contents(query["embeds"]) == {"1": "a note"}
    assert asker.session(posted["session"])["agent"] == "fixie/echo"


def test_whom_the_text_names_answers_and_is_not_the_front_agent(asker: Person) -> None:
    posted = begin(asker, "@fixie/echo Hello")
    assert [message["agent"] for message in asker.settled(posted["session"])] == [None, "fixie/echo"]
    assert asker.session(posted["session"])["agent"] is None
    # By its handle alone, too: one's own, else the site's.
    assert asker.settled(begin(asker, "@echo Hello")["session"])[1]["text"] == "Hello"


def test_the_same_client_id_begins_no_second_session(asker: Person) -> None:
    posted = [begin(asker, "Once", agent="fixie/echo", client_id="c-1") for _ in range(2)]
    assert posted[0]["session"] == posted[1]["session"]
    assert asker.user.sessions.count() == 1


@pytest.mark.parametrize(
    ("text", "fields", "status", "field"),
    [
        ("@nobody/nothing Hi", {}, 404, "agent"),
        ("Hi", {"agent": "nobody/nothing"}, 404, "agent"),
        ("Hi", {"agent": "odd name"}, 400, "agent"),
        ("@fixie/echo", {}, 400, "text"),
        ("  ", {"agent": "fixie/echo"}, 400, "text"),
        ("x" * 70_000, {"agent": "fixie/echo"}, 413, "text"),
        ("Hi", {"agent": "fixie/echo", "client_id": ""}, 400, "client_id"),
        ("Hi", {"agent": "fixie/echo", "embeds": {"1": {"id": str(uuid.uuid4())}}}, 404, "embeds.1.id"),
    ],
)
def test_what_cannot_be_asked_leaves_no_session(
    asker: Person, text: str, fields: Json, status: int, field: str
) -> None:
    assert begin(asker, text, status, **fields)["details"]["field"] == field
    assert not asker.user.sessions.exists()


def test_a_used_up_quota_leaves_no_session(person: MakePerson) -> None:
    limited = person(daily_query_limit=0)
    assert begin(limited, "Hi", 429, agent="fixie/echo")["code"] == "quota_exceeded"
    assert not limited.user.sessions.exists()


def test_a_private_agent_is_asked_by_its_owners_alone(
    asker: Person, person: MakePerson, private: "Agent", site: Site
) -> None:
    teammate, outsider = person(), person()
    Membership.objects.create(organization=private.owner.organization, user=teammate.user)
    for mine in (asker, teammate):
        assert mine.settled(begin(mine, "Hi", agent=private.agent_id)["session"])[1]["text"] == "Hi"
    assert begin(outsider, "Hi", 404, agent=private.agent_id)["code"] == "not_found"
    assert begin(outsider, f"@{private.agent_id} Hi", 404)["code"] == "not_found"
    with site.client() as http:
        answer = http.post("/api/sessions/begin", json={"text": "Hi", "agent": "fixie/echo"})
    assert answer.status_code == 401
    assert not Session.objects.filter(owner=outsider.user).exists()


def test_a_question_of_a_guest_waits_in_their_browser_and_is_handed_over_once(
    make_user: Callable[..., User], echo: str
) -> None:
    browser = Client()
    asked = browser.post("/sessions/new", {"text": "Who <am> I?", "agent": echo})
    assert (asked.status_code, asked.headers["Location"]) == (302, "/accounts/signup/?next=/")
    user = make_user()
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    assert not user.sessions.exists()
    page = browser.get("/").content.decode()
    assert "Who &lt;am&gt; I?" in page
    assert '"ask": true' in page
    again = browser.get("/").content.decode()
    assert "Who &lt;am&gt; I?" not in again
    assert '"ask": true' not in again
    # A link fills in the form, and asks nothing.
    assert '"ask": true' not in browser.get("/", {"text": "Hi", "agent": echo}).content.decode()


def test_a_guest_sees_questions_of_published_agents_alone(asker: Person, private: "Agent") -> None:
    private.name, private.queries = " 0", ["What is hidden?"]
    private.save()
    assert "What is hidden?" not in Client().get("/").content.decode()
    mine = Client()
    mine.force_login(asker.user, backend="django.contrib.auth.backends.ModelBackend")
    assert "What is hidden?" in mine.get("/").content.decode()
