"""The playground: what those who may change an agent see of a run, by whose rules it is asked, and who sees nothing."""

import re
import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from django.test import Client

from tests.agents import ScriptedAgent, answer
from tests.sessions_app.people import Person, wait_until
from tests.sites import Site

if TYPE_CHECKING:
    from accounts.models import User

SECRET = "You are a dice roller with a secret."
MANIFEST = {"base_prompt": SECRET, "few_shots": ["Q: Roll 3d8\nAsk Func[roll]: 8 3\nFunc[roll] says: 5\nA: 5"]}
TOKEN = "c" * 32


@pytest.fixture
def dice(scripted: ScriptedAgent, asker: Person) -> str:
    """A Code Shot of the asker's."""
    handle = f"dice-{uuid.uuid4().hex[:8]}"
    scripted.on(f"/{handle}", answer(MANIFEST), method="GET")
    scripted.on(f"/{handle}/roll", answer({"message": {"text": "7 7 1"}}))
    made = asker.http.post("/api/agents", json={"handle": handle, "deployment_url": f"{scripted.url}/{handle}"})
    assert made.json()["revision"]["state"] == "ready", made.text
    return str(made.json()["agent_id"])


@pytest.fixture
def browser_of(site: Site) -> Iterator[Callable[["User | None"], httpx2.Client]]:
    """`browser_of(user)` → a client that is signed in as they are, or not at all."""
    opened: list[httpx2.Client] = []

    def make(user: "User | None") -> httpx2.Client:
        cookie = f"csrftoken={TOKEN}"
        if user is not None:
            client = Client()
            client.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
            cookie += f"; sessionid={client.cookies['sessionid'].value}"
        opened.append(httpx2.Client(base_url=site.url, headers={"Cookie": cookie}, timeout=30))
        return opened[-1]

    yield make
    for client in opened:
        client.close()


def post(browser: httpx2.Client, agent: str, text: str, **more: str) -> httpx2.Response:
    return browser.post(f"/agents/{agent}/playground", data={"csrfmiddlewaretoken": TOKEN, "text": text, **more})


def shown(browser: httpx2.Client, asked: httpx2.Response) -> str:
    """The page of the run that was asked for, once it is over."""
    assert asked.status_code == 302, asked.text

    def page() -> str | None:
        text = browser.get(asked.headers["Location"]).text
        return None if "data-running" in text else text

    return str(wait_until(page))


def words_of(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))


def test_a_run_of_a_code_shot_is_shown_with_prompts_calls_and_times(
    asker: Person, dice: str, browser_of: Callable[..., httpx2.Client]
) -> None:
    browser = browser_of(asker.user)

    page = shown(browser, post(browser, dice, "Roll 4d20"))

    words = words_of(page)
    assert "Answered in" in words
    # Each completion is shown with its own transcript so far.
    assert words.count("Completion") == 2
    transcripts = re.findall(r'aria-label="Transcript"[^>]*>([^<]*)<', page)
    assert transcripts == ["Q: Roll 4d20", "Q: Roll 4d20\nAsk Func[roll]: 20 4\nFunc[roll] says: 7 7 1"]
    assert "Called Func[roll]" in words
    assert "Given 20 4 Got 7 7 1" in words
    assert "A: 7 7 1" in words
    assert re.search(r'<rect class="of-model" x="\d+" width="\d+"', page)
    assert "tokens sent" not in words  # no language model has counted any


def test_questions_go_into_one_session_that_is_kept_until_another_is_wanted(
    asker: Person, dice: str, browser_of: Callable[..., httpx2.Client]
) -> None:
    browser = browser_of(asker.user)
    for text in ("Roll 3d8", "Roll 1d6"):
        page = shown(browser, post(browser, dice, text))
    assert words_of(page).count("Roll 3d8") >= 1

    (session,) = asker.user.sessions.all()
    assert (session.name, session.agent.agent_id) == (f"Playground: {dice}", dice)
    assert [m["text"] for m in asker.messages(session.handle) if m["kind"] == "query"] == ["Roll 3d8", "Roll 1d6"]
    shown(browser, post(browser, dice, "Roll 2d6", anew="on"))
    assert asker.user.sessions.count() == 2


