"""Durations, byte sizes, shares and counts as people write them, to and from base units."""

import difflib
import math
import re
from collections.abc import Iterable

_SECONDS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_BYTES = {
    **{unit: 1000**power for power, unit in enumerate(("b", "kb", "mb", "gb", "tb"))},
    **{unit: 1024**power for power, unit in enumerate(("kib", "mib", "gib", "tib"), start=1)},
}
_NUMBER = r"\d+(?:\.\d+)?"
_DURATION = re.compile(
    "".join(rf"(?:(?P<{unit}>{_NUMBER}){unit})?" for unit in ("d", "h", "m", "s", "ms")), re.ASCII
)
_SIZE = re.compile(rf"({_NUMBER})\s?([A-Za-z]+)", re.ASCII)


def parse_duration(value: object) -> float:
    """Seconds from `90s`, `20m`, `1h30m`, `500ms` or a plain number of seconds.

    Raises:
        ValueError: it is no duration, is negative or is not finite.
    """
    seconds = _number(value)
    if seconds is None and isinstance(value, str):
        parts = {unit: part for unit, part in _parts(value).items() if part is not None}
        if parts:
            seconds = sum(float(part) * _SECONDS[unit] for unit, part in parts.items())
    if seconds is None or not 0 <= seconds < math.inf:
        raise ValueError(f"{value!r} is not a duration such as 90s, 20m or 1h30m")
    return seconds


def format_duration(seconds: float) -> str:
    """A duration as `parse_duration` reads it, to the millisecond: `1h30m`, `2.5s`."""
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    if rest or not milliseconds:
        parts.append(f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s")
    return "".join(parts)


def parse_size(value: object) -> int:
    """Bytes from `8GiB` (powers of 1024), `512MB` (powers of 1000) or a plain number of bytes.

    Raises:
        ValueError: it is no size, or is less than one byte.
    """
    size = _number(value)
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match and match[2].lower() in _BYTES:
        size = float(match[1]) * _BYTES[match[2].lower()]
    if size is None or not 1 <= size < math.inf:
        raise ValueError(f"{value!r} is not a size such as 8GiB, 512MB or a number of bytes")
    return round(size)


def format_size(size: int) -> str:
    """Bytes for people, in the largest binary unit, to one decimal: `8GiB`, `1.5MiB`."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        scale = _BYTES[unit.lower()]
        if size >= scale:
            return f"{size / scale:.1f}".removesuffix(".0") + unit
    return f"{size}B"


def parse_share(value: object) -> float:
    """A part of one from `2%` or `0.02`.

    Raises:
        ValueError: it is no share, is 0 or is more than the whole.
    """
    percent = isinstance(value, str) and value.rstrip().endswith("%")
    number = _number(str(value).rstrip()[:-1] if percent else value)
    share = number / 100 if percent and number is not None else number
    if share is None or not 0 < share <= 1:
        raise ValueError(f"{value!r} is not a share above 0 and up to 1, such as 2% or 0.02")
    return share


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, int | float):
            return float(value)
        if isinstance(value, str) and re.fullmatch(_NUMBER, value.strip(), re.ASCII):
            return float(value)
    except OverflowError:
        return math.inf
    return None


def _parts(text: str) -> dict[str, str | None]:
    match = _DURATION.fullmatch(text.strip())
    return match.groupdict() if match else {}


def plural(count: int, noun: str) -> str:
    """The noun as it stands behind this count."""
    return noun if count == 1 else f"{noun}s"


_STEERING = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
"""Control characters, line separators, and what turns the direction of writing."""
_ESCAPES = {code: f"\\u{code:04x}" for code in _STEERING}
_IN_A_LINE = _ESCAPES | {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}
_IN_LINES = {code: told for code, told in _IN_A_LINE.items() if code not in {9, 10}}


def visible(text: str) -> str:
    """The text with such characters escaped, save line breaks and tabs; JSON says the same."""
    return text if text.isprintable() else text.translate(_IN_LINES)


def visible_line(text: str) -> str:
    """The same on one line: line breaks and tabs are escaped too."""
    return text if text.isprintable() else text.translate(_IN_A_LINE)


def nearest(word: object, known: Iterable[str]) -> str | None:
    """The known word that is most like this one, if any is."""
    return next(iter(difflib.get_close_matches(str(word)[:100], list(known), n=1)), None)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """`; did you mean 'fp16'?`, or nothing where no known word is near."""
    near = nearest(word, known)
    return "" if near is None else f"; did you mean {near!r}?"
