"""The table that `make bench` ends with."""

import json
from dataclasses import asdict, dataclass
from typing import Any

HEADINGS = ("", "measured", "bound", "holds", "in detail")


@dataclass(frozen=True, slots=True)
class Row:
    """One measured number. Without a bound it is there for information."""

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None
    detail: str = ""

    @property
    def holds(self) -> bool | None:
        if self.at_least is None and self.at_most is None:
            return None
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )

    @property
    def bound(self) -> str:
        if self.at_least is not None:
            return f"≥ {self.at_least:g} {self.unit}"
        return "" if self.at_most is None else f"≤ {self.at_most:g} {self.unit}"

    def cells(self) -> tuple[str, ...]:
        holds = {True: "ok", False: "NOT OK", None: ""}[self.holds]
        return self.name, f"{self.value:.3g} {self.unit}", self.bound, holds, self.detail


def table(rows: list[Row]) -> str:
    """The rows as text in columns."""
    lines = [HEADINGS, *(row.cells() for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    ruled = [lines[0], tuple("─" * width for width in widths), *lines[1:]]
    return "\n".join("  ".join(map(str.ljust, line, widths)).rstrip() for line in ruled)


def document(rows: list[Row], **about: Any) -> str:
    """The rows as JSON."""
    return json.dumps({**about, "rows": [{**asdict(row), "holds": row.holds} for row in rows]}, indent=2)
