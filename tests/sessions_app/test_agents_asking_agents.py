"""Agents asking agents with the token of their call: nested runs, their bounds, and who may ask whom."""

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import httpx2
import jwt
import pytest
from django.conf import settings as django_settings

from accounts.models import UsageDay, User
from accounts.tokens import CallClaims, sign_call_token
from registry.models import Agent
from sessions_app.models import Message, Run, Session
from tests.agents import Behaviour, Exchange, answer
from tests.sessions_app.asking import asked, asks, fans_out, keeps, query_of, says
from tests.sessions_app.embedded import contents
from tests.sessions_app.gates import Gate
from tests.sessions_app.people import Json, Person, error_of, wait_until
from tests.sessions_app.streaming import begin, end, reached, say
from tests.sites import Site

Register = Callable[[Person, Behaviour], str]


def story(person: Person, session: str) -> list[tuple[str, str, str]]:
    """(kind, agent, text) of a session's messages, once nothing is at work in it."""
    return [(one["kind"], one["agent"], one["text"]) for one in person.settled(session)]


def row(agent: str) -> Agent:
    owner, _, handle = agent.partition("/")
    return Agent.objects.select_related("owner").get(owner__handle=owner, handle=handle)


def charged(user: User) -> dict[str | None, int]:
    """Queries of today by agent; of None: what the user pays for."""
    names = {agent.pk: agent.agent_id for agent in Agent.objects.select_related("owner")}
    return {names.get(day.agent): day.queries for day in UsageDay.objects.filter(user=user)}


def publish(agent: str, **fields: Any) -> str:
    Agent.objects.filter(pk=row(agent).pk).update(published=True, **fields)
    return agent


def own_token(site: Site, claims: CallClaims, lifetime: float = 60.0) -> str:
    """A token as the site signs it."""
    before, django_settings.SITE_URL = django_settings.SITE_URL, site.url
    try:
        return sign_call_token(claims, lifetime=lifetime)
    finally:
        django_settings.SITE_URL = before


class Token:
    """Who asks with the token of a call at work."""

    def __init__(self, site: Site, token: str) -> None:
        self.http = site.client(token, verify=False)

    def ask(self, agent: str, text: str = "hello", *, key: str | None = None, **fields: Any) -> httpx2.Response:
        headers = {"Idempotency-Key": key} if key is not None else {}
        return self.http.post(f"/api/agents/{agent}", json={"message": {"text": text}, **fields}, headers=headers)


class AtWork:
    """A query whose agent waits at a gate, and who may ask with its token meanwhile."""

    def __init__(self, site: Site, asker: Person, agent_of: Register, gate: Gate) -> None:
        tokens: list[str] = []
        self.agent = agent_of(asker, keeps(tokens, gate))
        self.session = asker.new_session(self.agent)
        self.run = asker.post(self.session, "wait")["run"]
        gate.until_reached()
        self.token = tokens[0]
        self.calls = Token(site, self.token)

    @property
    def claims(self) -> CallClaims:
        user = Session.objects.get(handle=self.session).owner_id
        return CallClaims(user, self.agent, self.session, self.run, ())


@pytest.fixture
def at_work(site: Site, asker: Person, agent_of: Register) -> Iterator[AtWork]:
    gate = Gate()
    at_work = AtWork(site, asker, agent_of, gate)
    yield at_work
    gate.open.set()
    wait_until(lambda: Run.objects.get(pk=at_work.run).finished)


def test_a_question_of_an_agent_is_a_run_below_its_own(site: Site, asker: Person, agent_of: Register) -> None:
    bottom = agent_of(asker, says("42"))
    middle = agent_of(asker, asks(site, bottom))
    session = asker.new_session(middle)
    top = asker.post(session, "six times seven?")["run"]
    assert story(asker, session) == [
        ("query", None, "six times seven?"),
        ("agent_call", middle, f"Ask Agent[{bottom}]: six times seven?"),
        ("agent_output", bottom, f"Agent[{bottom}] says: 42"),
        ("response", middle, f"{bottom}: 42"),
    ]
    page = asker.http.get(f"/api/sessions/{session}/messages").json()
    below = page["items"][1]["run"]
    assert [item["run"] for item in page["items"]] == [top, below, below, top]
    assert [item["in_reply_to"] for item in page["items"]] == [None, 1, 2, 1]
    assert {run["run"]: run["parent"] for run in page["runs"]} == {top: None, below: top}
    child = Run.objects.get(pk=below)
    assert (child.status, str(child.root_id), child.chain, child.parent_step) == ("completed", top, [middle], None)
    assert charged(asker.user) == {None: 1, middle: 1, bottom: 1}


