"""Comparison by one property: ratios of a metric against a baseline, group by group."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from analysis.compare.circumstances import circumstances_of, setting_changes
from analysis.compare.values import (
    MACHINE_KEY,
    PART,
    MetricValue,
    SelectedValues,
    selected_values,
    with_intervals,
)
from analysis.results.metrics import Metric
from analysis.results.selection import Selection
from analysis.results.series import COMPARABLE, COMPARED, SCOPE, agreeing_columns
from analysis.results.source import ArrowSource
from analysis.statistics.paired import PairedRatio
from analysis.statistics.ratios import Estimate, RatioOutcome, deciding_lines
from runner.contract.errors import UsageError, refuse_unknown

BASELINES: Mapping[str, Any] = {
    "backend": "cpu",
    "runtime": "torch",
    "precision": "fp32",
    "batch_size": 1,
}
"""The values that others are compared with where nobody names one and a group has them."""
_SCALES: Mapping[str, tuple[str, ...]] = {
    "batch_size": ("throughput", "tokens"),
    "sequence_length": ("throughput",),
}
"""Sizes of which more work is done at once, each with the metrics that have an efficiency."""
_FIRST = ("source", "mode", "scenario", "model", "backend", "runtime", "precision")
_ORDER = (*_FIRST, *(name for name in COMPARED if name not in _FIRST))


@dataclass(frozen=True)
class Group:
    """Results that agree in all but what they are compared by."""

    shared: Mapping[str, Any]
    members: Mapping[Any, MetricValue]
    """The result of each value: the best one where several have it."""
    passed_over: int
    """Results in whose place a better one stands, e.g. of another runtime."""


def groups_of(
    values: Iterable[MetricValue],
    by: str,
    metric: Metric,
    *,
    across_hosts: bool = False,
    across_scopes: bool = False,
) -> tuple[Group, ...]:
    """The groups by a key of `DETERMINED` with at least two values, by mode, model and sizes."""
    comparable = [name for name in COMPARABLE if name != SCOPE or not across_scopes]
    columns = (*agreeing_columns(by, across_hosts=across_hosts), PART, *comparable)
    # files may name no host
    facts = [MACHINE_KEY if name == "host" else name for name in columns]
    compared = "run_id" if by == "run" else by
    by_key: dict[tuple[Any, ...], dict[Any, list[MetricValue]]] = defaultdict(dict)
    for value in values:
        if (name := value.facts[compared]) is not None:
            members = by_key[tuple(value.facts[fact] for fact in facts)]
            members.setdefault(name, []).append(value)
    groups = (_group(columns, members, metric) for members in by_key.values() if len(members) > 1)
    return tuple(sorted(groups, key=_group_order))


def _group_order(group: Group) -> list[tuple[bool, Any]]:
    """Modes and models together, sizes by their numbers; null before all else."""
    values = [group.shared.get(name) for name in _ORDER]
    return [(value is not None, 0 if value is None else value) for value in values]


def _group(
    columns: Sequence[str], values: Mapping[Any, Sequence[MetricValue]], metric: Metric
) -> Group:
    """The best result of each value; one that must not be quoted only where there is no other."""
    sign = -1 if metric.more_is_better else 1
    members = {
        name: min(several, key=lambda one: (bool(one.marks), one.grade == "D", sign * one.value))
        for name, several in values.items()
    }
    first = next(iter(values.values()))[0]
    shared = {name: first.facts[name] for name in columns}
    return Group(shared, members, sum(map(len, values.values())) - len(members))


@dataclass(frozen=True)
class ComparedValue:
    """One result beside the baseline of its group."""

    name: Any
    """Its value of what the comparison is by, e.g. `openvino`."""
    result: MetricValue
    ratio: float
    interval: Estimate | None
    """The ratio with its 95 % interval; None where a record holds no interval."""
    speedup: float
    """The ratio, or its inverse where less is better: times as good as the baseline."""
    outcome: RatioOutcome | None
    """None for the baseline."""
    scaling_efficiency: float | None
    """Throughput by that of the baseline at the same throughput per item, 1 for perfect scaling."""
    more_is_better: bool
    baseline: MetricValue
    pair: PairedRatio | None = None
    """That ratio by rounds side by side with the baseline; None where there were none."""
    settings: tuple[str, ...] = ()
    """Settings that differ from the baseline's, as `turbo off, now on`."""

    @property
    def speedup_interval(self) -> Estimate | None:
        """The speed-up with its interval, which is that of the ratio or of its inverse."""
        ratio = self.interval
        return ratio if ratio is None or self.more_is_better else ratio.inverse


@dataclass(frozen=True)
class ComparedGroup:
    """The results of one question."""

    shared: Mapping[str, Any]
    baseline: Any
    rows: tuple[ComparedValue, ...]
    passed_over: int


@dataclass(frozen=True)
class LeftOut:
    """Results that take no part in a comparison, by reason."""

    without_value: int = 0
    unquotable: int = 0
    on_other_hosts: int = 0
    """They could be compared with results of another machine."""
    of_other_scopes: int = 0


@dataclass(frozen=True)
class ComparisonBy:
    """All comparisons by one property."""

    by: str
    metric: Metric
    groups: tuple[ComparedGroup, ...]
    alone: int
    """Results that have no other one to be compared with, or none with the baseline's value."""
    left_out: LeftOut = LeftOut()

    @property
    def passed_over(self) -> int:
        return sum(group.passed_over for group in self.groups)

    @property
    def baselines(self) -> tuple[Any, ...]:
        return tuple(dict.fromkeys(group.baseline for group in self.groups))

    @property
    def rows(self) -> list[ComparedValue]:
        return [row for group in self.groups for row in group.rows]

    def deciding_lines(self) -> Iterator[str]:
        """Sentences that name what would decide; the newest result of the worst grade tells why."""
        facts = [row.result.facts for row in self.rows]
        run = max(((one["grade"] or "", str(one["run_id"])) for one in facts), default=("", ""))[1]
        return deciding_lines((row.outcome for row in self.rows), run)


