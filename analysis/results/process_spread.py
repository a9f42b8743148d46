"""The spread of fresh processes in a record of one process: a calibration's, or a default."""

import re

_CALIBRATED = re.compile(
    r"calibration with (\d+) processes(?: \((\d+(?:\.\d+)?) degrees of freedom\))?"
)
_QUEUE = "; its queue multiplies it by "
_MANY = 10**6
"""Degrees of freedom at which Student's t is the normal distribution."""


def calibrated_processes(source: str | None) -> int | None:
    """The processes of a calibration, by `process_spread_source`; None for a default spread."""
    match = _CALIBRATED.match(source or "")
    return int(match[1]) if match else None


def spread_in_words(spread: float, source: str | None) -> str:
    """A relative spread in percent, and whether a queue multiplied it."""
    queued = " in this queue" if _QUEUE in (source or "") else ""
    return f"{100 * spread:.2g} %{queued}"


def spread_degrees(source: str | None) -> float:
    """The degrees of freedom of a spread, by `process_spread_source`; those of a default are many.

    Older calibrations do not tell them: they took processes as independent.
    """
    match = _CALIBRATED.match(source or "")
    if match is None:
        return _MANY
    return max(1.0, float(match[2] or int(match[1]) - 1))