def test_the_answer_is_the_same_json_that_users_get(at_work: AtWork, asker: Person, agent_of: Register) -> None:
    other = agent_of(asker, says("yes"))
    told = at_work.calls.ask(other).json()
    assert told == {
        "session": at_work.session,
        "run": told["run"],
        "type": "response",
        "message": {"text": "yes", "embeds": {}},
    }
    lines = at_work.calls.ask(other, stream=True)
    assert lines.headers["content-type"] == "application/jsonl"
    assert [line for line in lines.text.splitlines() if '"yes"' in line]


def test_an_answer_streams_while_it_grows(
    site: Site, at_work: AtWork, asker: Person, agent_of: Register, gate: threading.Event
) -> None:
    async def grows(exchange: Exchange) -> None:
        await begin(exchange)
        await say(exchange, "one")
        await reached(gate)
        await say(exchange, "one two")
        await end(exchange)

    slow = agent_of(asker, grows)
    body = {"message": {"text": "count"}, "stream": True}
    with at_work.calls.http.stream("POST", f"/api/agents/{slow}", json=body) as answered:
        lines = answered.iter_lines()
        assert '"one"' in next(lines)
        gate.set()
        assert '"one two"' in list(lines)[-1]


def test_a_followers_frames_tell_of_the_run_below_and_who_joins_sees_it(
    site: Site, at_work: AtWork, asker: Person, agent_of: Register
) -> None:
    gate = Gate()
    slow = agent_of(asker, keeps([], gate))
    with ThreadPoolExecutor() as pool:
        answered = pool.submit(at_work.calls.ask, slow)
        gate.until_reached()
        with asker.http.stream("GET", f"/api/sessions/{at_work.session}/events") as events:
            seen = "".join(line + "\n" for line, _ in zip(events.iter_lines(), range(17), strict=False))
        gate.open.set()
        below = answered.result().json()["run"]
    assert f'"run":"{below}","status":"in_progress","query":2,"agent":"{slow}","parent":"{at_work.run}"' in seen


def test_a_handle_alone_is_the_owners_agent_else_the_sites(at_work: AtWork, asker: Person, agent_of: Register) -> None:
    other = agent_of(asker, says("mine"))
    assert at_work.calls.ask(other.partition("/")[2]).json()["message"]["text"] == "mine"
    assert at_work.calls.ask("echo", "hi").json()["message"]["text"] == "hi"
    assert error_of(at_work.calls.ask("nobody-here"))["code"] == "not_found"


def test_embeds_go_along_and_come_back(site: Site, asker: Person, agent_of: Register) -> None:
    seen: list[Json] = []

    async def paints(exchange: Exchange) -> None:
        seen.append(exchange.request.json["message"]["embeds"])
        reply = {"text": "see #x", "embeds": {"x": {"content_type": "text/plain", "uri": "data:text/plain,art"}}}
        await answer({"message": reply})(exchange)

    async def forwards(exchange: Exchange) -> None:
        embeds = {"n": {"content_type": "text/plain", "uri": "data:text/plain,note"}}
        body = {"text": "frame #1 with #n", "embeds": embeds}
        told = (await asked(site, exchange, painter, "", message=body)).json()["message"]
        seen.append(told)
        await says(f"Here: {told['text']}")(exchange)

    painter = agent_of(asker, paints)
    middle = agent_of(asker, forwards)
    session = asker.new_session(middle)
    asker.post(session, "frame #1", embeds={"1": {"content_type": "text/plain", "uri": "data:text/plain,cat"}})
    assert [text for _, _, text in story(asker, session)] == [
        "frame #1",
        f"Ask Agent[{painter}]: frame #1 with #2",
        f"Agent[{painter}] says: see #3",
        "Here: see #3",
    ]
    handed, back = seen
    assert contents(handed) == {"1": "cat", "2": "note"}
    assert contents(back["embeds"]) == {"3": "art"}
    assert [list(message["embeds"]) for message in asker.messages(session)] == [["1"], ["1", "2"], ["3"], ["3"]]


