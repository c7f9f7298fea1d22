"""One agent of each transport, for everybody, and somebody to ask them."""

import pytest

from tests.agents import ScriptedAgent
from tests.matrix.agents import SUBJECTS, Subject
from tests.sessions_app.people import Person


@pytest.fixture
def subject(request: pytest.FixtureRequest, scripted: ScriptedAgent, asker: Person) -> Subject:
    """An agent of the transport that the test is for."""
    return SUBJECTS[request.param](scripted, asker)
