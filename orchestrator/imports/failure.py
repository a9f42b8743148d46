"""What the text of somebody else's error amounts to."""

import re

from runner.record import Status

_LONGEST = 500
_LINES = 3
_TRACEBACK = re.compile(r"^\s*Traceback \(most recent call last\)", re.MULTILINE)
_MEANINGS: tuple[tuple[Status, re.Pattern[str]], ...] = (
    (
        "out_of_memory",
        re.compile(r"out of memory|OutOfMemory|MemoryError|bad_alloc|can(?:'t|not) allocate", re.I),
    ),
    ("timeout", re.compile(r"timed[ _]out|\btime-?out\b|TimeoutE", re.I)),
    (
        "unsupported",
        re.compile(
            r"not (?:yet )?(?:supported|implemented)|unsupported|(?:not |in)compatible", re.I
        ),
    ),
    (
        "unavailable",
        re.compile(
            r"no module named|not (?:available|installed)|unavailable|no such device"
            r"|device not found",
            re.I,
        ),
    ),
)


def meaning_of(text: str) -> Status | None:
    """The verdict that a text's words tell of; None if they tell none."""
    return next((status for status, words in _MEANINGS if words.search(text)), None)


def status_of(error: str) -> Status:
    """The verdict that an error's telling lines mean."""
    return meaning_of(reason_of(error)) or "failed"


def reason_of(error: str) -> str:
    """The lines that tell most: the last one of a traceback, else the first few."""
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    kept = lines[-1:] if _TRACEBACK.search(error) else lines[:_LINES]
    told = "\n".join(kept)
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…"
