"""Tables of models and platforms: comparisons, compatibility matrices and checks."""

from collections.abc import Iterator
from typing import Any

from orchestrator.exchange.imports.document import TOP, last_key, pointer
from orchestrator.exchange.imports.formats.legacy.json_object import Context, JsonObject, Node
from orchestrator.exchange.imports.formats.legacy.measurement import (
    build_measurement,
    build_outcome,
    status_fields,
)
from orchestrator.exchange.imports.formats.legacy.rows import (
    LegacyFormat,
    has_map,
    is_map,
    is_map_of_maps,
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
