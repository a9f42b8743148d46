"""Launches of results: what each fresh process said of a metric, now and in earlier runs."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeAlias

from analysis.compare.circumstances import HARDWARE_WORDS
from analysis.compare.values import ASKED_THREADS_COLUMN, PART, MetricColumns, ResultValue
from analysis.results.metrics import METRICS, Metric
from analysis.results.selection import Selection
from analysis.results.series import COMPARABLE, IN_HISTORY, SERIES, comparable_columns
from analysis.results.source import ArrowSource, text
from runner.contract.axes import AXIS_NAMES
from runner.contract.record.verdict import Grade

LEAST_HISTORY = 10
"""Launches of a series from which on its steps are sought."""
_AT_ONCE = 5_000
_FIRST = "w.part_durations_ns['first_token']"
_PER_TOKEN = f"""list_transform(list_zip(w.durations_ns, {_FIRST}),
    lambda pair: (pair[1] - pair[2]) / (b.new_tokens - 1))"""
_PERCENTILES: Mapping[str, float] = {
    "latency_p90_ms": 0.9,
    "latency_p95_ms": 0.95,
    "latency_p99_ms": 0.99,
    "latency_p999_ms": 0.999,
}
_AS_NOISY = frozenset(METRICS[name].column for name in ("latency", "ttft", "tpot"))
"""Columns, beside totals, that follow from what launches usually take: their spread is that of the
median latencies which hosts are calibrated by. That of a percentile, of memory or of energy is
another one."""
_RAW = "LEFT JOIN raw_benchmark_data w ON w.result_id = b.result_id"
_RAW_OF_STARTS = """
    LEFT JOIN (
        SELECT result_id, durations_ns FROM raw_benchmark_data WHERE result_id IN (
            SELECT result_id FROM benchmark_results WHERE mode = 'startup')
    ) w ON w.result_id = b.result_id
"""


def _launch_values(metric: Metric, value: str) -> tuple[str, str]:
    """The expression of a metric's values by launch, or null, and the join for raw durations."""
    column = metric.column
    if column == METRICS["latency"].column:
        # Side by side a launch is a round, else a start is one.
        starts = "CASE WHEN b.mode = 'startup' AND b.side_by_side IS NULL THEN w.durations_ns END"
        medians = "list_transform(b.round_medians, lambda median: median * 1e3)"
        return f"coalesce({_in_ms(starts)}, {medians})", _RAW_OF_STARTS
    whole = "list_sum(b.round_iterations) = len(w.durations_ns)"
    if metric.interval == "total":
        means = _by_launch("list_avg({})", "w.durations_ns")
        total = f"{value} * list_avg(w.durations_ns)"
        values = f"list_transform({means}, lambda mean: {total} / mean)"
    elif column in _PERCENTILES:
        quantile = f"list_aggregate({{}}, 'quantile_cont', {_PERCENTILES[column]})"
        values = _in_ms(_by_launch(quantile, "w.durations_ns"))
    elif column in {METRICS["ttft"].column, METRICS["tpot"].column}:
        durations = _FIRST if column == METRICS["ttft"].column else _PER_TOKEN
        values = _in_ms(_by_launch("list_median({})", durations))
        whole += f" AND len({_FIRST}) = len(w.durations_ns)"
    else:
        return "NULL::DOUBLE[]", ""
    return f"CASE WHEN {whole} THEN {values} END", _RAW


def _by_launch(statistic: str, values: str) -> str:
    part = f"""list_slice({values},
        coalesce(list_sum(b.round_iterations[:number - 1]), 0)::BIGINT + 1,
        list_sum(b.round_iterations[:number])::BIGINT)"""
    numbers = "range(1, len(b.round_iterations) + 1)"
    return f"list_transform({numbers}, lambda number: {statistic.format(part)})"


def _in_ms(values: str) -> str:
    return f"list_transform({values}, lambda duration: duration / 1e6)"


SeriesKey: TypeAlias = tuple[object, ...]
"""The facts that results of one series share: the cell's id first."""
_OF_PAST = ("result_id", "run_id", "measured_at", "git_commit", "grade")
_PAST = (*_OF_PAST, "hostname")
_FACTS = (
    *(*_PAST, "hardware", "cores", "profile", "family", "proof", "correct", "image_digest"),
    *(name for name in AXIS_NAMES if name not in SERIES),
)
_OF_RESULTS = (
    *("process_spread", "process_spread_processes", "process_spread_degrees"),
    *("process_spread_queue", "interleaved_with", "side_by_side", "looks", "doubts"),
)
_HARDWARE = "LEFT JOIN hardware_info h ON h.hardware_id = r.hardware_id"
_KEY = ("cell_id", *(name for name in SERIES if name != "cell_id"), PART, *COMPARABLE)


