"""Tables and summaries of models and platforms, and files without measurements."""

from collections.abc import Iterator
from typing import Any

from orchestrator.exchange.imports.document import TOP, last_key, pointer
from orchestrator.exchange.imports.formats.legacy.columns import (
    has_metric,
    machine_of,
    without_remarks,
)
from orchestrator.exchange.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    LegacyFormat,
    Node,
    build_measurement,
    build_outcome,
    has_map,
    is_map,
    is_map_of_maps,
    status_fields,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement, is_null
from orchestrator.exchange.imports.simulation_marks import marks_in
from orchestrator.system.problems import quote
from runner.contract.errors import SkipEntry

_LISTS = "results_by_modality"
_TYPES = "implementation_types"
_PAIRS = "hardware_compatibility"
_MEANS = "mean_latency"
_SWEPT = {"means": "over the shapes of a sweep"}
_ENTRIES = ("detailed_results", "model_results")
_RESULTS = "hardware_results"
_OF_A_MODEL = ("family", "modality", "size", "class")
_SUMMARISED = ("inference", "training", "hardware_compatibility")


def _is_comparison(value: Any) -> bool:
    if not has_map(value, _LISTS):
        return False
    lists = [rows for rows in value[_LISTS].values() if isinstance(rows, list)]
    return all(is_map(row, "model") for rows in lists for row in rows)


def _comparison_nodes(value: dict[str, Any]) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    environment = JsonObject({"test_environment": value.get("test_environment")}, TOP).details()
    marks = marks_in(value, TOP, without=(_LISTS, _TYPES))
    context = Context({"measured_at": whole.moment("timestamp")}, environment, marks)
    for modality, rows in value[_LISTS].items():
        types = value[_TYPES].get(modality) if has_map(value, _TYPES) else None
        inside = context.extended({"modality": modality})
        for index, row in enumerate(rows if isinstance(rows, list) else ()):
            location = pointer(TOP, _LISTS, modality, index)
            yield from _of_model(row, location, inside, types if isinstance(types, dict) else {})


def _of_model(
    row: dict[str, Any], location: str, context: Context, types: dict[str, Any]
) -> Iterator[Node]:
    """One node for each platform; `types` may mark all models of the modality on one."""
    model = JsonObject(row, location).text("model")
    types_location = pointer(TOP, _TYPES, context.fields["modality"])
    for platform, item in row.items():
        if isinstance(item, dict):
            marks = marks_in({platform: types.get(platform)}, types_location)
            inside = context.extended({"model": model}, marks=marks)
            yield Node(item, pointer(location, platform), _comparison_result, inside)


def _comparison_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    fields = {
        **status_fields(entry),
        "backend": entry.name,
        "latency_mean_s": entry.number("time_ms", "latency_mean_s", "ms"),
    }
    if fields["latency_mean_s"] is not None:
        entry.note("time_ms", "of which kind is not said, kept as the mean")
    return build_measurement(entry, context, fields)


COMPARISON_FORMAT = LegacyFormat(
    "legacy-comparison",
    _is_comparison,
    _comparison_nodes,
    "a comparison of platforms without a model",
)


def _is_compatibility(value: Any) -> bool:
    if not has_map(value, "model_families"):
        return False
    families = value["model_families"].values()
    if not families:
        return isinstance(value.get("hardware_types"), list) and "batch_sizes" not in value
    return any(has_map(family, _PAIRS) for family in families)


def _compatibility_nodes(value: dict[str, Any]) -> Iterator[Node]:
    context = Context(marks=marks_in(value, TOP, without=("model_families",)))
    whole = JsonObject(value, TOP)
    for family in whole.nodes("model_families", _compatibility_result, context):
        if not isinstance(family.value, dict):
            yield family
            continue
        inside = context.extended({"family": last_key(family.location)})
        pairs = JsonObject(family.value, family.location)
        for pair in pairs.nodes(_PAIRS, _compatibility_result, inside):
            yield from _of_pair(pair)


def _of_pair(pair: Node) -> Iterator[Node]:
    if not isinstance(pair.value, dict):
        yield pair
        return
    rest = {key: item for key, item in pair.value.items() if key != "benchmark_results"}
    context = pair.context.extended(
        {"backend": last_key(pair.location)},
        JsonObject(rest, pair.location).details(),
        marks_in(rest, pair.location),
    )
    whole = JsonObject(pair.value, pair.location)
    yield from whole.nodes("benchmark_results", _compatibility_result, context)


def _compatibility_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    entry.check_numbers(_MEANS, "mean_throughput")
    fields: dict[str, Any] = {
        "model": entry.text("model_name", "model"),
        "measured_at": entry.moment("timestamp"),
    }
    if is_null(entry.value.get(_MEANS)):
        fields |= {"status": "failed", "reason": f"no {_MEANS} was recorded"}
        return build_outcome(entry, context, fields)
    return build_outcome(entry, context.extended(details=_SWEPT), {**fields, "status": "ok"})


COMPATIBILITY_FORMAT = LegacyFormat(
    "legacy-compatibility",
    _is_compatibility,
    _compatibility_nodes,
    "a compatibility matrix that names no measured model",
)


