"""Groups of results that may be compared, and the one that stands for each value in a group."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.compare.values import MetricValue
from analysis.results.metrics import Metric
from analysis.results.series import agreeing_columns

COLUMN_OF: Mapping[str, str] = {"run": "run_id"}
"""The column of what is compared, where it is called otherwise."""


@dataclass(frozen=True)
class Group:
    """Results that agree in all but what they are compared by."""

    shared: Mapping[str, Any]
    """The columns in which they agree."""
    members: Mapping[Any, MetricValue]
    """The result of each value: the best one where several have it."""
    passed_over: int
    """Results in whose place a better one stands, e.g. of another runtime."""


def groups_of(
    values: Iterable[MetricValue], by: str, metric: Metric, *, across_hosts: bool = False
) -> tuple[Group, ...]:
    """The groups with at least two values, in the order of the results."""
    columns = agreeing_columns(by, across_hosts=across_hosts)
    by_key: dict[tuple[Any, ...], list[MetricValue]] = defaultdict(list)
    for value in values:
        if value.facts[_column(by)] is not None:
            by_key[tuple(value.facts[name] for name in columns)].append(value)
    groups = (
        _group(dict(zip(columns, key, strict=True)), members, by, metric)
        for key, members in by_key.items()
    )
    return tuple(group for group in groups if len(group.members) > 1)


def _group(
    shared: Mapping[str, Any], results: Sequence[MetricValue], by: str, metric: Metric
) -> Group:
    by_value: dict[Any, list[MetricValue]] = defaultdict(list)
    for value in results:
        by_value[value.facts[_column(by)]].append(value)
    members = {name: _best(several, metric) for name, several in by_value.items()}
    return Group(shared, members, len(results) - len(members))


def _best(values: Sequence[MetricValue], metric: Metric) -> MetricValue:
    """The best number, though never one of grade D before one of a better grade."""
    sign = -1 if metric.more_is_better else 1
    return min(values, key=lambda one: (one.grade == "D", sign * one.value))


def _column(by: str) -> str:
    return COLUMN_OF.get(by, by)
