"""Marks by which a file itself says that no device made its numbers."""

import re
from collections.abc import Iterator
from typing import Any

from orchestrator.imports.details import as_text

_KEY = re.compile(r"(?:is_?)?(?:simulat(?:ed|ion)|mock(?:ed)?)(?:_mode)?", re.IGNORECASE)
_KIND = re.compile(r".*implementation_?type", re.IGNORECASE)
_WORD = re.compile(r"\bMOCK(?:ED)?\b|\((?i:mock(?:ed)?|simulat(?:ed|ion))\)|\bSIMULATED\b")
_NO = frozenset({"", "false", "no", "0", "none", "null", "real", "off"})


def marks_in(value: Any, place: str = "") -> tuple[str, ...]:
    """The marks in a value and all below it, each as `pointer: value`."""
    return tuple(dict.fromkeys(_marks(value, place, "")))


def _marks(value: Any, place: str, key: str) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield from _marks(item, f"{place}/{name}", str(name))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from _marks(item, f"{place}/{position}", "")
    elif _is_mark(key, value):
        yield f"{place}: {as_text(value)}"


def _is_mark(key: str, value: Any) -> bool:
    if _KEY.fullmatch(key):
        return as_text(value).strip().lower() not in _NO
    if not isinstance(value, str):
        return False
    if _KIND.fullmatch(key):
        return "mock" in value.lower() or "simulat" in value.lower()
    return _WORD.search(value) is not None
