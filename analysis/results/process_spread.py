"""The spread of fresh processes in a record of one process: a calibration's, or a default."""

_MANY = 10**6
"""Degrees of freedom at which Student's t is the normal distribution."""


def spread_in_words(spread: float, *, in_queue: bool) -> str:
    """A relative spread in percent, and whether a queue multiplied it."""
    return f"{100 * spread:.2g} %{' in this queue' if in_queue else ''}"


def spread_degrees(degrees: float | None) -> float:
    """The degrees of freedom of a spread: those of a calibration, at least one; a default has many.

    Args:
        degrees: `process_spread_degrees` of the record.
    """
    return _MANY if degrees is None else max(1.0, degrees)