def test_the_same_idempotency_key_is_the_same_question(at_work: AtWork, asker: Person, agent_of: Register) -> None:
    numbers = iter("123")

    async def counts(exchange: Exchange) -> None:
        await says(next(numbers))(exchange)

    counter = agent_of(asker, counts)
    first, again = (at_work.calls.ask(counter, key="once").json() for _ in range(2))
    assert first == again
    assert at_work.calls.ask(counter, key="twice").json()["message"]["text"] == "2"
    assert charged(asker.user)[counter] == 2
    assert error_of(at_work.calls.ask(counter, key="k" * 201))["details"] == {"field": "Idempotency-Key"}


def test_an_agent_that_fails_is_told_to_who_asked_and_to_the_session(
    at_work: AtWork, asker: Person, agent_of: Register
) -> None:
    broken = agent_of(asker, answer({"message": {"text": "No dice."}}, status=500))
    refused = at_work.calls.ask(broken)
    assert refused.status_code == 502
    assert error_of(refused)["message"] == "No dice."
    below = Run.objects.get(parent=at_work.run)
    assert (below.status, below.error_code) == ("failed", "agent_error")
    assert Message.objects.get(run=below, kind="error").text == "No dice."
    assert Run.objects.get(pk=at_work.run).status == "in_progress"


def test_an_agent_cannot_ask_itself(site: Site, asker: Person, agent_of: Register) -> None:
    box: list[str] = []

    async def narcissist(exchange: Exchange) -> None:
        await asks(site, box[0])(exchange)

    box.append(agent_of(asker, narcissist))
    told = asker.ask(box[0], "me?").json()["message"]["text"]
    assert told == f"{box[0]}: An agent cannot ask itself: {box[0]} → {box[0]}."
    assert charged(asker.user) == {None: 1, box[0]: 1}


def test_two_agents_cannot_ask_each_other_in_a_circle(site: Site, asker: Person, agent_of: Register) -> None:
    box: list[str] = []

    async def first_asks(exchange: Exchange) -> None:
        await asks(site, box[1])(exchange)

    box.append(agent_of(asker, first_asks))
    box.append(agent_of(asker, asks(site, box[0])))
    told = asker.ask(box[0], "who?").json()["message"]["text"]
    first, second = box
    assert told == f"{second}: {first}: Agents cannot ask in a circle: {first} → {second} → {first}."
    assert charged(asker.user) == {None: 1, first: 1, second: 1}


def test_a_chain_of_agents_has_an_end(site: Site, asker: Person, agent_of: Register) -> None:
    agents = [agent_of(asker, says("the bottom"))]
    for _ in range(9):
        agents.append(agent_of(asker, asks(site, agents[-1])))
    reached = asker.ask(agents[8], "down?").json()["message"]["text"]
    assert reached.endswith(f"{agents[0]}: the bottom")
    told = asker.ask(agents[9], "down?").json()["message"]["text"]
    assert "Agents may ask one another 8 deep; " in told
    assert told.endswith(f"{agents[1]} → {agents[0].partition('/')[2]} goes too far.")


