"""Checks of models by scripts: the output of each script, its exit code and its JSON."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from orchestrator.exchange.imports.document import TOP, last_key, pointer
from orchestrator.exchange.imports.formats.legacy import machine, sweep
from orchestrator.exchange.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    Node,
    build_outcome,
    status_fields,
)
from orchestrator.exchange.imports.formats.legacy.machine import libraries_of, python_of
from orchestrator.exchange.imports.formats.legacy.rows import (
    LegacyFormat,
    has_any,
    has_map,
    is_map,
    without_remarks,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import SkipEntry

_CONTENTS = ("json_result", "performance_metrics", "results")
_FAULTS = ("test_error", "traceback", "error")
_NAMES = ("model_name", "test_model", "model_id", "model")
_NO_NAMES = ("", "unknown")
_SCRIPT = "test_"
_OUTPUTS = ("stdout", "stderr", *_CONTENTS)


def nodes_of_run(run: Any, location: str, context: Context) -> Iterator[Node]:
    """The platforms of a script; the script itself if it names none."""
    if not isinstance(run, dict):
        yield Node(run, location, _script_result, context)
        return
    key = next((key for key in _CONTENTS if has_map(run, key)), "")
    content: dict[str, Any] = run[key] if key else {}
    fields = {**context.fields, "model": _model(run, content, last_key(location))}
    rest = {name: item for name, item in run.items() if name != key}
    try:
        ending = status_fields(JsonObject(_ending_facts(run, content), location))
    except SkipEntry:
        ending, content = {}, {}
    if ending.get("status", "ok") != "ok":
        fields |= ending
    details = {**context.details, **JsonObject(rest, location).details("run")}
    inside = Context(fields, details, context.marks)
    of_platforms = list(machine.platform_nodes(content, pointer(location, key), inside))
    yield from of_platforms
    if not of_platforms:
        yield Node(run, location, _script_result, Context(fields, context.details, context.marks))


def _script_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    content: dict[str, Any] = next(
        (entry.value[key] for key in _CONTENTS if has_map(entry.value, key)), {}
    )
    facts = JsonObject(_ending_facts(entry.value, content), entry.location)
    return build_outcome(entry, context, status_fields(facts))


def _ending_facts(run: dict[str, Any], content: dict[str, Any]) -> dict[str, Any]:
    """Facts about the script's end: its own before those of its JSON."""
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
    if not has_map(value, "metadata", "results") or sweep.holds_methods(value):
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
        and all(isinstance(result, dict | str) for result in scripts.values())
        and any(machine.names_platforms(result) for result in scripts.values())
    )


def _scripts(value: dict[str, Any]) -> dict[str, Any]:
    return {name: result for name, result in value.items() if name.startswith(_SCRIPT)}


def _run_nodes(value: dict[str, Any]) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    key = "skill_tests" if has_map(value, "skill_tests") else "results"
    about = whole.inner("metadata") or whole
    fields = {
        "measured_at": about.moment("timestamp"),
        "python_version": python_of(about),
        "libraries": libraries_of(about),
    }
    marks = marks_in(value, TOP, without=(key,))
    for run in whole.nodes(key, _script_result, Context(fields, {}, marks)):
        yield from nodes_of_run(run.value, run.location, run.context)


def _run(value: dict[str, Any]) -> Iterator[Node]:
    about = value["metadata"] if has_map(value, "metadata") else value
    moment = JsonObject(about, TOP).moment("timestamp")
    context = Context({"measured_at": moment}, {}, marks_in(value, TOP, without=_OUTPUTS))
    return nodes_of_run(value, TOP, context)


def _content(value: dict[str, Any]) -> Iterator[Node]:
    model = _model({}, value, "")
    context = Context({"model": model} if model else {})
    return machine.platform_nodes(value, TOP, context)


def _by_script(value: dict[str, Any]) -> Iterator[Node]:
    scripts = _scripts(value)
    marks = marks_in(value, TOP, without=scripts)
    for name, result in scripts.items():
        content = result if isinstance(result, dict) else {"error": result}
        run = {"test_file": f"{name}.py", **content}
        context = Context({"model": _model(run, content, name)}, marks=marks)
        of_platforms = list(machine.platform_nodes(content, pointer(TOP, name), context))
        yield from of_platforms
        if not of_platforms:
            yield Node(content, pointer(TOP, name), _script_result, context)


CHECK_FORMAT = LegacyFormat("legacy-check", _is_run, _run, "a check that tells of nothing")
CHECK_REPORT_FORMAT = LegacyFormat(
    "legacy-check-report", _is_report, _run, "a check that tells of nothing"
)
CHECK_LIST_FORMAT = LegacyFormat(
    "legacy-checks", _is_collection, _run_nodes, "a run that found no check to do"
)
CHECK_CONTENT_FORMAT = LegacyFormat(
    "legacy-check-content", _is_content, _content, "a check that tells of no platform"
)
CHECKS_BY_SCRIPT_FORMAT = LegacyFormat(
    "legacy-checks-by-script", _is_by_script, _by_script, "checks that tell of no platform"
)
