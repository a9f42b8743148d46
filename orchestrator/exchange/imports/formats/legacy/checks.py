"""Checks of models by scripts: each script's output, exit code and JSON, platform by platform."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from orchestrator.exchange.imports.document import TOP, last_key, pointer
from orchestrator.exchange.imports.entry import status_in_text
from orchestrator.exchange.imports.formats.legacy.columns import (
    libraries_of,
    python_of,
    without_remarks,
)
from orchestrator.exchange.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    LegacyFormat,
    Node,
    build_outcome,
    error_line,
    has_any,
    has_map,
    is_map,
    status_fields,
)
from orchestrator.exchange.imports.formats.legacy.suite import holds_methods
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.simulation_marks import marks_in
from runner.contract.errors import SkipEntry

_CONTENTS = ("json_result", "performance_metrics", "results")
_FAULTS = ("test_error", "traceback", "error")
_NAMES = ("model_name", "test_model", "model_id", "model")
_NO_NAMES = ("", "unknown")
_SCRIPT = "test_"
_OUTPUTS = ("stdout", "stderr", *_CONTENTS)
_PLATFORM = re.compile(r"(cpu|cuda|openvino|apple|mps|rocm|qualcomm|qnn|webnn|webgpu|tpu)(?:_|$)")
_SUCCESS = re.compile(r"\W*(?:success|ready|real|mock)", re.I)
_FAILURE = re.compile(r"\W*(?:fail|error|exception|traceback)", re.I)
_STRUCTURE = ("status", "examples", "metadata")
_SENTENCE = 200


@dataclass
class _Platform:
    """The values of a file about one platform, with the marks in them."""

    location: str
    values: dict[str, Any] = field(default_factory=dict)
    marks: tuple[str, ...] = ()

    def add(self, key: str, value: Any, location: str) -> None:
        self.values[key] = value
        self.marks += marks_in({last_key(location): value}, location.rsplit("/", 1)[0])


def _platforms(value: Any, location: str = "") -> dict[str, _Platform]:
    platforms: dict[str, _Platform] = {}
    if not isinstance(value, dict):
        return platforms
    for name, key, item, where in (*_named(value, location), *_examples(value, location)):
        platforms.setdefault(name, _Platform(where)).add(key, item, where)
    metadata = value.get("metadata")
    statuses = metadata.get("platform_status") if isinstance(metadata, dict) else None
    for name, status in statuses.items() if isinstance(statuses, dict) else ():
        if name in platforms:
            where = pointer(location, "metadata", "platform_status", name)
            platforms[name].add("platform_status", status, where)
    return platforms


def _named(value: dict[str, Any], location: str) -> Iterator[tuple[str, str, Any, str]]:
    for key, item in value.items():
        where, match = pointer(location, key), _PLATFORM.match(key.lower())
        if key == "status" and isinstance(item, dict):
            yield from _named(item, where)
        elif match and isinstance(item, dict) and key.lower() == match[1]:
            for inner, below in item.items():
                yield match[1], inner, below, pointer(where, inner)
        elif match and item is not None:
            yield match[1], key, item, where


def _examples(value: dict[str, Any], location: str) -> Iterator[tuple[str, str, Any, str]]:
    examples = value.get("examples")
    for index, example in enumerate(examples if isinstance(examples, list) else ()):
        name = example.get("platform") if isinstance(example, dict) else None
        if isinstance(name, str) and name.strip():
            key = f"examples.{index}"
            yield name.strip().lower(), key, example, pointer(location, "examples", index)


def _platform_nodes(value: dict[str, Any], location: str, context: Context) -> Iterator[Node]:
    metadata = value.get("metadata")
    about = JsonObject(
        metadata if isinstance(metadata, dict) else {}, pointer(location, "metadata")
    )
    shared = {
        key: item
        for key, item in value.items()
        if key not in _STRUCTURE and not _PLATFORM.match(key.lower())
    }
    fields = {
        "measured_at": about.moment("timestamp", "test_timestamp"),
        "python_version": python_of(about),
        "libraries": libraries_of(about),
    }
    inside = context.extended(
        {name: item for name, item in fields.items() if item},
        {**JsonObject(shared, location).details(), **about.details("metadata")},
        (
            *marks_in(shared, location),
            *marks_in(about.value, about.location, without=("platform_status",)),
        ),
    )
    for name, platform in _platforms(value, location).items():
        if ending := _ending(platform.values):
            of_script = ending["status"] == "ok" and "status" in context.fields
            own = {"backend": name, **({} if of_script else ending)}
            below = inside.extended(own, marks=platform.marks)
            yield Node(platform.values, platform.location, _platform_result, below)


def _platform_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    device = None
    if context.fields["backend"] == "cuda":
        tables = (entry.value.get(key) for key in ("cuda_capabilities", "capabilities"))
        names = (table.get("device_name") for table in tables if isinstance(table, dict))
        device = next((name for name in names if isinstance(name, str)), None)
    return build_outcome(entry, context, {"device_name": device}, marks=())


def _ending(values: dict[str, Any]) -> dict[str, Any] | None:
    signs = [sign for key, text in _texts(values, "") if (sign := _sign(key, text))]
    return next((sign for sign in signs if sign["status"] != "ok"), signs[0] if signs else None)


def _sign(key: str, text: str) -> dict[str, Any] | None:
    if _SUCCESS.match(text):
        return {"status": "ok"}
    reason = f"{key}: {error_line(text)}"
    if _FAILURE.match(text) or key.endswith("error"):
        return {"status": status_in_text(text) or "failed", "reason": reason}
    status = status_in_text(text) if len(text) <= _SENTENCE else None
    return {"status": status, "reason": reason} if status else None


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Each text and its dotted name, without the model's inputs."""
    if isinstance(value, str) and value.strip():
        yield name, value
    for key, item in value.items() if isinstance(value, dict) else ():
        if not key.startswith(("input", "prompt")):
            yield from _texts(item, f"{name}.{key}" if name else key)


