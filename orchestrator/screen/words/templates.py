"""Templates: sentences with places for facts, which say how a fact is written.

`{size:gb}` formats a fact, `{cause:reason}` is the words of a reason that is a fact itself, and
`[of {size}|without any]` becomes its other end where a fact is missing. Brackets
without a place are text, as in `accelmatrix[fleet]`.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from orchestrator.system.text import format_duration, format_size, plural
from runner.contract.errors import how_to_install
from runner.contract.reasons import Facts
from runner.contract.record.verdict import percent

_OPTIONAL = re.compile(r"\[([^][|]*)(?:\|([^][]*))?\]")
PLACE = re.compile(r"\{(\w+)(!r)?(?::([^}]*))?\}")
_GIVEN = {f"install_{extra}": how_to_install(extra) for extra in ("browser", "cpu", "qnn")}
"""Facts about this AccelMatrix."""
_MISSING = "?"


class ReasonWords(NamedTuple):
    """The words of one reason, as templates."""

    text: str
    remedy: str | None = None
    """The help, a sentence; None where that depends on the status, or on the cause."""
    hint: str | None = None
    """The help where a command ends with it; None where the text says enough."""


def signed(share: float) -> str:
    """A change in words: `18 % more`."""
    return f"{percent(abs(share))} {'more' if share > 0 else 'less'}"


_FORMATS: Mapping[str, Callable[[float], str]] = {
    "duration": format_duration,
    "factor": lambda factor: f"{factor:,.{0 if factor > 10 else 2}f}",
    "gb": lambda size: f"{size / 1e9:.3g} GB",
    "ms": lambda seconds: f"{seconds * 1000:.2g}",
    "percent": percent,
    "signed": signed,
    "size": lambda size: format_size(round(size)),
    ",": lambda number: f"{round(number):,}",
}


Special = Mapping[str, Callable[[str], str]]
"""Formats of facts that are looked up in another way: each gives the words for a fact's name."""


def fill(template: str, facts: Facts, special: Special | None = None) -> str:
    def chosen(match: re.Match[str]) -> str:
        places = [name for name, *_ in PLACE.findall(match[1])]
        if not places:
            return match[0]
        return match[1] if all(name in facts for name in places) else match[2] or ""

    def fact(match: re.Match[str]) -> str:
        name, quoted, format_ = match.groups()
        if special and format_ in special:
            return special[format_](name)
        text = facts.get(name, _GIVEN.get(name, _MISSING))
        return repr(text) if quoted else formatted(text, format_ or "")

    return PLACE.sub(fact, _OPTIONAL.sub(chosen, template))


def formatted(text: str, format_: str) -> str:
    """The fact as its format says; as it is, if another version wrote no number there."""
    try:
        if format_.startswith("plural "):
            count = round(float(text))
            return f"{count:,} {plural(count, format_.removeprefix('plural '))}"
        if format_ in _FORMATS:
            return _FORMATS[format_](float(text))
        return format(float(text), format_) if format_ else text
    except (ValueError, OverflowError):
        return text
