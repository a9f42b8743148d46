"""What words of foreign files mean: yes or no, and points in time."""

from datetime import UTC, datetime

from orchestrator.matrix.problems import shown

_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def truth_from(value: object) -> bool | None:
    """Yes or no, also as text or as 1 and 0; None for null.

    Raises:
        ValueError: it is neither.
    """
    if value is None:
        return None
    word = str(value).strip().lower()
    if isinstance(value, bool | int | str) and word in _WORDS:
        return _WORDS[word]
    raise ValueError(f"{shown(value)} is neither true nor false")


def moment_in(text: str) -> tuple[datetime, bool]:
    """A point in time in ISO 8601, and whether its zone was told; else it is taken as UTC.

    Raises:
        ValueError: it is no time.
    """
    moment = datetime.fromisoformat(text.strip())
    return (moment, True) if moment.tzinfo else (moment.replace(tzinfo=UTC), False)
