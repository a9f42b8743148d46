"""Times and text as the files hold them."""

from datetime import UTC, datetime
from typing import Any

from orchestrator.imports.details import flatten
from orchestrator.imports.words import moment_in

_TEXT_LIMIT = 1000
_EPOCH_SECONDS = (1e8, 1e11)


def moment_from(value: object) -> tuple[datetime, bool] | None:
    """A point in time and whether its zone was told; None if it is no time."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = _EPOCH_SECONDS
        return (datetime.fromtimestamp(value, UTC), True) if low < value < high else None
    if not isinstance(value, str):
        return None
    try:
        return moment_in(value)
    except ValueError:
        return None


def details_of(value: Any, name: str = "") -> dict[str, str]:
    """What a value holds, as text by dotted names; what is long is shortened, and says so."""
    return {key: _shortened(text) for key, text in flatten(value, name).items()}


def _shortened(text: str) -> str:
    if len(text) <= _TEXT_LIMIT:
        return text
    return f"{text[:_TEXT_LIMIT]} … ({len(text)} characters)"
