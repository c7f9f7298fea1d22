"""Text as the follower sees it: weighted words, numbers and marks, with their places in the text."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

# Longer texts keep their head and tail; what lies between is one token that stands for any text.
HEAD_CHARS, TAIL_CHARS = 1500, 600
HEAD_TOKENS, TAIL_TOKENS = 32, 16

_ONES = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred"
NUMBER_WORDS = {word: str(value) for value, word in enumerate(_ONES.split())}
NUMBER_WORDS |= {word: str(value * 10) for value, word in enumerate(_TENS.split(), start=2)}

# Words that say little about what is asked.
_STOPWORDS = """a an the this that these those i me my mine we us our you your yours he she it its they them their is
are am was were be been do does did will would can could shall should may might must have has had what which who whom
whose when where why how of in on at to for from by with about as into than then and or but if so not no there here
please thanks thank today now currently just also some any all give show tell get let make need want like let's i'm
i'd what's that's it's hey hi hello"""
STOPWORDS = frozenset(_STOPWORDS.split())
_SINGLE, _DOUBLE = "\u2018\u2019\u201a\u201b`", "\u201c\u201d\u201e\u201f\u00ab\u00bb"
QUOTES = str.maketrans(_SINGLE + _DOUBLE, "'" * len(_SINGLE) + '"' * len(_DOUBLE))

_TOKEN = re.compile(
    r"(?P<embed>#\w+)"
    r"|(?P<number>(?<![\w)\]])[-+]\d+(?:,\d{3})*(?:\.\d+)?|\d+(?:,\d{3})*(?:\.\d+)?)"
    r"|(?P<word>[^\W\d_]+(?:['\u2019][^\W\d_]+)*)|(?P<mark>\S)"
)


class Type(Enum):
    WORD = "word"
    NUMBER = "number"
    MARK = "mark"
    REST = "rest"


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a number or a punctuation mark at `start:end` of its text.

    Tokens with equal `key` mean the same. `glued` says that no white space precedes it.
    """

    text: str
    start: int
    end: int
    type: Type
    key: str
    weight: float
    glued: bool

    @property
    def is_name(self) -> bool:
        return self.type is Type.WORD and self.start > 0 and self.text[0].isupper()


def tokens(text: str) -> list[Token]:
    """The tokens of `text`, at most about fifty: of a long text, its beginning, one `REST`, and its end."""
    if len(text) > HEAD_CHARS + TAIL_CHARS:
        tail_start = len(text) - TAIL_CHARS
        return _shortened(_scan(text, 0, HEAD_CHARS), _scan(text, tail_start, len(text)), text)
    found = _scan(text, 0, len(text))
    if len(found) > HEAD_TOKENS + TAIL_TOKENS:
        return _shortened(found, found, text)
    return found


def _shortened(head: list[Token], tail: list[Token], text: str) -> list[Token]:
    head, tail = head[:HEAD_TOKENS], tail[-TAIL_TOKENS:]
    start = head[-1].end if head else 0
    end = tail[0].start if tail else len(text)
    rest = Token(text[start:end], start, end, Type.REST, "", 0.0, glued=False)
    return [*head, rest, *tail]


def all_tokens(text: str, limit: int) -> list[Token]:
    """The first tokens of `text`, up to `limit`, nothing put together."""
    return _scan(text[: limit * 20], 0, limit * 20)[:limit]


def _scan(text: str, start: int, end: int) -> list[Token]:
    return [_token(match) for match in _TOKEN.finditer(text, start, end)]


def _token(match: re.Match[str]) -> Token:
    text, start = match[0], match.start()
    glued = start > 0 and not match.string[start - 1].isspace()
    key, kind, weight = _meaning(text, match.lastgroup or "mark")
    return Token(text, start, match.end(), kind, key, weight, glued)


@lru_cache(maxsize=4096)
def _meaning(text: str, group: str) -> tuple[str, Type, float]:
    if group == "embed":  # `#1`, `#image1`: one attachment in an example, another in the query
        return f"#{text}", Type.NUMBER, 3.0
    if group == "number":
        return number_key(text), Type.NUMBER, 3.0
    if group == "mark":
        return text.translate(QUOTES), Type.MARK, 0.1
    word = text.casefold().translate(QUOTES)
    if word in NUMBER_WORDS:
        return f"#{NUMBER_WORDS[word]}", Type.NUMBER, 3.0
    if word in STOPWORDS:
        return word, Type.WORD, 0.4
    return stem(word), Type.WORD, 2.0 if len(word) > 1 else 1.0


def number_key(text: str) -> str:
    """`"+1,200.50"` → `"#1200.5"`, so that the same number has the same key."""
    sign = "-" if text.startswith("-") else ""
    whole, _, part = text.lstrip("+-").replace(",", "").partition(".")
    part = part.rstrip("0")
    return f"#{sign}{whole.lstrip('0') or '0'}{'.' if part else ''}{part}"


def digits_of(token: Token) -> str:
    """A number as written in digits: `three` → `3`; digits stay as they are."""
    return NUMBER_WORDS.get(token.text.casefold(), token.text)


def stem(word: str) -> str:
    """`word` without the ending of a possessive or a plural."""
    word = word.removesuffix("'s")
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def is_content(token: Token) -> bool:
    """Whether the token says something about what is asked."""
    return token.weight >= 1.0


class Vocabulary:
    """The words of some texts, to which misspelt or inflected words of another text are brought back."""

    def __init__(self, words: Iterable[Token]) -> None:
        known = {token.key for token in words if token.type is Type.WORD and is_content(token)}
        self._known = known | STOPWORDS
        self._alike: dict[str, list[str]] = {}
        for word in sorted(self._known):
            for group in _groups(word):
                self._alike.setdefault(group, []).append(word)

    def keys(self, found: list[Token]) -> list[str]:
        """The keys of `found`, each replaced by that of the known word it is a form of."""
        return [self._nearest(token.key) if token.type is Type.WORD else token.key for token in found]

    def _nearest(self, key: str) -> str:
        if key in self._known or len(key) < 4:
            return key
        alike = (word for group in _groups(key) for word in self._alike.get(group, ()))
        return next((word for word in alike if _same_word(key, word)), key)


def _groups(word: str) -> tuple[str, str]:
    """Two words that may be the same share their first letter, or the two after it."""
    return word[:1], f"_{word[1:3]}"


_ENDINGS = frozenset({"ing", "ed", "er", "es", "d", "r"})


def _same_word(one: str, other: str) -> bool:
    """Whether two words in lower case differ only in an ending or in one slip of the finger."""
    short, long = sorted((one, other), key=len)
    if len(short) < 4 or len(long) - len(short) > 3:
        return False
    if long.startswith(short) and long[len(short) :] in _ENDINGS:
        return True
    return len(long) - len(short) <= 1 and _one_slip(short, long)


def _one_slip(short: str, long: str) -> bool:
    """Two neighbours swapped; or, in words of five letters and more, one added, left out or replaced."""
    at = next((i for i, letter in enumerate(short) if letter != long[i]), len(short))
    if short[at : at + 2] == long[at : at + 2][::-1] and short[at + 2 :] == long[at + 2 :]:
        return len(short) == len(long)
    if len(long) < 5:
        return False
    return short[at + (len(short) == len(long)) :] == long[at + 1 :]
