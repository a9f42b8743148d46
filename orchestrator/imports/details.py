"""What a foreign file says beside our columns, as text under its own names."""

import json
from collections.abc import Iterator
from typing import Any

from orchestrator.imports.quantities import says_nothing


def flatten(value: Any, name: str = "") -> dict[str, str]:
    """Everything in a value that says something, by dotted names; lists of plain values whole."""
    if isinstance(value, dict | list):
        return dict(_leaves(value, name))
    return {} if says_nothing(value) else {name: as_text(value)}


def as_text(value: Any) -> str:
    """A plain value as JSON would write it, text without its quotation marks."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for position, item in enumerate(value):
            yield from _leaves(item, f"{name}[{position}]")
    elif value != [] and not says_nothing(value):
        yield name, as_text(value)
