"""`fixie agent list`: published agents and one's own."""

from tests.published_client.somebody import Somebody


def test_it_lists_my_agents_and_published_ones_by_id(ann: Somebody, bob: Somebody, handle: str) -> None:
    mine = ann.new_agent(handle, name="Mine")
    public = bob.new_agent(f"{handle}-public", name="Public", published=True)
    private = bob.new_agent(f"{handle}-private", name="Private")
    lines = ann.fixie("agent", "list").out.splitlines()
    assert f"{mine}: Mine" in lines
    assert f"{public}: Public" in lines
    assert not [line for line in lines if line.startswith(private)]
    ids = [line.split(":")[0] for line in lines]
    assert ids == sorted(ids)


def test_verbose_adds_what_an_agent_does_and_where_to_read_more(ann: Somebody, handle: str) -> None:
    agent = ann.new_agent(handle, name="Mine", description="Does this.", more_info_url="https://example.com/mine")
    shown = ann.fixie("agent", "list", "--verbose").out
    assert f"{agent}: Mine\n    Does this.\n    More info: https://example.com/mine\n\n" in shown
