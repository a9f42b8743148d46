"""Metrics: the numbers of results, a row each; all that shows, compares or draws them reads it.

A metric is a row here and a field of the record. Its column of a view, its place in tables,
reports, `--metric`, charts and exports follow; the range of its values is the field's.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import Literal

from analysis.results.source import ArrowSource
from analysis.statistics.ratios import THRESHOLD
from runner.contract.errors import UsageError

IntervalSource = Literal["recorded", "total", "inverse"]
"""The origin of a 95 % interval: columns of the record; all durations, of a number of things by
their sum; the median time of a part, of counted work by that time."""
PERFORMANCE_VIEW = "benchmark_performance"
_GENERATION, _TRAINING, _STARTUP = "generation_results", "training_results", "startup_results"
PARTS_VIEW = "efficiency"
"""The view with a row for each part of a result: a forward pass; prefill and decode."""
_MORE = re.compile(r"throughput|qps|per_s(econd)?$|speedup|efficiency|mfu|mbu|agreement")
_UNITS = {"ms": "ms", "s": "s", "mb": "MB", "joules": "J", "bytes": "bytes", "qps": "queries/s"}
_TIME = re.compile(r"(_m?s)?$")
"""The end of a column's name, behind which stands neither `low` nor `high`."""


@dataclass(frozen=True)
class Metric:
    """A number of results, with its unit and which way is better."""

    name: str
    column: str
    """The column of its view, in customary units."""
    label: str
    """The name in sentences and of axes, without the unit."""
    unit: str
    """Empty for a share or a count."""
    better: Literal["more", "less"]
    view: str = PERFORMANCE_VIEW
    """The view that has the column; others than this one have a row for some results alone."""
    interval: IntervalSource | None = None
    brief: str | None = None
    """The heading in the narrow tables of a terminal, with the unit; None: no column there."""
    report: str | None = None
    """The heading in the tables of reports, with the unit; None: no column there."""
    condition: str = field(default="true", compare=False)
    """The results whose value is asked for, as a condition on their columns, where `r` is one."""
    threshold: float = field(default=THRESHOLD, compare=False)
    """The least relative change that matters."""

    @property
    def more_is_better(self) -> bool:
        return self.better == "more"

    @property
    def low(self) -> str | None:
        return _end(self.column, "low") if self.interval == "recorded" else None

    @property
    def high(self) -> str | None:
        return _end(self.column, "high") if self.interval == "recorded" else None

    @property
    def is_of_queries(self) -> bool:
        """True if it is a time of queries, which depends on their batch and their rate."""
        return "latency" in self.column

    @property
    def is_of_iterations(self) -> bool:
        """True if it tells what an iteration usually takes, which is compared burst by burst."""
        return self.name in ("latency", "throughput", "tokens")

    @property
    def is_of_energy(self) -> bool:
        """True if it is a number of joules, which depends on what these hold."""
        return self.column.endswith("joules")

    @property
    def heading(self) -> str:
        return f"{self.label}, {self.unit}" if self.unit else self.label

    @property
    def comparatives(self) -> tuple[str, str]:
        """The words for a result that is worse, and for one that is better."""
        of_time = self.unit in ("ms", "s") or self.unit.endswith("/s")
        return ("slower", "faster") if of_time else ("worse", "better")


def _end(column: str, end: str) -> str:
    """For example `latency_p90_low_ms`."""
    return _TIME.sub(rf"_{end}\g<0>", column, count=1)


