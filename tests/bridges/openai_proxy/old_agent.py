"""Runs in the environment of `fixieai` 1.0.4: a request handler, set up as by the package, that asks a model.

Prints what the handler found as JSON. Its argument is the token of the call.
"""

import asyncio
import json
import sys

from fixieai.agents import openai_proxy  # type: ignore[import-not-found]  # not in the environment of this project

assert openai_proxy.enable_openai_proxy()

import openai  # noqa: E402 -- must come after

QUESTION = [{"role": "user", "content": "What time is it?"}]


def refusal(call):
    try:
        call()
    except openai.error.OpenAIError as error:
        return [type(error).__name__, str(error), error.code]


async def handler(scope, receive, send):
    streamed = openai.ChatCompletion.create(model="scripted", messages=QUESTION, stream=True)
    found = {
        "chat": openai.ChatCompletion.create(model="scripted", messages=QUESTION).choices[0].message.content,
        "stream": "".join(chunk.choices[0].delta.get("content", "") for chunk in streamed),
        "completion": openai.Completion.create(model="scripted", prompt="Time?").choices[0].text,
        "models": [model.id for model in openai.Model.list().data],
        "embedding": openai.Embedding.create(model="scripted", input="x").data[0].embedding,
        "bad": refusal(lambda: openai.ChatCompletion.create(model=7, messages=QUESTION)),
        "unknown": refusal(lambda: openai.Image.create(prompt="A clock")),
    }
    openai_proxy._current_request_token.set("not-a-token")
    found["stranger"] = refusal(openai.Model.list)
    print(json.dumps(found))


scope = {"type": "http", "headers": [(b"authorization", b"Bearer " + sys.argv[1].encode())]}
asyncio.run(openai_proxy.OpenAIProxyRequestTokenForwarderMiddleware(handler)(scope, None, None))