def _script_nodes(run: Any, location: str, context: Context) -> Iterator[Node]:
    """The platforms of a script; the script itself if it names none."""
    if not isinstance(run, dict):
        yield Node(run, location, _script_result, context)
        return
    key, content = _content_of(run)
    inside = context.extended({"model": _model(run, content, last_key(location))})
    try:
        ending = status_fields(JsonObject(_ending_facts(run, content), location))
    except SkipEntry:
        ending, content = {}, {}
    if ending.get("status", "ok") != "ok":
        inside = inside.extended(ending)
    rest = {name: item for name, item in run.items() if name != key}
    below = inside.extended(details=JsonObject(rest, location).details("run"))
    script = Node(run, location, _script_result, inside)
    yield from list(_platform_nodes(content, pointer(location, key), below)) or [script]


def _script_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    facts = _ending_facts(entry.value, _content_of(entry.value)[1])
    return build_outcome(entry, context, status_fields(JsonObject(facts, entry.location)))


def _content_of(run: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    return next(((key, run[key]) for key in _CONTENTS if has_map(run, key)), ("", {}))


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
    if not has_map(value, "metadata", "results") or holds_methods(value):
        return False
    return bool(_platforms(value["results"])) or (
        is_map(value["metadata"], "test_file") and is_map(value["results"], "total_execution_time")
    )


def _run_nodes(value: dict[str, Any]) -> Iterator[Node]:
    about = value["metadata"] if has_map(value, "metadata") else value
    moment = JsonObject(about, TOP).moment("timestamp")
    context = Context({"measured_at": moment}, {}, marks_in(value, TOP, without=_OUTPUTS))
    return _script_nodes(value, TOP, context)


def _is_collection(value: Any) -> bool:
    if has_map(value, "skill_tests"):
        return True
    return (
        has_map(value, "metadata", "results")
        and has_any(value["metadata"], "test_files", "test_count")
        and all(is_map(run, "status") for run in value["results"].values())
    )


def _collection_nodes(value: dict[str, Any]) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    key = "skill_tests" if has_map(value, "skill_tests") else "results"
    about = whole.inner("metadata") or whole
    fields = {
        "measured_at": about.moment("timestamp"),
        "python_version": python_of(about),
        "libraries": libraries_of(about),
    }
    context = Context(fields, {}, marks_in(value, TOP, without=(key,)))
    for run in whole.nodes(key, _script_result, context):
        yield from _script_nodes(run.value, run.location, run.context)


def _is_content(value: Any) -> bool:
    whole = has_map(value, "status") and has_any(value, "examples", "metadata")
    bare = is_map(value, "init") and isinstance(value["init"], str)
    return (whole or bare) and "test_file" not in value and bool(_platforms(value))


def _content_nodes(value: dict[str, Any]) -> Iterator[Node]:
    model = _model({}, value, "")
    return _platform_nodes(value, TOP, Context({"model": model} if model else {}))


def _scripts(value: dict[str, Any]) -> dict[str, Any]:
    return {name: result for name, result in value.items() if name.startswith(_SCRIPT)}


def _is_by_script(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    scripts = _scripts(value)
    return (
        without_remarks(value).keys() <= scripts.keys()
        and all(isinstance(result, dict | str) for result in scripts.values())
        and any(map(_platforms, scripts.values()))
    )


def _nodes_by_script(value: dict[str, Any]) -> Iterator[Node]:
    scripts = _scripts(value)
    marks = marks_in(value, TOP, without=scripts)
    for name, result in scripts.items():
        location = pointer(TOP, name)
        content = result if isinstance(result, dict) else {"error": result}
        model = _model({"test_file": f"{name}.py", **content}, content, name)
        context = Context({"model": model}, marks=marks)
        script = Node(content, location, _script_result, context)
        yield from list(_platform_nodes(content, location, context)) or [script]


CHECK_FORMAT = LegacyFormat("legacy-check", _is_run, _run_nodes, "a check that tells of nothing")
CHECK_REPORT_FORMAT = LegacyFormat(
    "legacy-check-report", _is_report, _run_nodes, "a check that tells of nothing"
)
CHECK_LIST_FORMAT = LegacyFormat(
    "legacy-checks", _is_collection, _collection_nodes, "a run that found no check to do"
)
CHECK_CONTENT_FORMAT = LegacyFormat(
    "legacy-check-content", _is_content, _content_nodes, "a check that tells of no platform"
)
CHECKS_BY_SCRIPT_FORMAT = LegacyFormat(
    "legacy-checks-by-script", _is_by_script, _nodes_by_script, "checks that tell of no platform"
)