def compare_selected(
    source: ArrowSource,
    selection: Selection,
    by: str,
    metric: Metric,
    *,
    baseline: str | None = None,
    across_hosts: bool = False,
) -> ComparisonBy:
    """Compare selected results by one property, with the intervals that their durations give."""
    metric = replace(metric, threshold=selection.threshold)
    selected = selected_values(source, selection, metric)
    groups = groups_of(selected.values, by, metric, across_hosts=across_hosts)
    names = list(dict.fromkeys(str(name) for group in groups for name in group.members))
    if baseline is not None and names and baseline not in names:
        raise UsageError(
            f"--baseline: {refuse_unknown(baseline, names)}",
            hint=f"it is a value of {by} among the results that are compared",
        )
    members = [value for group in groups for value in group.members.values()]
    completed = with_intervals(source, members, metric)
    known = circumstances_of(source, sorted({one.result_id for one in members}))

    def with_settings(group: ComparedGroup) -> ComparedGroup:
        facts = [known[row.result.result_id] for row in group.rows]
        rows = (
            replace(row, settings=setting_changes(facts[0], own))
            for row, own in zip(group.rows, facts, strict=True)
        )
        return replace(group, rows=tuple(rows))

    whole = [
        replace(group, members={name: completed[one.key] for name, one in group.members.items()})
        for group in groups
    ]
    comparison = _comparison(whole, by, metric, baseline, len(selected.values))
    return replace(
        comparison,
        groups=tuple(map(with_settings, comparison.groups)),
        left_out=_left_out(selected, groups, by, metric, across_hosts=across_hosts),
    )


def _left_out(
    selected: SelectedValues,
    groups: Sequence[Group],
    by: str,
    metric: Metric,
    *,
    across_hosts: bool,
) -> LeftOut:
    of_all_hosts = of_all_scopes = groups
    if not across_hosts:
        of_all_hosts = groups_of(selected.values, by, metric, across_hosts=True)
    if metric.is_of_energy:
        across = {"across_hosts": across_hosts, "across_scopes": True}
        of_all_scopes = groups_of(selected.values, by, metric, **across)
    compared, with_hosts, with_scopes = (
        sum(len(group.members) + group.passed_over for group in several)
        for several in (groups, of_all_hosts, of_all_scopes)
    )
    return LeftOut(
        selected.without, selected.unquotable, with_hosts - compared, with_scopes - compared
    )


def compare_by(
    values: Sequence[MetricValue], by: str, metric: Metric, *, baseline: str | None = None
) -> ComparisonBy:
    """Compare results that differ in one property; with the value of `BASELINES` for None."""
    return _comparison(groups_of(values, by, metric), by, metric, baseline, len(values))


def _comparison(
    groups: Sequence[Group], by: str, metric: Metric, baseline: str | None, count: int
) -> ComparisonBy:
    compared = tuple(
        _compared(group, name, by, metric)
        for group in groups
        if (name := _baseline_of(group, by, metric, baseline)) is not None
    )
    used = sum(len(group.rows) + group.passed_over for group in compared)
    return ComparisonBy(by, metric, compared, count - used)


def _baseline_of(group: Group, by: str, metric: Metric, wanted: str | None) -> Any:
    if wanted is not None:
        return next((name for name in group.members if str(name) == wanted), None)
    usual = BASELINES.get(by)
    if usual in group.members:
        return usual
    if by == "run":
        return min(group.members, key=lambda name: _moment(group.members[name]))
    if all(isinstance(name, int | float) for name in group.members):
        return min(group.members)
    slowest = min if metric.more_is_better else max
    return slowest(group.members, key=lambda name: group.members[name].value)


def _compared(group: Group, baseline: Any, by: str, metric: Metric) -> ComparedGroup:
    """The baseline first; sizes and runs in their order, all else the best first."""
    first = group.members[baseline]

    def order(row: ComparedValue) -> tuple[Any, ...]:
        if by == "run":
            rank: Any = _moment(row.result)
        else:
            rank = row.name if isinstance(row.name, int | float) else -row.speedup
        return row.result is not first, rank

    rows = [beside(name, one, first, by, metric) for name, one in group.members.items()]
    return ComparedGroup(group.shared, baseline, tuple(sorted(rows, key=order)), group.passed_over)


def _moment(value: MetricValue) -> datetime:
    """Results that tell no time come first."""
    return value.facts["measured_at"] or datetime.min.replace(tzinfo=UTC)


def beside(
    name: Any, result: MetricValue, first: MetricValue, by: str, metric: Metric
) -> ComparedValue:
    interval = None if result is first else result.ratio_to(first)
    ratio = interval.value if interval else result.value / first.value
    outcome = None if result is first else result.outcome_beside(first, metric)
    more = metric.more_is_better
    scaling = _scaling(result, first, by, metric)
    speedup, pair = ratio if more else 1 / ratio, result.pair_with(first)
    return ComparedValue(
        name, result, ratio, interval, speedup, outcome, scaling, more, first, pair
    )


def _scaling(result: MetricValue, first: MetricValue, by: str, metric: Metric) -> float | None:
    """Items per second by those of the baseline, by how much larger the size is."""
    if metric.name not in _SCALES.get(by, ()):
        return None
    larger = result.facts[by] / first.facts[by]
    ratio = result.value / first.value
    return float(ratio / larger if by == "batch_size" else ratio * larger)
