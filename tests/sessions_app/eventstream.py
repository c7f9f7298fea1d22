"""A session's server-sent events from a client's side."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx2

Frame = dict[str, Any]


class EventSource:
    """Reads events as a browser does: `last_id` goes with the next connection, and half an event is none."""

    def __init__(self, http: httpx2.AsyncClient, session: str) -> None:
        self._http = http
        self._address = f"/api/sessions/{session}/events"
        self.last_id = ""

    async def frames(self) -> AsyncIterator[Frame]:
        """The frames of one connection, which ends with the iteration."""
        headers = {"Last-Event-ID": self.last_id} if self.last_id else {}
        async with self._http.stream("GET", self._address, headers=headers) as answer:
            assert answer.status_code == 200
            assert answer.headers["content-type"] == "text/event-stream"
            fields: dict[str, str] = {}
            async for line in answer.aiter_lines():
                if line:
                    name, _, value = line.partition(": ")
                    fields[name] = value
                elif "data" in fields:
                    self.last_id = fields["id"]
                    frame = json.loads(fields["data"])
                    assert frame["type"] == fields["event"]
                    yield dict(frame)
                    fields = {}
