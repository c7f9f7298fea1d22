"""Which language model a site uses."""

from collections.abc import Iterator

import pytest
from django.test import override_settings

from sessions_app.llm.base import ModelOptions, Prompt
from sessions_app.llm.catalog import close_language_model, language_model
from sessions_app.llm.follower import Follower
from tests.llm_server import ScriptedModel


@pytest.fixture
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel("A: x") as server:
        yield server


def test_without_a_server_it_is_the_follower() -> None:
    with override_settings(LLM_BASE_URL=""):
        assert isinstance(language_model(), Follower)
        assert language_model() is language_model()


async def test_with_a_server_it_is_that_server(server: ScriptedModel) -> None:
    with override_settings(LLM_BASE_URL=server.url, LLM_API_KEY="k", LLM_MODEL="m"):
        assert language_model() is language_model()
        pieces = [piece async for piece in language_model().complete(Prompt("", (), "Hi"), ModelOptions())]
        assert pieces[:2] == ["A:", " x"]
        assert server.requests[0]["model"] == "m"
        await close_language_model()
