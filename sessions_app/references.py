"""`#KEY` in texts: how messages name embeds, and how embeds get their numbers in a session. Pure.

A reference is a key behind an odd number of `#`, as the published clients read it: `##` is a literal `#`. A key
counts as a whole: `#1` is no part of `#12`.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import count
from uuid import UUID

KEY_MAX = 2**31 - 1

_POUNDS = r"(?<!#)(?P<literal>(?:##)*)#(?!#)"
_NUMBER = re.compile(rf"{_POUNDS}(?P<key>[1-9][0-9]{{0,9}})(?!\w)")
_PLAIN = re.compile(r"[1-9][0-9]{0,9}")


@dataclass(frozen=True, slots=True)
class Embeds:
    """The embeds of a message by their `keys` in its session; some of them are `new` there."""

    keys: tuple[int, ...] = ()
    new: Mapping[int, UUID] = field(default_factory=dict)


NO_EMBEDS = Embeds()


def named(text: str) -> list[int]:
    """The numbers that `text` refers to, each once, in order."""
    if "#" not in text:
        return []
    keys = (int(match["key"]) for match in _NUMBER.finditer(text))
    return list(dict.fromkeys(key for key in keys if key <= KEY_MAX))


def rewritten(text: str, words: Mapping[str, str]) -> str:
    """`text` with each reference to a key of `words` replaced by what stands there, all of them at once."""
    if not words or "#" not in text:
        return text
    keys = "|".join(re.escape(key) for key in sorted(words, key=len, reverse=True))
    reference = re.compile(rf"{_POUNDS}(?P<key>{keys})(?!\w)")
    return reference.sub(lambda match: match["literal"] + words[match["key"]], text)


def naming(text: str, keys: Iterable[int]) -> str:
    """`text` with references to those of `keys` at its end that it does not name itself."""
    known = named(text)
    return " ".join([text, *(f"#{key}" for key in keys if key not in known)])


def numbered(own: Mapping[str, UUID], taken: Mapping[int, UUID], avoid: Collection[int] = ()) -> dict[str, int]:
    """A number in the session for each key of a message.

    An embed that is in the session (`taken`) keeps its number there, and a key that is a free number is kept.
    Any other gets the lowest number that is neither taken nor to `avoid`.
    """
    meaning = dict(taken)
    number_of = {embed: number for number, embed in sorted(taken.items(), reverse=True)}
    wished = {key: int(key) for key in own if _PLAIN.fullmatch(key) and int(key) <= KEY_MAX}
    for key, number in wished.items():
        if own[key] not in number_of and number not in meaning:
            number_of[own[key]] = number
            meaning[number] = own[key]
    free = (number for number in count(1) if number not in meaning and number not in avoid)
    for embed in own.values():
        if embed not in number_of:
            number_of[embed] = next(free)
    # One embed may have two numbers, where two messages brought it at the same moment.
    return {
        key: wished[key] if meaning.get(wished.get(key, 0)) == embed else number_of[embed] for key, embed in own.items()
    }


def others_named(text: str, own: Mapping[str, UUID]) -> list[int]:
    """The embeds of the session that a message names, besides its `own`."""
    return [number for number in named(text) if str(number) not in own]


def placed(
    text: str, own: Mapping[str, UUID], taken: Mapping[int, UUID], hidden: Collection[int] = ()
) -> tuple[str, Embeds]:
    """A message as it stands in a session where `taken` are the embeds so far.

    Its `own` embeds, by the keys that `text` uses for them, get their numbers, and the text is rewritten. Embeds
    of the session that it names are the message's too, but for those that are `hidden` from its author.
    """
    others = others_named(text, own)
    numbers = numbered(own, taken, avoid=others)
    text = rewritten(text, {key: f"#{number}" for key, number in numbers.items() if key != str(number)})
    keys = {*numbers.values(), *(number for number in others if number in taken and number not in hidden)}
    new = {number: own[key] for key, number in numbers.items() if number not in taken}
    return text, Embeds(tuple(sorted(keys)), new)
