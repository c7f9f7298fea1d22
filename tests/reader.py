"""What a client of a session knows: frames of the wire go in, and each says whether anything is missing."""

from typing import Any

Frame = dict[str, Any]
ENDED = ("completed", "failed", "canceled")


class Reader:
    """Puts a session together as docs/wire.md tells clients to.

    `messages` are those stored, in order and without gaps. `texts` hold what is being written, by run, from deltas
    and snapshots alone. `states` are the runs' states. Offsets count code points, as Python's strings do.
    """

    def __init__(self) -> None:
        self.messages: list[Frame] = []
        self.texts: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self.gaps = 0
        self.rewritten: set[str] = set()

    @property
    def last(self) -> int:
        return len(self.messages)

    def apply(self, frame: Frame) -> bool:
        """Takes a frame. False where something is missing: sync from `last`, or connect again."""
        taken = getattr(self, f"_{frame['type']}", lambda _: True)(frame)
        self.gaps += not taken
        return bool(taken)

    def _message(self, frame: Frame) -> bool:
        message = frame["message"]
        if message["seq"] <= self.last:
            assert strip(message) == strip(self.messages[message["seq"] - 1]), "a message has changed"
            return True
        if message["seq"] > self.last + 1:
            return False
        self.messages.append(message)
        if message["kind"] == "response":
            self._check_response(message)
        return True

    def _check_response(self, message: Frame) -> None:
        """What was streamed must be how the response begins, unless the agent took words back."""
        streamed = self.texts.get(message["run"], "")
        if message["run"] not in self.rewritten:
            assert message["text"].startswith(streamed), f"streamed {streamed!r}, stored {message['text']!r}"

    def _delta(self, frame: Frame) -> bool:
        run, offset, text = frame["run"], frame["offset"], frame["text"]
        known = self.texts.get(run, "")
        if offset > len(known):
            return False
        assert text, "an empty delta"
        if run not in self.rewritten:
            assert known[offset : offset + len(text)] == text[: len(known) - offset], "a delta contradicts another"
        if offset + len(text) > len(known):
            self.texts[run] = known[:offset] + text
        return True

    def _snapshot(self, frame: Frame) -> bool:
        known = self.texts.get(frame["run"], "")
        if not frame["text"].startswith(known):
            self.rewritten.add(frame["run"])
        self.texts[frame["run"]] = frame["text"]
        return True

    def _run(self, frame: Frame) -> bool:
        if self.states.get(frame["run"]) not in ENDED:
            self.states[frame["run"]] = frame["status"]
        return True

    def responses(self) -> list[str]:
        return [message["text"] for message in self.messages if message["kind"] == "response"]

    def is_over(self, run: str) -> bool:
        return self.states.get(run) in ENDED


def strip(message: Frame) -> Frame:
    """A message without what only the socket that posted it is told."""
    return {name: value for name, value in message.items() if name != "client_id"}
