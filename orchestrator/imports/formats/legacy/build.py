"""Entries become measurements, each for itself: a broken one doesn't take the others along."""

import re
from collections.abc import Iterable
from typing import Any, Literal

from pydantic import ValidationError

from orchestrator.imports.entry import MEASURED, meaning_of
from orchestrator.imports.formats.base import NotReadable, Reading
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.measurement import Found
from orchestrator.system.problems import problems_in
from runner.contract.record import Status

_SHOWN = 3


class Empty(Exception):
    """An entry holds no measured value, and doesn't say that it failed."""


def found(
    entry: Entry, around: Around, fields: dict[str, Any], marks: tuple[str, ...] = ()
) -> Found:
    """The measurement: the entry's own columns before those around it, and what is left.

    Raises:
        NotReadable: a column can't hold its value.
        Empty: it ended well, as far as it says, without a measured value.
    """
    measured = verdict(entry, around, {"status": "ok", **fields}, marks)
    if measured.status == "ok" and all(getattr(measured, name) is None for name in MEASURED):
        raise Empty
    return measured


def verdict(
    entry: Entry, around: Around, fields: dict[str, Any], marks: tuple[str, ...] = ()
) -> Found:
    """The same for an entry that says no more than how it ended.

    Raises:
        NotReadable: a column can't hold its value.
        Empty: it says nothing of its end.
    """
    own = {name: value for name, value in fields.items() if value is not None}
    if isinstance(own.get("backend"), str):
        own["backend"] = own["backend"].strip().lower()
    told = tuple(dict.fromkeys((*around.marks, *marks)))
    outer = {name: value for name, value in around.fields.items() if value is not None}
    columns: dict[str, Any] = {
        **outer,
        **own,
        "place": entry.place,
        "simulated": bool(told),
        "marks": told,
        "details": {**around.details, **entry.details()},
    }
    if "status" not in columns:
        raise Empty
    return _checked(entry.place, columns)


def each(spots: Iterable[Spot], nothing: str) -> Reading:
    """The reading of a file's entries; `nothing` is what the file is if it has none.

    Raises:
        NotReadable: there are entries, and none could be read.
    """
    well: list[Found] = []
    faults: list[str] = []
    empty: list[str] = []
    for spot in spots:
        try:
            well.append(spot.read(Entry(spot.value, spot.place), spot.around))
        except NotReadable as fault:
            faults.append(str(fault))
        except Empty:
            empty.append(spot.place)
    if faults and not well:
        more = f"; and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        raise NotReadable("; ".join(faults[:_SHOWN]) + more)
    return Reading(tuple(well), None if well else nothing, tuple(faults), tuple(empty))


def _checked(place: str, columns: dict[str, Any]) -> Found:
    if "model" not in columns:
        raise NotReadable(f"{place}: it names no model")
    try:
        return Found.model_validate(columns)
    except ValidationError as error:
        problem = problems_in(error, lambda _: Found.model_fields)[0]
        raise NotReadable(f"{place}: {problem.path[0]}: {problem.message}") from error


Verdict = Literal["well", "badly", "never", "untold"]

_REASON_LIMIT = 500
_SAID = ("error", "error_message", "test_error", "reason", "message", "note")
_OUTPUTS = ("traceback", "stderr", "error_output", "raw_stderr")
_ERROR_LINE = re.compile(r"\s*[\w.]*(?:Error|Exception|Interrupt|Exit|Expired)\b")
_WELL = ("success", "succeeded", "completed", "complete", "finished", "done", "ok", "passed")
_NEVER = ("pending", "queued", "running", "started", "manual", "automated", "unknown")
_BADLY = re.compile(r"fail|error|time_?d?_?out|out_of_memory|oom|crash|abort|unsupp|unavail|skip")


def ended(entry: Entry) -> dict[str, Any]:
    """The status and the reason of an entry; nothing if it doesn't say how it ended.

    Raises:
        NotReadable: its status is a word that nobody knows.
    """
    word = (entry.text("status") or "").strip()
    verdict = _verdict(entry, word.lower())
    if verdict == "never":
        return {"status": "lost", "reason": f"status is {word}: no result was recorded"}
    if verdict in ("well", "untold"):
        return {"status": "ok"} if verdict == "well" else {}
    reason = _reason(entry, word)
    kind = entry.text("error_type") or ""
    otherwise: Status = "unavailable" if word.lower().startswith("skip") else "failed"
    if _incompatible(entry):
        otherwise = "unsupported"
    return {"status": cause(f"{kind}\n{word}\n{reason}", otherwise), "reason": reason}


def cause(text: str, otherwise: Status = "failed") -> Status:
    """What kind of failure an error's text tells of."""
    return meaning_of(text) or otherwise


def telling(text: str) -> str:
    """The lines of an error that say what went wrong: of a traceback the last one."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR_LINE.match(line)]
    if errors:
        return errors[-1][:_REASON_LIMIT]
    return "\n".join(lines if len(lines) <= 3 else lines[-1:])[:_REASON_LIMIT]


def _verdict(entry: Entry, word: str) -> Verdict:
    success, code = entry.flag("success"), entry.seen("return_code")
    wrong = success is False or _incompatible(entry) or code not in (None, 0, "0")
    if wrong or _BADLY.search(word):
        return "badly"
    if word in _NEVER:
        return "never"
    if word and word not in _WELL:
        raise NotReadable(f"{entry.place}/status: {word!r} is no status that is known")
    if success or word or code is not None:
        return "well"
    return "badly" if entry.seen("error") or entry.seen("error_message") else "untold"


def _incompatible(entry: Entry) -> bool:
    return entry.flag("compatible") is False or entry.flag("is_compatible") is False


def _reason(entry: Entry, word: str) -> str:
    parts = [part for keys in (_SAID, _OUTPUTS) if (part := _first(entry, keys))]
    if parts:
        return ": ".join(parts)[:_REASON_LIMIT]
    code = entry.seen("return_code")
    if code not in (None, 0, "0"):
        return f"exit code {code}"
    return "it is not compatible" if _incompatible(entry) else word or "no reason is given"


def _first(entry: Entry, keys: tuple[str, ...]) -> str:
    texts = (telling(text) for key in keys if isinstance(text := entry.seen(key), str))
    return next(filter(None, texts), "")
