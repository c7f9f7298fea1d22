"""What a run is told of an agent."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from common.errors import NotFound
from registry.actions import create_agent, delete_agent
from registry.specs import RevisionBroken, cached_spec, load_spec, queries_of
from tests.registry.readings import URL, fails, reads


def test_a_spec_is_loaded_in_one_query_and_then_looked_up(agent):
    revision = agent.current_revision_id
    assert cached_spec(revision) is None

    with CaptureQueriesContext(connection) as queries:
        spec = load_spec(revision)
    with CaptureQueriesContext(connection) as no_queries:
        assert cached_spec(revision) is spec

    assert (len(queries), len(no_queries)) == (1, 0)
    assert (spec.agent, spec.agent_id, spec.revision) == (agent.pk, agent.agent_id, revision)
    assert (spec.transport, spec.deployment.target) == ("code_shot", URL)
    assert spec.manifest.base_prompt == "I roll dice."


def test_a_broken_revision_has_no_spec_but_the_reason(people):
    agent = create_agent(by=people.owner, handle="broken", reading=fails(reason="It is no JSON."))

    with pytest.raises(RevisionBroken, match="It is no JSON") as broken:
        load_spec(agent.current_revision_id)

    assert broken.value.revision == agent.current_revision
    assert cached_spec(agent.current_revision_id) is None


def test_a_revision_that_is_gone_is_not_found(agent):
    revision = agent.current_revision_id
    load_spec(revision)
    delete_agent(agent=agent)

    assert cached_spec(revision) is None
    with pytest.raises(NotFound):
        load_spec(revision)


def test_few_shots_tell_what_an_agent_can_be_asked(people):
    shots = ("Q: Roll 3d8\nAsk Func[roll]: 8 3\nA: 5", "\nQ:  Flip a coin \nA: heads", "no question")
    agent = create_agent(by=people.owner, handle="asks", reading=reads(few_shots=shots))

    assert queries_of(agent) == ["Roll 3d8", "Flip a coin"]
