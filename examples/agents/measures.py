"""The table of units: what each measures, how much of the base unit it is, and what people call it."""

from typing import NamedTuple


class Unit(NamedTuple):
    """A value in this unit times `factor`, plus `offset`, is the value in the base unit of `measure`."""

    measure: str
    factor: float
    offset: float
    singular: str
    plural: str


# Names: singular, plural, then whatever else people write. Capitals matter only where two units differ by them.
TABLE: dict[str, dict[str, float]] = {
    "length": {
        "meter|meters|metre|metres|m": 1,
        "kilometer|kilometers|kilometre|kilometres|km|kms|klick|klicks": 1000,
        "centimeter|centimeters|centimetre|centimetres|cm|cms": 0.01,
        "millimeter|millimeters|millimetre|millimetres|mm": 0.001,
        "micrometer|micrometers|micrometre|micrometres|micron|microns|µm|μm|um": 1e-6,
        "nanometer|nanometers|nanometre|nanometres|nm": 1e-9,
        'inch|inches|in|ins|″|"': 0.0254,
        "foot|feet|ft|′|'": 0.3048,  # noqa: RUF001
        "yard|yards|yd|yds": 0.9144,
        "mile|miles|mi": 1609.344,
        "nautical mile|nautical miles|nmi": 1852,
        "astronomical unit|astronomical units|au": 149597870700,
        "light-year|light-years|light year|light years|lightyear|lightyears|ly": 9460730472580800,
    },
    "mass": {
        "kilogram|kilograms|kilo|kilos|kg|kgs": 1,
        "gram|grams|gramme|grammes|g|gr": 0.001,
        "milligram|milligrams|mg": 1e-6,
        "tonne|tonnes|ton|tons|metric ton|metric tons|t": 1000,
        "short ton|short tons|us ton|us tons": 907.18474,
        "pound|pounds|lb|lbs": 0.45359237,
        "ounce|ounces|oz": 0.028349523125,
        "stone|stone|stones|st": 6.35029318,
        "carat|carats|ct": 0.0002,
    },
    "volume": {
        "liter|liters|litre|litres|l": 1,
        "milliliter|milliliters|millilitre|millilitres|ml|cc|cubic centimeter|cubic centimeters|cm3|cm³": 0.001,
        "centiliter|centiliters|centilitre|centilitres|cl": 0.01,
        "deciliter|deciliters|decilitre|decilitres|dl": 0.1,
        "cubic meter|cubic meters|cubic metre|cubic metres|m3|m³": 1000,
        "gallon|gallons|us gallon|us gallons|gal": 3.785411784,
        "imperial gallon|imperial gallons|uk gallon|uk gallons": 4.54609,
        "quart|quarts|qt": 0.946352946,
        "pint|pints|pt": 0.473176473,
        "cup|cups": 0.2365882365,
        "fluid ounce|fluid ounces|fl oz|floz": 0.0295735295625,
        "tablespoon|tablespoons|tbsp|tbsps": 0.01478676478125,
        "teaspoon|teaspoons|tsp|tsps": 0.00492892159375,
    },
    "area": {
        "square meter|square meters|square metre|square metres|sqm|sq m|m2|m²": 1,
        "square kilometer|square kilometers|square kilometre|square kilometres|sq km|km2|km²": 1e6,
        "square foot|square feet|sq ft|sqft|ft2|ft²": 0.09290304,
        "square mile|square miles|sq mi|mi2|mi²": 2589988.110336,
        "hectare|hectares|ha": 10000,
        "acre|acres": 4046.8564224,
    },
    "speed": {
        "meter per second|meters per second|metre per second|metres per second|m/s": 1,
        "kilometer per hour|kilometers per hour|kilometre per hour|kilometres per hour|km/h|kmh|kph": 1 / 3.6,
        "mile per hour|miles per hour|mph|mi/h": 0.44704,
        "foot per second|feet per second|ft/s|fps": 0.3048,
        "knot|knots|kn|kt|kts": 1852 / 3600,
    },
    "time": {
        "second|seconds|sec|secs|s": 1,
        "millisecond|milliseconds|ms": 0.001,
        "microsecond|microseconds|µs|μs|us": 1e-6,
        "nanosecond|nanoseconds|ns": 1e-9,
        "minute|minutes|min|mins": 60,
        "hour|hours|hr|hrs|h": 3600,
        "day|days|d": 86400,
        "week|weeks|wk|wks": 604800,
        "fortnight|fortnights": 1209600,
        "month|months": 2629746,  # of the Gregorian calendar, on average; so are years
        "year|years|yr|yrs": 31556952,
        "decade|decades": 315569520,
        "century|centuries": 3155695200,
    },
    "data": {
        "byte|bytes|B": 1,
        "kilobyte|kilobytes|kB": 1e3,
        "megabyte|megabytes|MB|meg|megs": 1e6,
        "gigabyte|gigabytes|GB|gig|gigs": 1e9,
        "terabyte|terabytes|TB": 1e12,
        "petabyte|petabytes|PB": 1e15,
        "kibibyte|kibibytes|KiB": 2**10,
        "mebibyte|mebibytes|MiB": 2**20,
        "gibibyte|gibibytes|GiB": 2**30,
        "tebibyte|tebibytes|TiB": 2**40,
        "bit|bits|b": 1 / 8,
        "kilobit|kilobits|kbit|kbits|kb|Kb": 125,
        "megabit|megabits|Mbit|Mbits|Mb": 125e3,
        "gigabit|gigabits|Gbit|Gbits|Gb": 125e6,
    },
    "energy": {
        "joule|joules|J": 1,
        "kilojoule|kilojoules|kJ": 1000,
        "calorie|calories|cal|cals": 4.184,
        "kilocalorie|kilocalories|kcal|kcals": 4184,
        "watt-hour|watt-hours|watt hour|watt hours|Wh": 3600,
        "kilowatt-hour|kilowatt-hours|kilowatt hour|kilowatt hours|kWh": 3.6e6,
    },
}

TEMPERATURES = {
    "°C|°C|celsius|degree celsius|degrees celsius|centigrade|degrees centigrade|degrees c|C": (1, 273.15),
    "°F|°F|fahrenheit|degree fahrenheit|degrees fahrenheit|degrees f|F": (5 / 9, 459.67 * 5 / 9),
    "K|K|kelvin|kelvins|degrees kelvin": (1, 0),
}


def by_name() -> dict[str, Unit]:
    """Every unit by every name, as written and in small letters; of two alike the earlier one has the name."""
    rows = [(measure, names, factor, 0.0) for measure, units in TABLE.items() for names, factor in units.items()]
    rows += [("temperature", names, factor, offset) for names, (factor, offset) in TEMPERATURES.items()]
    named = []
    for measure, names, factor, offset in rows:
        singular, plural, *_ = names.split("|")
        named += [(name, Unit(measure, factor, offset, singular, plural)) for name in names.split("|")]
    units: dict[str, Unit] = {}
    for name, unit in named + [(name.lower(), unit) for name, unit in named]:
        units.setdefault(name, unit)
    return units


UNITS = by_name()
