"""Corpora from a revision's manifest to passages that can be searched, whatever happens on the way."""

import asyncio
from typing import Any

import jwt
import pytest
from django.db.models.functions import Now
from django.test import override_settings

from common.db import run_db
from registry.actions import delete_revision, set_current_revision
from registry.corpora import indexing
from registry.models import Corpus
from registry.routing.embedder import in_use
from registry.transports.base import FuncCorpus, UrlCorpus
from tests.agents import answer, hang
from tests.registry.corpora.library import answers, corpora_of, deploy, documents_of, new_agent, read, reindex, until
from tests.registry.corpora.websites import Website

REFUNDS = "A refund is paid within thirty days after the parcel came back to our warehouse."
TRAINS = "The night train to Vienna leaves at eleven from the southern platform."


@pytest.fixture(autouse=True)
def hurry() -> Any:
    with override_settings(CORPUS_DELAY_SECONDS=0.0):
        yield


@pytest.fixture
def shop(website: Website) -> Website:
    website.text("/", "Welcome to the shop.")
    website.text("/refunds", REFUNDS)
    website.text("/trains", TRAINS)
    return website


def pages_of(website: Website, *paths: str) -> UrlCorpus:
    return UrlCorpus(tuple(f"{website.url}{path}" for path in paths or ("/", "/refunds", "/trains", "/gone")))


async def test_a_revisions_pages_are_read_and_found(shop: Website, people: Any) -> None:
    agent = await new_agent(people, pages_of(shop))
    (corpus,) = await read(agent)
    assert (corpus.status, corpus.error) == ("ready", "")
    assert (corpus.documents_done, corpus.documents_failed, corpus.vector_count) == (3, 1, 3)
    assert corpus.bytes_read == len(f"Welcome to the shop.{REFUNDS}{TRAINS}")
    documents = await run_db(documents_of, corpus)
    assert documents[f"{shop.url}/gone"].status == "failed"
    assert documents[f"{shop.url}/gone"].error
    best = (await answers(agent, "When do I get my refund?"))[0]
    assert (best.text, best.source) == (REFUNDS, f"{shop.url}/refunds")
    assert (await answers(agent, "night train to Vienna"))[0].source == f"{shop.url}/trains"


async def test_all_pages_below_one_are_read_with_their_titles(website: Website, people: Any) -> None:
    website.page("/docs/", "refunds", "private/a", "/elsewhere", title="Handbook", text="Welcome to the handbook.")
    website.page("/docs/refunds", title="Refunds", text=REFUNDS)
    pages = UrlCorpus((f"{website.url}/docs/*",), ("*/private/*",))
    agent = await new_agent(people, pages)
    (corpus,) = await read(agent)
    assert (corpus.status, corpus.documents_done, corpus.documents_failed) == ("ready", 2, 0)
    best = (await answers(agent, "When is a refund paid?"))[0]
    assert (best.text, best.source, best.title) == (REFUNDS, f"{website.url}/docs/refunds", "Refunds")


async def test_an_unchanged_corpus_goes_with_the_next_revision_and_back(shop: Website, people: Any) -> None:
    agent = await new_agent(people, pages_of(shop))
    (first,) = await read(agent)
    asked = len(shop.requests)
    await deploy(agent, people, pages_of(shop, "/trains"), pages_of(shop), url=f"{shop.url}/elsewhere")
    new, same = await read(agent)
    assert (same.pk, same.position, same.vector_count) == (first.pk, 1, 3)
    assert (new.documents_done, new.vector_count) == (1, 1)
    assert {request.path for request in shop.requests[asked:]} <= {"/trains", "/robots.txt"}
    await run_db(set_current_revision, agent=agent, revision=first.revision_id)
    (back,) = await read(agent)
    assert (back.pk, back.position) == (first.pk, 0)


async def test_what_was_read_stays_for_the_revision_before_and_no_longer(shop: Website, people: Any) -> None:
    agent = await new_agent(people, pages_of(shop, "/refunds"))
    (first,) = await read(agent)
    await deploy(agent, people, pages_of(shop, "/trains"))
    (second,) = await read(agent)
    assert await run_db(Corpus.objects.filter(pk=first.pk).exists)
    assert not [found for found in await answers(agent, "refund") if found.text == REFUNDS]
    await deploy(agent, people)
    assert await read(agent) == []
    assert await run_db(lambda: set(Corpus.objects.filter(revision__agent=agent))) == {second}


async def test_a_revision_that_is_not_made_current_is_not_read(shop: Website, people: Any) -> None:
    agent = await new_agent(people)
    revision = await deploy(agent, people, pages_of(shop), current=False)
    assert await read(agent) == []
    await run_db(set_current_revision, agent=agent, revision=revision.pk)
    assert len(await read(agent)) == 1


async def test_while_a_corpus_is_read_anew_what_was_read_is_found(shop: Website, people: Any) -> None:
    agent = await new_agent(people, pages_of(shop, "/refunds"))
    (old,) = await read(agent)
    shop.get("/refunds", hang())
    # Short enough to hear soon that the reading is not wanted any more, long enough not to be lost in a busy moment.
    with override_settings(CORPUS_LEASE_SECONDS=3.0):
        await reindex(agent)
        reading = asyncio.ensure_future(read(agent))
        await until(lambda: shop.paths.count("/refunds") >= 2)
        assert (await answers(agent, "refund"))[0].text == REFUNDS
        shop.text("/refunds", "Refunds are paid at once now.")
        await reindex(agent)
        (new,) = await reading
    assert (new.position, new.vector_count) == (0, 1)
    assert new.pk != old.pk
    assert [found.text for found in await answers(agent, "refund")] == ["Refunds are paid at once now."]


