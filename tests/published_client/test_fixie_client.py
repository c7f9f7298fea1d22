"""`fixieai.FixieClient`: each of its methods."""

import pytest

from tests.agents import ScriptedAgent, answer
from tests.published_client.package import Raised
from tests.published_client.somebody import NOWHERE, Somebody

KEY_MALFORMED = "The key is malformed."


def test_get_agents_has_mine_and_published_ones_with_what_they_do(ann: Somebody, bob: Somebody, handle: str) -> None:
    mine = ann.new_agent(handle, name="Mine", description="Does this.", more_info_url="https://example.com/")
    public = bob.new_agent(f"{handle}-public", published=True)
    private = bob.new_agent(f"{handle}-private")
    agents = ann.client.get_agents()
    assert agents[mine] == {
        "agentId": mine,
        "name": "Mine",
        "description": "Does this.",
        "moreInfoUrl": "https://example.com/",
    }
    assert public in agents
    assert private not in agents


def test_get_agents_has_all_of_them_however_many(ann: Somebody, handle: str) -> None:
    from registry.models import Agent

    many = [f"{handle}-{number}" for number in range(250)]
    Agent.objects.bulk_create(Agent(owner=ann.user.owner, handle=name) for name in many)
    assert {f"{ann.name}/{name}" for name in many} <= set(ann.client.get_agents())


def test_get_agent_finds_one_or_says_that_it_is_not_valid(ann: Somebody, bob: Somebody, handle: str) -> None:
    agent = ann.new_agent(handle)
    assert ann.client.get_agent(agent).valid
    assert not bob.client.get_agent(agent).valid
    assert not ann.client.get_agent("nobody/nothing").valid
    assert not ann.client.get_agent("no handle/at all\0").valid


def test_create_agent_registers_one_of_mine(ann: Somebody, handle: str) -> None:
    agent = ann.client.create_agent(handle, "Name", "What it does.", more_info_url="https://example.com/")
    assert (agent.valid, agent.agent_id, agent.handle) == (True, f"{ann.name}/{handle}", handle)
    stored = ann.http.get(f"/api/agents/{ann.name}/{handle}").json()
    assert (stored["name"], stored["description"]) == ("Name", "What it does.")
    assert (stored["more_info_url"], stored["published"]) == ("https://example.com/", False)


def test_create_agent_takes_the_addresses_of_older_clients(ann: Somebody, handle: str, shouter: ScriptedAgent) -> None:
    agent = ann.client.create_agent(handle, "Name", "What it does.", func_url=shouter.url, published=True)
    assert (agent.func_url, agent.published) == (shouter.url, True)
    assert ann.client.create_session(agent.agent_id).query("Shout hello") == "HELLO!"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "There is already an agent with the handle"),
        ({"handle": "two words"}, "handle"),
        ({"handle": "other", "name": "x" * 201}, "name"),
        ({"handle": "other", "more_info_url": "javascript:alert(1)"}, "more_info_url"),
        ({"handle": "other", "func_url": "http://169.254.169.254/"}, "169.254.169.254"),
    ],
)
def test_create_agent_says_what_is_wrong_and_leaves_nothing(
    ann: Somebody, handle: str, changed: dict[str, str], said: str
) -> None:
    ann.new_agent(handle, name="First")
    with pytest.raises(Raised, match=said) as raised:
        ann.client.create_agent(**{"handle": handle, "name": "Second", "description": "", **changed})
    assert raised.value.kind == "TransportQueryError"
    (only,) = ann.http.get("/api/agents", params={"owner": ann.name}).json()["agents"]
    assert only["name"] == "First"


def test_get_sessions_has_mine_only(ann: Somebody, bob: Somebody) -> None:
    assert ann.client.get_sessions() == []
    mine = [ann.client.create_session().session_id for _ in range(2)]
    bob.client.create_session()
    assert sorted(ann.client.get_sessions()) == sorted(mine)


def test_get_sessions_has_all_of_them_however_many(ann: Somebody, handle: str) -> None:
    from sessions_app.models import Session

    many = [f"{handle}-{number}" for number in range(250)]
    Session.objects.bulk_create(Session(handle=name, owner=ann.user) for name in many)
    assert set(many) == set(ann.client.get_sessions())


def test_create_session_makes_one_with_a_front_agent_or_without(ann: Somebody, handle: str) -> None:
    agent = ann.new_agent(handle)
    named = ann.client.create_session(agent)
    assert ann.http.get(f"/api/sessions/{named.session_id}").json()["agent"] == agent
    unnamed = ann.client.create_session()
    assert ann.http.get(f"/api/sessions/{unnamed.session_id}").json()["agent"] is None


