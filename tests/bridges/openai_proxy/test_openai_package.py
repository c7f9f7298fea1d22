"""The `openai` package, unmodified, with the token of an agent's call in place of a key."""

from typing import Any

import openai
import pytest

from tests.bridges.openai_proxy.conftest import Asker, used
from tests.llm_server import Completion, ScriptedModel, failure

QUESTION: Any = [{"role": "user", "content": "What time is it?"}]
NO_NAME: Any = 7


@pytest.fixture
def client(ann: Asker) -> openai.OpenAI:
    with openai.OpenAI(base_url=ann.base_url, api_key=ann.token, max_retries=0) as client:
        yield client


def test_it_chats(client: openai.OpenAI, ann: Asker, model: ScriptedModel) -> None:
    said = client.chat.completions.create(model="scripted", messages=QUESTION, n=1, max_tokens=20)

    assert said.choices[0].message.content == "It is noon."
    assert said.usage.total_tokens == 10
    assert used(ann.user, ann.agent) == (7, 3)


def test_it_streams(client: openai.OpenAI, ann: Asker, model: ScriptedModel) -> None:
    with client.chat.completions.create(model="scripted", messages=QUESTION, stream=True) as stream:
        chunks = list(stream)

    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "It is noon."
    assert used(ann.user, ann.agent) == (7, 3)


def test_it_completes_lists_and_embeds(client: openai.OpenAI, model: ScriptedModel) -> None:
    assert client.completions.create(model="scripted", prompt="Time?").choices[0].text == "It is noon."
    assert [found.id for found in client.models.list()] == ["scripted", "huge/model"]
    assert client.models.retrieve("huge/model").id == "huge/model"
    assert client.embeddings.create(model="scripted", input="x", encoding_format="float").data[0].embedding == [
        0.25,
        -0.5,
    ]


async def test_the_async_client_works_too(ann: Asker, model: ScriptedModel) -> None:
    async with openai.AsyncOpenAI(base_url=ann.base_url, api_key=ann.token) as client:
        said = await client.chat.completions.create(model="scripted", messages=QUESTION, stream=True)
        assert "".join([chunk.choices[0].delta.content or "" async for chunk in said]) == "It is noon."


def test_it_understands_our_refusals(client: openai.OpenAI, ann: Asker, model: ScriptedModel) -> None:
    with pytest.raises(openai.BadRequestError, match="model must be the name of a model"):
        client.chat.completions.create(model=NO_NAME, messages=QUESTION)
    with pytest.raises(openai.NotFoundError, match="There is no POST"):
        client.images.generate(prompt="A clock")
    with pytest.raises(openai.AuthenticationError):
        client.with_options(api_key="sk-fixie-openai-key").models.list()
    with pytest.raises(openai.APIStatusError, match="A body may have 4194304 bytes"):
        client.chat.completions.create(model="scripted", messages=[{"role": "user", "content": "x" * 5_000_000}])

    ann.user.daily_token_limit = 0
    ann.user.save()
    with pytest.raises(openai.RateLimitError, match="used up for today") as refused:
        client.with_options(max_retries=5).chat.completions.create(model="scripted", messages=QUESTION)
    assert refused.value.code == "insufficient_quota"


def test_it_understands_the_servers_failures(client: openai.OpenAI, model: ScriptedModel) -> None:
    model.reset(failure(400, message="Too long", param="messages"))
    with pytest.raises(openai.BadRequestError, match="Too long") as refused:
        client.chat.completions.create(model="scripted", messages=QUESTION)
    assert refused.value.param == "messages"

    model.reset(Completion("It is noon.", cut_after=1))
    with pytest.raises(openai.APIError, match="broke off"):
        list(client.chat.completions.create(model="scripted", messages=QUESTION, stream=True))
