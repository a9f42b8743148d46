"""Tables and summaries of models and platforms, and files without measurements."""

from collections.abc import Iterator
from typing import Any

from orchestrator.exchange.imports.document import TOP, last_key, pointer
from orchestrator.exchange.imports.formats.legacy.json_object import (
    Context,
    JsonObject,
    Node,
    build_measurement,
    build_outcome,
    status_fields,
)
from orchestrator.exchange.imports.formats.legacy.machine import machine_of
from orchestrator.exchange.imports.formats.legacy.rows import (
    LegacyFormat,
    has_map,
    has_metric,
    is_map,
    is_map_of_maps,
    without_remarks,
)
from orchestrator.exchange.imports.measurement import ImportedMeasurement, is_null
from orchestrator.exchange.imports.simulation_marks import marks_in
from orchestrator.system.problems import quote
from runner.contract.errors import SkipEntry

_LISTS = "results_by_modality"
_TYPES = "implementation_types"
_NOTE = "of which kind is not said, kept as the mean"
_PAIRS = "hardware_compatibility"
_MEANS = "mean_latency"
_ENTRIES = ("detailed_results", "model_results")


def _is_comparison(value: Any) -> bool:
    if not has_map(value, _LISTS):
        return False
    rows = [row for _, rows in value[_LISTS].items() if isinstance(rows, list) for row in rows]
    return all(is_map(row, "model") for row in rows)


def _comparison_nodes(value: dict[str, Any]) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    fields = {"measured_at": whole.moment("timestamp")}
    surroundings = JsonObject({"test_environment": whole.seen("test_environment")}, TOP).details()
    marks = marks_in(value, TOP, without=(_LISTS, _TYPES))
    for modality, rows in value[_LISTS].items():
        context = Context({**fields, "modality": modality}, surroundings, marks)
        for index, row in enumerate(rows if isinstance(rows, list) else ()):
            yield from _of_model(row, pointer(TOP, _LISTS, modality, index), context, value)


def _of_model(
    row: dict[str, Any], location: str, context: Context, value: dict[str, Any]
) -> Iterator[Node]:
    model = JsonObject(row, location).text("model")
    for platform, item in row.items():
        if isinstance(item, dict):
            marks = (*context.marks, *_type_marks(value, context.fields["modality"], platform))
            fields = {**context.fields, "model": model}
            inside = Context(fields, context.details, marks)
            yield Node(item, pointer(location, platform), _comparison_result, inside)


def _type_marks(value: dict[str, Any], modality: str, platform: str) -> tuple[str, ...]:
    """Marks of the file about all models of a modality on a platform."""
    types = value[_TYPES].get(modality) if has_map(value, _TYPES) else None
    kind = types.get(platform) if isinstance(types, dict) else None
    return marks_in({platform: kind}, pointer(TOP, _TYPES, modality))


def _comparison_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    fields = {
        **status_fields(entry),
        "backend": last_key(entry.location),
        "latency_mean_s": entry.number("time_ms", "latency_mean_s", "ms"),
    }
    if fields["latency_mean_s"] is not None:
        entry.note("time_ms", _NOTE)
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
    marks = marks_in(value, TOP, without=("model_families",))
    for family in JsonObject(value, TOP).nodes(
        "model_families", _compatibility_result, Context(marks=marks)
    ):
        pairs = (
            JsonObject(family.value, family.location) if isinstance(family.value, dict) else None
        )
        for pair in (
            pairs.nodes(_PAIRS, _compatibility_result, family.context) if pairs else (family,)
        ):
            yield from _of_pair(last_key(family.location), pair)


def _of_pair(family: str, pair: Node) -> Iterator[Node]:
    if not isinstance(pair.value, dict):
        yield pair
        return
    rest = {key: item for key, item in pair.value.items() if key != "benchmark_results"}
    context = Context(
        fields={"family": family, "backend": last_key(pair.location)},
        details=JsonObject(rest, pair.location).details(),
        marks=(*pair.context.marks, *marks_in(rest, pair.location)),
    )
    yield from JsonObject(pair.value, pair.location).nodes(
        "benchmark_results", _compatibility_result, context
    )


def _compatibility_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    measured = not is_null(entry.seen(_MEANS))
    entry.check_numbers(_MEANS, "mean_throughput")
    ending = (
        {"status": "ok"}
        if measured
        else {"status": "failed", "reason": f"no {_MEANS} was recorded"}
    )
    details = {**context.details, **({"means": "over the shapes of a sweep"} if measured else {})}
    fields = {
        **ending,
        "model": entry.text("model_name", "model"),
        "measured_at": entry.moment("timestamp"),
    }
    inside = Context(context.fields, details, context.marks)
    return build_outcome(entry, inside, fields)


COMPATIBILITY_FORMAT = LegacyFormat(
    "legacy-compatibility",
    _is_compatibility,
    _compatibility_nodes,
    "a compatibility matrix that names no measured model",
)


def holds_checks(value: Any) -> bool:
    """True if it holds checks, one by one or as a table of models and hardware."""
    if not isinstance(value, dict):
        return False
    detailed = value.get("detailed_results")
    if isinstance(detailed, list) and any(is_map(item, "success") for item in detailed):
        return True
    return has_map(value, "model_results") and (
        has_map(value, "stats") or is_map_of_maps(value["model_results"])
    )


