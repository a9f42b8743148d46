"""Direct benchmarks of several models, each with what its process wrote."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.formats.legacy import direct
from orchestrator.imports.formats.legacy.build import each, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.outcome import ended
from orchestrator.imports.formats.legacy.shape import Shape, has_map, is_map
from orchestrator.imports.found import Found
from orchestrator.imports.marks import marks_in
from orchestrator.imports.pointer import WHOLE, under
from orchestrator.imports.reading import Reading

_MEASURED = ("benchmark_data", "summary")


def _matches(value: Any) -> bool:
    if not has_map(value, "results") or not is_map(value, "models", "hardware"):
        return False
    runs = value["results"].values()
    return all(is_map(run, "success") or has_map(run, "benchmark_data") for run in runs)


def _spots(value: Any) -> Iterator[Spot]:
    whole = Entry(value, WHOLE)
    around = Around(
        fields={"backend": whole.text("hardware"), "measured_at": whole.moment("timestamp")},
        marks=marks_in(value, WHOLE, without=("results",)),
    )
    for spot in whole.spots("results", _without_results, around):
        yield from _of_model(spot)


def _of_model(spot: Spot) -> Iterator[Spot]:
    data = spot.value.get("benchmark_data")
    if not has_map(data, "batch_results") or not data["batch_results"]:
        yield spot
        return
    run = {key: item for key, item in spot.value.items() if key not in _MEASURED}
    around = Around(
        fields=spot.around.fields,
        details=Entry(run, spot.place).details("run"),
        marks=(*spot.around.marks, *marks_in(run, spot.place)),
    )
    yield from direct.spots_of(data, under(spot.place, "benchmark_data"), around)


def _without_results(entry: Entry, around: Around) -> Found:
    fields = {
        **ended(entry),
        "model": entry.text("model") or entry.name,
        "backend": entry.text("hardware"),
        "measured_at": entry.moment("timestamp"),
    }
    return verdict(entry, around, fields, marks_in(entry.value, entry.place))


def _read(value: Any) -> Reading:
    return each(_spots(value), "a batch of direct benchmarks without a result")


BATCH = Shape("legacy-batch", _matches, _read)
