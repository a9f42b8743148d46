"""Metrics: numbers by which results are compared, by a short name or the name of a column."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches

import pyarrow as pa

from analysis.results.source import ArrowSource
from runner.contract.errors import UsageError


@dataclass(frozen=True)
class Metric:
    """A number of results, with its unit and which way is better."""

    name: str
    """The short name, or that of the column."""
    column: str
    """The column of its view, in customary units."""
    label: str
    """The name of an axis or a column on a screen, without the unit."""
    unit: str
    """Empty for a share or a count."""
    more_is_better: bool
    view: str = "benchmark_performance"
    """The view that has the column; others than this one have a row for some results alone."""
    low: str | None = None
    """The column of the 95 % interval's low end; None where records hold no interval."""
    high: str | None = None
    condition: str = field(default="true", compare=False)
    """The results whose value is asked for, as a condition on their columns, where `r` is one."""

    @property
    def is_of_queries(self) -> bool:
        """True if it is a time of queries, which depends on their batch and their rate."""
        return "latency" in self.column

    @property
    def is_of_energy(self) -> bool:
        """True if it is a number of joules, which depends on what these hold."""
        return self.column.endswith("joules")

    @property
    def heading(self) -> str:
        """The label with its unit."""
        return f"{self.label}, {self.unit}" if self.unit else self.label


def _bounded(
    name: str, stem: str, label: str, view: str = "benchmark_performance", unit: str = "ms"
) -> Metric:
    low, high = f"{stem}_low_{unit}", f"{stem}_high_{unit}"
    return Metric(name, f"{stem}_{unit}", label, unit, False, view, low, high)


_OF_GENERATION = "generation_results"
_OF_PARTS = "efficiency"
METRICS: Mapping[str, Metric] = {
    metric.name: metric
    for metric in (
        Metric("throughput", "throughput", "throughput", "samples/s", True),
        _bounded("latency", "latency_median", "median latency"),
        _bounded("p90", "latency_p90", "p90 latency"),
        _bounded("p95", "latency_p95", "p95 latency"),
        _bounded("p99", "latency_p99", "p99 latency"),
        Metric("first", "first_latency_ms", "first query", "ms", False),
        Metric("load", "load_time_s", "load time", "s", False),
        Metric("memory", "memory_mb", "memory", "MB", False),
        Metric("energy", "energy_per_sample_joules", "energy per sample", "J", False),
        _bounded("ttft", "time_to_first_token_median", "first token", _OF_GENERATION),
        _bounded("tpot", "time_per_output_token_median", "time per token", _OF_GENERATION),
        Metric(
            *("itl", "inter_token_latency_median_ms", "gap between tokens", "ms", False),
            view=_OF_GENERATION,
        ),
        Metric("tokens", "token_throughput", "token throughput", "tokens/s", True),
        Metric(
            *("peak_qps", "peak_qps", "peak rate", "queries/s", True),
            low="peak_qps_low",
            high="peak_qps_high",
        ),
        Metric(
            *(
                "models_per_second",
                "concurrent_models_per_second",
                "rate of starts",
                "models/s",
                True,
            ),
            view="startup_results",
        ),
        Metric("efficiency", "mfu", "share of peak FLOP/s", "", True, view=_OF_PARTS),
        Metric("gflop_per_s", "gflop_per_s", "arithmetic achieved", "GFLOP/s", True, _OF_PARTS),
        Metric("gb_per_s", "gb_per_s", "traffic achieved", "GB/s", True, _OF_PARTS),
    )
}
"""By short name. `efficiency`, like the rates behind it, has a value for each part of a result: one
for a forward pass, one for prefill and one for decode."""
RATES_OF_SHARES: Mapping[str, Metric] = {"mfu": METRICS["gflop_per_s"], "mbu": METRICS["gb_per_s"]}
"""The rates behind shares of a peak, by the column of the share."""

_VIEWS = (
    *("benchmark_performance", "generation_results", "training_results", "startup_results"),
    *("arrival_results", _OF_PARTS),
)
_MORE = re.compile(r"throughput|qps|per_s(econd)?$|speedup|efficiency|mfu|mbu|agreement")
_UNITS = {"ms": "ms", "s": "s", "mb": "MB", "joules": "J", "bytes": "bytes", "qps": "queries/s"}


def metric_of(name: str, source: ArrowSource) -> Metric:
    """The metric of that short name, or the number column of a view.

    Raises:
        UsageError: there is none, or its values are no numbers.
    """
    wanted = name.replace("-", "_")
    if wanted in METRICS:
        return METRICS[wanted]
    known: dict[str, str] = {}
    for view in _VIEWS:
        for column in source.arrow(f"SELECT * FROM {view} LIMIT 0").schema:
            if _is_number(column.type):
                known.setdefault(column.name, view)
    if wanted not in known:
        near = get_close_matches(wanted, [*METRICS, *known], n=1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"--metric: there is no number {name!r} in results",
            hint=f"{guess}Metrics are {', '.join(METRICS)}, and the number columns of"
            " `orchestrator query NAME --wide`",
        )
    return _of_column(wanted, known)


def _of_column(name: str, known: Mapping[str, str]) -> Metric:
    stem, _, unit = name.rpartition("_")
    low, high = f"{stem}_low_{unit}", f"{stem}_high_{unit}"
    bounds = (low, high) if low in known and high in known else (None, None)
    label = name.replace("_", " ")
    known_unit = "" if stem.endswith("_per") else _UNITS.get(unit, "")
    return Metric(name, name, label, known_unit, bool(_MORE.search(name)), known[name], *bounds)


def _is_number(type_: pa.DataType) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_))
