"""Launches of results: what each fresh process said of a metric, now and in earlier runs."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any, TypeAlias

from analysis.compare.values import ASKED_THREADS_COLUMN, PART, ResultValue
from analysis.regress.launch_values import is_as_noisy_as_latency, launch_values
from analysis.results.comparability import COMPARABLE, comparable_columns
from analysis.results.conditions import HARDWARE_WORDS
from analysis.results.metrics import Metric
from analysis.results.selection import Selection
from analysis.results.series import IN_HISTORY, SERIES
from analysis.results.source import ArrowSource, text
from runner.contract.axes import AXIS_NAMES
from runner.contract.record.verdict import Grade

SeriesKey: TypeAlias = tuple[object, ...]
"""The facts that results of one series share: the cell's id first."""
_PAST = ("result_id", "run_id", "measured_at", "git_commit", "grade", "hostname")
_FACTS = (
    *("result_id", "run_id", "measured_at", "git_commit", "grade", "hostname"),
    *("hardware", "cores", "profile", "family", "proof", "correct", "image_digest"),
    *(name for name in AXIS_NAMES if name not in SERIES),
)
_OF_RESULTS = (
    *("process_spread", "process_spread_processes", "process_spread_degrees"),
    *("process_spread_queue", "interleaved_with"),
)
"""Facts that exports lack."""
_HARDWARE = "LEFT JOIN hardware_info h ON h.hardware_id = r.hardware_id"
_KEY = ("cell_id", *(name for name in SERIES if name != "cell_id"), PART, *COMPARABLE)
LEAST_HISTORY = 10
"""Launches of a series from which on its steps are sought."""
_AT_ONCE = 5_000
"""Cells that are asked for in one question."""


@dataclass(frozen=True)
class LaunchedResult(ResultValue):
    """One result's value of a metric, and those of the launches behind it."""

    launches: tuple[float, ...]
    """The value of each launch, in their order; that of the result where it is all there is."""
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

    def key(self, *, per_host: bool) -> SeriesKey:
        """The facts that it shares with the results of its series.

        Args:
            per_host: True if machines with different names have series of their own.
        """
        return tuple(self.facts[name] for name in _key_columns(per_host=per_host))


@dataclass(frozen=True)
class PastResult:
    """The result of an earlier run in a series."""

    result_id: str
    run_id: str
    measured_at: datetime
    git_commit: str | None
    grade: Grade | None
    logarithms: tuple[float, ...]
    """The logarithms of its launches' values."""


def launched_results(
    source: ArrowSource, selection: Selection, metric: Metric
) -> tuple[LaunchedResult, ...]:
    """The selected results that have a value above 0, by cell id and time."""
    columns = dict.fromkeys((*_FACTS, *SERIES))
    facts = ", ".join(
        (
            *(f"r.{name}" for name in columns),
            *(f"b.{name}" for name in _OF_RESULTS),
            *(f"h.{name}" for name in HARDWARE_WORDS),
            ASKED_THREADS_COLUMN,
        )
    )
    rows = source.arrow(_question(selection, metric, facts, beside=_HARDWARE)).to_pylist()
    return tuple(_launched_result(row, metric) for row in rows)


def histories(
    source: ArrowSource,
    selection: Selection,
    metric: Metric,
    wanted: Iterable[LaunchedResult],
    *,
    per_host: bool,
) -> dict[SeriesKey, list[PastResult]]:
    """The selected results of the series of these results, in the order of time.

    Args:
        source: the database.
        selection: the results, older ones included.
        metric: the metric.
        wanted: results of these series.
        per_host: True if machines with different names have series of their own.
    """
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
    """The launches of all selected results of these cells, by result id and part."""
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
    """Results of these cells that count, some thousand cells at once."""
    names, selected = sorted(cells), ", ".join(f"r.{name}" for name in columns)
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
    facts = zip(*(table[name] for name in _PAST if name != "hostname"), strict=True)
    values = zip(table["value"], table["launches"], strict=True)
    for series, known, (value, launches) in zip(keys, facts, values, strict=True):
        logarithms = tuple(map(math.log, _launches(value, launches)))
        yield series, PastResult(*(*known, logarithms))


def _launched_result(row: dict[str, Any], metric: Metric) -> LaunchedResult:
    value, launches = row.pop("value"), row.pop("launches")
    return LaunchedResult(row, value, _launches(value, launches), is_as_noisy_as_latency(metric))


def _launches(value: float, launches: Sequence[float | None] | None) -> tuple[float, ...]:
    known = tuple(one for one in launches or () if one is not None and 0 < one < math.inf)
    return known if launches and len(known) == len(launches) else (value,)


def _question(
    selection: Selection, metric: Metric, columns: str, chosen: str = "true", beside: str = ""
) -> str:
    own = metric.view == "benchmark_performance"
    view = "" if own else f" JOIN {metric.view} v USING (result_id)"
    value = f"{'r' if own else 'v'}.{metric.column}"
    part = f"v.{PART}" if metric.view == "efficiency" else "NULL"
    launches = launch_values(metric, value)
    return f"""
        SELECT {columns}, {part} AS {PART}, {comparable_columns(metric)},
            {value}::DOUBLE AS value, {launches.expression} AS launches
        FROM {selection.relation} r{view} {beside}
        JOIN benchmark_results b ON b.result_id = r.result_id {launches.join}
        WHERE {value} > 0 AND {metric.condition} AND ({chosen})
        ORDER BY r.cell_id, r.measured_at, r.result_id, {PART}
    """
