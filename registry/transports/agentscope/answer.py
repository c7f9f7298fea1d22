"""The answer of an AgentApp as it grows: the text, block by block, and the embeds that it names. Pure."""

import re
from bisect import insort
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count

from common.errors import AgentInvalidResponse
from registry.transports.agentscope.parts import Part
from registry.transports.base import EmbedRef, TextDelta, TextSoFar
from registry.transports.wire import MAX_EMBEDS

BETWEEN = "\n\n"
MAX_BLOCKS = 5000
# `#1` as the published clients read it: `##` is a literal `#`, and `#1` is no part of `#12`.
_NAMED = re.compile(r"(?<!#)(?:##)*#(?!#)([1-9][0-9]{0,9})(?!\w)")

Place = tuple[int, int, str]


@dataclass(order=True, slots=True)
class Block:
    """A text within the answer: what one content of one message says. Blocks stand in the order of their places."""

    place: Place
    pieces: list[str] = field(default_factory=list, compare=False)

    @property
    def text(self) -> str:
        if len(self.pieces) > 1:
            self.pieces = ["".join(self.pieces)]
        return self.pieces[0] if self.pieces else ""


class Answer:
    """Blocks of text, as a rule with blank lines between, told as what is added to their end, or else as all of it."""

    def __init__(self, max_bytes: int) -> None:
        """`max_bytes` bound the text, in UTF-8."""
        self._blocks: list[Block] = []
        self._max_bytes = max_bytes
        self._size = 0
        # The last block that says anything.
        self._last: Block | None = None
        # Whether more has been written than told, and whether this is not to wait.
        self._is_behind = False
        self._is_due = False

    @property
    def text(self) -> str:
        blocks = [block for block in self._blocks if block.text]
        return "".join(
            _between(before, block) + block.text for before, block in zip([None, *blocks], blocks, strict=False)
        )

    def begin(self, place: Place) -> Block:
        """A new block, empty, at its place. Raises AgentInvalidResponse where there are too many."""
        if len(self._blocks) >= MAX_BLOCKS:
            raise AgentInvalidResponse(f"The agent's answer has more than {MAX_BLOCKS} parts.", max_parts=MAX_BLOCKS)
        block = Block(place)
        insort(self._blocks, block)
        return block

    def write(self, block: Block, text: str) -> Iterator[TextDelta]:
        """Adds to a block. What is not added to the end of the answer is told after the next `rewrite` only.

        Raises AgentInvalidResponse where the answer becomes too large.
        """
        if not text:
            return
        self._grow(len(text.encode()))
        block.pieces.append(text)
        if self._is_behind or (self._last is not None and block < self._last):
            self._is_behind = True
            return
        before, self._last = self._last, block
        yield TextDelta(text if before is block else _between(before, block) + text)

    def rewrite(self, block: Block, text: str) -> Iterator[TextDelta]:
        """Makes `text` the whole of a block. What is not added to the end of the answer is told by `catch_up`.

        Raises AgentInvalidResponse as `write`.
        """
        before = block.text
        if text.startswith(before):
            yield from self.write(block, text[len(before) :])
        else:
            self._grow(len(text.encode()) - len(before.encode()))
            block.pieces = [text] if text else []
            self._is_behind = True
        self._is_due = self._is_behind

    def catch_up(self) -> Iterator[TextSoFar]:
        """All of the text, where something has been rewritten since; it is as long as the answer."""
        if self._is_due:
            self._is_due = self._is_behind = False
            self._last = next((block for block in reversed(self._blocks) if block.pieces), None)
            yield TextSoFar(self.text)

    def _grow(self, more: int) -> None:
        self._size += more
        if self._size > self._max_bytes:
            raise AgentInvalidResponse(
                f"The agent's answer is larger than {self._max_bytes} bytes.", max_bytes=self._max_bytes
            )


def _between(before: Block | None, after: Block) -> str:
    """What stands between two blocks. One that goes on with a sentence of the same message says so by a space.

    The published server cuts texts so.
    """
    if before is None:
        return ""
    goes_on = after.text[0].isspace() or (before.text[-1] == " " and after.text[0].isalnum())
    return "" if before.place[0] == after.place[0] and goes_on else BETWEEN


class Attachments:
    """The embeds of one message of the agent, by the keys under which its text names them."""

    def __init__(self, given: Mapping[str, EmbedRef]) -> None:
        """`given` are those of the query: they come back under their own keys."""
        self.found: dict[str, EmbedRef] = {}
        self._given = given
        self._numbers = count(1)
        # The text up to a blank line, and what it names: looking through all of it for every embed takes seconds.
        self._read = ""
        self._named: set[str] = set()

    def name_of(self, part: Part, text: str) -> str:
        """How a message whose `text` so far is this goes on to name the embed of `part`.

        It goes by the number that its content tells, else by one that the text does not name yet. What the text names
        already is not named again, and neither is what came with the query or came before. Raises
        AgentInvalidResponse where there are too many.
        """
        assert part.embed is not None
        if self._is_known(part.embed):
            return ""
        if len(self.found) >= MAX_EMBEDS:
            raise AgentInvalidResponse(f"The agent's answer has more than {MAX_EMBEDS} embeds.", max_embeds=MAX_EMBEDS)
        named, named_last = self._named_in(text)
        wished = [part.key] if part.key else []
        others = (key for key in map(str, self._numbers) if key not in named and key not in named_last)
        key = next(key for key in chain(wished, others) if self._is_free(key))
        self.found[key] = part.embed
        if key in named or key in named_last:
            return ""
        return f"{part.filename.replace('#', '##')}: #{key}" if part.filename else f"#{key}"

    def _named_in(self, text: str) -> tuple[set[str], set[str]]:
        """The keys that `text` names, those of its last paragraph apart. No name goes on behind a blank line."""
        if not text.startswith(self._read):
            self._read, self._named = "", set()
        last = max(text.rfind(BETWEEN), len(self._read))
        self._named.update(_NAMED.findall(text, len(self._read), last))
        self._read = text[:last]
        return self._named, set(_NAMED.findall(text, last))

    def _is_known(self, embed: EmbedRef) -> bool:
        """Whether it is here; one of the query is from now on."""
        if any(other.uri == embed.uri for other in self.found.values()):
            return True
        key = next((key for key, given in self._given.items() if given.uri == embed.uri), None)
        if key is not None:
            self.found[key] = self._given[key]
        return key is not None

    def _is_free(self, key: str) -> bool:
        return key not in self.found and key not in self._given
