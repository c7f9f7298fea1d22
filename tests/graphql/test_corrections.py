"""The sample queries of an agent and corrections over GraphQL: the same as over REST, for the same people."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.graphql.asking import Json
from tests.graphql.conftest import Team
from tests.registry.indexed import indexed_agent, sample
from tests.sites import Site

if TYPE_CHECKING:
    from registry.models import Agent, SampleQuery

FIELDS = "id agentId text suggested yours source clash"
LIST = f"""query ($agent: String!, $suggested: Boolean, $limit: Int! = 100, $after: String! = "") {{
    sampleQueries(agentId: $agent, suggested: $suggested, limit: $limit, after: $after) {{ {FIELDS} }} }}"""
OWN = f'query ($after: String! = "") {{ corrections(limit: 100, after: $after) {{ {FIELDS} }} }}'
ACCEPT = f"""mutation ($agent: String!, $id: ID!) {{
    acceptCorrection(agentHandle: $agent, sampleQueryId: $id) {{ sampleQuery {{ {FIELDS} }} }} }}"""
DELETE = f"""mutation ($agent: String!, $id: ID!) {{
    deleteCorrection(agentHandle: $agent, sampleQueryId: $id) {{ sampleQuery {{ {FIELDS} }} }} }}"""


@pytest.fixture
def agent(team: Team) -> "Agent":
    """A published agent of the team's."""
    return indexed_agent(team.organization.owner, name="Dice")


@pytest.fixture
def suggestion(agent: "Agent", team: Team) -> "SampleQuery":
    """What the outsider asked it instead of another."""
    return sample(agent, "Draw a card", team.outsider.user)


def everything(agent: "Agent") -> list[tuple[Any, ...]]:
    return list(agent.sample_queries.order_by("pk").values_list("pk", "user", "text"))


def texts(samples: list[Json]) -> list[str]:
    return [one["text"] for one in samples]


@pytest.mark.parametrize("who", ["admin", "mate"])
def test_those_who_may_change_an_agent_see_what_others_suggest(
    team: Team, agent: "Agent", suggestion: "SampleQuery", who: str
) -> None:
    other = indexed_agent(team.outsider.user.owner)
    sample(agent, "Roll 3d8", source="few_shot", clash=other)
    asker = getattr(team, who)

    suggested, public = asker.ask(LIST, agent=agent.agent_id)["sampleQueries"]

    assert suggested == {
        "id": str(suggestion.pk),
        "agentId": agent.agent_id,
        "text": "Draw a card",
        "suggested": True,
        "yours": False,
        "source": "correction",
        "clash": None,
    }
    assert (public["suggested"], public["source"], public["clash"]) == (False, "few_shot", other.agent_id)
    for only, found in ((True, "Draw a card"), (False, "Roll 3d8")):
        assert texts(asker.ask(LIST, agent=agent.agent_id, suggested=only)["sampleQueries"]) == [found]


def test_others_see_what_counts_for_everybody_and_their_own(
    team: Team, agent: "Agent", suggestion: "SampleQuery", asker: Any
) -> None:
    sample(agent, "Roll 3d8", source="few_shot", clash=indexed_agent(team.outsider.user.owner))
    sample(agent, "theirs", team.mate.user)

    own, public = team.outsider.ask(LIST, agent=agent.agent_id)["sampleQueries"]

    assert (own["text"], own["yours"], own["suggested"], own["source"]) == ("Draw a card", True, True, "correction")
    assert (public["text"], public["source"], public["clash"]) == ("Roll 3d8", None, None)
    assert texts(asker().ask(LIST, agent=agent.agent_id)["sampleQueries"]) == ["Roll 3d8"]


def test_a_private_agents_samples_are_not_there_for_others(team: Team, agent: "Agent", suggestion: Any) -> None:
    type(agent).objects.filter(pk=agent.pk).update(published=False)
    for document in (LIST, ACCEPT, DELETE):
        variables = {} if document is LIST else {"id": str(suggestion.pk)}
        assert team.outsider.refused(document, agent=agent.agent_id, **variables)["code"] == "not_found"
    assert team.outsider.ask(OWN) == {"corrections": []}
    assert len(everything(agent)) == 1