def holds_checks(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    detailed = value.get("detailed_results")
    if isinstance(detailed, list) and any(is_map(item, "success") for item in detailed):
        return True
    return has_map(value, "model_results") and (
        has_map(value, "stats") or is_map_of_maps(value["model_results"])
    )


def check_nodes(value: dict[str, Any], location: str, context: Context) -> Iterator[Node]:
    whole, stats = JsonObject(value, location), value.get("stats")
    moment = JsonObject(stats, location).moment("timestamp") if isinstance(stats, dict) else None
    marks = marks_in(value, location, without=_ENTRIES)
    inside = context.extended({"measured_at": moment}, marks=marks)
    detailed = list(whole.nodes("detailed_results", _check_result, inside))
    known = {(_text(node.value, "model"), _text(node.value, "hardware")) for node in detailed}
    yield from detailed
    for row in whole.nodes("model_results", _check_result, inside):
        yield from _of_table(row, known)


def _of_table(row: Node, known: set[tuple[Any, Any]]) -> Iterator[Node]:
    if not isinstance(row.value, dict):
        yield row
        return
    model = last_key(row.location)
    if {"status", "return_code"} & row.value.keys():
        yield Node({"model": model, **row.value}, row.location, _check_result, row.context)
        return
    for hardware, well in row.value.items():
        if (model, hardware) not in known and well is not None:
            value = {"model": model, "hardware": hardware, "success": well}
            yield Node(value, pointer(row.location, hardware), _table_result, row.context)


def _check_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    fields = {
        **status_fields(entry),
        "model": entry.text("model", "model_name"),
        "backend": entry.text("hardware"),
        "measured_at": entry.moment("timestamp"),
    }
    return build_outcome(entry, context, fields)


def _table_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    success = entry.value["success"]
    if not isinstance(success, bool):
        raise SkipEntry(f"{entry.location}: {quote(success)} is neither true nor false")
    return _check_result(entry, context)


def _text(value: Any, key: str) -> str | None:
    text = value.get(key) if isinstance(value, dict) else None
    return text if isinstance(text, str) else None


FUNCTIONALITY_FORMAT = LegacyFormat(
    "legacy-functionality",
    holds_checks,
    lambda value: check_nodes(value, TOP, Context()),
    "a check of models that checked none",
)


def _is_summary(value: Any) -> bool:
    if not has_map(value, "model_families"):
        return False
    return any(has_map(family, _RESULTS) for family in value["model_families"].values())


def _summary_nodes(value: dict[str, Any]) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    moment = {"measured_at": whole.moment("timestamp")}
    marks = marks_in(value, TOP, without=("model_families",))
    context = machine_of(whole).extended(moment, _SWEPT, marks)
    for family in whole.nodes("model_families", _summary_result, context):
        if not has_map(family.value, _RESULTS):
            yield family
            continue
        inside = context.extended({"family": last_key(family.location)})
        models = family.value.get("models_tested")
        tested = JsonObject(family.value, family.location)
        for hardware in tested.nodes(_RESULTS, _summary_result, inside):
            yield from _of_hardware(hardware, models if isinstance(models, list) else [])


def _of_hardware(hardware: Node, models: list[Any]) -> Iterator[Node]:
    """One node for each model: the lists of the hardware are the columns of a table."""
    table = hardware.value if isinstance(hardware.value, dict) else {}
    columns = {key: item for key, item in table.items() if isinstance(item, list)}
    if columns and not any(columns.values()):
        return
    if not columns or any(len(column) != len(models) for column in columns.values()):
        yield Node(hardware.value, hardware.location, _unnamed, hardware.context)
        return
    context = hardware.context.extended({"backend": last_key(hardware.location)})
    for index, model in enumerate(models):
        value = {key: column[index] for key, column in columns.items()} | {"model": model}
        location = pointer(hardware.location, next(iter(columns)), index)
        yield Node(value, location, _summary_result, context)


def _summary_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    entry.check_numbers("latency_ms", "throughput")
    return build_outcome(entry, context, {"status": "ok", "model": entry.text("model")})


def _unnamed(entry: JsonObject, _: Context) -> ImportedMeasurement:
    raise SkipEntry(f"{entry.location}: its lists are not as long as `models_tested`")


SUMMARY_FORMAT = LegacyFormat(
    "legacy-summary", _is_summary, _summary_nodes, "a summary without results"
)


def _is_models(value: Any) -> bool:
    models = list(without_remarks(value).values()) if isinstance(value, dict) else []
    return bool(models) and all(
        is_map(model, "name") and any(key in model for key in _OF_A_MODEL) and not has_metric(model)
        for model in models
    )


def _is_settings(value: Any) -> bool:
    return (
        is_map(value, "hardware_types", "batch_sizes")
        and isinstance(value["batch_sizes"], list | str)
        and (is_map(value, "model_families") or is_map(value, "models"))
        and "results" not in value
    )


MODELS_FORMAT = LegacyFormat("legacy-models", _is_models, lambda _: (), "a list of models")
SETTINGS_FORMAT = LegacyFormat("legacy-settings", _is_settings, lambda _: (), "settings of a run")
EMPTY_SUMMARY_FORMAT = LegacyFormat(
    "legacy-summary",
    lambda value: has_map(value, *_SUMMARISED) and not any(value[key] for key in _SUMMARISED),
    lambda _: (),
    "a summary of benchmarks without a result",
)
DATABASE_FORMAT = LegacyFormat(
    "legacy-database",
    lambda value: is_map(value, "schema_version") and has_map(value, "schema"),
    lambda _: (),
    "a description of a database",
)
