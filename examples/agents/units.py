"""A Code Shot agent that converts units: `python -m examples.agents.units --port 9003`."""

import re
from math import floor, log10
from typing import NamedTuple

from examples.agents.measures import UNITS, Unit
from examples.agents.serving import Agent, AgentError, Call, code_shot, main
from examples.agents.words import with_digits

MAX_LENGTH = 200
LARGEST = 1e60

BASE_PROMPT = """I convert lengths, weights, temperatures, volumes, areas, speeds, times, data sizes and energies.
Func[convert] takes an amount, its unit and the wanted unit: "3 miles to km"."""

FEW_SHOTS = """
Q: Convert 3 miles to km
Ask Func[convert]: 3 miles to km
Func[convert] says: 3 miles = 4.82803 kilometers
A: 3 miles = 4.82803 kilometers

Q: 70 kg in pounds
Ask Func[convert]: 70 kg in pounds
Func[convert] says: 70 kilograms = 154.324 pounds
A: 70 kilograms = 154.324 pounds

Q: How far is 3 miles in km?
Ask Func[convert]: 3 miles in km
Func[convert] says: 3 miles = 4.82803 kilometers
A: 3 miles = 4.82803 kilometers

Q: How many grams are in 2 pounds?
Ask Func[convert]: grams in 2 pounds
Func[convert] says: 2 pounds = 907.185 grams
A: 2 pounds = 907.185 grams

Q: How many seconds in a day?
Ask Func[convert]: seconds in a day
Func[convert] says: 1 day = 86400 seconds
A: 1 day = 86400 seconds

Q: What is 20 celsius in fahrenheit?
Ask Func[convert]: 20 celsius in fahrenheit
Func[convert] says: 20 °C = 68 °F
A: 20 °C = 68 °F

Q: How hot is 350 F in C?
Ask Func[convert]: 350 F in C
Func[convert] says: 350 °F = 176.667 °C
A: 350 °F = 176.667 °C

Q: How tall is 5 feet 11 inches in cm?
Ask Func[convert]: 5 feet 11 inches in cm
Func[convert] says: 5 feet 11 inches = 180.34 centimeters
A: 5 feet 11 inches = 180.34 centimeters

Q: How fast is 100 km/h in mph?
Ask Func[convert]: 100 km/h in mph
Func[convert] says: 100 kilometers per hour = 62.1371 miles per hour
A: 100 kilometers per hour = 62.1371 miles per hour

Q: How much is 1/2 cup in ml?
Ask Func[convert]: 1/2 cup in ml
Func[convert] says: 0.5 cups = 118.294 milliliters
A: 0.5 cups = 118.294 milliliters

Q: How long is 90 minutes in hours?
Ask Func[convert]: 90 minutes in hours
Func[convert] says: 90 minutes = 1.5 hours
A: 90 minutes = 1.5 hours

Q: How big is 5 GB in MB?
Ask Func[convert]: 5 GB in MB
Func[convert] says: 5 gigabytes = 5000 megabytes
A: 5 gigabytes = 5000 megabytes

Q: How heavy is 10 stone in kg?
Ask Func[convert]: 10 stone in kg
Func[convert] says: 10 stone = 63.5029 kilograms
A: 10 stone = 63.5029 kilograms
"""

NUMBER = r"(?<![\w.])[-−]?(?:\d[\d,]*(?:\.\d+)?|\.\d+)(?:e[+-]?\d{1,2}\b)?"  # noqa: RUF001
QUANTITY = re.compile(rf"({NUMBER})\s*(.*?)\s*(?:\band\b|,)?\s*(?={NUMBER}|$)")
BETWEEN = re.compile(r"(.+\S)\s*(?:\s(?:to|into|in|as|is|are|equals?)\s|->|→|=)\s*(.+)")
FILLER = re.compile(
    r"\b(?:convert|how|what|many|much|far|long|tall|hot|cold|heavy|big|fast|are|is|there|does|equals?|the|please)\b",
    re.IGNORECASE,
)


