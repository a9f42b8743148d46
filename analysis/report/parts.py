"""Tables of parts of results: steps of training, stages of a start, tried batches, efficiency."""

from analysis.report.results import ReportedResults
from analysis.results.table import Field, FieldKind, Table

_MOST_ROWS = 1000
_CELL = (
    Field("model"),
    Field("backend"),
    Field("runtime"),
    Field("precision"),
    Field("batch_size", "batch", "number"),
    Field("sequence_length", "tokens", "number"),
)
_GRADE = Field("grade", kind="grade")


def _number(name: str, heading: str, kind: FieldKind = "number", stem: str | None = None) -> Field:
    low, high = (f"{stem}_low_s", f"{stem}_high_s") if stem else (None, None)
    return Field(name, heading, kind, low, high, measured=kind == "number")


_TRAINING = (
    Field("training_precision", "numbers in training"),
    _number("latency_median_ms", "step, ms"),
    _number("forward_median_ms", "forward, ms"),
    _number("loss_median_ms", "loss, ms"),
    _number("backward_median_ms", "backward, ms"),
    _number("optimizer_median_ms", "optimizer, ms"),
    _number("memory_mb", "memory, MB"),
    _GRADE,
)
_STARTS = (
    Field("workers", kind="number"),
    _number("startup_cold_median_s", "cold start, s", stem="startup_cold_median"),
    _number("startup_warm_interpreter_median_s", "warm: interpreter, s"),
    _number("startup_warm_import_median_s", "imports, s"),
    _number("startup_warm_instantiate_median_s", "model, s"),
    _number("startup_warm_weights_median_s", "weights, s"),
    _number("startup_warm_first_query_median_s", "first query, s"),
    _number("concurrent_models_per_second", "models/s at once"),
    _number("concurrent_speedup", "times one alone"),
    _GRADE,
)
_TRIED = (
    Field("queries", kind="number"),
    _number("throughput", "samples/s"),
    _number("latency_median_ms", "median, ms"),
    _number("memory_mb", "memory, MB"),
    Field("found", "chosen"),
)
_EFFICIENCY = (
    Field("mode"),
    Field("part"),
    _number("time_ms", "time, ms"),
    _number("gflop_per_s", "GFLOP/s"),
    _number("peak_gflop_per_s", "peak GFLOP/s"),
    _number("mfu", "share of it", "share"),
    _number("gb_per_s", "GB/s"),
    _number("peak_gb_per_s", "peak GB/s"),
    _number("mbu", "share of it", "share"),
    _number("intensity", "FLOP per byte"),
    Field("bound", "bound by"),
    _GRADE,
)
_ARRIVALS = (
    Field("target_qps", "offered queries/s", "number"),
    Field("slo_ms", "limit, ms", "number"),
    _number("achieved_qps", "answered queries/s"),
    _number("peak_qps", "peak queries/s"),
    _number("latency_median_ms", "median, ms"),
    _number("latency_p99_ms", "p99, ms"),
    _number("service_median_ms", "without waiting, ms"),
    _GRADE,
)


_PARTS = {
    "training_results": ("Parts of a training step", _TRAINING),
    "startup_results": ("Starts and their stages", _STARTS),
    "offline_curve": ("Batches that offline tried", _TRIED),
    "efficiency": ("Achieved arithmetic and memory traffic", _EFFICIENCY),
    "arrival_results": ("Latency at a rate of queries", _ARRIVALS),
}
"""Titles and fields by the view that has the rows."""
_CONDITIONS = {"arrival_results": "scenario = 'server'"}


def part_table(results: ReportedResults, view: str) -> Table:
    """Rows of a view that belong to the report's results; a field without a value is left out."""
    title, fields = _PARTS[view]
    everything = (*_CELL, *fields)
    bounds = [name for field in fields for name in (field.low, field.high) if name]
    names = ", ".join(["result_id", *(field.name for field in everything), *bounds])
    rows = results.ask(f"""
        SELECT {names} FROM {view}
        WHERE result_id IN ({results.ids}) AND {_CONDITIONS.get(view, "true")}
        ORDER BY model, backend, runtime, precision, batch_size, result_id LIMIT {_MOST_ROWS}
    """)
    return Table(title, everything, rows, name=view).filled()
