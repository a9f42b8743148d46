"""The answer of a run: which result is fastest among those that may be compared, and by how much.

Results answer one question if they do the same work: model, mode, scenario and sizes agree, but
for the batch size, which divides a query's time. Speed is the time of one item.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.results.item_time import is_per_sample, item_estimate_ms, item_ms
from analysis.results.row import ResultRow
from analysis.statistics.ratios import Estimate, shows_difference
from runner.contract.axes import ARRIVAL_AXES, SIZE_AXES
from runner.contract.record.verdict import Grade

_WORK = ("model", "mode", *(name for name in SIZE_AXES if name != "batch_size"), *ARRIVAL_AXES)
_WRONG, _UNPROVEN = "outputs do not agree with the reference", "the device is not proven"
LASTING = (_WRONG, _UNPROVEN)
"""Objections that another measurement would not lift."""


@dataclass(frozen=True)
class Contender:
    """A result that may be compared."""

    row: ResultRow
    grade: Grade
    item_ms: Estimate
    """Time of one item: less is faster."""
    query_ms: Estimate | None
    """Time of one query; None where a rate was sought."""


@dataclass(frozen=True)
class Lead:
    """The advance of one result before another."""

    behind: ResultRow
    ratio: Estimate
    """Time of the other by that of the first: times as fast."""


@dataclass(frozen=True)
class Ranking:
    """The first of several results, those that cannot be told from it, and the next."""

    first: ResultRow
    equals: tuple[Lead, ...]
    """Results whose difference from the first is not shown."""
    next: Lead | None
    """The fastest one whose difference is shown."""


@dataclass(frozen=True)
class Comparison:
    """The results of one question, compared as far as the measurements support it."""

    rows: tuple[ResultRow, ...]
    """All that were timed, the fastest first, those that cannot be compared last."""
    fastest: Ranking | None
    """By the time of an item; None with fewer than two that may be compared."""
    reference: Lead | None
    """Likewise, before fp32 by torch; None if it is the first or was not measured."""
    shortest: Ranking | None
    """By the time of a query, if batches differ and another result is first."""
    excluded: Mapping[str, tuple[ResultRow, ...]]
    """Results that cannot be compared, by reason."""

    @property
    def comparable(self) -> tuple[ResultRow, ...]:
        """The results that may be compared, the fastest first."""
        return self.rows[: len(self.rows) - sum(map(len, self.excluded.values()))]


def comparisons(rows: Sequence[ResultRow]) -> tuple[Comparison, ...]:
    """The comparison of each question of which something was timed, in the order of rows."""
    questions: dict[tuple[Any, ...], list[ResultRow]] = defaultdict(list)
    for row in rows:
        if row.latency_median_ms is not None:
            questions[_question(row)].append(row)
    return tuple(map(_compare, questions.values()))


def objection(row: ResultRow) -> str | None:
    """The reason why a timed result cannot be compared; None if it can."""
    if row.correct is False:
        return _WRONG
    if row.proof != "proven":
        return _UNPROVEN
    if row.grade is None or row.grade == "D":
        return f"grade {row.grade or 'missing'}"
    return None if item_estimate_ms(row) else "no interval"


def _question(row: ResultRow) -> tuple[Any, ...]:
    """The work that a result measures; only in samples per second do batches compare."""
    sizes = () if is_per_sample(row) else (row.batch_size,)
    return (*(getattr(row, name) for name in _WORK), *sizes)


def _contender(row: ResultRow) -> Contender | None:
    if objection(row) or row.grade is None or (item := item_estimate_ms(row)) is None:
        return None
    return Contender(row, row.grade, item, row.median_ms)


def _compare(rows: Sequence[ResultRow]) -> Comparison:
    contenders = sorted(filter(None, map(_contender, rows)), key=lambda one: one.item_ms.value)
    excluded: dict[str, list[ResultRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: item_ms(row) or math.inf):
        if reason := objection(row):
            excluded[reason].append(row)
    comparable = [one.row for one in contenders]
    last = (row for group in excluded.values() for row in group)
    fastest = _rank(contenders, _item) if len(contenders) > 1 else None
    return Comparison(
        rows=(*comparable, *last),
        fastest=fastest,
        reference=_reference_lead(contenders) if fastest else None,
        shortest=_shortest(contenders) if fastest else None,
        excluded={reason: tuple(group) for reason, group in excluded.items()},
    )


_Metric = Callable[[Contender], Estimate]


def _item(contender: Contender) -> Estimate:
    return contender.item_ms


def _rank(contenders: Sequence[Contender], metric: _Metric) -> Ranking:
    first, *others = sorted(contenders, key=lambda one: metric(one).value)
    leads = [(other, _lead(first, other, metric)) for other in others]
    shown = [
        lead for other, lead in leads if shows_difference(lead.ratio, max(first.grade, other.grade))
    ]
    equals = tuple(lead for _, lead in leads if lead not in shown)
    return Ranking(first.row, equals, shown[0] if shown else None)


def _lead(first: Contender, other: Contender, metric: _Metric) -> Lead:
    return Lead(other.row, metric(other).over(metric(first)))


def _reference_lead(contenders: Sequence[Contender]) -> Lead | None:
    """The lead before fp32, by torch and with the same batch and backend if there is such a one."""
    first, *others = contenders

    def distance(other: Contender) -> tuple[bool, ...]:
        row = other.row
        same = (row.batch_size == first.row.batch_size, row.backend == first.row.backend)
        return (row.runtime != "torch", *(not agrees for agrees in same))

    plain = [one for one in others if one.row.precision == "fp32"]
    if not plain or (first.row.precision, first.row.runtime) == ("fp32", "torch"):
        return None
    return _lead(first, min(plain, key=distance), _item)


def _shortest(contenders: Sequence[Contender]) -> Ranking | None:
    """The ranking by a query's time, where another result comes first, and for certain."""
    timed = {id(one): one.query_ms for one in contenders if one.query_ms}
    sizes = {one.row.batch_size for one in contenders}
    if len(timed) < len(contenders) or len(sizes) == 1:
        return None
    ranking = _rank(contenders, lambda one: timed[id(one)])
    first = contenders[0].row
    leads = {lead.behind.cell_id for lead in ranking.equals}
    return None if ranking.first is first or first.cell_id in leads else ranking