def test_of_fifty_questions_at_once_exactly_32_are_answered(site: Site, asker: Person, agent_of: Register) -> None:
    answers: list[httpx2.Response] = []
    served = agent_of(asker, says("yes"))
    session = asker.new_session(agent_of(asker, fans_out(site, served, 50, answers)))
    asker.post(session, "go")
    messages = asker.settled(session)
    assert messages[-1]["text"] == "all asked"
    assert [message["seq"] for message in messages] == list(range(1, 2 + 2 * 32 + 1))
    statuses = [one.status_code for one in answers]
    assert (statuses.count(200), statuses.count(400)) == (32, 18)
    refusal = error_of(next(one for one in answers if one.status_code == 400))
    assert (refusal["message"], refusal["details"]) == (
        "For this query agents have been asked 32 times; that is the most.",
        {"limit": 32},
    )
    assert charged(asker.user)[served] == 32
    assert Run.objects.get(pk=messages[0]["run"]).agent_calls == 32


def test_an_agents_own_limit_counts_questions_of_agents_too(at_work: AtWork, asker: Person, agent_of: Register) -> None:
    limited = agent_of(asker, says("once"))
    Agent.objects.filter(pk=row(limited).pk).update(daily_query_limit=1)
    assert at_work.calls.ask(limited).status_code == 200
    refused = at_work.calls.ask(limited)
    assert (refused.status_code, error_of(refused)["details"]["which"]) == (429, "agent_queries")
    assert charged(asker.user) == {None: 1, limited: 1}
    assert Run.objects.get(pk=at_work.run).agent_calls == 1


def test_a_user_whose_day_is_used_up_still_gets_the_answer_they_paid_for(
    site: Site, person: Callable[..., Person], agent_of: Register
) -> None:
    poor = person(daily_query_limit=1)
    bottom = agent_of(poor, says("42"))
    top = agent_of(poor, asks(site, bottom))
    assert poor.ask(top, "go").json()["message"]["text"] == f"{bottom}: 42"
    assert poor.ask(top, "go").status_code == 429


class Chain:
    """Three agents, each of which asks the next; the last one waits at a gate."""

    def __init__(self, site: Site, asker: Person, agent_of: Register) -> None:
        self.gate = Gate()
        self.tokens: list[str] = []
        self.bottom = agent_of(asker, keeps(self.tokens, self.gate))
        self.middle = agent_of(asker, self._slowly(site))
        self.top = agent_of(asker, asks(site, self.middle))
        self.session = asker.new_session(self.top)
        self.run = asker.post(self.session, "go")["run"]
        self.gate.until_reached()
        self.runs = list(Run.objects.filter(session__handle=self.session).order_by("query_seq"))

    def _slowly(self, site: Site) -> Behaviour:
        async def behave(exchange: Exchange) -> None:
            await asyncio.sleep(0.005)
            await asks(site, self.bottom)(exchange)

        return behave

    def states(self) -> list[str]:
        return list(
            Run.objects.filter(session__handle=self.session).order_by("query_seq").values_list("status", flat=True)
        )


def test_stopping_the_top_of_a_chain_reaches_its_bottom_within_a_second(
    site: Site, asker: Person, agent_of: Register
) -> None:
    chain = Chain(site, asker, agent_of)
    began = time.monotonic()
    told = asker.http.post(f"/api/runs/{chain.run}/cancel").json()
    assert chain.gate.left.wait(1), "the call to the agent at the bottom is still open"
    assert time.monotonic() - began < 1
    agents = [chain.top, chain.middle, chain.bottom]
    assert [(run["agent"], run["acknowledged"]) for run in told["runs"]] == [(agent, True) for agent in agents]
    assert [run["run"] for run in told["runs"]] == [str(run.pk) for run in chain.runs]
    assert chain.states() == ["canceled"] * 3
    paid, messages = charged(asker.user), asker.settled(chain.session)
    assert paid == {None: 1, **dict.fromkeys(agents, 1)}
    late = Token(site, chain.tokens[0])
    refused = late.ask("fixie/echo")
    assert (refused.status_code, error_of(refused)["code"]) == (401, "unauthenticated")
    chain.gate.open.set()
    assert charged(asker.user) == paid
    assert asker.settled(chain.session) == messages


