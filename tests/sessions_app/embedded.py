"""Attachments in the tests of sessions: bringing them, and agents that are handed some or hand some back."""

import base64
from typing import Any

import httpx2

from embeds.models import Embed
from tests.agents import Behaviour, Exchange, answer
from tests.sessions_app.people import Json, Person


def data_uri(content: str | bytes, content_type: str = "text/plain") -> str:
    content = content.encode() if isinstance(content, str) else content
    return f"data:{content_type};base64,{base64.b64encode(content).decode()}"


def ref(content: str, content_type: str = "text/plain") -> Json:
    """An embed as it is sent along: `{"content_type", "uri"}`."""
    return {"content_type": content_type, "uri": data_uri(content)}


def upload(person: Person, content: str, content_type: str = "text/plain", *, name: str = "notes") -> str:
    """The id of a new embed of theirs."""
    answer = person.http.post("/api/embeds", files={"file": (name, content.encode(), content_type)})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


def content_at(uri: str) -> str:
    """What an agent, without any key, gets there."""
    answer = httpx2.get(uri)
    assert answer.status_code == 200, answer.text
    return answer.text


def contents(embeds: dict[str, Json]) -> dict[str, str]:
    """What each embed of a message holds."""
    return {key: content_at(embed["uri"]) for key, embed in embeds.items()}


def reader() -> Behaviour:
    """An agent that says what it was handed: `What of no. 1?; 1=content 2=content`."""

    async def behave(exchange: Exchange) -> None:
        message = exchange.request.json["message"]
        said = [f"{key}={await _read(embed['uri'])}" for key, embed in sorted(message["embeds"].items())]
        text = f"{message['text'].replace('#', 'no. ')}; {' '.join(said)}"
        await answer({"message": {"text": text}})(exchange)

    return behave


async def _read(uri: str) -> str:
    async with httpx2.AsyncClient() as http:
        response = await http.get(uri)
        return response.text if response.status_code == 200 else f"({response.status_code})"


def returning(text: str, embeds: dict[str, Any]) -> Behaviour:
    """An agent, or a Func, that answers with this text and these embeds."""
    return answer({"message": {"text": text, "embeds": embeds}})


def left_by(person: Person) -> tuple[int, int]:
    """How many sessions and messages they have."""
    from sessions_app.models import Message, Session

    return (
        Session.objects.filter(owner=person.user).count(),
        Message.objects.filter(session__owner=person.user).count(),
    )


def embeds_of(person: Person) -> set[str]:
    return {str(pk) for pk in Embed.objects.filter(owner=person.user).values_list("pk", flat=True)}