async def test_a_site_that_is_down_takes_nothing_away(shop: Website, people: Any) -> None:
    agent = await new_agent(people, pages_of(shop, "/refunds"))
    (old,) = await read(agent)
    shop.get("/refunds", answer({}, status=500))
    await deploy(agent, people, pages_of(shop, "/refunds"), reindex=True)
    serving, failed = await read(agent)
    assert (serving.pk, serving.status, failed.status) == (old.pk, "ready", "failed")
    assert "/refunds" in failed.error
    assert (await answers(agent, "refund"))[0].text == REFUNDS


async def test_a_corpus_that_failed_is_read_again_by_the_next_revision(website: Website, people: Any) -> None:
    agent = await new_agent(people, pages_of(website, "/late"))
    (failed,) = await read(agent)
    assert (failed.status, failed.documents_failed) == ("failed", 1)
    assert f"{website.url}/late" in failed.error
    website.text("/late", TRAINS)
    await deploy(agent, people, pages_of(website, "/late"))
    (found,) = await read(agent)
    assert (found.status, found.documents_failed, found.vector_count) == ("ready", 0, 1)


async def test_passages_beyond_the_limit_are_left_out_and_that_is_said(shop: Website, people: Any) -> None:
    shop.text("/long", "\n\n".join(f"Paragraph {number} is about number {number}. " * 20 for number in range(8)))
    with override_settings(CORPUS_MAX_CHUNKS=4):
        agent = await new_agent(people, pages_of(shop, "/refunds", "/long", "/trains"))
        (corpus,) = await read(agent)
    assert (corpus.status, corpus.documents_done, corpus.vector_count) == ("ready", 2, 4)
    assert "more than 4 passages" in corpus.error


async def test_an_agents_own_corpus_func_is_read_for_no_user(website: Website, people: Any) -> None:
    document = {"source_name": "notes.txt", "content": "VHJhaW5zIGxlYXZlIGF0IGVsZXZlbi4=", "mime_type": "text/plain"}
    website.on("/corpus/load", answer({"page": {"documents": [document]}, "partitions": None}))
    agent = await new_agent(people, FuncCorpus("load"), url=website.url)
    (corpus,) = await read(agent)
    assert (corpus.status, corpus.documents_done) == ("ready", 1)
    (found,) = await answers(agent, "trains")
    assert (found.text, found.source) == ("Trains leave at eleven.", "notes.txt")
    (request,) = [request for request in website.requests if request.path == "/corpus/load"]
    token = request.headers["authorization"].removeprefix("Bearer ")
    claims = jwt.decode(token, options={"verify_signature": False})
    assert claims["aid"] == agent.agent_id
    assert not {"sub", "sid", "rid"} & claims.keys()


async def test_a_reading_goes_on_where_another_died(shop: Website, people: Any) -> None:
    with override_settings(CORPUS_LEASE_SECONDS=0.2):
        agent = await new_agent(people, pages_of(shop, "/refunds", "/trains"))
        shop.get("/trains", hang())
        dying = asyncio.ensure_future(indexing.index_waiting())
        await until(lambda: "/trains" in shop.paths)
        # As a process that was killed leaves it, once its lease has run out: nobody lets go of it.
        await run_db(Corpus.objects.filter(revision__agent=agent).update, reader="a" * 32, lease=Now())
        shop.text("/trains", TRAINS)
        (corpus,) = await read(agent)
        await asyncio.wait_for(dying, 10)
    assert (corpus.documents_done, corpus.vector_count) == (2, 2)
    assert shop.paths.count("/refunds") == 1


async def test_a_reading_whose_revision_is_deleted_ends_quietly(shop: Website, people: Any) -> None:
    agent = await new_agent(people, pages_of(shop, "/refunds", "/trains"))
    shop.get("/trains", hang())
    (corpus,) = await run_db(corpora_of, agent)
    with override_settings(CORPUS_LEASE_SECONDS=0.3):
        reading = asyncio.ensure_future(indexing.index_waiting())
        await until(lambda: "/trains" in shop.paths)
        await run_db(delete_revision, agent=agent, revision=corpus.revision_id)
        await asyncio.wait_for(reading, 5)
    assert not await run_db(Corpus.objects.filter(pk=corpus.pk).exists)


async def test_passages_of_another_embedder_are_found_by_it_and_embedded_anew(shop: Website, people: Any) -> None:
    agent = await new_agent(people, pages_of(shop, "/refunds"))
    (corpus,) = await read(agent)
    assert corpus.embedder == in_use()
    await run_db(Corpus.objects.filter(pk=corpus.pk).update, embedder="gone")
    assert await answers(agent, "refund") == []
    await run_db(corpus.refresh_from_db)
    while corpus.embedder != in_use():
        await indexing.index_waiting()
        await run_db(corpus.refresh_from_db)
    assert (await answers(agent, "refund"))[0].text == REFUNDS
