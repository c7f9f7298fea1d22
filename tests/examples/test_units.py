"""The units agent: what people write, what it cannot do, and that there and back again ends where it began."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.agents.measures import UNITS
from examples.agents.serving import AgentError, Call
from examples.agents.units import Amount, convert, converted, shown

SAID = {
    "3 miles to km": "3 miles = 4.82803 kilometers",
    "3 miles in km": "3 miles = 4.82803 kilometers",
    "3 mi km": "3 miles = 4.82803 kilometers",
    "three miles as kilometres, please": "3 miles = 4.82803 kilometers",
    "grams in 2 pounds": "2 pounds = 907.185 grams",
    "How many grams are in 2 pounds?": "2 pounds = 907.185 grams",
    "2 pounds is how many grams": "2 pounds = 907.185 grams",
    "seconds in a day": "1 day = 86400 seconds",
    "how far is a mile in km": "1 mile = 1.60934 kilometers",
    "5 feet 11 inches in cm": "5 feet 11 inches = 180.34 centimeters",
    "5 ft 11 in to cm": "5 feet 11 inches = 180.34 centimeters",
    "5 in in cm": "5 inches = 12.7 centimeters",
    "6'2\" in m": "6 feet 2 inches = 1.8796 meters",
    "20C to F": "20 °C = 68 °F",
    "-40 degrees celsius in fahrenheit": "-40 °C = -40 °F",
    "0 K in C": "0 K = -273.15 °C",
    "100 km/h in mph": "100 kilometers per hour = 62.1371 miles per hour",
    "1/2 cup in ml": "0.5 cups = 118.294 milliliters",
    "2 1/2 cups to ml": "2.5 cups = 591.471 milliliters",
    "half a mile in km": "0.5 miles = 0.804672 kilometers",
    "10 mb in gb": "10 megabytes = 0.01 gigabytes",
    "10 Mb in MB": "10 megabits = 1.25 megabytes",
    "5 m2 in hectares": "5 square meters = 0.0005 hectares",
    "12 inches in feet": "12 inches = 1 foot",
    "1,000 m in km": "1000 meters = 1 kilometer",
    "1e5 m in km": "100000 meters = 100 kilometers",
    "1 year in seconds": "1 year = 31556952 seconds",
    "1 nm in miles": "1 nanometer = 6.21371e-13 miles",
}
TROUBLE = {
    "3 furlongs in km": "I do not know the unit “furlongs”.",
    "3 km in kg": "I cannot turn length (kilometers) into mass (kilograms).",
    "-300 C in F": "Nothing is colder than absolute zero, -273.15 °C.",
    "3 miles": "From which unit to which?",
    "": 'How much of what? For example "3 miles to km".',
    "9" * 100 + " m in km": "That number is too large for me.",
    "9" * 300 + " m in km": "That is too long for me: I read 200 characters.",
}
PAIRS = [(a, b) for a in set(UNITS.values()) for b in set(UNITS.values()) if a.measure == b.measure]


@pytest.mark.parametrize("said", SAID)
def test_it_understands_what_people_write(client: Any, said: str) -> None:
    assert client("units").call("/units/convert", said).text == SAID[said]


@pytest.mark.parametrize("said", TROUBLE)
def test_it_says_what_it_cannot_convert(client: Any, said: str) -> None:
    answer = client("units").call("/units/convert", said)
    assert (answer.status, answer.text) == (400, TROUBLE[said])


@given(st.sampled_from(sorted(PAIRS)), st.floats(0, 1e9))
def test_there_and_back_again_ends_where_it_began(pair: Any, value: float) -> None:
    one, other = pair
    there = Amount(converted(Amount(value, one), other), other)
    assert converted(there, one) == pytest.approx(value, rel=1e-9, abs=1e-6)


@given(st.sampled_from(sorted(UNITS)), st.integers(1, 10**6))
def test_every_name_of_a_unit_is_understood(name: str, count: int) -> None:
    unit = UNITS[name]
    amount = shown(count)
    assert convert(Call(f"{count} {name} to {unit.plural}", {}, None)).startswith(f"{amount} ")


@given(st.floats(-1e300, 1e300, allow_subnormal=False))
def test_a_value_is_shown_to_six_digits(value: float) -> None:
    assert float(shown(value)) == pytest.approx(value, rel=1e-5, abs=1e-300)


@given(st.text("0123456789.,-/ aefgikmotn'\"°to²in=→half ", max_size=250))
def test_it_raises_nothing_but_its_own_error(text: str) -> None:
    with contextlib.suppress(AgentError):
        convert(Call(text, {}, None))
