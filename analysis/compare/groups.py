"""Groups of results that may be compared, and the one that stands for each value in a group."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.compare.values import MACHINE_KEY, PART, MetricValue
from analysis.results.comparability import COMPARABLE, SCOPE
from analysis.results.metrics import Metric
from analysis.results.series import COMPARED, agreeing_columns

COLUMN_OF: Mapping[str, str] = {"run": "run_id"}
"""The column of what is compared, where it is called otherwise."""
_FIRST = ("source", "mode", "scenario", "model", "backend", "runtime", "precision")
_ORDER = (*_FIRST, *(name for name in COMPARED if name not in _FIRST))


@dataclass(frozen=True)
class Group:
    """Results that agree in all but what they are compared by."""

    shared: Mapping[str, Any]
    """The columns in which they agree."""
    members: Mapping[Any, MetricValue]
    """The result of each value: the best one where several have it."""
    passed_over: int
    """Results in whose place a better one stands, e.g. of another runtime."""

    def with_values(self, completed: Callable[[MetricValue], MetricValue]) -> "Group":
        """The same group of other values of its results."""
        members = {name: completed(value) for name, value in self.members.items()}
        return replace(self, members=members)


def groups_of(
    values: Iterable[MetricValue],
    by: str,
    metric: Metric,
    *,
    across_hosts: bool = False,
    across_scopes: bool = False,
) -> tuple[Group, ...]:
    """The groups with at least two values, by mode, model and sizes.

    Args:
        values: results with the metric's value.
        by: a key of `DETERMINED`.
        metric: the metric.
        across_hosts: True if results of two machines may be compared.
        across_scopes: True if joules may hold different things, to count such results.
    """
    comparable = [name for name in COMPARABLE if name != SCOPE or not across_scopes]
    columns = (*agreeing_columns(by, across_hosts=across_hosts), PART, *comparable)
    by_key: dict[tuple[Any, ...], list[MetricValue]] = defaultdict(list)
    for value in values:
        if value.facts[_column(by)] is not None:
            by_key[tuple(value.facts[_agreement(name)] for name in columns)].append(value)
    groups = (_group(columns, members, by, metric) for members in by_key.values())
    return tuple(sorted((group for group in groups if len(group.members) > 1), key=_order))


def _order(group: Group) -> list[tuple[bool, Any]]:
    """Modes and models together, sizes by their numbers; null before all else."""
    values = [group.shared.get(name) for name in _ORDER]
    return [(value is not None, 0 if value is None else value) for value in values]


def _group(
    columns: Sequence[str], results: Sequence[MetricValue], by: str, metric: Metric
) -> Group:
    by_value: dict[Any, list[MetricValue]] = defaultdict(list)
    for value in results:
        by_value[value.facts[_column(by)]].append(value)
    members = {name: _best(several, metric) for name, several in by_value.items()}
    shared = {name: results[0].facts[name] for name in columns}
    return Group(shared, members, len(results) - len(members))


def _best(values: Sequence[MetricValue], metric: Metric) -> MetricValue:
    """The best number, though never one that must not be quoted before one that may be."""
    sign = -1 if metric.more_is_better else 1
    return min(values, key=lambda one: (bool(one.marks), one.grade == "D", sign * one.value))


def _agreement(name: str) -> str:
    """The fact in which results agree for a column: files may name no host."""
    return MACHINE_KEY if name == "host" else name


def _column(by: str) -> str:
    return COLUMN_OF.get(by, by)
