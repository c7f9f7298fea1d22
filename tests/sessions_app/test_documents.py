"""Questions to documents: an agent's corpora and a session's attachments, answered without a language model."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.agents import ScriptedAgent, answer, hang
from tests.registry.corpora.documents import pdf, protected_pdf
from tests.sessions_app.embedded import ref
from tests.sessions_app.people import Json, Person, wait_until

REFUNDS = "A refund is paid within thirty days after the parcel came back to our warehouse."
TRAINS = "The night train to Vienna leaves at eleven from the southern platform."
WEATHER = "It rained all day long in the hills."
CORPUS_SHOT = """Q: What is the warranty?
Ask Func[fixie_query_corpus]: What is the warranty?
Func[fixie_query_corpus] says: Two years.
A: Two years."""
# As the original's own examples have it.
EMBED_SHOTS = [
    """Q: When did the thing happen? #text1
Ask Func[fixie_query_embed]: When did the thing happen? #text1
Func[fixie_query_embed] says: It happened on March 1, 2023
A: The thing happened on March 1, 2023.""",
]


@pytest.fixture
def server() -> Iterator[ScriptedAgent]:
    with ScriptedAgent() as server:
        server.on("/refunds", answer(body=REFUNDS.encode(), content_type="text/plain"), method="GET")
        server.on("/trains", answer(body=TRAINS.encode(), content_type="text/plain"), method="GET")
        yield server


def new_agent(person: Person, server: ScriptedAgent, few_shots: list[str], *paths: str) -> str:
    """The id of a Code Shot agent of theirs that has a corpus of these pages."""
    corpora = [{"urls": [f"{server.url}{path}" for path in paths]}] if paths else None
    manifest = {"base_prompt": "", "few_shots": few_shots, "corpora": corpora}
    server.on("/", answer(manifest), method="GET")
    body = {"handle": f"reader-{uuid.uuid4().hex[:8]}", "deployment_url": server.url}
    made = person.http.post("/api/agents", json=body)
    assert made.status_code == 201, made.text
    assert made.json()["revision"]["state"] == "ready", made.text
    return str(made.json()["agent_id"])


def read(person: Person, agent: str) -> Json:
    """The agent's corpus, once it is read."""

    def is_read() -> Any:
        (corpus,) = person.http.get(f"/api/agents/{agent}/corpora").json()["corpora"]
        return corpus if corpus["status"] in ("ready", "failed") else None

    found: Json = wait_until(is_read, 40)
    return found


def asked(person: Person, agent: str, text: str, **fields: Any) -> list[Json]:
    """The messages of a new session in which the agent has answered."""
    session = person.new_session(agent)
    person.post(session, text, **fields)
    return person.settled(session)


def test_the_best_passage_and_its_source_answer_any_question(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, [CORPUS_SHOT], "/refunds", "/trains")
    assert read(asker, agent)["vector_count"] == 2
    query, call, output, response = asked(asker, agent, "From which platform does the train to Vienna leave?")
    assert call["text"] == f"Ask Func[fixie_query_corpus]: {query['text']}"
    assert output["text"].startswith(f"Func[fixie_query_corpus] says: [1] {server.url}/trains\n{TRAINS}")
    assert response["text"] == f"{TRAINS}\n\nSource: {server.url}/trains"


def test_an_agent_with_documents_needs_no_few_shots(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, [], "/refunds", "/trains")
    read(asker, agent)
    *_, response = asked(asker, agent, "How long do I wait for a refund?")
    assert response["text"] == f"{REFUNDS}\n\nSource: {server.url}/refunds"


def test_an_agent_without_documents_says_so(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, [CORPUS_SHOT])
    *_, response = asked(asker, agent, "What is the warranty?")
    assert response["text"] == "This agent has no documents to look into."


def test_while_documents_are_read_it_says_how_far_that_is(asker: Person, server: ScriptedAgent) -> None:
    server.on("/slow", hang(), method="GET")
    agent = new_agent(asker, server, [CORPUS_SHOT], "/slow")
    *_, response = asked(asker, agent, "What is the warranty?")
    assert response["text"].startswith("I'm still starting up. Please try again in a few minutes.")
    assert "0 of them are there so far" in response["text"]


