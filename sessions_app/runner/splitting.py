"""Cuts a query into the requests it is made of, where its own words say plainly that there are several. Pure.

This stands in for a language model, so it is careful: where it is in doubt, a query stays whole. It knows English
conjunctions only. Whether a part is a request that somebody can answer is for the Router to say.
"""

import re
from itertools import pairwise

# Longer texts are something to work on rather than a list of requests; so many requests are a job for a model.
LONGEST, MOST_PARTS = 2000, 8
# A longer answer is not put in the place of a word that refers to it.
LONGEST_ANSWER = 80

_NUMBERS = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred"
_THINGS = r"(?:result|answer|total|sum|number)"
_REFERENCES = rf"that|it|this|the {_THINGS}"
_VERBS = (
    "add|analy[sz]e|book|buy|calculate|call|change|check|choose|compare|compute|convert|count|create|cube|define|delete"
    "|describe|divide|double|draw|estimate|evaluate|explain|fetch|find|flip|generate|get|give|guess|halve|list|look"
    "|make|measure|multiply|name|open|order|pick|plan|play|print|put|read|remind|remove|rename|repeat|reverse|roll|round"
    "|say|schedule|search|send|set|show|solve|sort|spell|square|start|stop|subtract|suggest|sum|summari[sz]e|take|tell"
    "|throw|toss|translate|turn|write"
)
_ASKING = (
    r"(?:what|how|who|when|where|which|why|whose)\b"
    r"|(?:is|are|was|were|do|does|did|can|could|will|would|should|may)\s+(?:you|it|there|that|this|i|we|the|my|\d+)\b"
)
_POLITE = (
    r"(?:(?:please|kindly|just|now)\s+|(?:can|could|would|will)\s+you\s+"
    r"|i(?:'d like| would like| want) (?:you )?to\s+(?:know\s+)?)*"
)
# A verb is a request where something follows that it is done to: `rock and roll` is none.
_OBJECT = (
    rf"(?:an?|them|those|these|the|my|me|us|our|your|all|some|up|in|to|if|whether|how|what|which|who|when|where|\d|{_NUMBERS}|{_REFERENCES})"
    r"(?:\b|(?<=\d))|[\"“«'`]"
)
_REQUEST = re.compile(rf"{_POLITE}(?:{_ASKING}|(?:{_VERBS})\b)", re.IGNORECASE)
_PLAIN_REQUEST = rf"{_POLITE}(?:{_ASKING}|(?:{_VERBS})\s+(?:{_OBJECT}))"

# What belongs together whatever stands in it: code, quotations, parentheses, and what follows a colon.
_PROTECTED = re.compile(
    r"`[^`\n]*`|\"[^\"]*\"|“[^”]*”|«[^»]*»|‘[^’]*’|(?<!\w)'[^'\n]*'(?!\w)|\([^()]*\)|:\s.*\Z",  # noqa: RUF001
    re.DOTALL,
)
_ABBREVIATED = (
    r"(?<!\bmr\.)(?<!\bdr\.)(?<!\bmrs\.)(?<!\bno\.)(?<!\bvs\.)(?<!\bst\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\betc\.)"
)
_THEN = r"(?:then|also|after that|afterwards|finally|next|in addition)\b,?\s+"
_BOUNDARY = re.compile(
    rf"(?<=[.?!]){_ABBREVIATED}\s+(?=\w)"  # a sentence ends
    r"|(?<!\s)(?:\s*;\s+|\s*\n\s*"
    rf"|(?:\s*,\s*|\s+)(?:and|&|plus)\s+{_THEN}(?={_REQUEST.pattern})"  # and then
    rf"|\s*,\s*(?:(?:and|&|plus)\s+|{_THEN})(?={_REQUEST.pattern})"  # , and
    rf"|(?:\s*,\s*|\s+(?:and|&|plus|then)\s+)(?={_PLAIN_REQUEST}))",  # and
    re.IGNORECASE,
)
_LEADING = re.compile(rf"(?:(?:and|plus|first(?:ly)?|second(?:ly)?|lastly)\b,?\s+|{_THEN})+", re.IGNORECASE)
_ITEM = re.compile(r"(?:^|(?<=\s))(?:(?P<number>\d{1,2})[.)]|(?:(?<=\n)|\A)[ \t]*[-*•])[ \t]+")
# What may stand before a list of requests, and is none itself.
_HEADING = re.compile(r"\W*|.*\b(?:following|questions?|things|tasks|steps|requests)\b[^.?!\n]*[:.]?\s*", re.IGNORECASE)

