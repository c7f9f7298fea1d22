"""`fixie agent delete`."""

from tests.published_client.somebody import Somebody


def test_it_deletes_my_agent_by_its_handle_or_its_id(ann: Somebody, handle: str) -> None:
    for name in (handle, f"{ann.name}/{handle}"):
        agent = ann.new_agent(handle)
        shown = ann.fixie("agent", "delete", name)
        assert (shown.code, shown.out) == (0, f"Deleted agent {name}\n")
        assert ann.http.get(f"/api/agents/{agent}").status_code == 404


def test_what_is_not_mine_stays(ann: Somebody, bob: Somebody, handle: str) -> None:
    agent = ann.new_agent(handle, published=True)
    shown = bob.fixie("agent", "delete", agent)
    assert shown.code == 1
    assert "There is no such agent, or it is not yours" in shown.err
    assert ann.http.get(f"/api/agents/{agent}").status_code == 200


def test_what_there_is_not_cannot_be_deleted(ann: Somebody) -> None:
    shown = ann.fixie("agent", "delete", "nothing")
    assert shown.code == 1
    # The package names an unknown agent's owner null.
    assert "Expected value of non-null type 'String!' not to be None." in shown.err