def test_documents_that_cannot_be_read_are_named(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, [CORPUS_SHOT], "/gone")
    assert read(asker, agent)["status"] == "failed"
    *_, response = asked(asker, agent, "What is the warranty?")
    assert f"{server.url}/gone" in response["text"]


def test_a_question_far_from_all_documents_gets_none_of_them(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, [CORPUS_SHOT], "/trains")
    read(asker, agent)
    *_, response = asked(asker, agent, "zxqv wkjh?")
    assert response["text"] == "Nothing in the documents is about that."


def test_a_func_of_the_agents_own_goes_before_the_short_name(asker: Person, server: ScriptedAgent) -> None:
    shot = CORPUS_SHOT.replace("fixie_query_corpus", "query_corpus")
    server.on("/query_corpus", answer({"message": {"text": "Mine."}}))
    agent = new_agent(asker, server, [shot], "/trains")
    read(asker, agent)
    assert asked(asker, agent, "What is the warranty?")[-1]["text"] == "Mine."
    server.on("/query_corpus", answer({"message": {"text": "No such Func."}}, status=404))
    assert asked(asker, agent, "What is the train to Vienna?")[-1]["text"].startswith(TRAINS)


def test_an_attached_document_answers(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, EMBED_SHOTS)
    notes = f"{REFUNDS}\n\n{TRAINS}"
    query, call, output, response = asked(
        asker, agent, "When does the train leave? #1", embeds={"1": ref(notes, "text/plain")}
    )
    assert call["text"] == f"Ask Func[fixie_query_embed]: {query['text']}"
    assert TRAINS in output["text"]
    assert response["text"].endswith("Source: #1")
    assert set(response["embeds"]) == {"1"}


def test_an_attached_pdf_answers_with_the_passage_that_is_asked_for(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, EMBED_SHOTS)
    text = f"{WEATHER} " * 30
    document = pdf(REFUNDS, *(f"{text}Day {number}." for number in range(3)), TRAINS, title="Handbook")
    question = "From which platform does the night train leave? #1"
    _, call, output, response = asked(asker, agent, question, embeds={"1": ref(document, "application/pdf")})
    assert call["text"] == f"Ask Func[fixie_query_embed]: {question}"
    assert output["text"].startswith("Func[fixie_query_embed] says: [1] #1\n")
    assert TRAINS in response["text"]
    assert REFUNDS not in response["text"]
    assert response["text"].endswith("Source: #1")


def test_a_pdf_that_cannot_be_read_is_named_with_the_reason(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, EMBED_SHOTS)
    broken = {"broken": pdf(TRAINS)[:200], "protected": protected_pdf("secret")}
    for document in broken.values():
        *_, response = asked(
            asker, agent, "When does the train leave? #1", embeds={"1": ref(document, "application/pdf")}
        )
        assert response["text"].startswith("#1 cannot be read. ")
        assert TRAINS not in response["text"]


def test_of_several_attachments_the_best_answers_and_others_are_named(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, EMBED_SHOTS)
    embeds = {"1": ref(REFUNDS, "text/plain"), "2": ref(TRAINS, "text/plain"), "3": ref("\x89PNG", "image/png")}
    *_, response = asked(asker, agent, "When does the train to Vienna leave? #1 #2 #3", embeds=embeds)
    assert response["text"].startswith(f"{TRAINS}\n\nSource: #2")
    assert "#3 cannot be read." in response["text"]


def test_a_later_question_without_a_reference_is_about_the_last_document(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, EMBED_SHOTS)
    session = asker.new_session(agent)
    asker.post(session, "When does the train leave? #1", embeds={"1": ref(TRAINS, "text/plain")})
    asker.settled(session)
    asker.post(session, "When did the thing happen? #text1")
    assert asker.settled(session)[-1]["text"].startswith(TRAINS)


def test_without_an_attachment_there_is_nothing_to_look_into(asker: Person, server: ScriptedAgent) -> None:
    agent = new_agent(asker, server, EMBED_SHOTS)
    *_, response = asked(asker, agent, "When did the thing happen? #7")
    assert response["text"] == "There is no attached document to look into."
