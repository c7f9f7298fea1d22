"""People who ask over the Agent API, and agents that answer them."""

import uuid
from collections.abc import Callable

import pytest

from tests.agents import ScriptedAgent, answer
from tests.sessions_app.conftest import stage
from tests.sessions_app.people import Person

__all__ = ["stage"]

FEW_SHOT = "Q: Roll 3d8\nAsk Func[roll]: 3d8\nFunc[roll] says: 8 3 4\nA: 8 3 4"


@pytest.fixture
def code_shot(scripted: ScriptedAgent) -> Callable[..., str]:
    """`code_shot(person, few_shot)` → the id of a Code Shot agent of theirs, whose Func `roll` says `4 2`."""

    def register(owner: Person, few_shot: str = FEW_SHOT) -> str:
        handle = f"agent-{uuid.uuid4().hex[:8]}"
        manifest = {"type": "code_shot", "base_prompt": "I roll dice.", "few_shots": [few_shot]}
        scripted.on(f"/{handle}", answer(manifest), method="GET")
        scripted.on(f"/{handle}/roll", answer({"message": {"text": "4 2"}}))
        made = owner.http.post("/api/agents", json={"handle": handle, "deployment_url": f"{scripted.url}/{handle}"})
        assert made.json()["revision"]["state"] == "ready", made.text
        return str(made.json()["agent_id"])

    return register