def test_create_session_with_an_unknown_agent_says_so_and_makes_none(ann: Somebody, bob: Somebody, handle: str) -> None:
    for agent in ("nobody/nothing", "nothing", bob.new_agent(handle)):
        with pytest.raises(Raised, match="There is no such agent"):
            ann.client.create_session(agent)
    assert ann.client.get_sessions() == []


def test_get_session_finds_one_or_says_that_there_is_none(ann: Somebody, bob: Somebody, handle: str) -> None:
    made = ann.client.create_session(ann.new_agent(handle))
    found = ann.client.get_session(made.session_id)
    assert (found.session_id, found.frontend_agent_id) == (made.session_id, f"{ann.name}/{handle}")
    for person, name in ((ann, "no-such-session"), (bob, made.session_id)):
        with pytest.raises(Raised, match=r"There is no such session, or it is not yours\."):
            person.client.get_session(name)


def test_get_current_user_tells_about_me(ann: Somebody, handle: str, shouter: ScriptedAgent) -> None:
    ann.user.first_name, ann.user.last_name, ann.user.daily_query_limit = "Ann", "Lee", 7
    ann.user.save()
    ann.client.create_session(ann.new_agent(handle, shouter.url)).query("Shout hello")
    me = ann.client.get_current_user()
    assert {name: me[name] for name in ("username", "firstName", "lastName", "email")} == {
        "username": ann.name,
        "firstName": "Ann",
        "lastName": "Lee",
        "email": ann.user.email,
    }
    assert (me["organization"], me["dailyQueryLimit"], me["dailyUsedQueries"]) == (None, 7, 1)
    assert "avatar" in me


def test_get_current_user_names_my_organization(ann: Somebody, handle: str) -> None:
    from accounts.organizations import create_organization

    create_organization(by=ann.user, handle=handle, name="Lab")
    assert ann.client.get_current_user()["organization"] == {"handle": handle, "name": "Lab"}


def test_get_current_username_is_the_owner_of_my_agents(ann: Somebody) -> None:
    assert ann.client.get_current_username() == ann.name


def test_refresh_agent_reads_the_manifest_again(ann: Somebody, handle: str) -> None:
    with ScriptedAgent() as server:
        server.on("/", answer({"type": "standalone", "sample_queries": ["Before"]}), method="GET")
        agent = ann.new_agent(handle, server.url)
        server.on("/", answer({"type": "standalone", "sample_queries": ["After"]}), method="GET")
        ann.client.refresh_agent(handle)
        assert ann.client.get_agent(agent).queries == ["After"]


def test_refresh_agent_tells_by_its_status_what_was_wrong(ann: Somebody, handle: str) -> None:
    with pytest.raises(Raised, match="404 Client Error: Not Found"):
        ann.client.refresh_agent("nothing")
    ann.new_agent(handle, NOWHERE)
    with pytest.raises(Raised, match="502 Server Error: Bad Gateway"):
        ann.client.refresh_agent(handle)


def test_create_agent_revision_deploys_at_an_address(ann: Somebody, handle: str, shouter: ScriptedAgent) -> None:
    ann.new_agent(handle)
    number = ann.client.create_agent_revision(handle, True, external_url=shouter.url, metadata={"by": "hand"})
    assert ann.client.get_current_agent_revision(handle) == number
    assert ann.client.create_session(f"{ann.name}/{handle}").query("Shout hello") == "HELLO!"


def test_create_agent_revision_not_to_be_current_changes_nothing(
    ann: Somebody, handle: str, shouter: ScriptedAgent
) -> None:
    ann.new_agent(handle)
    assert ann.client.create_agent_revision(handle, False, external_url=shouter.url)
    assert ann.client.get_current_agent_revision(handle) is None
    first = ann.client.create_agent_revision(handle, True, external_url=shouter.url)
    ann.client.create_agent_revision(handle, False, external_url=shouter.url)
    assert ann.client.get_current_agent_revision(handle) == first


def test_create_agent_revision_of_uploaded_code_is_refused_with_nothing_half_created(
    ann: Somebody, handle: str
) -> None:
    ann.new_agent(handle)
    with pytest.raises(Raised, match=r"not_supported") as raised:
        ann.client.create_agent_revision(handle, True, gzip_tarfile=b"\x1f\x8b" + b"x" * 100_000)
    assert raised.value.kind == "TransportQueryError"
    assert ann.http.get(f"/api/agents/{ann.name}/{handle}/revisions").json()["revisions"] == []


