"""Pictures, sounds, videos and files in the answer of an AgentApp."""

import base64
from typing import Any

import pytest

from common.errors import AgentInvalidResponse
from registry.transports.base import AgentMessage, EmbedRef, Reply
from tests.registry.transports.agentscope.apps import Document, content, message, run, said
from tests.registry.transports.agentscope.read_answers import URL, error_of, events_of, live, reply_to

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n0000").decode()
EMBEDS = [
    (content("image", image_url=URL), EmbedRef("", URL)),
    (content("image", image_url=f"data:image/png;base64,{PNG}"), EmbedRef("", f"data:image/png;base64,{PNG}")),
    (content("image", image_url=PNG), EmbedRef("image/png", f"data:image/png;base64,{PNG}")),
    (content("audio", data="aGk=", format="mp3"), EmbedRef("audio/mpeg", "data:audio/mpeg;base64,aGk=")),
    (content("audio", data="aGk=", format="audio/ogg"), EmbedRef("audio/ogg", "data:audio/ogg;base64,aGk=")),
    (content("audio", data="aGk=", format="flac"), EmbedRef("audio/flac", "data:audio/flac;base64,aGk=")),
    (
        content("audio", data="aGk=", format="x; y"),
        EmbedRef("application/octet-stream", "data:application/octet-stream;base64,aGk="),
    ),
    (content("audio", data=URL, format="wav"), EmbedRef("", URL)),
    (content("video", video_url=URL), EmbedRef("", URL)),
    (content("file", file_url=URL), EmbedRef("", URL)),
]


@pytest.mark.parametrize(("one", "embed"), EMBEDS)
def test_pictures_sounds_videos_and_files_are_embeds_that_the_text_names(one: Document, embed: EmbedRef) -> None:
    events = events_of(run(said(content(text="Look:"), one)))
    assert events[-1] == Reply(AgentMessage("Look:\n\n#1", {"1": embed}))
    assert live(events) == "Look:\n\n#1"


def test_a_file_is_named_and_its_type_is_told_by_its_name() -> None:
    reply = reply_to(run(said(content("file", file_data="aGk=", filename="report #2.pdf"))))
    assert reply == AgentMessage(
        "report ##2.pdf: #1", {"1": EmbedRef("application/pdf", "data:application/pdf;base64,aGk=")}
    )


def test_a_file_that_only_the_agents_server_has_is_mentioned() -> None:
    reply = reply_to(run(said(content("file", file_id="file-7", filename="a.pdf"))))
    assert reply == AgentMessage("a.pdf (file_id: file-7, which only the agent can open)")


def test_a_picture_that_is_never_completed_is_an_embed_too() -> None:
    piece = content("image", image_url=URL, delta=True, status="in_progress")
    assert reply_to(run([message(status="in_progress"), piece])) == AgentMessage("#1", {"1": EmbedRef("", URL)})


def test_an_embed_with_a_key_that_the_text_names_is_not_named_again() -> None:
    reply = reply_to(run(said(content(text="See #3."), content("image", image_url=URL, key="3"))))
    assert reply == AgentMessage("See #3.", {"3": EmbedRef("", URL)})


@pytest.mark.parametrize("key", ["1", "2", "x", "0", "", 2, None])
def test_an_embed_gets_a_number_that_means_nothing_else(key: Any) -> None:
    pictures = [content("image", image_url=URL, key="2"), content("video", video_url="x:1", key=key)]
    reply = reply_to(run(said(content(text="Issue #1, ##3, ##"), *pictures)), {"1": EmbedRef("", "mine")})
    assert reply == AgentMessage("Issue #1, ##3, ##\n\n#2\n\n#3", {"2": EmbedRef("", URL), "3": EmbedRef("", "x:1")})


def test_what_came_with_the_query_comes_back_under_its_own_key() -> None:
    given = {"1": EmbedRef("image/png", URL), "mask 2": EmbedRef("text/plain", "data:,a")}
    mine = [content("image", image_url=URL), content("file", file_url="data:,a"), content("video", video_url="x:1")]
    reply = reply_to(run(said(content(text="#1 is yours."), *mine)), given)
    assert reply == AgentMessage("#1 is yours.\n\n#2", {**given, "2": EmbedRef("", "x:1")})


def test_the_same_embed_twice_is_one() -> None:
    twice = content("image", image_url=URL)
    assert reply_to(run(said(twice, twice))) == AgentMessage("#1", {"1": EmbedRef("", URL)})


def test_too_many_embeds_are_refused() -> None:
    many = [content("image", image_url=f"{URL}?{number}") for number in range(101)]
    assert isinstance(error_of(run(said(*many))), AgentInvalidResponse)