_ms = partial(Metric, unit="ms", better="less", interval="recorded")
_less = partial(Metric, better="less")
_more = partial(Metric, better="more")
METRICS: dict[str, Metric] = {
    metric.name: metric
    for metric in (
        _ms(
            "latency", "latency_median_ms", "median latency", brief="median ms", report="median, ms"
        ),
        _ms("p90", "latency_p90_ms", "p90 latency", brief="p90 ms"),
        _ms("p95", "latency_p95_ms", "p95 latency"),
        _ms("p99", "latency_p99_ms", "p99 latency", brief="p99 ms", report="p99, ms"),
        _ms(
            *("ttft", "time_to_first_token_median_ms", "first token"),
            view=_GENERATION,
            brief="ttft ms",
            report="first token, ms",
        ),
        _ms(
            *("tpot", "time_per_output_token_median_ms", "time per token"),
            view=_GENERATION,
            brief="ms/token",
            report="per token, ms",
        ),
        _less("itl", "inter_token_latency_median_ms", "gap between tokens", "ms", view=_GENERATION),
        _more(
            *("throughput", "throughput", "throughput", "samples/s"),
            interval="total",
            brief="mean samples/s",
            report="mean samples/s",
        ),
        _more(
            *("tokens", "token_throughput", "token throughput", "tokens/s"),
            interval="total",
            brief="mean tokens/s",
            report="mean tokens/s",
        ),
        _more(
            *("peak_qps", "peak_qps", "peak rate", "queries/s"),
            interval="recorded",
            brief="peak q/s",
            report="peak queries/s",
        ),
        _less("memory", "memory_mb", "memory", "MB", brief="peak MB", report="memory, MB"),
        _less(
            *("energy", "energy_per_sample_joules", "energy per sample", "J"),
            report="energy a sample, J",
        ),
        _less(
            *("energy_per_token", "energy_per_token_joules", "energy per token", "J"),
            report="energy a token, J",
        ),
        _less("first", "first_latency_ms", "first query", "ms", report="first query, ms"),
        _less("load", "load_time_s", "load time", "s", report="load, s"),
        _more(
            *("models_per_second", "concurrent_models_per_second", "rate of starts", "models/s"),
            view=_STARTUP,
            brief="models/s",
        ),
        _more("efficiency", "mfu", "share of peak FLOP/s", "", view=PARTS_VIEW, interval="inverse"),
        _more("mbu", "mbu", "share of peak bytes/s", "", view=PARTS_VIEW, interval="inverse"),
        _more(
            *("gflop_per_s", "gflop_per_s", "arithmetic achieved", "GFLOP/s"),
            view=PARTS_VIEW,
            interval="inverse",
        ),
        _more(
            *("gb_per_s", "gb_per_s", "traffic achieved", "GB/s"),
            view=PARTS_VIEW,
            interval="inverse",
        ),
    )
}
"""By short name. `efficiency`, like the rates behind it, has a value for each part of a result."""
RATES_OF_SHARES: Mapping[str, Metric] = {"mfu": METRICS["gflop_per_s"], "mbu": METRICS["gb_per_s"]}
"""The rates behind shares of a peak, by the column of the share."""


def _of_column(column: str, view: str, brief: str | None = None) -> Metric:
    """The metric that a column of numbers without a short name is."""
    stem, _, end = column.rpartition("_")
    unit = "" if stem.endswith("_per") else _UNITS.get(end, "")
    better = _more if _MORE.search(column) else _less
    return better(column, column, column.replace("_", " "), unit, view=view, brief=brief)


_FURTHER = {
    "achieved_qps": (PERFORMANCE_VIEW, "achieved q/s"),
    "peak_qps_low": (PERFORMANCE_VIEW, "at least q/s"),
    "peak_qps_high": (PERFORMANCE_VIEW, "at most q/s"),
    "forward_median_ms": (_TRAINING, "forward ms"),
    "backward_median_ms": (_TRAINING, "backward ms"),
    "optimizer_median_ms": (_TRAINING, "optimizer ms"),
    "startup_cold_median_ms": (_STARTUP, "cold ms"),
    "startup_warm_import_median_ms": (_STARTUP, "import ms"),
    "startup_warm_instantiate_median_ms": (_STARTUP, "build ms"),
    "startup_warm_weights_median_ms": (_STARTUP, "weights ms"),
    "startup_warm_first_query_median_ms": (_STARTUP, "first query ms"),
}
"""Columns that tables of a terminal have beside those of metrics, each with its heading."""
SHOWN_NUMBERS: tuple[Metric, ...] = (
    *(_of_column(column, *shown) for column, shown in _FURTHER.items()),
    *(metric for metric in METRICS.values() if metric.view != PARTS_VIEW),
)
_VIEWS = (PERFORMANCE_VIEW, _GENERATION, _TRAINING, _STARTUP, "arrival_results", PARTS_VIEW)
_NUMBER = re.compile(r"u?int\d+|halffloat|float|double")


def metric_of(name: str, source: ArrowSource) -> Metric:
    """The metric of that short name or column, or a number column of a view."""
    wanted = name.replace("-", "_")
    columns = {metric.column: metric for metric in METRICS.values()}
    if metric := METRICS.get(wanted) or columns.get(wanted):
        return metric
    offered = [*METRICS]
    for view in _VIEWS:
        schema = source.arrow(f"SELECT * FROM {view} LIMIT 0").schema
        numbers = [column.name for column in schema if _NUMBER.fullmatch(str(column.type))]
        if wanted in numbers:
            metric = _of_column(wanted, view)
            has_interval = {_end(wanted, "low"), _end(wanted, "high")} <= {*numbers}
            return replace(metric, interval="recorded") if has_interval else metric
        offered += numbers
    near = get_close_matches(wanted, offered, n=1)
    guess = f"did you mean {near[0]}? " if near else ""
    raise UsageError(
        f"--metric: there is no number {name!r} in results",
        hint=f"{guess}Metrics are {', '.join(METRICS)}, and the number columns of"
        " `orchestrator query NAME --wide`",
    )
