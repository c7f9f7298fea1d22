"""Who may ask, read on and look after what: as over REST, and a refusal changes nothing."""

from collections.abc import Callable

import httpx2
import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import ApiKey, Membership, Organization, UsageDay, User
from registry import actions
from registry.models import Agent
from sessions_app.models import Message, Run, Session
from tests.agents import Behaviour
from tests.bridges.agentscope.reading import process, request
from tests.sessions_app.asking import keeps, says
from tests.sessions_app.gates import Gate
from tests.sessions_app.people import Json, Person, error_of, wait_until
from tests.sites import Site

Register = Callable[[Person, Behaviour], str]
NOBODY = ("anonymous", "tampered", "revoked", "inactive")


@pytest.fixture
def strangers(person: Callable[..., Person], asker: Person) -> dict[str, dict[str, str]]:
    """Everybody but the asker: the headers that each of them sends."""
    teammate, outsider, revoked, inactive = (person() for _ in range(4))
    made = asker.http.post("/api/organizations", json={"handle": f"team-{asker.user.pk}", "name": "Team"})
    assert made.status_code == 201, made.text
    Membership.objects.create(
        user=teammate.user, organization=Organization.objects.get(owner__handle=f"team-{asker.user.pk}"), role="member"
    )
    ApiKey.objects.filter(user=revoked.user).update(revoked=timezone.now())
    User.objects.filter(pk=inactive.user.pk).update(is_active=False)
    return {
        "teammate": teammate.headers,
        "outsider": outsider.headers,
        "anonymous": {},
        "tampered": {"Authorization": asker.headers["Authorization"][:-4] + "AAAA"},
        "revoked": revoked.headers,
        "inactive": inactive.headers,
    }


def books() -> tuple[int, ...]:
    return tuple(model.objects.count() for model in (Session, Run, Message, UsageDay))


@pytest.mark.parametrize("who", ["teammate", "outsider", *NOBODY])
def test_a_response_is_its_askers_alone(
    site: Site, asker: Person, strangers: dict[str, dict[str, str]], who: str
) -> None:
    theirs = process(asker, "fixie/echo", request("secret", response_id="named-by-me")).id
    ours = process(asker, "fixie/echo", request("secret")).id
    before = books()
    with httpx2.Client(base_url=site.url, headers=strangers[who]) as http:
        for response in (theirs, ours):
            answers = [http.get(f"/process/{response}"), http.get(f"/process/task/{response}")]
            missing = [http.get("/process/none-such"), http.get("/process/task/none-such")]
            for refused, unknown in zip(answers, missing, strict=True):
                assert refused.status_code == (401 if who in NOBODY else 404)
                assert refused.json() == unknown.json()
    assert books() == before


@pytest.mark.parametrize("who", NOBODY)
def test_who_is_nobody_asks_nothing(site: Site, strangers: dict[str, dict[str, str]], who: str) -> None:
    before = books()
    with httpx2.Client(base_url=site.url, headers=strangers[who]) as http:
        for path in ("/process", "/process/task", "/agents/fixie/echo/process", "/agents/fixie/echo/process/task"):
            refused = http.post(path, json=request("hi"))
            assert (refused.status_code, error_of(refused)["code"]) == (401, "unauthenticated"), path
            assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert books() == before


def test_an_agent_is_asked_by_those_who_may_see_it(
    site: Site, asker: Person, strangers: dict[str, dict[str, str]], agent_of: Register
) -> None:
    agent = agent_of(asker, says("hello"))
    theirs = Agent.objects.get(handle=agent.partition("/")[2])
    theirs.owner = Organization.objects.get(owner__handle=f"team-{asker.user.pk}").owner
    theirs.save(update_fields=["owner"])
    path = f"/agents/team-{asker.user.pk}/{theirs.handle}/process"
    with site.client() as http:
        for who, status in (("teammate", 200), ("outsider", 404)):
            before = books()
            answer = http.post(path, json=request("hi"), headers=strangers[who])
            assert answer.status_code == status
            unknown = http.post("/agents/fixie/nobody/process", json=request("hi"), headers=strangers[who])
            assert unknown.status_code == 404
            assert error_of(unknown)["details"]["field"] == "agent"
            assert (books() == before) == (status == 404)
    assert asker.http.post(path, json=request("hi")).status_code == 200
    theirs.enabled = False
    theirs.save(update_fields=["enabled"])
    refused = asker.http.post(path, json=request("hi"))
    assert (refused.status_code, refused.json()) == _as_over_rest(asker, path)
    actions.delete_agent(agent=theirs)


