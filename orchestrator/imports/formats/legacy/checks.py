"""Checks of models by scripts: what each script printed, with its exit code and its JSON."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from orchestrator.imports.document import WHOLE, last, under
from orchestrator.imports.formats.base import NotReadable, Reading
from orchestrator.imports.formats.legacy import machine, sweep
from orchestrator.imports.formats.legacy.build import each, ended, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.machine import libraries_of, python_of
from orchestrator.imports.formats.legacy.rows import (
    Shape,
    has_any,
    has_map,
    is_map,
    without_remarks,
)
from orchestrator.imports.marks import marks_in
from orchestrator.imports.measurement import Found

_CONTENTS = ("json_result", "performance_metrics", "results")
_FAULTS = ("test_error", "traceback", "error")
_NAMES = ("model_name", "test_model", "model_id", "model")
_NO_NAMES = ("", "unknown")
_SCRIPT = "test_"
_OUTPUTS = ("stdout", "stderr", *_CONTENTS)


def spots_of_run(run: Any, place: str, around: Around) -> Iterator[Spot]:
    """A script's platforms; the script itself if it tells of none."""
    if not isinstance(run, dict):
        yield Spot(run, place, _script, around)
        return
    key = next((key for key in _CONTENTS if has_map(run, key)), "")
    content: dict[str, Any] = run[key] if key else {}
    fields = {**around.fields, "model": _model(run, content, last(place))}
    rest = {name: item for name, item in run.items() if name != key}
    try:
        ending = ended(Entry(_told(run, content), place))
    except NotReadable:
        ending, content = {}, {}
    if ending.get("status", "ok") != "ok":
        fields |= ending
    details = {**around.details, **Entry(rest, place).details("run")}
    inside = Around(fields, details, around.marks)
    of_platforms = list(machine.spots_of(content, under(place, key), inside))
    yield from of_platforms
    if not of_platforms:
        yield Spot(run, place, _script, Around(fields, around.details, around.marks))


def _script(entry: Entry, around: Around) -> Found:
    content: dict[str, Any] = next(
        (entry.value[key] for key in _CONTENTS if has_map(entry.value, key)), {}
    )
    told = Entry(_told(entry.value, content), entry.place)
    return verdict(entry, around, ended(told), marks_in(entry.value, entry.place))


def _told(run: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """What the script's end is told by: its own words before those of its JSON."""
    faults = {key: content[key] for key in _FAULTS if content.get(key)}
    return {**faults, **run, **({"success": False} if faults else {})}


def _model(run: dict[str, Any], content: dict[str, Any], name: str) -> str:
    metadata: dict[str, Any] = run["metadata"] if has_map(run, "metadata") else {}
    inner: dict[str, Any] = content["metadata"] if has_map(content, "metadata") else {}
    named = [about[key] for about in (inner, content, metadata) for key in _NAMES if key in about]
    texts = (item for item in named if isinstance(item, str))
    fits = (text for text in texts if text.strip().lower() not in _NO_NAMES)
    file = run.get("test_file") or metadata.get("test_file") or name
    return next(fits, PurePosixPath(str(file)).stem.removeprefix(_SCRIPT))


def _is_run(value: Any) -> bool:
    return is_map(value, "test_file") and has_any(value, "return_code", "json_result", "error")


def _is_report(value: Any) -> bool:
    if not has_map(value, "metadata", "results") or sweep.matches(value):
        return False
    return machine.names_platforms(value["results"]) or (
        is_map(value["metadata"], "test_file") and is_map(value["results"], "total_execution_time")
    )


def _is_collection(value: Any) -> bool:
    if has_map(value, "skill_tests"):
        return True
    return (
        has_map(value, "metadata", "results")
        and has_any(value["metadata"], "test_files", "test_count")
        and all(is_map(run, "status") for run in value["results"].values())
    )


def _is_content(value: Any) -> bool:
    whole = has_map(value, "status") and has_any(value, "examples", "metadata")
    bare = is_map(value, "init") and isinstance(value["init"], str)
    return (whole or bare) and "test_file" not in value and machine.names_platforms(value)


def _is_by_script(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    scripts = _scripts(value)
    return (
        without_remarks(value).keys() <= scripts.keys()
        and all(isinstance(told, dict | str) for told in scripts.values())
        and any(machine.names_platforms(told) for told in scripts.values())
    )


def _scripts(value: dict[str, Any]) -> dict[str, Any]:
    return {name: told for name, told in value.items() if name.startswith(_SCRIPT)}


def _spots(value: dict[str, Any]) -> Iterator[Spot]:
    whole = Entry(value, WHOLE)
    key = "skill_tests" if has_map(value, "skill_tests") else "results"
    about = whole.inner("metadata") or whole
    fields = {
        "measured_at": about.moment("timestamp"),
        "python_version": python_of(about),
        "libraries": libraries_of(about),
    }
    marks = marks_in(value, WHOLE, without=(key,))
    for run in whole.spots(key, _script, Around(fields, {}, marks)):
        yield from spots_of_run(run.value, run.place, run.around)


def _read_one(value: dict[str, Any]) -> Reading:
    about = value["metadata"] if has_map(value, "metadata") else value
    moment = Entry(about, WHOLE).moment("timestamp")
    around = Around({"measured_at": moment}, {}, marks_in(value, WHOLE, without=_OUTPUTS))
    return each(spots_of_run(value, WHOLE, around), "a check that tells of nothing")


def _read_all(value: dict[str, Any]) -> Reading:
    return each(_spots(value), "a run that found no check to do")


def _read_content(value: dict[str, Any]) -> Reading:
    model = _model({}, value, "")
    around = Around({"model": model} if model else {})
    return each(machine.spots_of(value, WHOLE, around), "a check that tells of no platform")


def _read_by_script(value: dict[str, Any]) -> Reading:
    return each(_by_script(value), "checks that tell of no platform")


def _by_script(value: dict[str, Any]) -> Iterator[Spot]:
    scripts = _scripts(value)
    marks = marks_in(value, WHOLE, without=scripts)
    for name, told in scripts.items():
        content = told if isinstance(told, dict) else {"error": told}
        run = {"test_file": f"{name}.py", **content}
        around = Around({"model": _model(run, content, name)}, marks=marks)
        of_platforms = list(machine.spots_of(content, under(WHOLE, name), around))
        yield from of_platforms
        if not of_platforms:
            yield Spot(content, under(WHOLE, name), _script, around)


CHECK = Shape("legacy-check", _is_run, _read_one)
REPORT = Shape("legacy-check-report", _is_report, _read_one)
CHECKS = Shape("legacy-checks", _is_collection, _read_all)
CONTENT = Shape("legacy-check-content", _is_content, _read_content)
BY_SCRIPT = Shape("legacy-checks-by-script", _is_by_script, _read_by_script)
