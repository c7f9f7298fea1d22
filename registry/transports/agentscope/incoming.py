"""A message of an AgentApp while it arrives: its contents, each of them in pieces or whole. Pure."""

from collections.abc import Sequence
from enum import Enum, auto
from heapq import heappop, heappush

from common.errors import AgentInvalidResponse
from registry.transports.agentscope.answer import Block
from registry.transports.agentscope.documents import MAX_CONTENTS
from registry.transports.agentscope.models import Content, Message, MessageType, Role, TextContent

# Putting pieces together costs as much as there is of them: not at every one of a hundred thousand.
JOINED_AT_ONCE = 256

_CALLS = {
    MessageType.FUNCTION_CALL,
    MessageType.PLUGIN_CALL,
    MessageType.COMPONENT_CALL,
    MessageType.MCP_TOOL_CALL,
    MessageType.MCP_LIST_TOOLS,
    MessageType.MCP_APPROVAL_REQUEST,
}
_OUTPUTS = {
    MessageType.FUNCTION_CALL_OUTPUT,
    MessageType.PLUGIN_CALL_OUTPUT,
    MessageType.COMPONENT_CALL_OUTPUT,
    MessageType.MCP_TOOL_CALL_OUTPUT,
    MessageType.MCP_APPROVAL_RESPONSE,
}


class Kind(Enum):
    """What a message is to us."""

    ANSWER = auto()
    THOUGHT = auto()
    CALL = auto()
    OUTPUT = auto()
    ERROR = auto()
    NOTHING = auto()

    @property
    def is_tool(self) -> bool:
        return self in (Kind.CALL, Kind.OUTPUT)


def kind_of(message: Message) -> Kind:
    """By its type; what has one that the protocol does not have is a part of the answer, unless its role tells more."""
    if message.type in _CALLS:
        return Kind.CALL
    if message.type in _OUTPUTS:
        return Kind.OUTPUT
    if message.type == MessageType.REASONING:
        return Kind.THOUGHT
    if message.type == MessageType.ERROR:
        return Kind.ERROR
    if message.type == MessageType.HEARTBEAT or message.role == Role.USER:
        return Kind.NOTHING
    return Kind.OUTPUT if message.role == Role.TOOL else Kind.ANSWER


Place = tuple[int, str]


class Slot:
    """One content: its pieces, until it is complete. Then it stays as it is, whatever comes late or twice.

    One that was called complete without a word is not `is_final` yet: its message may still say what it is.
    `place` is its index and its type; `block` is where the answer shows it, `words` what it says there in the end.
    """

    def __init__(self, place: Place, first: Content) -> None:
        self.place = place
        self.is_complete = False
        self.is_final = False
        self.block: Block | None = None
        self.words: str | None = None
        self._pieces = [first]

    @property
    def whole(self) -> Content:
        """What there is of it."""
        if len(self._pieces) > 1:
            self._pieces = [_joined(self._pieces)]
        return self._pieces[0]

    def add(self, piece: Content) -> None:
        self._pieces.append(piece)
        if len(self._pieces) >= JOINED_AT_ONCE:
            self._pieces = [_joined(self._pieces)]

    def replace(self, content: Content) -> None:
        self._pieces = [content]

    def end(self, *, is_final: bool) -> None:
        self.is_complete, self.is_final = True, is_final


def _joined(pieces: list[Content]) -> Content:
    """Neighbours first, so that long texts are not copied for every short piece; mere texts all at once."""
    if isinstance(pieces[0], TextContent):
        texts = (piece.text for piece in pieces if isinstance(piece, TextContent))
        return pieces[0].model_copy(update={"text": "".join(filter(None, texts))})
    while len(pieces) > 1:
        for left, right in zip(pieces[::2], pieces[1::2], strict=False):
            left.extend(right)
        pieces = pieces[::2]
    return pieces[0]


class IncomingMessage:
    """`number` counts the messages. `kind` is None until the message itself has come: contents may be ahead of it."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.kind: Kind | None = None
        self.type = ""
        self.is_over = False
        self._slots: dict[Place, Slot] = {}
        # The places where something came that is not shown yet.
        self._changed: set[Place] = set()
        # By type, the indexes that were not complete when last looked at, highest first (negative: it is a heap).
        self._begun: dict[str, list[int]] = {}
        self._next_index = 0

    def announce(self, message: Message) -> Kind:
        """Takes in what the message says that it is; a later one that does not say so changes nothing."""
        if self.kind is None or "type" in message.model_fields_set:
            self.type, self.kind = message.type, kind_of(message)
        return self.kind

    @property
    def slots(self) -> list[Slot]:
        """In the order of their places."""
        return sorted(self._slots.values(), key=lambda slot: slot.place)

    def take(self, content: Content) -> Slot | None:
        """Takes in a content, whole or a piece; returns its slot, or None where it is late.

        Without an index it belongs to the last one of its type that is not complete, or begins another.
        Raises AgentInvalidResponse where there are too many.
        """
        place = (self._index_of(content), content.type)
        slot = self._slots.get(place)
        if slot is None:
            return self._begin(place, content)
        if slot.is_complete:
            return None
        self._put(slot, content)
        return slot

    def take_changed(self) -> list[Slot]:
        """The slots in which something came since they were last shown, in the order of their places."""
        changed = [self._slots[place] for place in sorted(self._changed)]
        self._changed.clear()
        return changed

    def is_shown(self, slot: Slot) -> None:
        self._changed.discard(slot.place)

    def settle(self, contents: Sequence[Content]) -> list[Slot]:
        """Takes `contents` for all there are of it, where there are any; returns the slots that are gone."""
        kept = {
            self._settled(content.index if content.index is not None else n, content)
            for n, content in enumerate(contents)
        }
        gone = [slot for place, slot in self._slots.items() if kept and place not in kept and not slot.is_complete]
        for slot in gone:
            del self._slots[slot.place]
            self._changed.discard(slot.place)
        return gone

    def _settled(self, index: int, content: Content) -> Place:
        place = (index, content.type)
        slot, whole = self._slots.get(place), content.model_copy(update={"index": index, "delta": False})
        if slot is None:
            self._begin(place, whole)
        elif not slot.is_final:
            self._put(slot, whole)
        return place

    def _put(self, slot: Slot, content: Content) -> None:
        """A whole content that says nothing, such as one that only tells its status, leaves what is there."""
        if content.is_bare():
            return
        if content.delta:
            slot.add(content)
        else:
            slot.replace(content)
        self._changed.add(slot.place)

    def _begin(self, place: Place, content: Content) -> Slot:
        if len(self._slots) >= MAX_CONTENTS:
            raise AgentInvalidResponse(
                f"A message of the agent has more than {MAX_CONTENTS} contents.", max_contents=MAX_CONTENTS
            )
        slot = self._slots[place] = Slot(place, content)
        self._changed.add(place)
        heappush(self._begun.setdefault(content.type, []), -place[0])
        self._next_index = max(self._next_index, place[0] + 1)
        return slot

    def _index_of(self, content: Content) -> int:
        if content.index is not None:
            return content.index
        begun = self._begun.get(content.type, [])
        while begun:
            slot = self._slots.get((-begun[0], content.type))
            if slot is not None and not slot.is_complete:
                return -begun[0]
            heappop(begun)
        return self._next_index
