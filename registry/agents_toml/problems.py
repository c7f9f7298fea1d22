"""What is wrong in the file, where, and in plain words."""

from dataclasses import dataclass

from pydantic_core import ErrorDetails

from common.errors import InvalidRequest

# pydantic's kinds of errors; what stands in braces is of their `ctx`.
_WORDS = {
    "missing": "{name} is missing",
    "extra_forbidden": "unknown key {name}",
    "literal_error": "{name} must be {expected}",
    "string_type": "{name} must be a text",
    "int_type": "{name} must be a whole number",
    "float_type": "{name} must be a number",
    "bool_type": "{name} must be true or false",
    "list_type": "{name} must be a list",
    "dict_type": "{name} must be a table",
    "model_type": "{name} must be a table",
    "greater_than_equal": "{name} must be at least {ge}",
    "less_than_equal": "{name} must be at most {le}",
    "too_long": "{name} may have at most {max_length} entries",
    "value_error": "{error}",
}


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """`line` counts from 1."""

    line: int
    text: str


class FileRefused(InvalidRequest):
    """The file has problems, and nothing was changed; `problems` are all of them, in the order of their lines."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("The file has problems.", field="file")
        self.problems = sorted(set(problems))


def words_of(error: ErrorDetails, place: tuple[str | int, ...]) -> str:
    """What is wrong with the value at `place`, which begins with the table that the reader looks at."""
    words = _WORDS.get(error["type"], "{name}: {message}")
    return words.format(name=_name(place), message=error["msg"], **error.get("ctx", {}))


def _name(place: tuple[str | int, ...]) -> str:
    """`rate_limit.requests_per_day`, or `entry 2 of keywords`."""
    *around, last = place
    if isinstance(last, int):
        return f"entry {last + 1} of {_name(tuple(around))}"
    return ".".join(str(part) for part in place if not isinstance(part, int))
