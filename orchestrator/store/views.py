"""The views: names and units that people expect. Default views show proven results alone."""

from dataclasses import dataclass

from orchestrator.store.columns import Column
from orchestrator.store.tables import HARDWARE, RESULTS, comments

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class View:
    """One view of the database."""

    name: str
    doc: str
    """What one row is; becomes the view's comment."""
    columns: tuple[Column, ...]
    query: str

    @property
    def ddl(self) -> str:
        """The statements that create and describe the view."""
        create = f"CREATE VIEW {self.name} AS {self.query}"
        return "; ".join([create, *comments("VIEW", self.name, self.doc, self.columns)])


@dataclass(frozen=True)
class Shown:
    """A column of a view and the expression behind it."""

    name: str
    expression: str
    type: str
    doc: str


def _same(*wanted: str) -> list[Shown]:
    known = {column.name: column for column in (*HARDWARE.columns, *RESULTS.columns)}
    return [Shown(name, f"r.{name}", known[name].type, known[name].doc) for name in wanted]


def _milliseconds(name: str, doc: str, source: str | None = None) -> Shown:
    return Shown(f"{name}_ms", f"r.{source or name}_s * 1000", "DOUBLE", f"{doc}, milliseconds.")


def _megabytes(name: str, source: str, doc: str) -> Shown:
    expression = f"r.{source} / {MEGABYTE}"
    return Shown(name, expression, "DOUBLE", f"{doc}, megabytes (1,000,000 bytes).")


def _columns(shown: list[Shown]) -> tuple[Column, ...]:
    return tuple(Column(each.name, each.type, each.doc) for each in shown)


def _select(shown: list[Shown]) -> str:
    return ", ".join(f"{each.expression} AS {each.name}" for each in shown)


_PERFORMANCE = [
    *_same("result_id", "run_id", "cell_id", "model", "family", "task"),
    Shown(
        "hardware",
        "coalesce(h.device_name, h.cpu_model)",
        "VARCHAR",
        "The physical device that did the work.",
    ),
    *_same("hardware_id", "hostname", "backend", "runtime", "precision"),
    *_same("batch_size", "sequence_length", "mode", "profile"),
    *_same("throughput"),
    _milliseconds("latency_mean", "Mean time of a query"),
    _milliseconds("latency_median", "Median time of a query"),
    _milliseconds("latency_min", "Fastest query"),
    _milliseconds("latency_max", "Slowest query"),
    _milliseconds("latency_stddev", "Sample standard deviation of a query's time"),
    _milliseconds("latency_p90", "90th percentile; null when too few iterations support it"),
    _milliseconds("first_latency", "First query at this shape"),
    *_same("iterations", "load_time_s"),
    _megabytes("memory_mb", "memory_peak_bytes", "Highest memory use"),
    _megabytes("memory_average_mb", "memory_average_bytes", "Mean memory use"),
    *_same("parameters", "launcher", "image", "image_digest", "git_commit"),
    Shown("measured_at", "r.recorded_at", "TIMESTAMPTZ", "When the record was written, UTC."),
    *_same("status", "reason", "phase", "proof", "warnings"),
]
_COLUMNS = _columns(_PERFORMANCE)
_NEWEST = """
    QUALIFY row_number() OVER (
        PARTITION BY cell_id, hostname ORDER BY measured_at DESC, run_id DESC) = 1
"""

PERFORMANCE_ALL = View(
    "benchmark_performance_all",
    "Each verdict with its marks (status, proof, reason), also the failed and unproven ones.",
    _COLUMNS,
    f"SELECT {_select(_PERFORMANCE)}"
    " FROM benchmark_results r LEFT JOIN hardware_info h USING (hardware_id)",
)
PERFORMANCE = View(
    "benchmark_performance",
    "Results that ended well and whose device is proven to have done the work.",
    _COLUMNS,
    "SELECT * FROM benchmark_performance_all WHERE status = 'ok' AND proof = 'proven'",
)
LATEST = View(
    "latest_results",
    "The newest proven result of each cell on each host.",
    _COLUMNS,
    f"SELECT * FROM benchmark_performance {_NEWEST}",
)
LATEST_ALL = View(
    "latest_results_all",
    "The newest verdict on each cell on each host, whatever it was.",
    _COLUMNS,
    f"SELECT * FROM benchmark_performance_all {_NEWEST}",
)

_FAILURE = _same(
    *("result_id", "run_id", "cell_id", "model", "family", "backend", "runtime", "precision"),
    *("batch_size", "sequence_length", "mode", "status", "phase", "reason", "log"),
    *("hostname", "launcher", "image", "recorded_at"),
)
FAILURES = View(
    "failures",
    "Verdicts other than `ok`: what could not be measured, and why.",
    _columns(_FAILURE),
    f"SELECT {_select(_FAILURE)} FROM benchmark_results r WHERE status <> 'ok'",
)

_KEY = _same("model", "family", "backend", "runtime", "precision", "mode", "hostname")
_COMPATIBILITY = [
    *_KEY,
    Shown(
        "status",
        "arg_max(r.status, (r.measured_at, r.result_id))",
        "VARCHAR",
        "The newest verdict's status.",
    ),
    Shown(
        "proof",
        "arg_max(r.proof, (r.measured_at, r.result_id))",
        "VARCHAR",
        "The newest verdict's proof.",
    ),
    Shown(
        "reason",
        "arg_max_null(r.reason, (r.measured_at, r.result_id))",
        "VARCHAR",
        "The newest verdict's reason; null when it is `ok`.",
    ),
    Shown("cells", "count(*)", "BIGINT", "Cells with a verdict; they differ in shape."),
    Shown("cells_ok", "count(*) FILTER (r.status = 'ok')", "BIGINT", "Cells whose newest is `ok`."),
    Shown(
        "cells_proven",
        "count(*) FILTER (r.status = 'ok' AND r.proof = 'proven')",
        "BIGINT",
        "Cells whose newest verdict is `ok` and proven.",
    ),
    Shown("measured_at", "max(r.measured_at)", "TIMESTAMPTZ", "When the newest was written, UTC."),
]
COMPATIBILITY = View(
    "compatibility",
    "Which model goes on which backend, runtime and precision: the newest verdicts on each host.",
    _columns(_COMPATIBILITY),
    f"SELECT {_select(_COMPATIBILITY)} FROM latest_results_all r"
    f" GROUP BY {', '.join(shown.expression for shown in _KEY)}",
)

VIEWS = (PERFORMANCE_ALL, PERFORMANCE, LATEST_ALL, LATEST, FAILURES, COMPATIBILITY)