def test_ones_own_corrections_are_those_at_all_agents_in_pages(team: Team, agent: "Agent") -> None:
    other = indexed_agent(team.outsider.user.owner)
    first, second = sample(agent, "one", team.outsider.user), sample(other, "two", team.outsider.user)
    sample(other, "not theirs", team.mate.user)

    found = team.outsider.ask(OWN)["corrections"]

    assert [(one["id"], one["agentId"]) for one in found] == [
        (str(first.pk), agent.agent_id),
        (str(second.pk), other.agent_id),
    ]
    assert all(one["yours"] and one["suggested"] for one in found)
    assert texts(team.outsider.ask(OWN, after=found[0]["id"])["corrections"]) == ["two"]
    page = team.admin.ask(LIST, agent=agent.agent_id, limit=1, after=str(first.pk - 1))["sampleQueries"]
    assert texts(page) == ["one"]
    for bad in ("x", "-1", "9" * 30):
        refused = team.outsider.refused(OWN, after=bad)
        assert (refused["code"], refused["details"]) == ("invalid_request", {"field": "after"})


@pytest.mark.parametrize("who", ["admin", "mate"])
def test_members_accept_a_suggestion_for_everybody(
    team: Team, agent: "Agent", suggestion: "SampleQuery", who: str
) -> None:
    answer = getattr(team, who).ask(ACCEPT, agent=agent.agent_id, id=str(suggestion.pk))
    accepted = answer["acceptCorrection"]["sampleQuery"]
    assert (accepted["text"], accepted["suggested"], accepted["source"]) == ("Draw a card", False, "correction")
    assert everything(agent) == [(suggestion.pk, None, "Draw a card")]


@pytest.mark.parametrize("who", ["admin", "mate"])
def test_members_delete_a_suggestion_with_all_that_say_the_same(
    team: Team, agent: "Agent", suggestion: "SampleQuery", who: str
) -> None:
    sample(agent, "Draw a card", team.admin.user)
    answer = getattr(team, who).ask(DELETE, agent=agent.agent_id, id=str(suggestion.pk))
    assert answer["deleteCorrection"]["sampleQuery"]["id"] == str(suggestion.pk)
    assert everything(agent) == []


def test_a_user_deletes_their_own_and_nobody_elses(team: Team, agent: "Agent", suggestion: "SampleQuery") -> None:
    theirs = sample(agent, "Draw a card", team.mate.user)
    for one in (theirs, sample(agent, "Roll 3d8", source="few_shot")):
        assert team.outsider.refused(DELETE, agent=agent.agent_id, id=str(one.pk))["code"] == "not_found"
    team.outsider.ask(DELETE, agent=agent.agent_id, id=str(suggestion.pk))
    assert [user for _, user, _ in everything(agent)] == [team.mate.user.pk, None]


def test_whoever_is_none_of_them_changes_nothing(
    site: Site, settings: Any, team: Team, agent: "Agent", suggestion: "SampleQuery"
) -> None:
    from accounts.tokens import CallClaims, sign_call_token

    settings.SITE_URL = site.url
    claims = CallClaims(user_id=team.admin.user.pk, agent_id=agent.agent_id, session="", run="", chain=())
    before = everything(agent)
    for key in (None, sign_call_token(claims, lifetime=60)):
        with site.client(key) as http:
            for document in (LIST, OWN, ACCEPT, DELETE):
                variables = {"agent": agent.agent_id, "id": str(suggestion.pk)}
                assert http.post("/graphql", json={"query": document, "variables": variables}).status_code == 401
    assert team.outsider.refused(ACCEPT, agent=agent.agent_id, id=str(suggestion.pk))["code"] == "not_found"
    assert everything(agent) == before


def test_what_is_no_correction_of_the_agent_is_not_found(team: Team, agent: "Agent") -> None:
    elsewhere = sample(indexed_agent(team.organization.owner), "elsewhere", team.outsider.user)
    own = sample(agent, "Roll 3d8", source="few_shot")
    for number in (str(elsewhere.pk), str(own.pk), "0", "x", "-1", "9" * 30):
        for document in (ACCEPT, DELETE):
            refused = team.admin.refused(document, agent=agent.agent_id, id=number)
            assert (refused["code"], refused["details"]) == ("not_found", {"field": "sample_query"})
    assert len(everything(agent)) == 1
