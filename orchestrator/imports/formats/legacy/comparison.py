"""A comparison of browser platforms: for each modality a list of models, each on each platform."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.document import WHOLE, last, under
from orchestrator.imports.formats.base import NotReadable, Reading
from orchestrator.imports.formats.legacy.build import each, ended, found, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.rows import Shape, has_map, is_map, is_map_of_maps
from orchestrator.imports.marks import marks_in
from orchestrator.imports.measurement import Found, says_nothing
from orchestrator.system.problems import quote

_LISTS = "results_by_modality"
_TYPES = "implementation_types"
_NOTE = "of which kind is not said, kept as the mean"


def _matches(value: Any) -> bool:
    if not has_map(value, _LISTS):
        return False
    rows = [row for _, rows in value[_LISTS].items() if isinstance(rows, list) for row in rows]
    return all(is_map(row, "model") for row in rows)


def _spots(value: dict[str, Any]) -> Iterator[Spot]:
    whole = Entry(value, WHOLE)
    fields = {"measured_at": whole.moment("timestamp")}
    surroundings = Entry({"test_environment": whole.seen("test_environment")}, WHOLE).details()
    marks = marks_in(value, WHOLE, without=(_LISTS, _TYPES))
    for modality, rows in value[_LISTS].items():
        around = Around({**fields, "modality": modality}, surroundings, marks)
        for index, row in enumerate(rows if isinstance(rows, list) else ()):
            yield from _of_model(row, under(WHOLE, _LISTS, modality, index), around, value)


def _of_model(
    row: dict[str, Any], place: str, around: Around, value: dict[str, Any]
) -> Iterator[Spot]:
    model = Entry(row, place).text("model")
    for platform, told in row.items():
        if isinstance(told, dict):
            marks = (*around.marks, *_type_marks(value, around.fields["modality"], platform))
            fields = {**around.fields, "model": model}
            inside = Around(fields, around.details, marks)
            yield Spot(told, under(place, platform), _result, inside)


def _type_marks(value: dict[str, Any], modality: str, platform: str) -> tuple[str, ...]:
    """What the file says elsewhere of all models of a modality on a platform."""
    types = value[_TYPES].get(modality) if has_map(value, _TYPES) else None
    told = types.get(platform) if isinstance(types, dict) else None
    return marks_in({platform: told}, under(WHOLE, _TYPES, modality))


def _result(entry: Entry, around: Around) -> Found:
    fields = {
        **ended(entry),
        "backend": last(entry.place),
        "latency_mean_s": entry.number("time_ms", "latency_mean_s", "ms"),
    }
    if fields["latency_mean_s"] is not None:
        entry.note("time_ms", _NOTE)
    return found(entry, around, fields, marks_in(entry.value, entry.place))


def _read(value: Any) -> Reading:
    return each(_spots(value), "a comparison of platforms without a model")


COMPARISON = Shape("legacy-comparison", _matches, _read)


_PAIRS = "hardware_compatibility"
_MEANS = "mean_latency"


def _matches_compatibility(value: Any) -> bool:
    if not has_map(value, "model_families"):
        return False
    families = value["model_families"].values()
    if not families:
        return isinstance(value.get("hardware_types"), list) and "batch_sizes" not in value
    return any(has_map(family, _PAIRS) for family in families)


def _spots_compatibility(value: dict[str, Any]) -> Iterator[Spot]:
    marks = marks_in(value, WHOLE, without=("model_families",))
    for family in Entry(value, WHOLE).spots(
        "model_families", _result_compatibility, Around(marks=marks)
    ):
        pairs = Entry(family.value, family.place) if isinstance(family.value, dict) else None
        for pair in (
            pairs.spots(_PAIRS, _result_compatibility, family.around) if pairs else (family,)
        ):
            yield from _of_pair(last(family.place), pair)


def _of_pair(family: str, pair: Spot) -> Iterator[Spot]:
    if not isinstance(pair.value, dict):
        yield pair
        return
    rest = {key: item for key, item in pair.value.items() if key != "benchmark_results"}
    around = Around(
        fields={"family": family, "backend": last(pair.place)},
        details=Entry(rest, pair.place).details(),
        marks=(*pair.around.marks, *marks_in(rest, pair.place)),
    )
    yield from Entry(pair.value, pair.place).spots(
        "benchmark_results", _result_compatibility, around
    )


def _result_compatibility(entry: Entry, around: Around) -> Found:
    measured = not says_nothing(entry.seen(_MEANS))
    entry.checked(_MEANS, "mean_throughput")
    ending = (
        {"status": "ok"}
        if measured
        else {"status": "failed", "reason": f"no {_MEANS} was recorded"}
    )
    details = {**around.details, **({"means": "over the shapes of a sweep"} if measured else {})}
    fields = {
        **ending,
        "model": entry.text("model_name", "model"),
        "measured_at": entry.moment("timestamp"),
    }
    inside = Around(around.fields, details, around.marks)
    return verdict(entry, inside, fields, marks_in(entry.value, entry.place))


def _read_compatibility(value: Any) -> Reading:
    return each(_spots_compatibility(value), "a compatibility matrix that names no measured model")


COMPATIBILITY = Shape("legacy-compatibility", _matches_compatibility, _read_compatibility)


_ENTRIES = ("detailed_results", "model_results")


def matches(value: Any) -> bool:
    """Whether it holds verdicts, each by itself or as a table of models and hardware."""
    if not isinstance(value, dict):
        return False
    detailed = value.get("detailed_results")
    if isinstance(detailed, list) and any(is_map(item, "success") for item in detailed):
        return True
    return has_map(value, "model_results") and (
        has_map(value, "stats") or is_map_of_maps(value["model_results"])
    )


def spots_of(value: dict[str, Any], place: str, around: Around) -> Iterator[Spot]:
    """The detailed verdicts, and those that stand in the table alone."""
    stats = value.get("stats")
    when = Entry(stats, place).moment("timestamp") if isinstance(stats, dict) else None
    marks = (*around.marks, *marks_in(value, place, without=_ENTRIES))
    inside = Around({**around.fields, "measured_at": when}, around.details, marks)
    detailed = list(Entry(value, place).spots("detailed_results", _detailed, inside))
    told = {(_text(spot.value, "model"), _text(spot.value, "hardware")) for spot in detailed}
    yield from detailed
    for row in Entry(value, place).spots("model_results", _detailed, inside):
        yield from _of_table(row, told)


def _of_table(row: Spot, told: set[tuple[Any, Any]]) -> Iterator[Spot]:
    if not isinstance(row.value, dict):
        yield row
        return
    model = last(row.place)
    if {"status", "return_code"} & row.value.keys():
        yield Spot({"model": model, **row.value}, row.place, _detailed, row.around)
        return
    for hardware, well in row.value.items():
        if (model, hardware) not in told and well is not None:
            value = {"model": model, "hardware": hardware, "success": well}
            yield Spot(value, under(row.place, hardware), _in_table, row.around)


def _detailed(entry: Entry, around: Around) -> Found:
    fields = {
        **ended(entry),
        "model": entry.text("model", "model_name"),
        "backend": entry.text("hardware"),
        "measured_at": entry.moment("timestamp"),
    }
    return verdict(entry, around, fields, marks_in(entry.value, entry.place))


def _in_table(entry: Entry, around: Around) -> Found:
    if not isinstance(entry.seen("success"), bool):
        told = quote(entry.seen("success"))
        raise NotReadable(f"{entry.place}: {told} is neither true nor false")
    return _detailed(entry, around)


def _text(value: Any, key: str) -> str | None:
    text = value.get(key) if isinstance(value, dict) else None
    return text if isinstance(text, str) else None


def _read_functionality(value: Any) -> Reading:
    return each(spots_of(value, WHOLE, Around()), "a check of models that checked none")


FUNCTIONALITY = Shape("legacy-functionality", matches, _read_functionality)
