"""Which sample agents there are. Cheap to import: `manage.py up` reads it to register them."""

from typing import NamedTuple


class Sample(NamedTuple):
    """A sample agent as it is registered; `python -m examples.agents` serves it under `/HANDLE/`."""

    handle: str
    name: str
    description: str


SAMPLES = (
    Sample("dice", "Dice", "Rolls dice of any size, adds them up, flips coins and picks numbers."),
    Sample("calculator", "Calculator", "Works out arithmetic, percentages, powers, roots and functions."),
    Sample("units", "Units", "Converts lengths, weights, temperatures, volumes, speeds, times and data sizes."),
    Sample("textstats", "Text statistics", "Counts words, characters and sentences; reading time and more."),
    Sample("almanac", "Almanac", "Answers questions about dates: weekdays, distances, leap years, Easter."),
    Sample("handbook", "Handbook", "Answers questions about Fixie from its documentation."),
)