_REFERENCE = re.compile(
    rf"(\b(?:(?:of|by|to|from|with|than|plus|minus|times|over|on|in|into|{_VERBS})\s+(?={_REFERENCES})"
    rf"|(?:is|are|was)\s+(?=that|the {_THINGS})))(?:{_REFERENCES})"
    r"(?=\s*(?:[?.!,;)%*/+^-]|$|(?:in|into|to|as|by|plus|minus|times|divided|and|from|up|together|squared|cubed|please)\b))",
    re.IGNORECASE,
)
# What is to be done with several things is part of the request for them: "roll 3d6 and add them up".
_OF_SEVERAL = re.compile(r"\b(?:them|those|these)\b", re.IGNORECASE)
# Speaks of something that another request has named.
_OF_ANOTHER = re.compile(
    rf"\b(?:{_REFERENCES}|its|this|these|those|them|they|their|he|him|his|she|her|one|ones|both|each|else)\b",
    re.IGNORECASE,
)
_TWO_WORDS = re.compile(r"\w\W+\w")
# What is to be converted keeps its unit.
_CONVERTED = re.compile(r"\s+(?:in|into|to)\b", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:[.,]\d+)*(?:e[+-]?\d+)?(?!\w)")


def parts(text: str) -> list[str]:
    """The requests in `text`, in order, without the words that join them; the whole of it where it holds only one."""
    text = text.strip()
    if len(text) > LONGEST or "```" in text:
        return [text]
    found = _items(text) or _clauses(text)
    are_requests = 1 < len(found) <= MOST_PARTS and all(_TWO_WORDS.search(part) for part in found)
    return found if are_requests and not any(map(_OF_SEVERAL.search, found[1:])) else [text]


def is_request(part: str) -> bool:
    """Whether `part` begins as an English question or command does."""
    return _REQUEST.match(part) is not None


def stands_alone(part: str) -> bool:
    """Whether nothing in `part` is to be understood from the requests beside it."""
    return _OF_ANOTHER.search(part) is None


def refers(part: str) -> bool:
    """Whether `part` speaks of an answer before it, as `filled` would put it in."""
    return len(part) <= LONGEST and _REFERENCE.search(part) is not None


def filled(part: str, answer: str) -> str:
    """`part` with what the answer before it said in the place of words that refer to it.

    After `3 miles = 4.82803 kilometers`, "15 % of that" is of 4.82803, and "that in yards" of 4.82803 kilometers.
    A longer answer leaves `part` as it is, and so does a `part` that is itself a long text.
    """
    if len(part) > LONGEST:
        return part
    result = answer.strip().rstrip(".!").rpartition(" = ")[2].strip()
    if not result or "\n" in result or len(result) > LONGEST_ANSWER:
        return part
    numbers = list(_NUMBER.finditer(result))

    def replaced(match: re.Match[str]) -> str:
        if len(numbers) != 1:
            return match[1] + result
        has_unit = _CONVERTED.match(part, match.end()) is not None
        return match[1] + (result[numbers[0].start() :] if has_unit else numbers[0][0])

    return _REFERENCE.sub(replaced, part)


def _items(text: str) -> list[str]:
    """The items of a numbered list, or one with bullets; none where it is no list of requests."""
    marks = list(_ITEM.finditer(text))
    numbers = [int(mark["number"]) for mark in marks if mark["number"]]
    if len(marks) < 2 or numbers not in ([], list(range(1, len(marks) + 1))):
        return []
    if not _HEADING.fullmatch(text[: marks[0].start()]):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [_cleaned(text[mark.end() : end]) for mark, end in zip(marks, ends, strict=True)]


def _clauses(text: str) -> list[str]:
    """The text cut at the ends of its sentences and where a conjunction joins two requests."""
    masked = _PROTECTED.sub(lambda match: "_" * len(match[0]), text)
    cuts = [(0, 0), *(match.span() for match in _BOUNDARY.finditer(masked)), (len(text), len(text))]
    pieces = [_cleaned(text[end:start]) for (_, end), (start, _) in pairwise(cuts)]
    return [piece for piece in pieces if piece]


def _cleaned(piece: str) -> str:
    piece = piece.strip().rstrip(",;").rstrip()
    # With a space, so that a joining word alone is nothing.
    leading = _LEADING.match(f"{piece} ")
    return piece[leading.end() :] if leading else piece
