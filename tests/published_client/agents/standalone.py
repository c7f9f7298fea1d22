"""A standalone agent: it streams, attaches, reads attachments, remembers, and fails."""

import time

import fixieai


def answer(query: fixieai.Message, user_storage: fixieai.UserStorage):
    verb, _, rest = query.text.partition(" ")
    yield from globals()[verb.lower()](rest, query, user_storage)


def count(rest, query, user_storage):
    for end in range(1, int(rest) + 1):
        yield " ".join(map(str, range(1, end + 1)))
        time.sleep(0.05)  # long enough to be seen on its way


def attach(rest, query, user_storage):
    note = fixieai.Embed("text/plain", "")
    note.text = rest
    yield fixieai.Message("Noted in #note.", {"note": note})


def read(rest, query, user_storage):
    yield " / ".join(f"{key}: {embed.content_type} {embed.text}" for key, embed in sorted(query.embeds.items()))


def remember(rest, query, user_storage):
    user_storage["things"] = [*user_storage.get("things", []), rest]
    user_storage["raw/bytes"] = rest.encode()
    yield "I will."


def recall(rest, query, user_storage):
    if "things" not in user_storage:
        yield "Nothing yet."
        return
    raw = user_storage["raw/bytes"]
    yield f"{user_storage['things']} {raw!r} {sorted(user_storage)} {len(user_storage)}"


def forget(rest, query, user_storage):
    for key in list(user_storage):
        del user_storage[key]
    try:
        user_storage["things"]
    except KeyError as error:
        yield str(error)


def fail(rest, query, user_storage):
    yield "I begin"
    raise RuntimeError("The oven is cold.")


agent = fixieai.StandaloneAgent(answer, sample_queries=["Count 3", "Remember the milk"])
