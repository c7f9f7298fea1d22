"""An agent that answers queries about dates by itself: `python -m examples.agents.almanac --port 9005`.

It has no Funcs and needs no language model: the platform hands it the query and relays what it streams.
"""

import calendar
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from examples.agents.serving import Agent, Call, main
from examples.agents.words import with_digits

MAX_LENGTH = 500

MANIFEST = {
    "type": "standalone",
    "sample_queries": [
        "What day is 2027-03-01?",
        "What weekday was July 20, 1969?",
        "What is today's date?",
        "How many days between 2027-01-01 and 2027-12-25?",
        "How many days until Christmas?",
        "How many days since 1 January 2000?",
        "What date is 100 days after 2027-03-01?",
        "What was the date 6 weeks ago?",
        "Is 2028 a leap year?",
        "When is the next leap year?",
        "How many days are in February 2028?",
        "When is Easter 2027?",
        "What week number is 2027-03-01?",
    ],
}
HELP = (
    "I know about dates. Ask me what day 2027-03-01 is, how many days lie between two dates, what date is 30 days"
    " from today, whether 2028 is a leap year, how many days February 2028 has, or when Easter 2027 is."
)

MONTHS = {name.lower()[:3]: number for number, name in enumerate(calendar.month_name) if name}
MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
DAY = r"\d{1,2}(?:st|nd|rd|th)?"
DATE = re.compile(
    r"(?P<iso>\b\d{4}-\d{1,2}-\d{1,2}\b)"
    rf"|\b(?P<day>{DAY})(?: of)? (?P<month>{MONTH})\b(?:,? (?P<year>\d{{4}})\b)?"
    rf"|\b(?P<month2>{MONTH}) (?P<day2>{DAY})\b(?:,? (?P<year2>\d{{4}})\b)?"
    r"|\b(?P<named>today|now|tomorrow|yesterday)\b"
    r"|\b(?P<feast>christmas eve|christmas|new year's eve|new year|easter|halloween)\b(?:'s)?(?: day)?"
    r"(?:(?: in)? (?P<year3>\d{4})\b)?"
)
SHIFT = re.compile(r"\b(\d{1,6}|an?) (day|week|month|year)s?\b.*?\b(after|before|from|ago|later|earlier)\b")
FEASTS = {
    "new year": (1, 1),
    "halloween": (10, 31),
    "christmas eve": (12, 24),
    "christmas": (12, 25),
    "new year's eve": (12, 31),
}
APART = re.compile(r"\b(?:days?|weeks?)\b.*\b(?:between|from|until|till|to|before|since)\b|\bhow (?:long|far)\b")


class NoSuchDate(Exception):
    """Says in a sentence what is wrong with a date."""


def answer(call: Call) -> Iterator[str]:
    """Yields the whole answer so far, a sentence more each time."""
    text = ""
    for sentence in sentences(call.text):
        text = f"{text} {sentence}" if text else sentence
        yield text


def sentences(question: str) -> list[str]:
    """The answer, sentence by sentence."""
    question = with_digits(question[:MAX_LENGTH]).lower()
    try:
        for reading in (leap_year, days_in, shifted, distance, single):
            if found := reading(question):
                return found
    except NoSuchDate as error:
        return [str(error)]
    except (ValueError, OverflowError):
        return ["That date is out of my calendar, which has the years 1 to 9999."]
    return [HELP]


def leap_year(question: str) -> list[str]:
    if "leap" not in question:
        return []
    match = re.search(r"\b\d{1,4}\b", question)
    year = int(match[0]) if match else today().year
    if "next" in question:
        coming = next(later for later in range(year + 1, year + 9) if calendar.isleap(later))
        return [f"The next leap year after {year} is {coming}."]
    if calendar.isleap(year):
        return [f"Yes, {year} is a leap year.", f"It has a 29 February, a {date(year, 2, 29):%A}."]
    return [f"No, {year} is not a leap year.", "A year is one if 4 divides it, and 400 where 100 does."]


def days_in(question: str) -> list[str]:
    """How long a month or a year is."""
    match = re.search(rf"how (?:many days|long)\b.*?\b(?:in|is|has|have|does) (?:({MONTH})\b)? ?(\d{{4}})?", question)
    if match is None or not (match[1] or match[2]) or DATE.search(question):
        return []
    year = int(match[2] or today().year)
    if match[1] is None:
        return [f"{year} has {365 + calendar.isleap(year)} days."]
    month = MONTHS[match[1][:3]]
    return [f"{calendar.month_name[month]} {year} has {calendar.monthrange(year, month)[1]} days."]


