"""A standalone agent that asks a language model, as agents of that time did: through the platform's proxy."""

import openai


def answer(query: str):
    verb, _, rest = query.partition(" ")
    try:
        yield from globals()[verb.lower()](rest)
    except openai.error.OpenAIError as error:
        yield f"{type(error).__name__}: {error}"


def chat(text):
    asked = {"model": "gpt-3.5-turbo", "messages": [{"role": "user", "content": text}]}
    yield openai.ChatCompletion.create(**asked).choices[0].message.content


def twice(text):
    for _ in range(2):
        yield from chat(text)


def stream(text):
    asked = {"model": "gpt-3.5-turbo", "messages": [{"role": "user", "content": text}]}
    said = ""
    for part in openai.ChatCompletion.create(**asked, stream=True):
        said += part.choices[0].delta.get("content", "")
        yield said


def complete(text):
    yield openai.Completion.create(model="text-davinci-003", prompt=text).choices[0].text


def embed(text):
    vector = openai.Embedding.create(model="text-embedding-ada-002", input=text).data[0].embedding
    yield f"{len(vector)} numbers"


def models(text):
    yield " ".join(model.id for model in openai.Model.list().data)