def check_nodes(value: dict[str, Any], location: str, context: Context) -> Iterator[Node]:
    """The detailed checks, and those that only the table holds."""
    stats = value.get("stats")
    when = JsonObject(stats, location).moment("timestamp") if isinstance(stats, dict) else None
    marks = (*context.marks, *marks_in(value, location, without=_ENTRIES))
    inside = Context({**context.fields, "measured_at": when}, context.details, marks)
    detailed = list(JsonObject(value, location).nodes("detailed_results", _check_result, inside))
    known = {(_text(node.value, "model"), _text(node.value, "hardware")) for node in detailed}
    yield from detailed
    for row in JsonObject(value, location).nodes("model_results", _check_result, inside):
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
    if not isinstance(entry.seen("success"), bool):
        value = quote(entry.seen("success"))
        raise SkipEntry(f"{entry.location}: {value} is neither true nor false")
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


_RESULTS = "hardware_results"
_SUMMARISED_MEANS = ("latency_ms", "throughput")
_OF_A_MODEL = ("family", "modality", "size", "class")
_SUMMARISED = ("inference", "training", "hardware_compatibility")


def _is_summary(value: Any) -> bool:
    if not has_map(value, "model_families"):
        return False
    return any(has_map(family, _RESULTS) for family in value["model_families"].values())


def _summary_nodes(value: dict[str, Any]) -> Iterator[Node]:
    whole = JsonObject(value, TOP)
    machine = machine_of(whole)
    fields = {**machine.fields, "measured_at": whole.moment("timestamp")}
    marks = marks_in(value, TOP, without=("model_families",))
    context = Context(fields, {**machine.details, "means": "over the shapes of a sweep"}, marks)
    for family in whole.nodes("model_families", _summary_result, context):
        if has_map(family.value, _RESULTS):
            yield from _of_family(family)
        else:
            yield family


def _of_family(family: Node) -> Iterator[Node]:
    fields = {**family.context.fields, "family": last_key(family.location)}
    context = Context(fields, family.context.details, family.context.marks)
    models = family.value.get("models_tested")
    for hardware in JsonObject(family.value, family.location).nodes(
        _RESULTS, _summary_result, context
    ):
        yield from _of_hardware(hardware, models if isinstance(models, list) else [])


def _of_hardware(hardware: Node, models: list[Any]) -> Iterator[Node]:
    columns = {
        key: item
        for key, item in (hardware.value if isinstance(hardware.value, dict) else {}).items()
        if isinstance(item, list)
    }
    if columns and not any(columns.values()):
        return
    if not columns or any(len(column) != len(models) for column in columns.values()):
        yield Node(hardware.value, hardware.location, _unnamed, hardware.context)
        return
    fields = {**hardware.context.fields, "backend": last_key(hardware.location)}
    context = Context(fields, hardware.context.details, hardware.context.marks)
    for index, model in enumerate(models):
        value = {key: column[index] for key, column in columns.items()} | {"model": model}
        location = pointer(hardware.location, next(iter(columns)), index)
        yield Node(value, location, _summary_result, context)


def _summary_result(entry: JsonObject, context: Context) -> ImportedMeasurement:
    entry.check_numbers(*_SUMMARISED_MEANS)
    fields = {"status": "ok", "model": entry.text("model")}
    return build_outcome(entry, context, fields)


def _unnamed(entry: JsonObject, _: Context) -> ImportedMeasurement:
    raise SkipEntry(f"{entry.location}: its lists are not as long as `models_tested`")


SUMMARY_FORMAT = LegacyFormat(
    "legacy-summary", _is_summary, _summary_nodes, "a summary without results"
)


def _is_models(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    models = without_remarks(value)
    return bool(models) and all(map(_is_model, models.values()))


def _is_model(item: Any) -> bool:
    return is_map(item, "name") and any(key in item for key in _OF_A_MODEL) and not has_metric(item)


def _is_empty_summary(value: Any) -> bool:
    return has_map(value, *_SUMMARISED) and not any(value[key] for key in _SUMMARISED)


def _is_settings(value: Any) -> bool:
    return (
        is_map(value, "hardware_types", "batch_sizes")
        and isinstance(value["batch_sizes"], list | str)
        and (is_map(value, "model_families") or is_map(value, "models"))
        and "results" not in value
    )


def _is_database(value: Any) -> bool:
    return is_map(value, "schema_version") and has_map(value, "schema")


MODELS_FORMAT = LegacyFormat("legacy-models", _is_models, lambda _: (), "a list of models")
SETTINGS_FORMAT = LegacyFormat("legacy-settings", _is_settings, lambda _: (), "settings of a run")
EMPTY_SUMMARY_FORMAT = LegacyFormat(
    "legacy-summary", _is_empty_summary, lambda _: (), "a summary of benchmarks without a result"
)
DATABASE_FORMAT = LegacyFormat(
    "legacy-database", _is_database, lambda _: (), "a description of a database"
)
