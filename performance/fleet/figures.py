"""A figure of a fleet with its bar, as a line and as data."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Figure:
    """One thing that was measured, and what was promised of it."""

    name: str
    value: float
    unit: str
    """`s`, `%` or empty for a ratio or a count."""
    bar: float | None = None
    """The most or least that is promised; None for what stands beside it."""
    is_least: bool = False
    """True if the bar is the least."""

    @property
    def missed(self) -> bool:
        """True if the promise is broken."""
        if self.bar is None:
            return False
        return self.value < self.bar if self.is_least else self.value > self.bar

    def __str__(self) -> str:
        value = f"{self.name:<58}{self.value:9.3f} {self.unit:<2}"
        if self.bar is None:
            return value.rstrip()
        side = "at least" if self.is_least else "at most"
        return f"{value} {side} {self.bar:g}" + ("  MISSED" if self.missed else "")


def print_figures(section: str, figures: Sequence[Figure]) -> bool:
    """Print a section's figures; returns whether one misses its bar."""
    for figure in figures:
        print(figure)
    print(
        json.dumps({"measurement": "fleet", "section": section, "figures": [*map(asdict, figures)]})
    )
    return any(figure.missed for figure in figures)