def test_stopping_the_middle_leaves_the_top_at_work(site: Site, asker: Person, agent_of: Register) -> None:
    chain = Chain(site, asker, agent_of)
    told = asker.http.post(f"/api/runs/{chain.runs[1].pk}/cancel").json()
    assert [run["agent"] for run in told["runs"]] == [chain.middle, chain.bottom]
    assert [text for kind, _, text in story(asker, chain.session) if kind == "response"] == [
        f"{chain.middle}: The query was stopped."
    ]
    assert chain.states() == ["completed", "canceled", "canceled"]


def test_what_an_agent_leaves_behind_when_it_answers_is_stopped(site: Site, asker: Person, agent_of: Register) -> None:
    gate = Gate()
    slow = agent_of(asker, keeps([], gate))

    async def impatient(exchange: Exchange) -> None:
        asking = asyncio.create_task(asked(site, exchange, slow, "take your time"))
        await asyncio.to_thread(gate.until_reached)
        await says("done already")(exchange)
        await asking

    session = asker.new_session(agent_of(asker, impatient))
    asker.post(session, "go")
    assert gate.left.wait(5)
    wait_until(lambda: Run.objects.get(session__handle=session, agent=row(slow)).status == "canceled")
    assert asker.messages(session)[-1]["text"] == "done already"
    assert wait_until(lambda: not asker.session(session)["runs"])


def test_an_interrupting_query_stops_the_whole_tree(site: Site, asker: Person, agent_of: Register) -> None:
    chain = Chain(site, asker, agent_of)
    asker.post(chain.session, "@fixie/echo now", if_busy="interrupt")
    assert chain.gate.left.wait(5)
    assert story(asker, chain.session)[-1][:2] == ("response", "fixie/echo")
    assert chain.states() == ["canceled"] * 3 + ["completed"]


def test_an_agent_asks_only_in_the_session_of_its_call(at_work: AtWork, asker: Person) -> None:
    assert at_work.calls.ask("fixie/echo", session=at_work.session).status_code == 200
    for session in (asker.new_session(), "no-such-session", "\0"):
        refused = at_work.calls.ask("fixie/echo", session=session)
        assert (refused.status_code, error_of(refused)["details"]["field"]) == (404, "session")
    assert Run.objects.filter(parent=at_work.run).count() == 1


def test_an_agent_asks_whom_its_user_may_ask(
    at_work: AtWork, asker: Person, person: Callable[..., Person], agent_of: Register
) -> None:
    stranger = person()
    secret = agent_of(stranger, says("secret"))
    refused = at_work.calls.ask(secret)
    assert (refused.status_code, error_of(refused)["code"]) == (404, "not_found")
    assert not Run.objects.filter(agent=row(secret)).exists()
    assert charged(asker.user) == {None: 1}
    publish(secret)
    assert at_work.calls.ask(secret).json()["message"]["text"] == "secret"


def told(person: Person, agent: str) -> str:
    return str(person.ask(agent, "go").json()["message"]["text"])


def test_an_agent_of_a_team_reaches_what_is_the_teams_for_members_alone(
    site: Site, person: Callable[..., Person], agent_of: Register, scripted: Any
) -> None:
    owner, teammate, outsider = person(), person(), person()
    team = f"team-{uuid.uuid4().hex[:8]}"
    assert owner.http.post("/api/organizations", json={"handle": team, "name": team}).status_code == 201
    joined = owner.http.put(f"/api/organizations/{team}/members/{teammate.user.username}", json={"role": "member"})
    assert joined.status_code < 300, joined.text
    scripted.on("/shared", says("ours"))
    shared = {"owner": team, "handle": "shared", "deployment_url": f"{scripted.url}/shared"}
    assert owner.http.post("/api/agents", json=shared).status_code == 201
    reached = f"{team}/shared: ours"
    refused = f"{team}/shared: There is no agent {team}/shared that can be asked here."
    # A teammate's own agent is a stranger's, as far as the others are concerned.
    helper = publish(agent_of(owner, asks(site, f"{team}/shared")))
    assert [told(one, helper) for one in (owner, teammate, outsider)] == [reached, refused, refused]
    scripted.on("/helper", asks(site, f"{team}/shared"))
    ours = {"owner": team, "handle": "helper", "deployment_url": f"{scripted.url}/helper", "published": True}
    assert owner.http.post("/api/agents", json=ours).status_code == 201
    assert [told(one, f"{team}/helper") for one in (owner, teammate, outsider)] == [reached, reached, refused]


