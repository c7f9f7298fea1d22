"""What somebody searches for: from what they typed to a query of PostgreSQL, and to the places where a text has it.

Words stand together: a text must have all of them, in any order; what is in quotes must stand there like that, and the
last word may be how one begins. Letters count without their accents and whether they are large or small. Chinese and
Japanese characters are words of their own, for their texts have no spaces.
"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass
from itertools import groupby, islice

QUERY_MAX = 300
WORDS_MAX = 20
BEFORE, AFTER = 60, 160
# So many places in a text are looked at.
PLACES_MAX = 500

_BETWEEN = r"\s!-/:-@\[-`{-~\u00a1\u00ab\u00bb\u00bf\u2000-\u206f\u3000-\u303f\uff01-\uff0f\uff1a-\uff20"
_ALONE = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = re.compile(rf"[{_ALONE}]|[^{_BETWEEN}{_ALONE}]+")
_ACCENTS = re.compile("[\u0300-\u036f]")

# The same for the texts that are searched, as PostgreSQL writes it.
_BARE = "normalize(regexp_replace(normalize({text}, NFD), '[\u0300-\u036f]+', '', 'g'), NFC)"
_SPACED = rf"regexp_replace({_BARE}, '[{_BETWEEN}]+', ' ', 'g')".replace("{-~", "{{-~")
LEXED = rf"to_tsvector('simple', regexp_replace({_SPACED}, '([{_ALONE}])', ' \1 ', 'g'))"


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a text; `hit` where it is what was searched for."""

    text: str
    hit: bool


@dataclass(frozen=True, slots=True)
class Wanted:
    """`tsquery` is in the syntax of `to_tsquery`, `places` finds its words in a text of `_comparable`."""

    tsquery: str
    places: re.Pattern[str]


def wanted(typed: str) -> Wanted | None:
    """What is searched for; None where that is no word at all. Longer texts count as far as `QUERY_MAX`."""
    typed = _plain(typed.replace("\0", " ")[:QUERY_MAX])
    # An odd piece stands in quotes; the last is open where one quote is missing.
    pieces = re.split(r'["“”„«»]', typed)
    terms: list[str] = []
    places: list[str] = []
    for number, piece in enumerate(pieces):
        words = _WORD.findall(piece)[: WORDS_MAX - len(places)]
        if not words:
            continue
        is_open = number == len(pieces) - 1 and not piece[-1].isspace()
        lexemes = [f"'{word}'" for word in words]
        if is_open:
            lexemes[-1] += ":*"
        terms += [" <-> ".join(lexemes)] if number % 2 else _joined(piece, words, lexemes)
        places += [_place(word, begins=is_open and left == 0) for left, word in enumerate(reversed(words))]
    if not terms:
        return None
    return Wanted(" & ".join(f"({term})" for term in terms), re.compile("|".join(places), re.IGNORECASE))


def _plain(text: str) -> str:
    """Without accents; what stands for one sound in Korean or Japanese stays one character."""
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def _joined(piece: str, words: list[str], lexemes: list[str]) -> list[str]:
    """The terms of words that stand in no quotes; characters that are words stay beside each other, as typed."""
    terms = [lexemes[0]]
    end = piece.find(words[0]) + len(words[0])
    for word, lexeme in zip(words[1:], lexemes[1:], strict=True):
        start = piece.find(word, end)
        if start == end:
            terms[-1] += f" <-> {lexeme}"
        else:
            terms.append(lexeme)
        end = start + len(word)
    return terms


def _place(word: str, *, begins: bool) -> str:
    if re.fullmatch(f"[{_ALONE}]", word):
        return word
    inside = rf"[^{_BETWEEN}{_ALONE}]"
    return f"(?<!{inside}){re.escape(word)}" + ("" if begins else f"(?!{inside})")


class _Bases(dict[int, int]):
    """From a character to the same without its accent: one each, so that places stay where they are."""

    def __missing__(self, character: int) -> int:
        bare = _plain(chr(character))
        self[character] = ord(bare) if len(bare) == 1 else character
        return self[character]


_bases = _Bases()


def excerpt(text: str, sought: Wanted, *, whole: bool = False) -> list[Part]:
    """The place in a text that tells most of what is sought, with some words around it; `whole` for all of it."""
    text = unicodedata.normalize("NFC", text)
    comparable = text if text.isascii() else text.translate(_bases)
    start, end = (0, len(text)) if whole else _around(text, _best(comparable, sought))
    parts = [Part("…", hit=False)] if start else []
    for found in sought.places.finditer(comparable, start, end):
        parts += [Part(text[start : found.start()], hit=False), Part(text[found.start() : found.end()], hit=True)]
        start = found.end()
    parts += [Part(text[start:end] + ("…" if end < len(text) else ""), hit=False)]
    runs = groupby((part for part in parts if part.text), key=lambda part: part.hit)
    return [Part(re.sub(r"\s+", " ", "".join(part.text for part in run)), hit) for hit, run in runs]


def _best(comparable: str, sought: Wanted) -> int:
    """Where the word stands that is rarest in the text: of what else is sought most is near it."""
    found = list(islice(sought.places.finditer(comparable), PLACES_MAX))
    counts = Counter(match[0].lower() for match in found)
    rank = {word: (count, -len(word)) for word, count in counts.items()}
    return min(found, key=lambda match: rank[match[0].lower()]).start() if found else 0


def _around(text: str, middle: int) -> tuple[int, int]:
    """A window that begins and ends between words, where there is a space near."""
    start, end = max(0, middle - BEFORE), min(len(text), middle + AFTER)
    if start:
        start = max(start, text.find(" ", start, middle) + 1)
    if end < len(text):
        space = text.rfind(" ", middle + AFTER // 2, end)
        end = space if space > 0 else end
    return start, end
