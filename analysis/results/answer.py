"""The answer of a run: which result is fastest among those that may be compared, and by how much.

Results answer one question if they do the same work: model, mode, scenario and sizes agree, but
for the batch size, which divides a query's time. Speed is the time of one item.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.results.paired import NO_PAIRS, PairedRatios
from analysis.results.row import ResultRow, is_per_sample, item_estimate_ms, item_ms
from analysis.statistics.paired import PairedRatio
from analysis.statistics.ratios import Estimate, RatioOutcome, ratio_outcome
from runner.contract.axes import ARRIVAL_AXES, SIZE_AXES
from runner.contract.record.verdict import Grade

_WORK = ("mode", *(name for name in SIZE_AXES if name != "batch_size"), *ARRIVAL_AXES)
_WRONG, _UNPROVEN = "outputs do not agree with the reference", "the device is not proven"


@dataclass(frozen=True)
class _Contender:
    """A result that may be compared."""

    row: ResultRow
    grade: Grade
    item_ms: Estimate
    query_ms: Estimate | None


@dataclass(frozen=True)
class Lead:
    """The advance of one result before another."""

    behind: ResultRow
    ratio: Estimate
    """Time of the other by that of the first: times as fast."""
    outcome: RatioOutcome
    """That of the first beside the other."""


@dataclass(frozen=True)
class Ranking:
    """The first of several results, those that may be as fast, and the next."""

    first: ResultRow
    equals: tuple[Lead, ...]
    """Results that are equal to the first within the threshold."""
    undecided: tuple[Lead, ...]
    next: Lead | None
    """The fastest one whose difference is shown."""


@dataclass(frozen=True)
class Comparison:
    """The results of one question, compared as far as the measurements support it."""

    rows: tuple[ResultRow, ...]
    """All that were timed, the fastest first, those that cannot be compared last."""
    fastest: Ranking | None
    """None with fewer than two that may be compared."""
    reference: Lead | None
    """Likewise, before fp32 by torch; None if it is the first or was not measured."""
    shortest: Ranking | None
    """By the time of a query, if batches differ and another result is first."""
    excluded: Mapping[str, tuple[ResultRow, ...]]
    """Those with an objection that another measurement would not lift."""
    undecided: Mapping[str, tuple[ResultRow, ...]]
    """Those whose numbers decide nothing beside any other."""

    @property
    def comparable(self) -> tuple[ResultRow, ...]:
        others = (*self.excluded.values(), *self.undecided.values())
        return self.rows[: len(self.rows) - sum(map(len, others))]


def comparisons(
    rows: Sequence[ResultRow], pairs: PairedRatios = NO_PAIRS
) -> tuple[Comparison, ...]:
    """The comparison of each question of which something was timed, in the order of rows.

    `pairs` are the ratios of cells that were measured side by side, by both ids. A question is
    about one model, or about all that were measured so.
    """
    subjects = _subjects(rows, pairs)
    questions: dict[tuple[Any, ...], list[ResultRow]] = defaultdict(list)
    for row in rows:
        if row.latency_median_ms is not None:
            # only in samples per second do batches compare
            sizes = () if is_per_sample(row) else (row.batch_size,)
            work = (getattr(row, name) for name in _WORK)
            questions[(subjects[row.model], *work, *sizes)].append(row)
    return tuple(_compare(several, pairs) for several in questions.values())


def _subjects(rows: Sequence[ResultRow], pairs: PairedRatios) -> Mapping[str, str]:
    """For each model the first, by name, of those that were measured side by side with it."""
    models = {row.cell_id: row.model for row in rows}
    subjects = {model: model for model in models.values()}
    for one, other in pairs:
        if one in models and other in models:
            subjects[models[one]] = min(subjects[models[one]], models[other])
    return subjects


def _compare(rows: Sequence[ResultRow], pairs: PairedRatios) -> Comparison:
    paired = {name for names in pairs for name in names}
    contenders: list[_Contender] = []
    excluded: dict[str, list[ResultRow]] = defaultdict(list)
    undecided: dict[str, list[ResultRow]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: item_ms(row) or math.inf):
        grade, item = row.grade, item_estimate_ms(row)
        if row.correct is False:
            excluded[_WRONG].append(row)
        elif row.proof != "proven":
            excluded[_UNPROVEN].append(row)
        elif grade is None or (grade == "D" and row.cell_id not in paired):
            undecided["grade_d"].append(row)
        elif item is None:
            undecided["no_interval"].append(row)
        else:
            contenders.append(_Contender(row, grade, item, row.median_ms))
    first = _first(contenders, _item, pairs)
    known = [one for one in contenders if _is_comparable(first, one, pairs)]
    undecided["grade_d"] += [one.row for one in contenders if one not in known]
    contenders = known
    last = (row for group in (*undecided.values(), *excluded.values()) for row in group)
    is_compared = len(contenders) > 1
    return Comparison(
        rows=(*(one.row for one in contenders), *last),
        fastest=_rank(contenders, _item, pairs) if is_compared else None,
        reference=_reference_lead(contenders, pairs) if is_compared else None,
        shortest=_shortest(contenders, undecided["grade_d"], pairs) if is_compared else None,
        excluded={reason: tuple(group) for reason, group in excluded.items()},
        undecided={code: tuple(group) for code, group in undecided.items() if group},
    )


_Time = Callable[[_Contender], Estimate]


def _item(contender: _Contender) -> Estimate:
    return contender.item_ms


def _first(contenders: Sequence[_Contender], time: _Time, pairs: PairedRatios) -> _Contender | None:
    """The fastest: that of the shortest time of which none is shown to be behind another."""
    ordered = sorted(contenders, key=lambda one: time(one).value)

    def is_behind(one: _Contender) -> bool:
        beside = (_pair(one, other, pairs) for other in ordered)
        return any(pair is not None and pair.interval.high < 1 for pair in beside)

    return next((one for one in ordered if not is_behind(one)), next(iter(ordered), None))


def _is_comparable(first: _Contender | None, other: _Contender, pairs: PairedRatios) -> bool:
    """True unless its times alone, which decide nothing, would stand beside the first's."""
    return other.grade != "D" or first in (None, other) or _pair(first, other, pairs) is not None


