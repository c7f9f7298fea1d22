"""What administrators see of routing, and try; and who may."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import AsyncClient
from django.test.utils import CaptureQueriesContext
from procrastinate.contrib.django.models import ProcrastinateJob

from accounts.models import UsageDay, User
from registry.corrections.remembering import remember_correction
from registry.models import (
    Agent,
    AgentIndex,
    Corpus,
    CorpusDocument,
    Liveness,
    RoutingPreference,
    RoutingRule,
    SampleIndex,
)
from registry.routing.router import forget_rules
from tests.registry.admin.test_admin import Browser
from tests.registry.indexed import indexed_agent, sample

RULES = "/admin/registry/routingrule/"
TRY = f"{RULES}try/"
NEEDED = ("view_routingrule", "view_agent", "view_samplequery", "read_content")


@pytest.fixture
def administrator() -> User:
    return User.objects.create_superuser(f"root-{uuid.uuid4().hex[:12]}")


@pytest.fixture
def browser(administrator: User) -> Browser:
    return Browser(administrator)


@pytest.fixture
def word() -> str:
    """A keyword that nobody else's query holds."""
    return f"word{uuid.uuid4().hex[:8]}"


@pytest.fixture
def dice(people: Any) -> Agent:
    return indexed_agent(people.owner.owner)


def rule_form(**changes: Any) -> dict[str, Any]:
    management = {"preferences-TOTAL_FORMS": "0", "preferences-INITIAL_FORMS": "0"}
    return {"task_type": "", "keywords": "", "priority": "0", "enabled": "on", **management, **changes}


def preferring(*agents: Agent) -> dict[str, str]:
    rows = {f"preferences-{n}-agent": str(agent.pk) for n, agent in enumerate(agents)}
    places = {f"preferences-{n}-position": str(n) for n in range(len(agents))}
    return {**rows, **places, "preferences-TOTAL_FORMS": str(len(agents))}


def page(browser: Browser, path: str, **query: str) -> str:
    answer = browser.get(path, query)
    assert answer.status_code == 200, answer.status_code
    return str(answer.content.decode())


def test_a_rule_is_written_with_the_agents_it_prefers(browser, dice, people, word):
    second = indexed_agent(people.owner.owner)
    form = rule_form(keywords=f"{word}\r\n\r\n two words \r\n", priority="7", **preferring(second, dice))

    answer = browser.post(f"{RULES}add/", form)

    assert answer.status_code == 302, answer.context["errors"]
    rule = RoutingRule.objects.get(keywords__contains=[word])
    assert (rule.keywords, rule.priority) == ([word, "two words"], 7)
    assert [each.agent for each in rule.preferences.all()] == [second, dice]
    listed = page(browser, RULES)
    assert f"{second.agent_id}, {dice.agent_id}" in listed
    assert f"{word}\ntwo words</textarea>" in page(browser, f"{RULES}{rule.pk}/change/")


def test_a_keyword_that_is_too_long_is_refused_on_the_page(browser, word):
    answer = browser.post(f"{RULES}add/", rule_form(keywords=f"{word}\n{'k' * 101}"))

    assert answer.status_code == 200
    assert "at most 100 characters" in answer.content.decode()
    assert not RoutingRule.objects.filter(keywords__contains=[word]).exists()


def test_the_order_of_rules_is_changed_in_the_list(browser, word):
    rule = RoutingRule.objects.create(keywords=[word], enabled=False)
    rows = list(RoutingRule.objects.order_by("-priority", "pk"))
    form: dict[str, Any] = {"form-TOTAL_FORMS": len(rows), "form-INITIAL_FORMS": len(rows), "_save": "Save"}
    for number, row in enumerate(rows):
        form |= {f"form-{number}-id": row.pk, f"form-{number}-priority": row.priority}
        form |= {f"form-{number}-enabled": "on"} if row.enabled else {}
    form[f"form-{rows.index(rule)}-priority"] = 3

    assert browser.post(RULES, form).status_code == 302

    assert RoutingRule.objects.get(pk=rule.pk).priority == 3


