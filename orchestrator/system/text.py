"""Text for people: units and counts, control characters escaped."""

import math
import re
from collections.abc import Iterable
from pathlib import Path

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
_CONTROL = (
    *range(0x20),
    *range(0x7F, 0xA0),
    *(0x061C, 0x200E, 0x200F, 0x2028, 0x2029),
    *range(0x202A, 0x202F),
    *range(0x2066, 0x206A),
)
"""Control characters, line separators, and marks that change the direction of writing."""
_LINE_ESCAPES = {code: f"\\u{code:04x}" for code in _CONTROL} | {9: "\\t", 10: "\\n", 13: "\\r"}
_TEXT_ESCAPES = {code: escape for code, escape in _LINE_ESCAPES.items() if code not in {9, 10}}


def parse_duration(value: object) -> float:
    """Seconds from `90s`, `20m`, `1h30m`, `500ms` or a plain number of seconds."""
    seconds = _number(value)
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if seconds is None and match and any(match.groups()):
        parts = match.groupdict(default="0").items()
        seconds = sum(float(part) * _SECONDS[unit] for unit, part in parts)
    if seconds is None or not 0 <= seconds < math.inf:
        raise ValueError(f"{value!r} is not a duration such as 90s, 20m or 1h30m")
    return seconds


def format_duration(seconds: float) -> str:
    """Format seconds as `parse_duration` reads them, to the millisecond: `1h30m`, `2.5s`."""
    milliseconds = round(seconds * 1000)
    minutes, rest = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    parts = [f"{hours}h" if hours else "", f"{minutes}m" if minutes else ""]
    if rest or not milliseconds:
        parts.append(f"{rest / 1000:.3f}".rstrip("0").rstrip(".") + "s")
    return "".join(parts)


def format_age(seconds: float) -> str:
    """A time that has passed, in its largest unit: `12 minutes ago`, `1 day ago`."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {plural(count, unit)} ago"
    return "a moment ago"


def parse_size(value: object) -> int:
    """Bytes from `8GiB` (powers of 1024), `512MB` (powers of 1000) or a plain number of bytes."""
    size = _number(value)
    match = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match and match[2].lower() in _BYTES:
        size = float(match[1]) * _BYTES[match[2].lower()]
    if size is None or not 1 <= size < math.inf:
        raise ValueError(f"{value!r} is not a size such as 8GiB, 512MB or a number of bytes")
    return round(size)


def format_size(size: int) -> str:
    """Format bytes in the largest binary unit, to one decimal: `8GiB`, `1.5MiB`."""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        scale = _BYTES[unit.lower()]
        if size >= scale:
            return f"{size / scale:.1f}".removesuffix(".0") + unit
    return f"{size}B"


def format_memory(size: float) -> str:
    """Bytes of memory in the unit in which they are round: `2GiB`, `1 GB`, `1.06 GB`."""
    words = format_size(round(size))
    if "." not in words:
        return words
    return f"{size / 1e9:.3g} GB" if size >= 1e9 else f"{size / 1e6:.3g} MB"


def parse_share(value: object) -> float:
    """The fraction in `2%` or `0.02`."""
    percent = isinstance(value, str) and value.rstrip().endswith("%")
    number = _number(str(value).rstrip()[:-1] if percent else value)
    share = number / 100 if percent and number is not None else number
    if share is None or not 0 < share <= 1:
        raise ValueError(f"{value!r} is not a share above 0 and up to 1, such as 2% or 0.02")
    return share


def split_list(texts: Iterable[str], *, of_paths: bool = False) -> list[str]:
    """The values of texts with commas between them; an existing path is one, whatever it holds."""
    items: list[str] = []
    for text in texts:
        is_whole = of_paths and "," in text and _is_path(text)
        items += [text] if is_whole else map(str.strip, text.split(","))
    return items


def _is_path(text: str) -> bool:
    try:
        return Path(text).expanduser().exists()
    except (OSError, ValueError, RuntimeError):
        return False


def plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def escape_control(text: str) -> str:
    """Escape control characters in untrusted text as JSON does, except line breaks and tabs."""
    return text if text.isprintable() else text.translate(_TEXT_ESCAPES)


def escape_control_line(text: str) -> str:
    return text if text.isprintable() else text.translate(_LINE_ESCAPES)


def first_line(text: str, letters: int = 300) -> str:
    """The first line of untrusted text that says something, escaped and cut."""
    line = next(filter(None, map(str.strip, text[: letters * 100].splitlines())), "")
    escaped = escape_control_line(line[: letters + 1])
    return escaped if len(line) <= letters else f"{escaped[:letters]}…"


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