def test_create_agent_revision_says_what_is_wrong(ann: Somebody, bob: Somebody, handle: str) -> None:
    ann.new_agent(handle, published=True)
    url = NOWHERE
    with pytest.raises(Raised, match="There is no such agent"):
        bob.client.create_agent_revision(handle, True, external_url=url)
    with pytest.raises(Raised, match="externalDeployment"):
        ann.client.create_agent_revision(handle, True)
    with pytest.raises(Raised, match=r"169\.254\.169\.254"):
        ann.client.create_agent_revision(handle, True, external_url="http://169.254.169.254/")
    with pytest.raises(Raised, match="metadata"):
        ann.client.create_agent_revision(handle, True, external_url=url, metadata={"big": "x" * 100_000})
    assert ann.http.get(f"/api/agents/{ann.name}/{handle}/revisions").json()["revisions"] == []


def test_set_current_agent_revision_goes_back_and_forth(ann: Somebody, handle: str, shouter: ScriptedAgent) -> None:
    ann.new_agent(handle)
    first, second = (ann.client.create_agent_revision(handle, True, external_url=shouter.url) for _ in range(2))
    for number in (first, second):
        ann.client.set_current_agent_revision(handle, number)
        assert ann.client.get_current_agent_revision(f"{ann.name}/{handle}") == number


def test_delete_agent_revision_deletes_the_current_one_too(
    ann: Somebody, bob: Somebody, handle: str, shouter: ScriptedAgent
) -> None:
    ann.new_agent(handle, shouter.url, published=True)
    number = ann.client.get_current_agent_revision(handle)
    with pytest.raises(Raised, match="There is no such agent"):
        bob.client.delete_agent_revision(handle, number)
    assert ann.client.get_current_agent_revision(handle) == number
    ann.client.delete_agent_revision(handle, number)
    assert ann.client.get_current_agent_revision(handle) is None
    with pytest.raises(Raised, match=r"The agent has no such revision\."):
        ann.client.delete_agent_revision(handle, number)


def test_deploy_agent_is_refused_in_words(ann: Somebody, handle: str) -> None:
    ann.new_agent(handle)
    with pytest.raises(Raised, match=r"not_supported"):
        ann.client.deploy_agent(handle, b"\x1f\x8b", "PYTHON")


def test_post_returns_the_answer_and_raises_its_status(ann: Somebody, handle: str, shouter: ScriptedAgent) -> None:
    agent = ann.new_agent(handle, shouter.url)
    body = {"message": {"text": "Shout hello"}}
    assert ann.client.post(f"{ann.site.url}/api/agents/{agent}", body)["message"]["text"] == "HELLO!"
    with pytest.raises(Raised, match="400 Client Error: Bad Request"):
        ann.client.post(f"{ann.site.url}/api/agents/{agent}", {})


def test_streaming_post_yields_a_document_a_line(ann: Somebody, handle: str, shouter: ScriptedAgent) -> None:
    agent = ann.new_agent(handle, shouter.url)
    body = {"message": {"text": "Shout hello"}, "stream": True}
    documents = ann.client.streaming_post(f"{ann.site.url}/api/agents/{agent}", body)
    assert {document["type"] for document in documents} == {"response"}
    assert documents[-1]["message"]["text"] == "HELLO!"


def test_get_agent_page_url_leads_to_a_page_about_the_agent(ann: Somebody, handle: str) -> None:
    agent = ann.new_agent(handle, name="Page turner")
    url = ann.client.get_agent_page_url(agent)
    assert url == f"{ann.site.url}/agents/{agent}"
    with ann.signed_in() as browser:
        page = browser.get(url)
    assert page.status_code == 200
    assert "Page turner" in page.text


def test_a_wrong_key_is_refused_in_words(ann: Somebody) -> None:
    stranger = ann.package.module.FixieClient("nonsense")
    for method in ("get_agents", "get_sessions", "get_current_user", "create_session"):
        with pytest.raises(Raised, match=KEY_MALFORMED):
            getattr(stranger, method)()


def test_a_revoked_key_is_refused_at_once(ann: Somebody) -> None:
    from accounts import actions
    from accounts.models import ApiKey

    assert ann.client.get_current_username() == ann.name
    actions.revoke_api_key(key=ApiKey.objects.get(user=ann.user), by=ann.user)
    with pytest.raises(Raised, match="revoked"):
        ann.client.get_current_username()
