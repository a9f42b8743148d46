"""Versions of the software behind a series: images or commits, in the order of time."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from statistics import fmean

from analysis.compare.values import PART
from analysis.regress.launches import LaunchedResult, launched_results
from analysis.results.conditions import DIRTY
from analysis.results.metrics import Metric
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource, text

_TOGETHER = timedelta(days=1)
"""The longest time between results that are compared as measured again together."""


@dataclass(frozen=True)
class Version:
    """The software of results of a series that were measured one behind the other."""

    name: str
    """The digest of the image, or the commit where jobs were processes of this machine."""
    results: tuple[LaunchedResult, ...]
    """In the order of time; one at least."""

    @property
    def first(self) -> LaunchedResult:
        return self.results[0]

    @property
    def run_id(self) -> str:
        """The first run."""
        return str(self.first.facts["run_id"])

    @property
    def commit(self) -> str | None:
        """The commit of the checkout that the first run was planned with."""
        commit: str | None = self.first.facts["git_commit"]
        return commit


def results_by_cell(
    source: ArrowSource, selection: Selection, metric: Metric, cell_ids: Iterable[str]
) -> dict[str, list[LaunchedResult]]:
    """The selected results of these cells, of whichever run, each in the order of time."""
    names = ", ".join(map(text, sorted(cell_ids)))
    condition = f"({selection.condition}) AND r.cell_id IN ({names})"
    every = replace(selection, condition=condition, run_id=None, every=True)
    by_cell: dict[str, list[LaunchedResult]] = {}
    for result in launched_results(source, every, metric):
        by_cell.setdefault(result.cell_id, []).append(result)
    return by_cell


def grouped_versions(results: Iterable[LaunchedResult]) -> tuple[Version, ...]:
    """The versions of these results, which are in the order of time.

    Results that name neither image nor commit are left out; a version that came back is there
    twice.
    """
    named = [(name, result) for result in results if (name := version_name(result)) is not None]
    return tuple(
        Version(name, tuple(result for _, result in group))
        for name, group in groupby(named, key=lambda pair: pair[0])
    )


def version_name(result: LaunchedResult) -> str | None:
    """The digest of the image of a result, else the commit; None if it names neither."""
    name: str | None = result.facts["image_digest"] or result.facts["git_commit"]
    return name


def measured_again(
    results: Sequence[LaunchedResult], versions: Iterable[Version], since: LaunchedResult
) -> dict[str, tuple[LaunchedResult, ...]]:
    """Later results of these versions, by the versions' names.

    They are those of one series and of one day, which can be compared with each other: those of the
    newest. A commit whose checkout had changes is measured again by its checkout without them.

    Args:
        results: results of the cell, in any order.
        versions: the versions.
        since: the result that gave rise to the question.
    """
    names = {version.name.removesuffix(DIRTY): version.name for version in versions}
    names |= {version.name: version.name for version in versions}
    later = [
        (names[name], result)
        for result in results
        if (name := _known_name(result, names)) is not None
        and result.facts[PART] == since.facts[PART]
        and result.facts["measured_at"] is not None
        and result.facts["measured_at"] > since.facts["measured_at"]
    ]
    if not later:
        return {}
    later.sort(key=lambda pair: pair[1].facts["measured_at"])
    newest = later[-1][1]
    key, oldest = newest.key(per_host=True), newest.facts["measured_at"] - _TOGETHER
    by_version: dict[str, tuple[LaunchedResult, ...]] = {}
    for name, result in later:
        if result.key(per_host=True) == key and result.facts["measured_at"] >= oldest:
            by_version[name] = (*by_version.get(name, ()), result)
    return by_version


def _known_name(result: LaunchedResult, names: Mapping[str, str]) -> str | None:
    """The name under which a version is known; a checkout without its changes stands for it."""
    name = version_name(result) or ""
    return next((one for one in (name, name.removesuffix(DIRTY)) if one in names), None)


def pooled(results: Sequence[LaunchedResult]) -> LaunchedResult:
    """Results of one version as one, with the launches of all."""
    if len(results) == 1:
        return results[0]
    launches = tuple(value for result in results for value in result.launches)
    value = math.exp(fmean(map(math.log, launches)))
    worst = max(result.grade for result in results)
    return LaunchedResult({**results[0].facts, "grade": worst}, value, launches)
