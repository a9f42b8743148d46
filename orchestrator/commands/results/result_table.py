"""Results as tables: shared facts in a heading, what varies and what was measured in columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from analysis.results.answer import order_results
from analysis.results.differing import (
    USUAL_SCENARIO,
    fact_field,
    fact_words,
    questions,
    shared_words,
    telling,
)
from analysis.results.metrics import SHOWN_NUMBERS
from analysis.results.paired import NO_PAIRS, PairedRatios
from analysis.results.row import ResultRow
from analysis.results.table import Field
from orchestrator.commands.options.table import TableOptions
from orchestrator.screen.lines import print_line
from orchestrator.screen.tables import print_lines
from runner.contract.axes import AXIS_NAMES

_KINDS = ("inference", "generation", "training", "startup", "server")


@dataclass(frozen=True)
class _Measured:
    """A column of what was measured."""

    heading: str
    value: Callable[[ResultRow], object]
    kinds: Sequence[str] = _KINDS
    essential: bool = False


def _percent(share: float | None) -> float | None:
    return None if share is None else share * 100


def _grade(row: ResultRow) -> str | None:
    """The grade; in its place the status of a cell that has none."""
    return row.grade if row.status == "ok" and row.grade else row.status


_TIMED = ("inference", "training", "startup", "server")
_NAMED = {metric.name: metric for metric in SHOWN_NUMBERS}
_YES: dict[bool | None, str | None] = {None: None, True: "yes", False: "no"}


def _number(name: str, kinds: Sequence[str] = _KINDS, *, essential: bool = False) -> _Measured:
    metric = _NAMED[name]
    return _Measured(
        metric.brief or metric.heading, lambda row: row.number(metric.column), kinds, essential
    )


def _precision(kinds: Sequence[str]) -> _Measured:
    return _Measured("± %", lambda row: _percent(row.latency_precision), kinds)


_FIRST = (
    _number("latency", _TIMED, essential=True),
    _precision(_TIMED),
    _number("ttft", essential=True),
    _number("tpot", essential=True),
    _number("tokens", essential=True),
    _number("throughput", ("inference", "training"), essential=True),
    _number("peak_qps", essential=True),
    *map(_number, ("peak_qps_low", "peak_qps_high", "achieved_qps", "memory")),
    _Measured("off by %", lambda row: None if row.precision == "fp32" else _percent(row.off)),
    _Measured("grade", _grade, essential=True),
    _Measured("proof", lambda row: row.proof),
    _Measured("correct", lambda row: _YES[row.correct]),
)
_LAST = (
    *(_number("latency", ("generation",)), _precision(("generation",))),
    *(_number("p90"), _number("p99")),
)
_PLACED = {column.heading for column in (*_FIRST, *_LAST)}
_COLUMNS = (
    *_FIRST,
    *(_number(name) for name, metric in _NAMED.items() if metric.brief not in {None, *_PLACED}),
    *_LAST,
)
_USUAL = {"proof": "proven", "correct": "yes"}
"""Columns that are left out where every row has this value."""
_RATES = ("mean samples/s", "mean tokens/s", "ms/token")
"""Columns that give way to ids, which take half of a terminal."""
TABLE_COLUMNS = tuple(dict.fromkeys(column.heading for column in _COLUMNS))
"""Headings of what may be measured; those that no row fills are left out."""


def print_result_tables(
    rows: Sequence[ResultRow], table: TableOptions, pairs: PairedRatios = NO_PAIRS
) -> None:
    """Print a table for each kind of measurement, under a line with what its rows share."""
    by_order = order_results(rows, table.sorted_by, pairs)
    ordered = sorted(by_order, key=lambda row: _KINDS.index(_kind(row)))
    for number, (kind, group) in enumerate(groupby(ordered, key=_kind)):
        if number:
            print_line()
        _print_kind(kind, list(group), table)


def varying_axes(rows: Sequence[ResultRow]) -> list[str]:
    """Of backend and runtime only one, if it tells both."""
    return telling([vars(row) for row in rows], AXIS_NAMES)


def question_axes(rows: Sequence[ResultRow]) -> list[str]:
    """The same without sizes that follow from a model."""
    return questions([vars(row) for row in rows], AXIS_NAMES)


def describe_axes(row: ResultRow, names: Sequence[str]) -> list[str]:
    """The values of these axes in words, without those that the row lacks."""
    values = {name: getattr(row, name) for name in names}
    return fact_words({name: value for name, value in values.items() if value != USUAL_SCENARIO})


def _kind(row: ResultRow) -> str:
    return "server" if row.scenario == "server" else row.mode


def _print_kind(kind: str, rows: Sequence[ResultRow], table: TableOptions) -> None:
    print_line(shared_words([vars(row) for row in rows], AXIS_NAMES))
    named = [] if table.ids else question_axes(rows)
    modelled = [] if table.ids else [name for name in varying_axes(rows) if name not in named]
    measured = [one for one in _COLUMNS if kind in one.kinds and _is_informative(one, rows)]
    columns = [
        *([Field("cell", essential=True)] if table.ids else []),
        *map(fact_field, named),
        *(_measured_field(column, rows, table) for column in measured),
        *(fact_field(name, essential=False) for name in modelled),
    ]
    lines = [
        (
            *([row.cell_id] if table.ids else []),
            *(getattr(row, name) for name in named),
            *(column.value(row) for column in measured),
            *(getattr(row, name) for name in modelled),
        )
        for row in rows
    ]
    print_lines(columns, lines, wide=table.wide)


def _measured_field(column: _Measured, rows: Sequence[ResultRow], table: TableOptions) -> Field:
    is_verdict = column.value is _grade and not any(row.grade for row in rows)
    essential = column.essential and not (table.ids and column.heading in _RATES)
    return Field("verdict" if is_verdict else column.heading, essential=essential)


def _is_informative(column: _Measured, rows: Sequence[ResultRow]) -> bool:
    """True if the column says something that not every row says by itself."""
    shown = {column.value(row) for row in rows if row.status == "ok" or column.essential}
    return bool(shown - {None}) and shown != {_USUAL.get(column.heading)}