def _rank(contenders: Sequence[_Contender], time: _Time, pairs: PairedRatios) -> Ranking:
    first = _first(contenders, time, pairs)
    assert first is not None
    others = (one for one in contenders if one is not first and _is_comparable(first, one, pairs))
    ordered = sorted(others, key=lambda one: time(one).value)
    leads = [_lead(first, other, time, pairs) for other in ordered]
    return Ranking(
        first.row,
        tuple(lead for lead in leads if lead.outcome.kind == "equal"),
        tuple(lead for lead in leads if lead.outcome.because),
        next((lead for lead in leads if lead.outcome.is_shown), None),
    )


def _pair(first: _Contender | None, other: _Contender, pairs: PairedRatios) -> PairedRatio | None:
    """The time of the other by that of the first, side by side; None where they were apart."""
    if first is None:
        return None
    return pairs.get((other.row.cell_id, first.row.cell_id))


def _lead(first: _Contender, other: _Contender, time: _Time, pairs: PairedRatios) -> Lead:
    if pair := _pair(first, other, pairs):
        return Lead(other.row, pair.interval, pair.outcome())
    ratio, grade = time(other).over(time(first)), max(first.grade, other.grade)
    outcome = ratio_outcome(ratio, grade, launches=(first.row.rounds, other.row.rounds))
    return Lead(other.row, ratio, outcome)


def _reference_lead(contenders: Sequence[_Contender], pairs: PairedRatios) -> Lead | None:
    """The lead before fp32, by torch and with the same batch and backend if there is such a one."""
    first, *others = contenders

    def distance(other: _Contender) -> tuple[bool, ...]:
        row = other.row
        same = (row.batch_size == first.row.batch_size, row.backend == first.row.backend)
        return (row.runtime != "torch", *(not agrees for agrees in same))

    own = [one for one in others if one.row.model == first.row.model]
    plain = [one for one in own if one.row.precision == "fp32"]
    if not plain or (first.row.precision, first.row.runtime) == ("fp32", "torch"):
        return None
    return _lead(first, min(plain, key=distance), _item, pairs)


def _shortest(
    contenders: Sequence[_Contender], unknown: Sequence[ResultRow], pairs: PairedRatios
) -> Ranking | None:
    """The ranking by a query's time, where another result comes first, and for certain.

    There is none if one of those that decide nothing may have a shorter one.
    """
    timed = {id(one): one.query_ms for one in contenders if one.query_ms}
    sizes = {one.row.batch_size for one in contenders}
    if len(timed) < len(contenders) or len(sizes) == 1:
        return None
    ranking = _rank(contenders, lambda one: timed[id(one)], pairs)
    first = contenders[0].row
    leads = {lead.behind.cell_id for lead in (*ranking.equals, *ranking.undecided)}
    if ranking.first is first or first.cell_id in leads:
        return None
    least_ms = ranking.first.latency_median_ms or math.inf
    return None if any((row.latency_median_ms or 0) < least_ms for row in unknown) else ranking


def order_results(
    rows: Sequence[ResultRow], field: str | None = None, pairs: PairedRatios = NO_PAIRS
) -> list[ResultRow]:
    """The results by this field of theirs, the least first and those without it last.

    Without a field the fastest is first, question by question.
    """
    fastest = [row for comparison in comparisons(rows, pairs) for row in comparison.rows]
    fastest += [row for row in rows if row.latency_median_ms is None]
    if field is None:
        return fastest
    values = [(getattr(row, field), row) for row in fastest]
    known = sorted((pair for pair in values if pair[0] is not None), key=lambda pair: pair[0])
    return [row for _, row in known] + [row for value, row in values if value is None]
