"""The geometry of charts, of bars by day; `templates/charts/` draws it as SVG.

All of it is whole numbers: templates write fractions with the comma of some languages, which SVG does not read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

# Of the drawing, in its own units: it is stretched to whatever room it has.
HEIGHT = 1000
COLUMN = 12
GAP = 2
# The tops of scales, times a power of ten.
STEPS = (1, 2, 4, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class Series:
    """One colour of a chart: a value for each of its days."""

    label: str
    values: Sequence[int]


@dataclass(frozen=True, slots=True)
class Bar:
    """A part of a day's column. `colour` counts from 1; `y` is its upper edge, from the top."""

    colour: int
    label: str
    value: int
    y: int
    height: int


@dataclass(frozen=True, slots=True)
class Column:
    """A day: `x` is its left edge."""

    day: date
    x: int
    total: int
    bars: list[Bar]


@dataclass(frozen=True, slots=True)
class Chart:
    """`scale` are the numbers at its left, from the top to 0, at equal distances."""

    columns: list[Column]
    labels: list[str]
    scale: list[int]
    total: int
    width: int
    height: int = HEIGHT
    column_width: int = COLUMN
    bar_width: int = COLUMN - GAP

    @property
    def middle(self) -> Column:
        return self.columns[len(self.columns) // 2]


def bars_by_day(days: Sequence[date], series: Sequence[Series]) -> Chart:
    """The series stacked, the first at the bottom; `days` are at least one, in order."""
    totals = [sum(each.values[n] for each in series) for n in range(len(days))]
    scale = scale_for(max(totals))
    return Chart(
        columns=[
            Column(day, n * COLUMN, totals[n], _bars([(each.label, each.values[n]) for each in series], scale[0]))
            for n, day in enumerate(days)
        ],
        labels=[each.label for each in series],
        scale=scale,
        total=sum(totals),
        width=len(days) * COLUMN,
    )


def scale_for(highest: int) -> list[int]:
    """`[top, half, 0]` for values up to `highest`: a round top, and no halves of one."""
    power = 1
    while STEPS[-1] * power < highest:
        power *= 10
    top = next(step * power for step in STEPS if step * power >= highest)
    return [top, top // 2, 0] if top > 1 else [1, 0]


def _bars(parts: Sequence[tuple[str, int]], top: int) -> list[Bar]:
    bars, below = [], 0
    for colour, (label, value) in enumerate(parts, 1):
        if value:
            edges = _height(below + value, top), _height(below, top)
            bars.append(Bar(colour, label, value, HEIGHT - edges[0], edges[0] - edges[1]))
            below += value
    return bars


def _height(value: int, top: int) -> int:
    # What is not nothing is to be seen.
    return max(value * HEIGHT // top, 8 if value else 0)
