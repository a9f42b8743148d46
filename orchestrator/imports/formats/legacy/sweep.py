"""A sweep: families × models × hardware, each over batch sizes and input sizes."""

import re
from collections.abc import Iterator
from functools import partial
from typing import Any

from orchestrator.imports.document import WHOLE, last, under
from orchestrator.imports.formats.base import Reading
from orchestrator.imports.formats.legacy.build import Empty, each, ended, found, verdict
from orchestrator.imports.formats.legacy.entry import Around, Entry, Spot
from orchestrator.imports.formats.legacy.machine import cuda_device, machine_of
from orchestrator.imports.formats.legacy.rows import Shape, columns_of, has_map, is_map_of_maps
from orchestrator.imports.marks import marks_in
from orchestrator.imports.measurement import Found

_CONFIGURATION = re.compile(
    r"batch_(\d{1,9})(?:_seq_(\d{1,9})|_img_(\d{1,9})x(\d{1,9})|_audio_(\d{1,9})s)?", re.ASCII
)
_FORWARD = ("embedding", "vision")
_GENERATES = ("tokens_per_second", "avg_output_length")
_RESULTS = "benchmark_results"


def spots_of(value: dict[str, Any], place: str, around: Around) -> Iterator[Spot]:
    """Each configuration of each model on each hardware; a failure to load as one entry."""
    whole = Entry(value, place)
    device, machine = cuda_device(whole), machine_of(whole)
    fields = {**around.fields, **machine.fields, "measured_at": whole.moment("timestamp")}
    details = {**around.details, **machine.details}
    marks = (*around.marks, *marks_in(value, place, without=("benchmarks",)))
    for run_place, run in _runs(value["benchmarks"], under(place, "benchmarks"), levels=3):
        keys = run_place.split("/")[-3:]
        names = dict(zip(("family", "model", "backend"), map(last, keys), strict=False))
        on_gpu = {"device_name": device} if names.get("backend") == "cuda" else {}
        yield from _of_run(run, run_place, Around({**fields, **names, **on_gpu}, details, marks))


def _runs(value: Any, place: str, levels: int) -> Iterator[tuple[str, Any]]:
    if levels and isinstance(value, dict):
        for key, item in value.items():
            yield from _runs(item, under(place, key), levels - 1)
    else:
        yield place, value


def _of_run(run: Any, place: str, around: Around) -> Iterator[Spot]:
    if has_map(run, _RESULTS) and is_map_of_maps(run[_RESULTS]):
        for key, item in run[_RESULTS].items():
            read = partial(_configuration, Spot(run, place, _without_results))
            yield Spot(item, under(place, _RESULTS, key), read, around)
    else:
        yield Spot(run, place, _without_results, around)


def _configuration(run: Spot, entry: Entry, around: Around) -> Found:
    above = Entry({**run.value, _RESULTS: None, "status": None}, run.place)
    fields = {
        **_run_fields(above),
        **_shape(entry),
        **ended(entry),
        "mode": _mode(entry, around.fields.get("family")),
        "durations_ns": entry.durations("latencies", "s"),
        "latency_mean_s": entry.number("avg_latency", "latency_mean_s"),
        "steady_time_s": entry.number("total_time", "steady_time_s"),
    }
    fields |= {name: item for name, item in columns_of(entry).items() if item is not None}
    inside = Around(around.fields, {**around.details, **above.details("run")}, around.marks)
    marks = (*marks_in(above.value, run.place), *marks_in(entry.value, entry.place))
    return found(entry, inside, fields, marks)


def _without_results(entry: Entry, around: Around) -> Found:
    results, own = entry.seen(_RESULTS), ended(entry)
    below = ended(Entry(results, under(entry.place, _RESULTS))) if results else {}
    ending = below if below and own.get("status", "ok") == "ok" else own
    if ending.get("status", "ok") == "ok":
        raise Empty
    fields = {**_run_fields(entry), **ending}
    return found(entry, around, fields, marks_in(entry.value, entry.place))