@dataclass(frozen=True)
class LaunchedResult(ResultValue):
    """One result's value of a metric, and those of its launches."""

    launches: tuple[float, ...]
    as_noisy_as_latency: bool = True
    """True if a calibration and the A/A study, which are of median latencies, tell its noise."""

    @cached_property
    def logarithms(self) -> tuple[float, ...]:
        """The logarithms of the launches' values: on them relative noise adds up."""
        return tuple(map(math.log, self.launches))

    @property
    def geometric_mean(self) -> float:
        """The mean of the launches on the scale of logarithms, of which verdicts compare two."""
        return math.exp(math.fsum(self.logarithms) / len(self.logarithms))

    @property
    def run_id(self) -> str:
        return str(self.facts["run_id"])

    def key(self, *, per_host: bool) -> SeriesKey:
        """The facts that it shares with its series; with `per_host` the machine's name too."""
        return tuple(self.facts[name] for name in _key_columns(per_host=per_host))


@dataclass(frozen=True)
class PastResult:
    """An earlier result of a series."""

    result_id: str
    run_id: str
    measured_at: datetime
    git_commit: str | None
    grade: Grade | None
    logarithms: tuple[float, ...]


def launched_results(
    source: ArrowSource, selection: Selection, metric: Metric
) -> tuple[LaunchedResult, ...]:
    facts = (
        *(f"r.{name}" for name in dict.fromkeys((*_FACTS, *SERIES))),
        *(f"b.{name}" for name in _OF_RESULTS),
        *(f"h.{name}" for name in HARDWARE_WORDS),
        ASKED_THREADS_COLUMN,
    )
    rows = source.arrow(_question(selection, metric, facts, beside=_HARDWARE)).to_pylist()
    is_as_noisy = metric.interval == "total" or metric.column in _AS_NOISY
    results = []
    for row in rows:
        value, launches = row.pop("value"), row.pop("launches")
        results.append(LaunchedResult(row, value, _launches(value, launches), is_as_noisy))
    return tuple(results)


def histories(
    source: ArrowSource,
    selection: Selection,
    metric: Metric,
    wanted: Iterable[LaunchedResult],
    *,
    per_host: bool,
) -> dict[SeriesKey, list[PastResult]]:
    """The selected results of the series of these results, in the order of time."""
    keys = {one.key(per_host=per_host) for one in wanted}
    columns = dict.fromkeys((*_PAST, *SERIES))
    known: dict[SeriesKey, list[PastResult]] = {}
    cells = {str(key[0]) for key in keys}
    for table in _tables(source, selection, metric, columns, cells, IN_HISTORY):
        for key, past in _past_results(table, _key_columns(per_host=per_host)):
            if key in keys:
                known.setdefault(key, []).append(past)
    return known


def launches_by_result(
    source: ArrowSource, selection: Selection, metric: Metric, cells: Collection[str]
) -> dict[SeriesKey, PastResult]:
    return {
        key: past
        for table in _tables(source, selection, metric, _PAST, cells)
        for key, past in _past_results(table, ("result_id", PART))
    }


def _tables(
    source: ArrowSource,
    selection: Selection,
    metric: Metric,
    columns: Iterable[str],
    cells: Collection[str],
    counting: str = "true",
) -> Iterator[Mapping[str, Sequence[Any]]]:
    names, selected = sorted(cells), [f"r.{name}" for name in columns]
    for start in range(0, len(names), _AT_ONCE):
        listed = ", ".join(map(text, names[start : start + _AT_ONCE]))
        chosen = f"r.cell_id IN ({listed}) AND r.measured_at IS NOT NULL AND {counting}"
        yield source.arrow(_question(selection, metric, selected, chosen)).to_pydict()


def _key_columns(*, per_host: bool) -> Sequence[str]:
    return (*_KEY, "hostname") if per_host else _KEY


def _past_results(
    table: Mapping[str, Sequence[Any]], key: Sequence[str]
) -> Iterator[tuple[SeriesKey, PastResult]]:
    keys = zip(*(table[name] for name in key), strict=True)
    facts = zip(*(table[name] for name in _OF_PAST), strict=True)
    values = zip(table["value"], table["launches"], strict=True)
    for series, known, (value, launches) in zip(keys, facts, values, strict=True):
        logarithms = tuple(map(math.log, _launches(value, launches)))
        yield series, PastResult(*(*known, logarithms))


def _launches(value: float, launches: Sequence[float | None] | None) -> tuple[float, ...]:
    known = tuple(one for one in launches or () if one is not None and 0 < one < math.inf)
    return known if launches and len(known) == len(launches) else (value,)


def _question(
    selection: Selection,
    metric: Metric,
    facts: Iterable[str],
    chosen: str = "true",
    beside: str = "",
) -> str:
    columns = MetricColumns.of(metric)
    launches, raw = _launch_values(metric, columns.value)
    return f"""
        SELECT {", ".join(facts)}, {columns.part} AS {PART}, {comparable_columns(metric)},
            {columns.value}::DOUBLE AS value, {launches} AS launches
        FROM {selection.relation} r{columns.beside} {beside}
        JOIN benchmark_results b ON b.result_id = r.result_id {raw}
        WHERE {columns.value} > 0 AND {metric.condition} AND ({chosen})
        ORDER BY r.cell_id, r.measured_at, r.result_id, {PART}
    """