def shifted(question: str) -> list[str]:
    """The date so many days, weeks, months or years before or after another."""
    match = SHIFT.search(question)
    if match is None:
        return []
    count = 1 if match[1].startswith("a") else int(match[1])
    if match[3] in ("before", "ago", "earlier"):
        count = -count
    start = (dates_in(question[match.end() :]) or [today()])[0]
    day = moved(start, count, match[2])
    return [f"It {verb(day)} {spoken(day)}."]


def distance(question: str) -> list[str]:
    """How many days lie between two dates, or between one and today."""
    dates = dates_in(question)
    if not dates or not APART.search(question):
        return []
    start, end = sorted(dates[:2] if len(dates) > 1 else (today(), dates[0]))
    days = (end - start).days
    told = [f"There {'is' if days == 1 else 'are'} {counted(days, 'day')} between {spoken(start)} and {spoken(end)}."]
    weeks, rest = divmod(days, 7)
    if weeks:
        told.append(f"That is {counted(weeks, 'week')}" + (f" and {counted(rest, 'day')}." if rest else "."))
    return told


def single(question: str) -> list[str]:
    """What there is to say about one date."""
    dates = dates_in(question)
    if not dates:
        return []
    day = dates[0]
    year, week, _ = day.isocalendar()
    return [
        f"{day.day} {day:%B} {day.year} {verb(day)} a {day:%A}.",
        f"It {verb(day)} day {day.timetuple().tm_yday} of the year, in week {week} of {year}.",
    ]


def dates_in(question: str) -> list[date]:
    """All dates in a question, in order. Without a year: this year's; the next one after "until" and "when is"."""
    ahead = re.search(r"\b(?:until|till|next|when is)\b", question) is not None
    return [date_of(match, ahead=ahead) for match in DATE.finditer(question)]


def date_of(match: re.Match[str], *, ahead: bool) -> date:
    if match["named"]:
        return today() + timedelta({"tomorrow": 1, "yesterday": -1}.get(match["named"], 0))
    if match["iso"]:
        return dated(*map(int, match["iso"].split("-")))
    written = match["year"] or match["year2"] or match["year3"]
    found = in_year(match, int(written or today().year))
    return in_year(match, found.year + 1) if ahead and not written and found < today() else found


def in_year(match: re.Match[str], year: int) -> date:
    if match["feast"] == "easter":
        return easter(year)
    if match["feast"]:
        return date(year, *FEASTS[match["feast"]])
    month = MONTHS[(match["month"] or match["month2"])[:3]]
    return dated(year, month, int(re.sub(r"\D", "", match["day"] or match["day2"])))


def dated(year: int, month: int, day: int) -> date:
    if not 1 <= month <= 12:
        raise NoSuchDate(f"There is no month {month}.")
    if year and not 1 <= day <= calendar.monthrange(year, month)[1]:
        raise NoSuchDate(f"There is no {day} {calendar.month_name[month]} in {year}.")
    return date(year, month, day)


def easter(year: int) -> date:
    """Easter Sunday of the Gregorian calendar, by the anonymous algorithm of 1876."""
    golden, (century, rest) = year % 19, divmod(year, 100)
    epact = (19 * golden + century - century // 4 - (century - (century + 8) // 25 + 1) // 3 + 15) % 30
    to_sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - epact - rest % 4) % 7
    late = (golden + 11 * epact + 22 * to_sunday) // 451
    month, day = divmod(epact + to_sunday - 7 * late + 114, 31)
    return date(year, month, day + 1)


def moved(start: date, count: int, unit: str) -> date:
    """`start` moved by days, weeks, months or years; the 31st becomes the last day of a shorter month."""
    if unit in ("day", "week"):
        return start + timedelta(count * (7 if unit == "week" else 1))
    months = start.year * 12 + start.month - 1 + count * (12 if unit == "year" else 1)
    year, month = months // 12, months % 12 + 1
    return date(year, month, min(start.day, calendar.monthrange(year, month)[1]))


def today() -> date:
    return datetime.now(UTC).date()


def verb(day: date) -> str:
    return "was" if day < today() else "is"


def spoken(day: date) -> str:
    return f"{day:%A}, {day.day} {day:%B} {day.year}"


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


AGENT = Agent("almanac", MANIFEST, answer=answer)

if __name__ == "__main__":
    main(AGENT, port=9005)