def test_tokens_of_other_users_sessions_and_runs_are_refused_and_change_nothing(
    site: Site, at_work: AtWork, asker: Person, person: Callable[..., Person]
) -> None:
    claims, other = at_work.claims, person()
    theirs = other.new_session()
    run = other.post(theirs, "hi")["run"]
    other.settled(theirs)
    forged = [
        CallClaims(other.user.pk, claims.agent_id, claims.session, claims.run, ()),
        CallClaims(claims.user_id, claims.agent_id, theirs, claims.run, ()),
        CallClaims(claims.user_id, claims.agent_id, claims.session, run, ()),
        CallClaims(claims.user_id, claims.agent_id, claims.session, str(uuid.uuid4()), ()),
        CallClaims(claims.user_id, claims.agent_id, claims.session, "nonsense", ()),
        CallClaims(claims.user_id, claims.agent_id, "", "", ()),
        CallClaims(other.user.pk, claims.agent_id, theirs, run, ()),  # ended
    ]
    before = (Run.objects.filter(session__owner__in=[asker.user, other.user]).count(), charged(other.user))
    tokens = [own_token(site, each) for each in forged] + [own_token(site, claims, lifetime=-5)]
    for token in tokens:
        refused = Token(site, token).ask("fixie/echo")
        assert (refused.status_code, error_of(refused)["code"]) == (401, "unauthenticated")
    assert (Run.objects.filter(session__owner__in=[asker.user, other.user]).count(), charged(other.user)) == before


def test_a_call_token_opens_nothing_else_of_a_session(site: Site, at_work: AtWork) -> None:
    http = at_work.calls.http
    for refused in (
        http.get(f"/api/sessions/{at_work.session}/messages"),
        http.post(f"/api/sessions/{at_work.session}/messages", json={"text": "x"}),
        http.post(f"/api/runs/{at_work.run}/cancel"),
        http.post("/api/sessions", json={}),
    ):
        assert refused.status_code == 401


def test_an_inactive_users_agents_ask_nobody(at_work: AtWork, asker: Person) -> None:
    User.objects.filter(pk=asker.user.pk).update(is_active=False)
    refused = at_work.calls.ask("fixie/echo")
    assert refused.status_code == 401
    assert not Run.objects.filter(parent=at_work.run).exists()


@pytest.mark.parametrize("text", ["", "  \n ", "a\0b", "\ud800"])
def test_a_bad_question_of_an_agent_is_refused_as_a_users_is(at_work: AtWork, text: str) -> None:
    refused = at_work.calls.http.post(
        "/api/agents/fixie/echo",
        content=json.dumps({"message": {"text": text}}),
        headers={"content-type": "application/json"},
    )
    assert refused.status_code in (400, 422)
    assert not Run.objects.filter(parent=at_work.run).exists()


def test_a_token_tells_the_agents_above_from_the_top_and_ends_soon_after_the_query(
    site: Site, asker: Person, agent_of: Register
) -> None:
    seen: list[Json] = []

    async def looks(exchange: Exchange) -> None:
        token = exchange.request.headers["authorization"].removeprefix("Bearer ")
        seen.append(jwt.decode(token, options={"verify_signature": False}))
        await says(query_of(exchange))(exchange)

    bottom = agent_of(asker, looks)
    middle = agent_of(asker, asks(site, bottom))
    top = agent_of(asker, asks(site, middle))
    session = asker.new_session(top)
    run = asker.post(session, "chain?")["run"]
    asker.settled(session)
    claims = seen[0]
    assert claims["chain"] == [top, middle]
    assert (claims["aid"], claims["sid"], claims["sub"]) == (bottom, session, str(asker.user.pk))
    assert claims["rid"] == str(Run.objects.get(root=run, agent=row(bottom)).pk)
    assert claims["exp"] <= datetime.now(UTC).timestamp() + 600 + 61