@pytest.mark.parametrize("path", [RULES, "/admin/registry/samplequery/", "/admin/registry/agentindex/", "corpora"])
def test_lists_take_the_same_number_of_queries_however_long_they_are(browser, people, path):
    path = "/admin/registry/corpus/" if path == "corpora" else path
    owner = people.owner.owner

    def more() -> None:
        agent = indexed_agent(owner)
        sample(agent, "Roll a die", clash=agent)
        rule = RoutingRule.objects.create(keywords=["x"], enabled=False)
        RoutingPreference.objects.create(rule=rule, agent=agent)
        corpus = Corpus.objects.create(revision=agent.current_revision, position=0, kind="urls")
        CorpusDocument.objects.create(corpus=corpus, source="http://example.com/", status="done")

    def queries() -> int:
        query = {} if path == RULES else {"q": owner.handle}
        with CaptureQueriesContext(connection) as captured:
            assert browser.get(path, query).status_code == 200
        return len(captured)

    more()
    queries()  # Django looks up content types once a process.
    few = queries()
    for _ in range(5):
        more()

    assert queries() == few


def test_a_trial_shows_who_comes_into_question_and_asks_nobody(browser, people, dice, word):
    text = f"Draw {word} at random"
    async_to_sync(remember_correction)(user=people.outsider.pk, agent=dice.pk, text=text)

    tried = browser.post(TRY, {"text": text, "user": people.outsider.username})

    found = tried.content.decode()
    assert tried.status_code == 200
    assert f"It goes to {dice.agent_id}." in found
    assert text in found.split("</form>")[-1]
    assert "1.00" in found  # the similarity
    nobody = browser.post(TRY, {"text": text}).content.decode()
    assert text not in nobody.split("</form>")[-1]
    assert not UsageDay.objects.filter(user=people.outsider).exists()


def test_a_trial_says_which_rule_decided_and_knows_it_at_once(browser, dice, word):
    assert "A rule decides" not in browser.post(TRY, {"text": f"the {word}, please"}).content.decode()
    rule = RoutingRule.objects.create(keywords=[word])
    RoutingPreference.objects.create(rule=rule, agent=dice)
    try:
        tried = browser.post(TRY, {"text": f"the {word}, please"}).content.decode()
    finally:
        rule.delete()
        forget_rules()

    assert f"A rule decides: any query: {word}." in tried
    assert dice.agent_id in tried


def test_a_trial_says_who_was_passed_over_and_why(browser, dice, people, word):
    off = indexed_agent(people.owner.owner, enabled=False)
    rule = RoutingRule.objects.create(keywords=[word], task_type=word)
    for position, agent in enumerate((off, dice)):
        RoutingPreference.objects.create(rule=rule, agent=agent, position=position)
    tried = browser.post(TRY, {"text": f"the {word}, please", "task_type": word}).content.decode()
    assert f"Passed over: {off.agent_id} is switched off." in tried
    assert f"In this order: {dice.agent_id}." in tried


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"text": ""}, "This field is required."),
        ({"text": "  \n"}, "This field is required."),
        ({"text": "x" * 10_001}, "at most 10000 characters"),
        ({"text": "a\0b"}, "Null characters are not allowed."),
        ({"text": "Hello", "user": "nobody-of-this-name"}, "There is no user of this name."),
    ],
)
def test_what_cannot_be_tried_says_why(browser, form, says):
    answer = browser.post(TRY, form)

    assert answer.status_code == 200
    assert says in answer.content.decode()
    assert "Nothing was asked." not in answer.content.decode()


def staff(*permissions: str) -> Browser:
    user = User.objects.create_user(f"staff-{uuid.uuid4().hex[:12]}", is_staff=True)
    apps = ("registry", "sessions_app")
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions, content_type__app_label__in=apps))
    return Browser(user)


def test_a_trial_is_for_staff_who_may_see_all_that_it_shows(people):
    assert staff(*NEEDED).post(TRY, {"text": "Hello"}).status_code == 200
    for missing in NEEDED:
        browser = staff(*(set(NEEDED) - {missing}))
        for answer in (browser.get(TRY), browser.post(TRY, {"text": "Hello"})):
            assert answer.status_code == 403
            assert "Nothing was asked." not in answer.content.decode()


def test_what_somebody_asked_is_for_staff_who_may_read_it(people, dice, word):
    asked = sample(dice, f"Am I {word}?", user=people.outsider)
    sample(dice, f"What is {word}?")
    path = "/admin/registry/samplequery/"
    for permissions, sees in (((), False), (("read_content",), True)):
        browser = staff("view_samplequery", *permissions)
        listed = page(browser, path, q=word)
        assert (f"What is {word}?" in listed, f"Am I {word}?" in listed) == (True, sees)
        assert (browser.get(f"{path}{asked.pk}/change/").status_code == 200) == sees


