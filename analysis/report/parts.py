"""Tables of parts of results: steps of training, stages of a start, tried batches, efficiency."""

from collections.abc import Sequence

from analysis.report.report import ColumnKind, ReportColumn, ReportTable
from analysis.report.results import ReportedResults

_MOST_ROWS = 1000
_CELL = (
    ReportColumn("model", "model"),
    ReportColumn("backend", "backend"),
    ReportColumn("runtime", "runtime"),
    ReportColumn("precision", "precision"),
    ReportColumn("batch_size", "batch", "number"),
    ReportColumn("sequence_length", "tokens", "number"),
)
_GRADE = ReportColumn("grade", "grade", "grade")


def _number(
    name: str, heading: str, kind: ColumnKind = "number", stem: str | None = None
) -> ReportColumn:
    low, high = (f"{stem}_low_s", f"{stem}_high_s") if stem else (None, None)
    return ReportColumn(name, heading, kind, low, high, measured=kind == "number")


_TRAINING = (
    ReportColumn("training_precision", "numbers in training"),
    _number("latency_median_ms", "step, ms"),
    _number("forward_median_ms", "forward, ms"),
    _number("loss_median_ms", "loss, ms"),
    _number("backward_median_ms", "backward, ms"),
    _number("optimizer_median_ms", "optimizer, ms"),
    _number("memory_mb", "memory, MB"),
    _GRADE,
)
_STARTS = (
    ReportColumn("workers", "workers", "number"),
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
    ReportColumn("queries", "queries", "number"),
    _number("throughput", "samples/s"),
    _number("latency_median_ms", "median, ms"),
    _number("memory_mb", "memory, MB"),
    ReportColumn("found", "chosen"),
)
_EFFICIENCY = (
    ReportColumn("mode", "mode"),
    ReportColumn("part", "part"),
    _number("time_ms", "time, ms"),
    _number("gflop_per_s", "GFLOP/s"),
    _number("peak_gflop_per_s", "peak GFLOP/s"),
    _number("mfu", "share of it", "share"),
    _number("gb_per_s", "GB/s"),
    _number("peak_gb_per_s", "peak GB/s"),
    _number("mbu", "share of it", "share"),
    _number("intensity", "FLOP per byte"),
    ReportColumn("bound", "bound by"),
    _GRADE,
)
_ARRIVALS = (
    ReportColumn("target_qps", "offered queries/s", "number"),
    ReportColumn("slo_ms", "limit, ms", "number"),
    _number("achieved_qps", "answered queries/s"),
    _number("peak_qps", "peak queries/s"),
    _number("latency_median_ms", "median, ms"),
    _number("latency_p99_ms", "p99, ms"),
    _number("service_median_ms", "without waiting, ms"),
    _GRADE,
)


def training_table(results: ReportedResults) -> ReportTable:
    """The parts of a training step."""
    return _table(results, "training_results", "Parts of a training step", _TRAINING)


def startup_table(results: ReportedResults) -> ReportTable:
    """Stages of starts with files in memory, cold starts, and many at once."""
    return _table(results, "startup_results", "Starts and their stages", _STARTS)


def tried_table(results: ReportedResults) -> ReportTable:
    """Batches that the scenario `offline` tried."""
    return _table(results, "offline_curve", "Batches that offline tried", _TRIED)


def efficiency_table(results: ReportedResults) -> ReportTable:
    """Arithmetic and traffic achieved, beside the machine's own peaks."""
    return _table(results, "efficiency", "Achieved arithmetic and memory traffic", _EFFICIENCY)


def arrival_table(results: ReportedResults) -> ReportTable:
    """Latency at rates of queries."""
    return _table(
        results,
        "arrival_results",
        "Latency at a rate of queries",
        _ARRIVALS,
        "scenario = 'server'",
    )


def _table(
    results: ReportedResults,
    view: str,
    title: str,
    columns: Sequence[ReportColumn],
    condition: str = "true",
) -> ReportTable:
    """Rows of a view that belong to the report's results; a column that all share tells nothing."""
    everything = (*_CELL, *columns)
    bounds = [name for column in columns for name in (column.low, column.high) if name]
    names = ", ".join(["result_id", *(column.name for column in everything), *bounds])
    rows = results.ask(f"""
        SELECT {names} FROM {view} WHERE result_id IN ({results.ids}) AND {condition}
        ORDER BY model, backend, runtime, precision, batch_size, result_id LIMIT {_MOST_ROWS}
    """)
    return ReportTable(view, title, everything, rows).without_empty_columns()
