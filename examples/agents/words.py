"""Numbers written as words, so that people may ask for "three dice" or "twenty-five miles"."""

import re

ONES = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")

SMALL = {word: value for value, word in enumerate(ONES)}
LARGE = {word: 10 * value for value, word in enumerate(TENS, 2)}
NUMBER = re.compile(
    rf"\b(?:(?P<tens>{'|'.join(TENS)})(?:[- ](?P<unit>{'|'.join(ONES[1:10])}))?|(?P<small>{'|'.join(ONES)})"
    r"|(?:a |one )?(?P<hundred>hundred))\b",
    re.IGNORECASE,
)


def with_digits(text: str) -> str:
    """`text` with the numbers from zero to a hundred that are written as words in digits."""
    return NUMBER.sub(lambda match: str(value_of(match)), text)


def value_of(match: re.Match[str]) -> int:
    if match["hundred"]:
        return 100
    if match["small"]:
        return SMALL[match["small"].lower()]
    return LARGE[match["tens"].lower()] + SMALL.get((match["unit"] or "").lower(), 0)
