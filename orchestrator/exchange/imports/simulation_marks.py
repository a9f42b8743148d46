"""Values of a file that say that no device made its numbers; in doubt a mark counts."""

import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any, Literal

from orchestrator.exchange.imports.document import pointer
from orchestrator.system.problems import quote

_Claim = Literal["simulated", "invented", "real"]
_Path = tuple[str | int, ...]

_HINT = re.compile("mock|simul|emul", re.I)
_WORDS = r"mock(?:ed|ing)?|simulat(?:e|ed|ing|ion|or)|emulat(?:ed|ion|or)"
_IN_TEXT = re.compile(rf"(?<!not )(?<!no )(?<!non-)(?<![A-Za-z_])(?:{_WORDS})(?![A-Za-z_])", re.I)
_IN_CAPITALS = re.compile(
    r"(?<!NOT_)(?<!NO_)(?<!NON_)(?<![A-Za-z])(?:MOCK(?:ED)?|(?:SIMUL|EMUL)AT(?:ED|ION))(?![A-Za-z])"
)
_IN_KEY = re.compile(rf"(?:^|_)(?:{_WORDS})s?(?:$|_)")
_DENIED_IN_KEY = re.compile(rf"(?:^|_)(?:not|non|no)_(?:{_WORDS})s?(?:$|_)")
_INVENTED_KEY = re.compile(
    r"(?:is_|was_)?"
    r"(?:faked?|dummy|placeholder|synthetic|predicted|estimated|projected|extrapolated)"
)
_REAL_KEY = re.compile(r"(?:is_|was_|uses?_|using_)?real(?:_hardware|_device|_implementation)?")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ONE_WORD = re.compile(r"[\w().-]+")
_BETWEEN_WORDS = re.compile(r"[^A-Za-z0-9]+")
_YES = ("true", "yes", "1")
_NO = ("false", "no", "0")
_DENIED = ("", "false", "no", "0", "none", "null", "n/a", "nan", "-")
_SAID_IN = ("input", "prompt", "command", "test_prompt", "test_text")
_KEY_IN_TEXT = rf"\w*(?:{_WORDS})\w*[\"']?\s*[:=]\s*"
_DENIED_IN_TEXT = re.compile(rf"{_KEY_IN_TEXT}(?:false|none|null|0)\b", re.I)
_SAID_IN_TEXT = re.compile(rf"{_KEY_IN_TEXT}true\b", re.I)


def marks_in(value: Any, location: str = "", without: Collection[str] = ()) -> tuple[str, ...]:
    """All marks in a value with their locations; keys named in `without` are left out."""
    if isinstance(value, dict) and without:
        value = {key: item for key, item in value.items() if key not in without}
    marks = (f"{pointer(location, *path)}: {mark}" for path, mark in _walk(value, (), ""))
    return tuple(dict.fromkeys(marks))


def marks_in_name(name: str) -> tuple[str, ...]:
    words = _BETWEEN_WORDS.sub("_", name)
    return (f"file name: {quote(name)}",) if _claim_of(words) == "simulated" else ()


def _walk(value: Any, path: _Path, key: str, parent: str = "") -> Iterator[tuple[_Path, str]]:
    if isinstance(value, dict):
        for name, item in value.items():
            if not name.startswith(_SAID_IN):
                yield from _walk(item, (*path, name), name, key or parent)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _walk(item, (*path, index), key, parent)
    elif _is_mark(_claim_of(key), value) or (parent and _is_marked_by(parent, value)):
        yield path, quote(value)
    elif isinstance(value, str) and _HINT.search(value):
        in_list = bool(path) and isinstance(path[-1], int)
        yield from ((path, quote(line)) for line in _in_text(value, in_list=in_list))


@lru_cache(maxsize=10_000)
def _claim_of(key: str) -> _Claim | None:
    """The claim of a key whose value is true."""
    name = _HUMP.sub("_", key).lower()
    if _DENIED_IN_KEY.search(name):
        return "real"
    if _IN_KEY.search(name):
        return "simulated"
    if _INVENTED_KEY.fullmatch(name):
        return "invented"
    return "real" if _REAL_KEY.fullmatch(name) else None


def _is_mark(claim: _Claim | None, value: Any) -> bool:
    if claim is None or value is None:
        return False
    word = str(value).strip().lower()
    if claim == "simulated":
        return word not in _DENIED and bool(value)
    return word in (_YES if claim == "invented" else _NO)


def _is_marked_by(parent: str, value: Any) -> bool:
    """True if the value affirms the claim of the key of the object around it."""
    return _claim_of(parent) == "simulated" and str(value).strip().lower() in _YES


def _in_text(text: str, *, in_list: bool) -> Iterator[str]:
    """The line with a mark; lists also hold names of keys, which are no marks by themselves."""
    if not in_list and _ONE_WORD.fullmatch(text.strip()) and _claim_of(text) == "simulated":
        yield text
        return
    for line in text.splitlines():
        rest = _DENIED_IN_TEXT.sub("", line)
        if any(sign.search(rest) for sign in (_IN_TEXT, _IN_CAPITALS, _SAID_IN_TEXT)):
            yield line.strip()
            return
