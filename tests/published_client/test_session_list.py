"""`fixie session list`."""

from tests.published_client.somebody import Somebody


def test_it_lists_my_sessions_and_nobody_elses(ann: Somebody, bob: Somebody) -> None:
    mine = {ann.client.create_session().session_id for _ in range(2)}
    bob.client.create_session()
    shown = ann.fixie("session", "list")
    assert shown.code == 0
    assert set(shown.out.splitlines()) == mine


def test_there_may_be_none(ann: Somebody) -> None:
    shown = ann.fixie("session", "list")
    assert (shown.code, shown.out) == (0, "")
