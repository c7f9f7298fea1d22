"""`fixie session query`: what `fixie query` is short for."""

import pytest

from tests.agents import ScriptedAgent
from tests.published_client.somebody import NOWHERE, Somebody


def test_it_prints_the_answer(ann: Somebody, handle: str, shouter: ScriptedAgent) -> None:
    agent = ann.new_agent(handle, shouter.url)
    shown = ann.fixie("session", "query", "--agent", agent, "Shout hello")
    assert (shown.code, shown.out) == (0, "HELLO!\n")
    assert ann.client.get_sessions() == []


@pytest.mark.parametrize("deployment_url", [None, NOWHERE])
def test_an_agent_that_cannot_answer_is_explained(ann: Somebody, handle: str, deployment_url: str | None) -> None:
    agent = ann.new_agent(handle, deployment_url)
    shown = ann.fixie("session", "query", "--agent", agent, "Shout hello")
    said = shown.out + shown.err
    assert "agent" in said.lower().splitlines()[-1], said
