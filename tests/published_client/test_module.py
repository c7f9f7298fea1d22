"""`fixieai.query`, `fixieai.get_agents` and `fixieai.get_embeds`: a client and a session made on the way."""

from tests.published_client.somebody import Somebody


def test_all_of_them_share_one_client_and_one_session(ann: Somebody, handle: str, echo: str) -> None:
    agent = ann.new_agent(handle)
    with ann.own_package() as package:
        assert agent in package.module.get_agents()
        assert package.module.query(f"@{echo} first") == "first"
        assert package.module.query(f"@{echo} second") == "second"
        assert package.module.get_embeds() == []
    (session,) = ann.client.get_sessions()
    assert [message["text"] for message in ann.client.get_session(session).get_messages()][1::2] == ["first", "second"]


def test_get_client_takes_the_key_of_the_environment(ann: Somebody) -> None:
    with ann.own_package() as package:
        assert package.module.get_client().get_current_username() == ann.name


def test_it_is_the_version_that_was_published_last(ann: Somebody) -> None:
    assert ann.package.module.__getattr__("__version__") == "1.0.4"
