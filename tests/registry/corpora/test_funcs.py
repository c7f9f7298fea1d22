"""Corpora that an agent serves: partitions, pages, documents, and agents that get them wrong."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from common.errors import AgentFailed, AgentInvalidResponse
from registry.corpora import funcs
from registry.corpora.documents import Limits, Read, Result
from registry.corpora.funcs import auth_token_of, documents_of
from tests.agents import Behaviour, Request, ScriptedAgent, answer, hang, raw
from tests.registry.corpora.documents import pdf
from tests.registry.corpora.websites import LIMITS, limits, read, stopped, unread

FUNC = "Func[load]"


@pytest.fixture
def agent():
    with ScriptedAgent() as agent:
        yield agent


def document(name: str = "notes", content: str | bytes = "Words.", **fields: Any) -> dict[str, Any]:
    """A document as the published SDK sends it."""
    data = content.encode() if isinstance(content, str) else content
    encoded = base64.b64encode(data).decode()
    return {"source_name": name, "content": encoded, "encoding": "UTF-8", "mime_type": "text/plain", **fields}


def page(*documents: Any, following: str | None = None, partitions: Any = None) -> dict[str, Any]:
    return {"partitions": partitions, "page": {"documents": list(documents), "next_page_token": following}}


def partition(name: Any, token: str | None = None) -> dict[str, Any]:
    return {"partition": name, "first_page_token": token}


def corpus(answers: dict[tuple[str | None, str | None], Any]) -> Behaviour:
    """Answers by partition and page token."""

    def said(request: Request) -> Any:
        return answers[request.json["partition"], request.json["page_token"]]

    return answer(said)


async def loaded(agent: ScriptedAgent, behaviour: Behaviour, within: Limits = LIMITS, done: Any = ()) -> list[Result]:
    agent.on("/corpus/load", behaviour)
    return [result async for result in documents_of(agent.url, "load", within, token="secret", done=done)]


async def test_a_handful_of_documents(agent: ScriptedAgent) -> None:
    results = await loaded(agent, answer(page(document("a", "First."), document("b", "Müller"))))
    assert results == [
        Read("a", "First.", title="", content_type="text/plain", size=6),
        Read("b", "Müller", title="", content_type="text/plain", size=7),
    ]
    (request,) = agent.requests
    assert request.json == {"partition": None, "page_token": None}
    assert request.headers["authorization"] == "Bearer secret"


async def test_partitions_are_read_once_each_and_their_pages_in_order(agent: ScriptedAgent) -> None:
    first = [partition("x", "x1"), partition("y"), partition("x", "other")]
    answers = {
        (None, None): page(document("0"), following="more", partitions=first),
        (None, "more"): page(document("1"), partitions=[partition("z"), partition("y")]),
        ("x", "x1"): page(document("x1"), following="x2"),
        ("x", "x2"): page(document("x2"), partitions=[partition("x"), partition("")]),
        ("y", None): {"partitions": [], "page": None},
        ("z", None): page(document("z")),
        ("", None): page(document("unnamed")),
    }
    assert read(await loaded(agent, corpus(answers))) == ["0", "1", "x1", "x2", "z", "unnamed"]
    asked = [(request.json["partition"], request.json["page_token"]) for request in agent.requests]
    assert asked == list(answers)


async def test_documents_may_be_of_any_readable_type(agent: ScriptedAgent) -> None:
    documents = [
        document("a", "<title>T</title><p>Hello", mime_type="text/html"),
        document("b", pdf("In a PDF."), mime_type="application/pdf"),
        document("c", "Müller".encode("cp1252"), encoding="windows-1252"),
        document("d", "  as it is\n\n  here", encoding=None, mime_type=None),
        document("e", "x", mime_type="image/png"),
    ]
    results = await loaded(agent, answer(page(*documents)))
    assert [result.text for result in results[:4]] == ["Hello", "In a PDF.", "Müller", "as it is\n\n  here"]
    assert results[0].title == "T"
    assert unread(results) == {"e": "Documents of type image/png cannot be read."}


async def test_documents_of_one_name_are_kept_apart(agent: ScriptedAgent) -> None:
    results = await loaded(agent, answer(page(document("a", "1"), document("a", "2"), document("a (2)", "3"))))
    assert read(results) == ["a", "a (2)", "a (2) (2)"]


async def test_a_reading_goes_on_where_it_was_broken_off(agent: ScriptedAgent) -> None:
    answers = {(None, None): page(document("a"), following="2"), (None, "2"): page(document("b"), document("c"))}
    assert read(await loaded(agent, corpus(answers), done={"a", "b"})) == ["c"]


async def test_a_target_with_a_path_and_a_query_keeps_them(agent: ScriptedAgent) -> None:
    agent.on("/agents/one/corpus/load", answer(page(document())))
    results = [result async for result in documents_of(f"{agent.url}/agents/one?k=v", "load", LIMITS, token="t")]
    assert read(results) == ["notes"]
    assert agent.requests[0].path == "/agents/one/corpus/load?k=v"


async def test_limits_end_the_reading(agent: ScriptedAgent) -> None:
    many = page(*[document(str(number), "x" * 1000) for number in range(9)])
    results = await loaded(agent, answer(many), limits(documents=4))
    assert read(results) == ["0", "1", "2", "3"]
    assert stopped(results) == "A corpus may have 4 documents; the rest was not read."
    results = await loaded(agent, answer(many), limits(total_bytes=2500))
    assert read(results) == ["0", "1", "2"]
    assert stopped(results) == "A corpus may have 2500 bytes; the rest was not read."


def counting(make: Callable[[int], Any]) -> Behaviour:
    count = 0

    def said(request: Request) -> Any:
        nonlocal count
        count += 1
        return make(count)

    return answer(said)


async def test_pages_without_end_end(agent: ScriptedAgent) -> None:
    results = await loaded(agent, counting(lambda count: page(following=str(count))), limits(documents=1))
    assert stopped(results) == "Only 0 of 104 attempts made a document; the rest was not read."
    assert len(agent.requests) == 104


async def test_partitions_without_end_end(agent: ScriptedAgent) -> None:
    endless = counting(lambda count: {"partitions": [partition(f"{count}-{n}") for n in range(100)]})
    results = await loaded(agent, endless, limits(documents=1))
    assert stopped(results) == "Only 0 of 104 attempts made a document; the rest was not read."


async def test_more_partitions_than_allowed_are_not_read(agent: ScriptedAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(funcs, "MAX_PARTITIONS", 3)
    first = answer(page(partitions=[partition(str(number)) for number in range(5)]))
    agent.on("/corpus/load", first, answer(page()))
    results = [result async for result in documents_of(agent.url, "load", LIMITS, token="t")]
    assert stopped(results) == "The corpus has more than 3 partitions; the rest was not read."
    assert len(agent.requests) == 4


async def test_a_page_that_leads_back_to_itself_ends_its_partition_alone(agent: ScriptedAgent) -> None:
    answers = {
        (None, None): page(document("a"), following="same", partitions=[partition("y")]),
        (None, "same"): page(following="same"),
        ("y", None): page(document("b")),
    }
    results = await loaded(agent, corpus(answers))
    assert read(results) == ["a", "b"]
    assert unread(results) == {FUNC: "The field `page.next_page_token` leads back to an earlier page."}


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ([], "The answer of the agent is not a JSON object."),
        ({"partitions": {}}, "The field `partitions` in the agent's answer is not a list."),
        (
            {"partitions": ["x"]},
            "The field `partitions[0]` in the agent's answer is not an object with the string `partition`.",
        ),
        (
            {"partitions": [partition(5)]},
            "The field `partitions[0].partition` in the agent's answer is not a string of at most 4096 characters.",
        ),
        (
            {"partitions": [partition("x", "y" * 5000)]},
            "The field `partitions[0].first_page_token` in the agent's answer is not a string of at most 4096 "
            "characters.",
        ),
        ({"page": []}, "The field `page` in the agent's answer is not an object."),
        ({"page": {"documents": "x"}}, "The field `page.documents` in the agent's answer is not a list."),
        (
            {"page": {"documents": [], "next_page_token": 7}},
            "The field `page.next_page_token` in the agent's answer is not a string of at most 4096 characters.",
        ),
    ],
)
async def test_an_answer_of_the_wrong_shape_names_its_field(agent: ScriptedAgent, said: Any, reason: str) -> None:
    assert unread(await loaded(agent, answer(said))) == {FUNC: reason}


@pytest.mark.parametrize(
    ("wrong", "field", "problem"),
    [
        (document(content="x") | {"content": "not base64!"}, ".content", "is not base64"),
        (document() | {"content": None}, ".content", "is not a string"),
        (document(content="x" * 200_001), ".content", "is larger than 200000 bytes"),
        (document() | {"source_name": 5}, ".source_name", "is not a string"),
        (document(encoding="klingon"), ".encoding", "is not the name of an encoding"),
        (document(encoding="zlib"), ".encoding", "is not the name of an encoding"),
        (document(mime_type=[]), ".mime_type", "is not a string of at most 4096 characters"),
        ("a string", "", "is not an object"),
    ],
)
async def test_a_wrong_document_names_its_field_and_the_others_are_read(
    agent: ScriptedAgent, wrong: Any, field: str, problem: str
) -> None:
    results = await loaded(agent, answer(page(document("good"), wrong, document("too"))))
    assert read(results) == ["good", "too"]
    (reason,) = unread(results).values()
    assert reason == f"The field `page.documents[1]{field}` in the agent's answer {problem}."


async def test_a_page_of_countless_wrong_documents_ends(agent: ScriptedAgent) -> None:
    results = await loaded(agent, answer(page(*[{}] * 50_000)), limits(documents=1))
    assert len(results) < 110
    assert stopped(results)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (answer(body=b"no json"), "The agent's answer is not JSON."),
        (answer({"message": {"text": "I fell over."}}, status=500), "I fell over."),
        (answer({"detail": "Not Found"}, status=404), "The agent has no Func[load]."),
        (answer({}, status=403), "The agent refused the call (HTTP 403)."),
        (raw(b"rubbish\r\n\r\n"), "The agent broke off in the middle of its answer, or does not speak HTTP."),
        (hang(), "The agent did not answer within 1 seconds."),
        (answer(body=b"[" + b" " * 500_000 + b"]"), "The agent's answer is larger than 400000 bytes."),
    ],
    ids=["no JSON", "fails", "no such Func", "refuses", "no HTTP", "hangs", "large"],
)
async def test_a_call_that_fails_says_why(agent: ScriptedAgent, behaviour: Behaviour, reason: str) -> None:
    results = await loaded(agent, behaviour, limits(seconds=1.0))
    assert unread(results) == {FUNC: reason}


async def test_a_partition_that_fails_does_not_keep_the_others_from_being_read(agent: ScriptedAgent) -> None:
    fails = answer({"message": {"text": "Not this one."}}, status=500)
    first = answer(page(document("a"), partitions=[partition("bad\0"), partition("good")]))
    agent.on("/corpus/load", first, fails, answer(page(document("b"))))
    results = [result async for result in documents_of(agent.url, "load", LIMITS, token="t")]
    assert read(results) == ["a", "b"]
    assert unread(results) == {f"{FUNC}, partition bad\N{REPLACEMENT CHARACTER}": "Not this one."}


async def test_the_token_of_a_url_corpus_comes_from_the_agent(agent: ScriptedAgent) -> None:
    agent.on("/login", answer({"message": {"text": " abc.def\n"}}))
    assert await auth_token_of(agent.url, "login", token="secret") == "abc.def"
    (request,) = agent.requests
    assert request.headers["authorization"] == "Bearer secret"
    assert json.loads(request.body)["message"]["text"] == ""


@pytest.mark.parametrize("text", ["", "two words", "line\r\nX-Evil: 1", "ü", "x" * 10_000])
async def test_what_cannot_be_a_bearer_token_is_refused(agent: ScriptedAgent, text: str) -> None:
    agent.on("/login", answer({"message": {"text": text}}))
    with pytest.raises(AgentInvalidResponse, match="cannot be a bearer token"):
        await auth_token_of(agent.url, "login", token="secret")


async def test_a_func_that_fails_gives_no_token(agent: ScriptedAgent) -> None:
    agent.on("/login", answer({"message": {"text": "Who are you?"}, "error": {"code": "x"}}))
    with pytest.raises(AgentFailed, match="Who are you"):
        await auth_token_of(agent.url, "login", token="secret")