def _run_fields(run: Entry) -> dict[str, Any]:
    return {
        "model": run.text("model_name"),
        "family": run.text("family"),
        "backend": run.text("hardware"),
        "load_time_s": run.number("model_load_time", "load_time_s"),
        "measured_at": run.moment("timestamp"),
    }


def _shape(entry: Entry) -> dict[str, Any]:
    match = _CONFIGURATION.fullmatch(entry.name)
    if not match:
        return {}
    numbers = (int(text) if text else None for text in match.groups())
    batch, sequence, height, width, seconds = numbers
    return {
        "batch_size": batch,
        "sequence_length": sequence,
        "image_size": height if height == width else None,
        "audio_seconds": seconds,
    }


def _mode(entry: Entry, family: str | None) -> str | None:
    if any(entry.seen(key) is not None for key in _GENERATES):
        return "generation"
    return "inference" if family in _FORWARD else None


def _matches(value: Any) -> bool:
    if not has_map(value, "benchmarks"):
        return False
    runs = [run for _, run in _runs(value["benchmarks"], WHOLE, levels=3)]
    return any(isinstance(run, dict) and {_RESULTS, "status"} & set(run) for run in runs) or (
        not runs and has_map(value, "system_info")
    )


def _read(value: Any) -> Reading:
    return each(spots_of(value, WHOLE, Around()), "a sweep that measured nothing")


SWEEP = Shape("legacy-sweep", _matches, _read)


_METHODS = ("pipeline", "from_pretrained", "openvino")
_ENDS = ("success", "error", "traceback", "error_type")
_TIMES = {"avg_time": "latency_mean_s", "min_time": "latency_min_s", "max_time": "latency_max_s"}
_PARTS = ("results", "performance", "metadata", "examples")


def matches(value: Any) -> bool:
    """Whether it tells of a model how each method of running it ended."""
    if not has_map(value, "results", "metadata") or not value["results"]:
        return False
    return all(
        _method(name) and isinstance(told, dict) and any(key.endswith("success") for key in told)
        for name, told in value["results"].items()
    )


def _spots(value: dict[str, Any]) -> Iterator[Spot]:
    about = Entry(value["metadata"], under(WHOLE, "metadata"))
    rest = {key: item for key, item in value.items() if key not in _PARTS}
    around = Around(
        {
            "model": about.text("model", "model_name"),
            "task": about.text("task"),
            "measured_at": about.moment("timestamp"),
        },
        {**about.details("metadata"), **Entry(rest, WHOLE).details()},
        marks_in({"metadata": about.value, **rest}, WHOLE),
    )
    timings = value["performance"] if has_map(value, "performance") else {}
    for name, told in value["results"].items():
        timed = timings.get(name)
        whole = {**(timed if isinstance(timed, dict) else {}), **_plain(told, _method(name))}
        yield Spot(whole, under(WHOLE, "results", name), _result, around)


def _method(name: str) -> str:
    """The method that a result's name begins with."""
    return next((method for method in _METHODS if name.startswith(method)), "")


def _plain(told: dict[str, Any], method: str) -> dict[str, Any]:
    """A result without the method's name in its keys."""
    return {key.removeprefix(f"{method}_"): item for key, item in told.items()}


def _result(entry: Entry, around: Around) -> Found:
    told = {key: entry.value[key] for key in _ENDS if entry.value.get(key) not in (None, "none")}
    fields: dict[str, Any] = {
        **ended(Entry(told, entry.place)),
        **{column: entry.number(key, column) for key, column in _TIMES.items()},
        "model": entry.text("model"),
        "task": entry.text("task"),
        "backend": entry.text("device"),
        "iterations": entry.count("num_runs"),
        "load_time_s": entry.number("model_load_time", "load_time_s"),
    }
    if fields["load_time_s"] is None:
        fields["load_time_s"] = entry.number("load_time", "load_time_s")
    return verdict(entry, around, fields, marks_in(entry.value, entry.place))


def _read_methods(value: Any) -> Reading:
    return each(_spots(value), "a model that was tried in no way")


METHODS = Shape("legacy-methods", matches, _read_methods)