def test_questions_count_and_end_with_the_day(
    person: Callable[..., Person], dice: str, asker: Person, browser_of: Callable[..., httpx2.Client]
) -> None:
    from accounts.models import User

    User.objects.filter(pk=asker.user.pk).update(daily_query_limit=0)

    refused = post(browser_of(asker.user), dice, "Roll 3d8")

    assert refused.status_code == 429
    assert 'role="alert"' in refused.text
    assert ">Roll 3d8</textarea>" in refused.text
    assert not asker.user.sessions.exists()
    assert post(browser_of(asker.user), dice, "  ").status_code == 400


def test_a_func_that_fails_is_shown_as_it_failed(
    asker: Person, dice: str, scripted: ScriptedAgent, browser_of: Callable[..., httpx2.Client]
) -> None:
    scripted.on(f"/{dice.split('/')[1]}/roll", answer({"message": {"text": "The <die> is gone."}}, status=500))
    browser = browser_of(asker.user)

    page = shown(browser, post(browser, dice, "Roll 3d8"))

    assert "Failed in" in words_of(page)
    assert "No answer." in page
    assert "The &lt;die&gt; is gone." in page
    assert words_of(page).count("Completion") == 1


def test_of_an_agent_that_answers_by_itself_the_request_is_shown(
    asker: Person, agent_of: Callable[..., str], browser_of: Callable[..., httpx2.Client]
) -> None:
    agent = agent_of(asker, answer({"message": {"text": "Hello"}}))
    browser = browser_of(asker.user)

    page = shown(browser, post(browser, agent, "Hi <you>"))

    assert "authorization: Bearer THE-TOKEN-OF-THIS-CALL" in page
    assert "&quot;text&quot;: &quot;Hi &lt;you&gt;&quot;" in page
    assert "The answer Hello" in words_of(page)


def test_a_deployment_since_then_is_told(
    asker: Person, dice: str, scripted: ScriptedAgent, browser_of: Callable[..., httpx2.Client]
) -> None:
    browser = browser_of(asker.user)
    asked = post(browser, dice, "Roll 3d8")
    assert "has been deployed anew since" not in shown(browser, asked)
    scripted.on(f"/{dice.split('/')[1]}", answer({**MANIFEST, "base_prompt": "Other"}), method="GET")
    assert asker.http.post(f"/api/refresh/{dice}").status_code == 200

    assert "has been deployed anew since" in shown(browser, asked)


@pytest.mark.parametrize("who", ["teammate", "outsider", "signed out"])
def test_who_may_change_the_agent_sees_their_own_runs_alone(
    site: Site,
    person: Callable[..., Person],
    scripted: ScriptedAgent,
    asker: Person,
    browser_of: Callable[..., httpx2.Client],
    who: str,
) -> None:
    team = f"org-{uuid.uuid4().hex[:8]}"
    handle = f"dice-{uuid.uuid4().hex[:8]}"
    other = person()
    _team(team, asker, other if who == "teammate" else None)
    scripted.on(f"/{handle}", answer(MANIFEST), method="GET")
    scripted.on(f"/{handle}/roll", answer({"message": {"text": "7"}}))
    fields = {"handle": handle, "owner": team, "published": True, "deployment_url": f"{scripted.url}/{handle}"}
    agent = asker.http.post("/api/agents", json=fields).json()["agent_id"]
    mine = browser_of(asker.user)
    asked = post(mine, agent, "Roll 3d8")
    assert "What happened" in shown(mine, asked)
    browser = browser_of(None if who == "signed out" else other.user)

    page = browser.get(asked.headers["Location"])
    tried = post(browser, agent, "Roll 3d8")

    assert "What happened" not in page.text
    assert SECRET not in page.text
    if who == "teammate":
        assert page.status_code == 200
        assert "What happened" in shown(browser, tried)
        return
    expected: Any = 302 if who == "signed out" else 404
    assert (page.status_code, tried.status_code) == (expected, expected)
    assert not other.user.sessions.exists()


def _team(handle: str, *members: Person | None) -> None:
    from accounts.models import Organization
    from accounts.organizations import save_organization

    organization = save_organization(organization=Organization(name="Team"), handle=handle)
    organization.members.add(*(member.user for member in members if member))


def test_a_run_that_is_not_there_leaves_the_question(
    asker: Person, dice: str, browser_of: Callable[..., httpx2.Client]
) -> None:
    browser = browser_of(asker.user)
    for run in (uuid.uuid4(), "nonsense", "%00"):
        page = browser.get(f"/agents/{dice}/playground?run={run}")
        assert page.status_code == 200
        assert "What happened" not in page.text
