"""The text of loadgen's summaries, taken apart."""

from collections.abc import Iterator
from dataclasses import dataclass, field

HEADING = "MLPerf Results Summary"
SECTIONS = frozenset({"Additional Stats", "Test Parameters Used", "Per-query latency:"})


@dataclass
class Summary:
    """One summary's lines."""

    place: str
    """The line of its heading."""
    values: dict[str, str] = field(default_factory=dict)
    """What stands before and behind the colons; the first of several equal names counts."""
    recommendations: list[str] = field(default_factory=list)
    """What loadgen advises so that the next result is valid."""
    notes: list[str] = field(default_factory=list)
    """All other text."""


def summaries(text: str) -> Iterator[Summary]:
    """The summaries of a file, in order."""
    summary: Summary | None = None
    advice = False
    for number, line in enumerate(text.splitlines(), start=1):
        told = line.strip()
        if told == HEADING:
            if summary is not None:
                yield summary
            summary = Summary(f"line {number}")
        elif summary is not None and told.strip("=") and told not in SECTIONS:
            advice = _add(summary, told, advice)
    if summary is not None:
        yield summary


def _add(summary: Summary, line: str, advice: bool) -> bool:
    """Whether advice goes on behind this line."""
    name, colon, value = (part.strip() for part in line.partition(":"))
    if line == "Recommendations:" or name.endswith("Early Stopping Result"):
        return name == "Recommendations"
    if line.startswith("*"):
        (summary.recommendations if advice else summary.notes).append(line.lstrip("* "))
    elif colon and value and not name.isupper():
        summary.values.setdefault(name, value)
    else:
        summary.notes.append(line)
    return advice and line.startswith("*")
