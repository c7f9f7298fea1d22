"""Events of the Agent API protocol as server-sent events: writing a frame, and reading a stream cut anywhere.

Format: `data: {json}` and a blank line, as AgentScope Runtime has it; reading follows the HTML standard's
"Interpreting an event stream", and takes `[DONE]` for the end as well. No network here.
"""

import re
from collections.abc import Iterator

from common.errors import AgentInvalidResponse
from registry.transports.agentscope.models import Event

_DONE = b"[DONE]"
_BOM = b"\xef\xbb\xbf"
_LINE_END = re.compile(rb"\r\n|\r|\n")
# What JSON may hold as it is, but clients that cut lines as Python's `splitlines` does take for the end of one.
_LINE_ENDS_TO_SOME = {ord(end): f"\\u{ord(end):04x}" for end in "\x85\u2028\u2029"}


def sse_frame(event: Event, *, event_id: str | int | None = None) -> bytes:
    """The frame of `event`, without the fields that are None; `event_id` is for a reader's `Last-Event-ID`."""
    data = event.model_dump_json(exclude_none=True).translate(_LINE_ENDS_TO_SOME)
    id_line = "" if event_id is None else f"id: {event_id}\n"
    return f"{id_line}data: {data}\n\n".encode()


class SseReader:
    """The data of the events of a stream, put together from pieces cut anywhere. Keeps no more than one event.

    Comments and fields other than `data` are passed over. Nothing is read after `[DONE]`, which `is_done` tells.
    """

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes` bound one event."""
        self.is_done = False
        self._max_bytes = max_bytes
        self._line = bytearray()
        self._data: list[bytes] = []
        self._size = 0
        self._is_first = True
        self._ended_in_cr = False

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        """The data of the events that `chunk` completes; take all of them. Raises AgentInvalidResponse."""
        if not chunk:
            return
        # The end of a line may be cut in two as well.
        piece = chunk.removeprefix(b"\n") if self._ended_in_cr else chunk
        self._ended_in_cr = chunk.endswith(b"\r")
        *ends, rest = _LINE_END.split(piece)
        for end in ends:
            if self.is_done:
                return
            self._keep(end)
            line = bytes(self._line)
            self._line.clear()
            yield from self._take(line)
        if not self.is_done:
            self._keep(rest)

    def finish(self) -> Iterator[bytes]:
        """The data of the last event, where no blank line ended it. Raises as `feed`."""
        yield from self.feed(b"\n\n")

    def _keep(self, piece: bytes) -> None:
        self._line += piece
        if self._size + len(self._line) > self._max_bytes:
            raise AgentInvalidResponse(
                f"An event of the agent's answer is larger than {self._max_bytes} bytes.", max_bytes=self._max_bytes
            )

    def _take(self, line: bytes) -> Iterator[bytes]:
        if self._is_first:
            line, self._is_first = line.removeprefix(_BOM), False
        name, _, value = line.partition(b":")
        if name == b"data":
            value = value.removeprefix(b" ")
            self._data.append(value)
            self._size += len(value) + 1
        elif not line:
            data = b"\n".join(self._data)
            self._data.clear()
            self._size = 0
            self.is_done = data.strip() == _DONE
            if data and not self.is_done:
                yield data
