"""An agent written with the published `fixieai` reaches models through the `openai` package of its day."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.bridges.openai_proxy.conftest import Asker, used
from tests.llm_server import ScriptedModel
from tests.published_client.package import PYTHON
from tests.sites import Site


def test_an_agent_reaches_a_model_with_the_token_of_its_call(
    ann: Asker, proxy: Site, model: ScriptedModel, tmp_path: Path
) -> None:
    if not PYTHON.exists():
        pytest.skip("The published client is not installed: `make test` does it.")
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "FIXIE_API_URL": proxy.url}
    command = [PYTHON, "-W", "ignore", Path(__file__).with_name("old_agent.py"), ann.token]

    found = json.loads(subprocess.run(command, env=environment, check=True, stdout=-1, text=True).stdout)

    assert found["chat"] == found["stream"] == found["completion"] == "It is noon."
    assert found["models"] == ["scripted", "huge/model"]
    assert found["embedding"] == [0.25, -0.5]
    assert found["bad"][::2] == ["InvalidRequestError", "invalid_request"]
    assert found["unknown"][0] == "InvalidRequestError"
    assert found["stranger"][0] == "AuthenticationError"
    assert used(ann.user, ann.agent) == (7 + 7 + 7 + 5, 3 + 3 + 3)
