"""Measurements from JSON objects, and how an object says that it ended."""

import re
from typing import Any, Literal

from pydantic import ValidationError

from orchestrator.exchange.imports.entry import MEASURED, status_in_text
from orchestrator.exchange.imports.formats.legacy.json_object import Context, JsonObject
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.simulation_marks import marks_in
from orchestrator.system.problems import problems_in
from runner.contract.errors import SkipEntry
from runner.contract.record import Status

_Ending = Literal["success", "failure", "unfinished", "unknown"]

_REASON_LIMIT = 500
_MESSAGES = ("error", "error_message", "test_error", "reason", "message", "note")
_OUTPUTS = ("traceback", "stderr", "error_output", "raw_stderr")
_ERROR_LINE = re.compile(r"\s*[\w.]*(?:Error|Exception|Interrupt|Exit|Expired)\b")
_SUCCESSES = ("success", "succeeded", "completed", "complete", "finished", "done", "ok", "passed")
_UNFINISHED = ("pending", "queued", "running", "started", "manual", "automated", "unknown")
_FAILURE = re.compile(r"fail|error|time_?d?_?out|out_of_memory|oom|crash|abort|unsupp|unavail|skip")


def build_measurement(
    entry: JsonObject,
    context: Context,
    fields: dict[str, Any],
    marks: tuple[str, ...] | None = None,
) -> ImportedMeasurement:
    """Build a measurement: the entry's own columns override the context's; the rest is details.

    Its marks are those of its value, unless others are given.

    Raises:
        SkipEntry: a column cannot hold its value; without a reason: it ended well, as far as it
            says, without a measured value.
    """
    measured = build_outcome(entry, context, {"status": "ok", **fields}, marks)
    if measured.status == "ok" and all(getattr(measured, name) is None for name in MEASURED):
        raise SkipEntry
    return measured


def build_outcome(
    entry: JsonObject,
    context: Context,
    fields: dict[str, Any],
    marks: tuple[str, ...] | None = None,
) -> ImportedMeasurement:
    """Build the result of an entry that says no more than how it ended.

    Raises:
        SkipEntry: a column cannot hold its value; without a reason: it has no status.
    """
    own = {name: value for name, value in fields.items() if value is not None}
    if isinstance(own.get("backend"), str):
        own["backend"] = own["backend"].strip().lower()
    own_marks = marks_in(entry.value, entry.location) if marks is None else marks
    all_marks = tuple(dict.fromkeys((*context.marks, *own_marks)))
    columns: dict[str, Any] = {
        **{name: value for name, value in context.fields.items() if value is not None},
        **own,
        "location": entry.location,
        "simulated": bool(all_marks),
        "marks": all_marks,
        "details": {**context.details, **entry.details()},
    }
    if "status" not in columns:
        raise SkipEntry
    return _validated(entry.location, columns)


def status_fields(entry: JsonObject) -> dict[str, Any]:
    """The status and the reason of an entry; empty if it doesn't say how it ended.

    Raises:
        SkipEntry: its status is an unknown word.
    """
    word = (entry.text("status") or "").strip()
    ending = _ending(entry, word.lower())
    if ending == "unfinished":
        return {"status": "lost", "reason": f"status is {word}: no result was recorded"}
    if ending in ("success", "unknown"):
        return {"status": "ok"} if ending == "success" else {}
    reason = _reason(entry, word)
    kind = entry.text("error_type") or ""
    otherwise: Status = "unavailable" if word.lower().startswith("skip") else "failed"
    if _is_incompatible(entry):
        otherwise = "unsupported"
    text = f"{kind}\n{word}\n{reason}"
    return {"status": status_in_text(text) or otherwise, "reason": reason}


def error_line(text: str) -> str:
    """The most informative lines of an error: the last one of a traceback."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if _ERROR_LINE.match(line)]
    if errors:
        return errors[-1][:_REASON_LIMIT]
    return "\n".join(lines if len(lines) <= 3 else lines[-1:])[:_REASON_LIMIT]


def _validated(location: str, columns: dict[str, Any]) -> ImportedMeasurement:
    if "model" not in columns:
        raise SkipEntry(f"{location}: it names no model")
    try:
        return ImportedMeasurement.model_validate(columns)
    except ValidationError as error:
        problem = problems_in(error, lambda _: ImportedMeasurement.model_fields)[0]
        raise SkipEntry(f"{location}: {problem.path[0]}: {problem.message}") from error


def _ending(entry: JsonObject, word: str) -> _Ending:
    success, code = entry.flag("success"), entry.seen("return_code")
    wrong = success is False or _is_incompatible(entry) or code not in (None, 0, "0")
    if wrong or _FAILURE.search(word):
        return "failure"
    if word in _UNFINISHED:
        return "unfinished"
    if word and word not in _SUCCESSES:
        raise SkipEntry(f"{entry.location}/status: {word!r} is no status that is known")
    if success or word or code is not None:
        return "success"
    return "failure" if entry.seen("error") or entry.seen("error_message") else "unknown"


def _is_incompatible(entry: JsonObject) -> bool:
    return entry.flag("compatible") is False or entry.flag("is_compatible") is False


def _reason(entry: JsonObject, word: str) -> str:
    parts = [part for keys in (_MESSAGES, _OUTPUTS) if (part := _first(entry, keys))]
    if parts:
        return ": ".join(parts)[:_REASON_LIMIT]
    code = entry.seen("return_code")
    if code not in (None, 0, "0"):
        return f"exit code {code}"
    return "it is not compatible" if _is_incompatible(entry) else word or "no reason is given"


def _first(entry: JsonObject, keys: tuple[str, ...]) -> str:
    texts = (error_line(text) for key in keys if isinstance(text := entry.seen(key), str))
    return next(filter(None, texts), "")
