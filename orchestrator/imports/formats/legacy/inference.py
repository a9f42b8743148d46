"""One model on one device, a result for each batch size, with raw latencies."""

from collections.abc import Iterator
from typing import Any

from orchestrator.imports.document import WHOLE, under
from orchestrator.imports.formats.base import Reading
from orchestrator.imports.formats.legacy.build import each, ended, found, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.rows import Shape, columns_of, has_any, has_map, is_map
from orchestrator.imports.marks import marks_in
from orchestrator.imports.measurement import Found


def spots_of(value: Any, place: str, around: Around) -> Iterator[Spot]:
    """The results of one model; the failure itself if it has none.

    Raises:
        NotReadable: it is no object.
    """
    whole = Entry(value, place)
    inside = Around(
        fields={
            **around.fields,
            "model": whole.text("model"),
            "backend": whole.text("hardware") or around.fields.get("backend"),
            "measured_at": whole.moment("timestamp"),
        },
        details=around.details,
        marks=(*around.marks, *marks_in(value, place, without=("batch_results",))),
    )
    results = list(whole.spots("batch_results", result, inside))
    if not results and ended(Entry(value, place)).get("status", "ok") != "ok":
        yield Spot(value, place, result, inside)
    yield from results


def result(entry: Entry, around: Around) -> Found:
    """The result at one batch size.

    Raises:
        NotReadable: a value is none that a measurement can have.
    """
    columns = columns_of(entry)
    backend = _where(around.fields["backend"], entry.seen("device"))
    fields = {
        **ended(entry),
        **columns,
        "backend": backend,
        "batch_size": columns["batch_size"] or _batch_size(entry),
        "measured_at": entry.moment("timestamp"),
        "runtime": "torch",
        "mode": "inference",
        "durations_ns": entry.durations("latencies_ms", "ms"),
    }
    if backend == "cpu" and entry.seen("memory_mb"):
        fields["memory_average_bytes"] = entry.number("memory_mb", "memory_average_bytes", "MiB")
        entry.note("memory_mb", "mean resident memory; MB are 1024 × 1024 bytes")
    asked = around.fields["backend"]
    if asked and backend != asked:
        around = Around(around.fields, {**around.details, "hardware": asked}, around.marks)
    return found(entry, around, fields, marks_in(entry.value, entry.place))


def _where(hardware: str | None, device: Any) -> str | None:
    """Where it ran: this writer falls back to the CPU without a word, and only `device` tells."""
    return "cpu" if device == "cpu" else hardware


def _batch_size(entry: Entry) -> int | None:
    return int(entry.name) if entry.name.isascii() and entry.name.isdigit() else None


def _matches(value: Any) -> bool:
    if has_map(value, "batch_results"):
        return is_map(value, "model")
    return is_map(value, "model", "hardware", "success", "error") and not value["success"]


def _read(value: Any) -> Reading:
    return each(spots_of(value, WHOLE, Around()), "a direct benchmark that measured nothing")


DIRECT = Shape("legacy-direct", _matches, _read)


_MEASURED = ("benchmark_data", "summary")


def _matches_batch(value: Any) -> bool:
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
    yield from spots_of(data, under(spot.place, "benchmark_data"), around)


def _without_results(entry: Entry, around: Around) -> Found:
    fields = {
        **ended(entry),
        "model": entry.text("model") or entry.name,
        "backend": entry.text("hardware"),
        "measured_at": entry.moment("timestamp"),
    }
    return verdict(entry, around, fields, marks_in(entry.value, entry.place))


def _read_batch(value: Any) -> Reading:
    return each(_spots(value), "a batch of direct benchmarks without a result")


BATCH = Shape("legacy-batch", _matches_batch, _read_batch)


def _matches_by_batch_size(value: Any) -> bool:
    return (
        has_map(value, "batch_sizes")
        and has_any(value, "model", "model_path", "model_key")
        and has_any(value, "hardware", "hardware_key")
    )


def _spots_by_batch_size(value: Any) -> Iterator[Spot]:
    whole = Entry(value, WHOLE)
    fields = {
        "model": whole.text("model_path", "model", "model_key"),
        "backend": whole.text("hardware_key", "hardware"),
        "family": whole.text("model_category"),
        "measured_at": whole.moment("timestamp"),
    }
    marks = marks_in(value, WHOLE, without=("batch_sizes",))
    results = list(whole.spots("batch_sizes", _result, Around(fields, {}, marks)))
    around = Around(fields, whole.details(), marks)
    if not results and whole.seen("compatible") is False:
        yield Spot(value, WHOLE, _incompatible, around)
    yield from (Spot(spot.value, spot.place, _result, around) for spot in results)


def _result(entry: Entry, around: Around) -> Found:
    columns = columns_of(entry)
    named = int(entry.name) if entry.name.isascii() and entry.name.isdigit() else None
    fields = {
        **ended(entry),
        **columns,
        "batch_size": columns["batch_size"] or named,
        "measured_at": entry.moment("timestamp"),
    }
    return found(entry, around, fields, marks_in(entry.value, entry.place))


def _incompatible(entry: Entry, around: Around) -> Found:
    return verdict(Entry({}, entry.place), around, ended(entry))


def _read_by_batch_size(value: Any) -> Reading:
    return each(
        _spots_by_batch_size(value), "a benchmark of a model for which no batch size was measured"
    )


BY_BATCH_SIZE = Shape("legacy-by-batch-size", _matches_by_batch_size, _read_by_batch_size)