def _as_over_rest(person: Person, path: str) -> tuple[int, Json]:
    agent = path.removeprefix("/agents/").removesuffix("/process")
    refused = person.ask(agent, "hi")
    assert refused.status_code in (404, 409)
    return refused.status_code, refused.json()


def test_a_key_that_is_revoked_fails_at_once(asker: Person) -> None:
    response = process(asker, "fixie/echo", request("hi")).id
    ApiKey.objects.filter(user=asker.user).update(revoked=timezone.now())
    before = books()
    for refused in (
        asker.http.post("/process", json=request("hi")),
        asker.http.post("/process", json=request("hi", session_id="1")),
        asker.http.post("/process/task", json=request("hi")),
        asker.http.get(f"/process/{response}"),
        asker.http.get(f"/process/task/{response}"),
    ):
        assert (refused.status_code, error_of(refused)["code"]) == (401, "unauthenticated")
    assert books() == before


def test_a_browser_asks_with_its_cookie_and_a_csrf_token(site: Site, asker: Person) -> None:
    browser = Client()
    browser.force_login(asker.user)
    with site.client(verify=False, cookies={"sessionid": browser.cookies["sessionid"].value}) as http:
        for path in ("/agents/fixie/echo/process", "/agents/fixie/echo/process/task"):
            refused = http.post(path, json=request("hi"))
            assert (refused.status_code, error_of(refused)["code"]) == (401, "unauthenticated")
        assert not Session.objects.filter(owner=asker.user).exists()
        http.get("/")
        token = {"X-CSRFToken": http.cookies["csrftoken"], "Origin": site.url}
        answered = http.post("/agents/fixie/echo/process", json=request("hi"), headers=token)
        assert '"text":"hi"' in answered.text
        submitted = http.post("/agents/fixie/echo/process/task", json=request("hi"), headers=token)
        task = submitted.json()["task_id"]
        wait_until(lambda: http.get(f"/process/task/{task}").json()["status"] == "finished")
        assert http.get(f"/process/{task}").status_code == 200


def test_the_token_of_an_agents_call_is_no_key(site: Site, asker: Person, agent_of: Register) -> None:
    token: list[str] = []
    gate = Gate()
    agent = agent_of(asker, keeps(token, gate))
    session = asker.new_session(agent)
    asker.post(session, "go")
    gate.until_reached()
    with site.client(token[0]) as http:
        refused = http.post("/agents/fixie/echo/process", json=request("hi"))
    gate.open.set()
    assert (refused.status_code, error_of(refused)["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize("path", ["/process", "/process/task", "/agents/fixie/echo/process"])
def test_what_is_not_possible_at_an_address_is_said_in_the_shape_of_errors(asker: Person, path: str) -> None:
    refused = asker.http.put(path, json={})
    assert refused.status_code == 405
    assert error_of(refused)["details"]["field"] == "method"


def test_no_quota_left_is_told_before_a_stream_begins(person: Callable[..., Person]) -> None:
    poor = person(daily_query_limit=1)
    process(poor, "fixie/echo", request("hi"))
    before = books()
    for path in ("/agents/fixie/echo/process", "/agents/fixie/echo/process/task"):
        refused = poor.http.post(path, json=request("hi", session_id="new"))
        assert (refused.status_code, error_of(refused)["code"]) == (429, "quota_exceeded")
        assert int(refused.headers["Retry-After"]) > 0
    assert books() == before