class Amount(NamedTuple):
    value: float
    unit: Unit

    def __str__(self) -> str:
        number = shown(self.value)
        return f"{number} {self.unit.singular if number == '1' else self.unit.plural}"


def convert(call: Call) -> str:
    """ "3 miles to km", "3 mi km" or "km in 3 miles" → "3 miles = 4.82803 kilometers"."""
    if len(call.text) > MAX_LENGTH:
        raise AgentError(f"That is too long for me: I read {MAX_LENGTH} characters.")
    amounts, target = parse(call.text)
    result = Amount(sum(converted(amount, target) for amount in amounts), target)
    return f"{' '.join(map(str, amounts))} = {result}"


def converted(amount: Amount, target: Unit) -> float:
    """The value of `amount` in `target`. Raises AgentError where the two measure different things."""
    unit = amount.unit
    if unit.measure != target.measure:
        raise AgentError(f"I cannot turn {unit.measure} ({unit.plural}) into {target.measure} ({target.plural}).")
    base = amount.value * unit.factor + unit.offset
    if unit.measure == "temperature" and base < -1e-9:
        raise AgentError("Nothing is colder than absolute zero, -273.15 °C.")
    return (base - target.offset) / target.factor


def parse(text: str) -> tuple[list[Amount], Unit]:
    """What a person wrote: the amounts (feet and inches) and the unit wanted. Raises AgentError."""
    text = with_plain_numbers(re.sub(r",?\s*\bplease\b|[\s?!.]+$", "", text))
    number = re.search(NUMBER, text)
    if number is None:
        raise AgentError('How much of what? For example "3 miles to km".')
    before, after = text[: number.start()], text[number.start() :]
    if match := BETWEEN.fullmatch(after):
        quantity, target = match.groups()
    elif wanted := FILLER.sub(" ", before).strip():
        quantity, target = after, re.sub(r"\s*\b(?:in|to|from|per|of)$", "", wanted)
    else:
        quantity, _, target = after.rpartition(" ")
    return [amount(*pair) for pair in QUANTITY.findall(quantity)], unit_named(target)


def with_plain_numbers(text: str) -> str:
    """ "half a mile", "2 1/2 cups", "a day", "three feet" → digits."""
    text = re.sub(r"\bhalf(?: an?)?\b", "1/2", text, flags=re.IGNORECASE)
    text = with_digits(text)
    text = re.sub(r"(?:\b(\d{1,9}) )?\b(\d{1,9})/([1-9]\d{0,8})\b", fraction, text)
    return text if re.search(NUMBER, text) else re.sub(r"\ban?\b", "1", text, count=1, flags=re.IGNORECASE)


def fraction(match: re.Match[str]) -> str:
    return f"{int(match[1] or 0) + int(match[2]) / int(match[3]):.12f}"


def amount(number: str, unit: str) -> Amount:
    value = float(number.replace(",", "").replace("−", "-"))  # noqa: RUF001
    if abs(value) > LARGEST:
        raise AgentError("That number is too large for me.")
    return Amount(value, unit_named(unit))


def unit_named(name: str) -> Unit:
    name = " ".join(FILLER.sub(" ", name).split())
    unit = UNITS.get(name) or UNITS.get(name.lower())
    if unit is None:
        raise AgentError(f"I do not know the unit “{name}”." if name else "From which unit to which?")
    return unit


def shown(value: float) -> str:
    """Six digits, all of a whole number's, and powers of ten only where it is huge or tiny."""
    if value == 0:
        return "0"
    size = floor(log10(abs(value)))
    if not -7 <= size <= 15:
        return re.sub(r"\.?0*e\+?(-?)0*", r"e\1", f"{value:.5e}")
    whole = round(value)
    text = f"{whole}" if abs(value - whole) <= 1e-9 * abs(value) else f"{value:.{max(0, 5 - size)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


AGENT = Agent("units", code_shot(BASE_PROMPT, FEW_SHOTS), {"convert": convert})

if __name__ == "__main__":
    main(AGENT, port=9003)