def test_who_is_no_administrator_does_not_get_in(people, word):
    rule = RoutingRule.objects.create(keywords=[word], enabled=False)
    anonymous = AsyncClient()
    visitors: list[tuple[Callable[..., Any], Callable[..., Any]]] = [
        (Browser(people.owner).get, Browser(people.owner).post),
        (async_to_sync(anonymous.get), async_to_sync(anonymous.post)),
    ]
    for get, post in visitors:
        for path in (RULES, TRY, f"{RULES}{rule.pk}/change/", "/admin/registry/samplequery/"):
            assert get(path)["Location"].startswith("/admin/login/")
        post(TRY, {"text": "Hello"})
        post(f"{RULES}{rule.pk}/delete/", {"post": "yes"})
    assert RoutingRule.objects.filter(pk=rule.pk).exists()


def test_staff_who_may_only_look_change_no_rule(word):
    rule = RoutingRule.objects.create(keywords=[word], enabled=False)
    browser = staff("view_routingrule")

    assert browser.get(f"{RULES}{rule.pk}/change/").status_code == 200
    assert browser.post(f"{RULES}{rule.pk}/change/", rule_form(keywords="other")).status_code == 403
    assert browser.post(f"{RULES}add/", rule_form()).status_code == 403
    assert RoutingRule.objects.get(pk=rule.pk).keywords == [word]


def test_the_index_and_the_corpora_are_shown_and_not_changed(browser, people, dice):
    kept = sample(dice, "Roll a die")
    AgentIndex.objects.filter(agent=dice).update(done=3, total=8)
    SampleIndex.objects.get_or_create(defaults={"serving": "somebody's"})
    corpus = Corpus.objects.create(revision=dice.current_revision, position=0, kind="urls", documents_done=2)
    CorpusDocument.objects.create(corpus=corpus, source="http://example.com/a", status="failed", error="Too large.")
    pages = {
        "samplequery": kept.text,
        "agentindex": "3 of 8",
        "sampleindex": SampleIndex.objects.get().serving,
        "corpus": dice.agent_id,
    }
    for model, words in pages.items():
        query = {} if model == "sampleindex" else {"q": dice.handle}
        assert words in page(browser, f"/admin/registry/{model}/", **query)
    assert "Too large." in page(browser, f"/admin/registry/corpus/{corpus.pk}/change/")
    for model, pk in (("samplequery", kept.pk), ("corpus", corpus.pk), ("agentindex", dice.pk)):
        assert browser.post(f"/admin/registry/{model}/{pk}/change/", {}).status_code == 403
        assert browser.post(f"/admin/registry/{model}/{pk}/delete/", {"post": "yes"}).status_code == 403
        assert browser.get(f"/admin/registry/{model}/add/").status_code == 403


def test_an_agents_health_is_in_the_list_and_on_its_page(browser, dice):
    Liveness.objects.create(agent=dice, healthy=False, error="It refused the connection.")

    assert dice.agent_id in page(browser, "/admin/registry/agent/", health="failing", q=dice.handle)
    assert dice.agent_id not in page(browser, "/admin/registry/agent/", health="healthy", q=dice.handle)
    assert "It refused the connection." in page(browser, f"/admin/registry/agent/{dice.pk}/change/")


def test_what_an_agent_can_be_asked_is_given_in_the_admin_and_indexed(browser, dice):
    form = {"owner": dice.owner.handle, "handle": dice.handle, "name": "", "description": "", "more_info_url": ""}
    form |= {"enabled": "on", "priority": "0"}
    management = {"revisions-TOTAL_FORMS": "0", "revisions-INITIAL_FORMS": "0"}

    answer = browser.post(
        f"/admin/registry/agent/{dice.pk}/change/", {**form, **management, "queries": "Roll a die\r\nFlip a coin"}
    )

    assert answer.status_code == 302, answer.context["errors"]
    assert Agent.objects.get(pk=dice.pk).queries == ["Roll a die", "Flip a coin"]
    assert ProcrastinateJob.objects.filter(task_name="registry.index_agent", args__agent=dice.pk).exists()
