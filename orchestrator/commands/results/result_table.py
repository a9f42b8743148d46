"""Results as tables: shared facts in a heading, what varies and what was measured in columns."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from analysis.results.order import order_results
from analysis.results.row import ResultRow
from orchestrator.commands.results.table_options import TableOptions
from orchestrator.screen.lines import print_line
from orchestrator.screen.tables import Column, print_table
from runner.contract.axes import AXIS_NAMES, SIZE_AXES, AxisName
from runner.contract.synonyms import axis_called, axis_words

_Value = TypeVar("_Value", str, int)
_KINDS = ("inference", "generation", "training", "startup", "server")


@dataclass(frozen=True)
class _Measured:
    """A column of what was measured."""

    heading: str
    value: Callable[[ResultRow], object]
    kinds: Sequence[str] = _KINDS
    """The kinds of table that have it."""
    essential: bool = False


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100


def _grade(row: ResultRow) -> str | None:
    """The grade; in its place the status of a cell that has none."""
    return row.grade if row.status == "ok" and row.grade else row.status


def _yes(value: bool | None) -> str | None:
    return None if value is None else "yes" if value else "no"


_TIMED = ("inference", "training", "startup", "server")
_COLUMNS = (
    _Measured("median ms", lambda row: row.latency_median_ms, _TIMED, essential=True),
    _Measured("± %", lambda row: _percent(row.latency_precision), _TIMED),
    _Measured("ttft ms", lambda row: row.time_to_first_token_median_ms, essential=True),
    _Measured("ms/token", lambda row: row.time_per_output_token_median_ms, essential=True),
    _Measured("tokens/s", lambda row: row.token_throughput, essential=True),
    _Measured("samples/s", lambda row: row.throughput, ("inference", "training"), essential=True),
    _Measured("peak q/s", lambda row: row.peak_qps, essential=True),
    _Measured("at least q/s", lambda row: row.peak_qps_low),
    _Measured("at most q/s", lambda row: row.peak_qps_high),
    _Measured("achieved q/s", lambda row: row.achieved_qps),
    _Measured("peak MB", lambda row: row.memory_mb),
    _Measured(
        "off by %",
        lambda row: None if row.precision == "fp32" else _percent(row.off),
    ),
    _Measured("grade", _grade, essential=True),
    _Measured("proof", lambda row: row.proof),
    _Measured("correct", lambda row: _yes(row.correct)),
    _Measured("forward ms", lambda row: row.forward_median_ms),
    _Measured("backward ms", lambda row: row.backward_median_ms),
    _Measured("optimizer ms", lambda row: row.optimizer_median_ms),
    _Measured("cold ms", lambda row: row.startup_cold_median_ms),
    _Measured("import ms", lambda row: row.startup_warm_import_median_ms),
    _Measured("build ms", lambda row: row.startup_warm_instantiate_median_ms),
    _Measured("weights ms", lambda row: row.startup_warm_weights_median_ms),
    _Measured("first query ms", lambda row: row.startup_warm_first_query_median_ms),
    _Measured("models/s", lambda row: row.concurrent_models_per_second),
    _Measured("median ms", lambda row: row.latency_median_ms, ("generation",)),
    _Measured("± %", lambda row: _percent(row.latency_precision), ("generation",)),
    _Measured("p90 ms", lambda row: row.latency_p90_ms),
    _Measured("p99 ms", lambda row: row.latency_p99_ms),
)
_USUAL = {"proof": "proven", "correct": "yes"}
"""Columns that are left out where every row has this value."""
_RATES = ("samples/s", "tokens/s", "ms/token")
"""Columns that give way to ids, which take half of a terminal."""
TABLE_COLUMNS = tuple(dict.fromkeys(column.heading for column in _COLUMNS))
"""Headings of what may be measured; those that no row fills are left out."""


def print_result_tables(rows: Sequence[ResultRow], table: TableOptions) -> None:
    """Print a table for each kind of measurement, under a line with what its rows share."""
    ordered = sorted(order_results(rows, table.sort), key=lambda row: _KINDS.index(_kind(row)))
    for number, (kind, group) in enumerate(groupby(ordered, key=_kind)):
        if number:
            print_line()
        _print_kind(kind, list(group), table)


def varying_axes(rows: Sequence[ResultRow]) -> list[AxisName]:
    """The axes in which results differ; of backend and runtime one, if it tells both."""
    varying = [name for name in AXIS_NAMES if len({getattr(row, name) for row in rows}) > 1]
    if {"backend", "runtime"} <= {*varying}:
        pairs = {(row.backend, row.runtime) for row in rows}
        for spare, teller in (("backend", 1), ("runtime", 0)):
            if len({pair[teller] for pair in pairs}) == len(pairs):
                return [name for name in varying if name != spare]
    return varying


def describe_axes(row: ResultRow, names: Sequence[AxisName]) -> list[str]:
    """The values of these axes in words, without those that the row lacks."""
    values = {name: getattr(row, name) for name in names}
    return [
        axis_words(name, value)
        for name, value in values.items()
        if value is not None and value != "single_stream"
    ]


def _kind(row: ResultRow) -> str:
    return "server" if row.scenario == "server" else row.mode


def _print_kind(kind: str, rows: Sequence[ResultRow], table: TableOptions) -> None:
    varying = varying_axes(rows)
    print_line(_heading(rows))
    named = question_axes(rows)
    modelled = [name for name in varying if name not in named]
    columns: list[Column] = []
    values: list[Sequence[object]] = []

    def add(column: Column, of: Callable[[ResultRow], object]) -> None:
        columns.append(column)
        values.append([of(row) for row in rows])

    if table.ids:
        add(Column("cell", essential=True), lambda row: row.cell_id)
    else:
        for name in named:
            add(_axis_column(name, essential=True), lambda row, name=name: getattr(row, name))  # type: ignore[misc]
    for column in _COLUMNS:
        if kind in column.kinds and _is_informative(column, rows):
            essential = column.essential and not (table.ids and column.heading in _RATES)
            add(Column(_heading_of(column, rows), essential=essential), column.value)
    if not table.ids:
        for name in modelled:
            add(_axis_column(name), lambda row, name=name: getattr(row, name))  # type: ignore[misc]
    print_table(columns, list(zip(*values, strict=True)), wide=table.wide)


def _heading_of(column: _Measured, rows: Sequence[ResultRow]) -> str:
    is_verdict = column.value is _grade and not any(row.grade for row in rows)
    return "verdict" if is_verdict else column.heading


def _axis_column(name: AxisName, *, essential: bool = False) -> Column:
    heading = axis_called(name).heading or name
    return Column(heading, essential=essential, wraps=name == "model")


def _is_informative(column: _Measured, rows: Sequence[ResultRow]) -> bool:
    """True if the column says something that not every row says by itself."""
    shown = {column.value(row) for row in rows if row.status == "ok" or column.essential}
    return bool(shown - {None}) and shown != {_USUAL.get(column.heading)}


def question_axes(rows: Sequence[ResultRow], known: Collection[AxisName] = ()) -> list[AxisName]:
    """The axes that tell results apart, but for those known and sizes that follow from a model."""
    varying = (name for name in varying_axes(rows) if name not in known)
    return [name for name in varying if not _follows_from_model(rows, name)]


def _follows_from_model(rows: Sequence[ResultRow], name: AxisName) -> bool:
    """True if a size differs between models alone, as tokens and pixels do."""
    by_model = {(row.model, getattr(row, name)) for row in rows}
    return name in SIZE_AXES and len(by_model) == len({row.model for row in rows})


def _heading(rows: Sequence[ResultRow]) -> str:
    """The facts that all rows share: the work, the machine, the launcher."""
    shared = [name for name in AXIS_NAMES if len({getattr(row, name) for row in rows}) == 1]
    if rows[0].backend == rows[0].runtime and "runtime" in shared:
        shared = [name for name in shared if name != "backend"]
    cores = _shared(row.cores for row in rows)
    machine = (_shared(row.hardware for row in rows), f"{cores} cores" if cores else None)
    facts = (
        ", ".join(describe_axes(rows[0], shared)),
        ", ".join(filter(None, machine)),
        _shared(row.launcher for row in rows),
    )
    return " · ".join(filter(None, facts))


def _shared(values: Iterable[_Value | None]) -> _Value | None:
    """The value of all rows that have one; None where they differ."""
    known = {value for value in values if value is not None}
    return known.pop() if len(known) == 1 else None
