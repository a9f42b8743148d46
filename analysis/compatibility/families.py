"""Families of models in a row each: best backend, int8's memory, scaling with the batch."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean
from typing import Any

from analysis.compare.compare import ComparedValue, ComparisonBy, compare_by, compare_selected
from analysis.compare.values import metric_values
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.results.source import OWN_SOURCES, ArrowSource
from analysis.statistics.ratios import PROMISES, THRESHOLD, equal_words

REFERENCE = "cpu"
UNDECIDED = "undecided"
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class MeanRatio:
    """A ratio over several cells."""

    value: float
    low: float
    """The least of them; no interval, as cells differ by more than chance."""
    high: float
    cells: int
    sure: int
    """Cells whose difference is beyond interval and grades, and points where the mean does."""
    equal: int = 0
    """Cells that are equal within the threshold."""
    undecided: int = 0


@dataclass(frozen=True)
class FamilySummary:
    """One family in ratios; each is None if it was not measured."""

    family: str
    models: int
    backend: str | None
    """The backend with the greatest mean speed-up over the CPU in the cells of most backends, the
    CPU if none is faster, or the only one that there is; None where measurements do not show it."""
    rival: str | None
    """The backend that it was compared with: the CPU, or the best other one where that is best."""
    speedup: MeanRatio | None
    int8_memory: MeanRatio | None
    """Memory in int8 by that in fp32 in the same cells."""
    scaling: MeanRatio | None
    """Throughput at the largest batch by batch times that of batch 1."""
    largest_batch: int | None
    sources: tuple[str, ...]


def doubt_lines(families: Sequence[FamilySummary], threshold: float = THRESHOLD) -> Iterator[str]:
    """The meaning of an undecided best backend, by the outcomes of the cells behind it."""
    doubtful = [one.speedup for one in families if one.speedup and one.backend is None]
    equal, undecided, cells = (
        sum(getattr(one, name) for one in doubtful) for name in ("equal", "undecided", "cells")
    )
    if doubtful:
        counts = f"{undecided:,} of {cells:,} undecided, {equal:,} {equal_words(threshold)}"
        yield f"{UNDECIDED}: no backend is shown to be faster in most cells: {counts}"


def summarise_families(source: ArrowSource, selection: Selection) -> tuple[FamilySummary, ...]:
    throughput, memory = METRICS["throughput"], METRICS["memory"]
    rates = metric_values(source, selection, throughput)
    sizes = metric_values(source, selection, memory)
    by_backend = compare_selected(source, selection, "backend", throughput, baseline=REFERENCE)
    by_precision = compare_by(sizes, "precision", memory, baseline="fp32")
    by_batch = compare_by(rates, "batch_size", throughput, baseline="1")
    others = [_others_by_family(one) for one in (by_backend, by_precision, by_batch)]
    rows = source.arrow(f"""
        SELECT coalesce(family, '{_UNKNOWN}') AS family, count(DISTINCT model) AS models,
            list_sort(list(DISTINCT backend)) AS backends,
            list_sort(list(DISTINCT source)) AS sources
        FROM {selection.relation} GROUP BY 1 ORDER BY 1
    """).to_pylist()
    return tuple(_summary(row, *(by_family[row["family"]] for by_family in others)) for row in rows)


def _others_by_family(comparison: ComparisonBy) -> Mapping[str, list[ComparedValue]]:
    values: dict[str, list[ComparedValue]] = defaultdict(list)
    for group in comparison.groups:
        values[group.rows[0].result.facts["family"] or _UNKNOWN] += group.rows[1:]
    return values


def _summary(
    row: Mapping[str, Any],
    by_backend: Sequence[ComparedValue],
    by_precision: Sequence[ComparedValue],
    by_batch: Sequence[ComparedValue],
) -> FamilySummary:
    backend, rival, speedup = _best(by_backend, row["backends"])
    int8 = [one for one in by_precision if one.name == "int8"]
    largest = max((one.name for one in by_batch), default=None)
    scaled = [one for one in by_batch if one.name == largest]
    return FamilySummary(
        family=row["family"],
        models=row["models"],
        backend=backend,
        rival=rival,
        speedup=speedup,
        int8_memory=_mean(int8, lambda one: one.ratio),
        scaling=_mean(scaled, lambda one: one.scaling_efficiency or 0.0),
        largest_batch=largest,
        sources=tuple(name for name in row["sources"] if name not in OWN_SOURCES),
    )


def _best(
    others: Sequence[ComparedValue], backends: Sequence[str | None]
) -> tuple[str | None, str | None, MeanRatio | None]:
    """The backend, its rival, and the speed-up, where most of its cells show that it is faster.

    Two are compared in the cells that both have, if these are most of the one that has more.
    """
    if len(backends) == 1:
        return backends[0], None, None
    cells: dict[str, dict[str, ComparedValue]] = defaultdict(dict)
    for one in others:
        if one.outcome is not None and max(one.result.grade, one.baseline.grade) in PROMISES:
            cells[one.name][one.baseline.result_id] = one
    best: str | None = None
    for name in sorted(cells, key=lambda name: (-len(cells[name]), name)):
        shared = cells[name].keys() & cells[best or name].keys()
        own, theirs = (
            geometric_mean(cells[of][cell].speedup for cell in shared) if shared else 0.0
            for of in (name, best or name)
        )
        if best is None or (2 * len(shared) > len(cells[best]) and own > theirs):
            best = name
    mean = _mean([*cells[best].values()] if best else others, lambda one: one.speedup)
    if mean is None or 2 * mean.sure <= mean.cells:
        return None, None, mean
    if mean.value < 1:
        return REFERENCE, best, replace(mean, value=1.0, low=1.0, high=1.0)
    return best, REFERENCE, mean


def _mean(
    values: Sequence[ComparedValue], number: Callable[[ComparedValue], float]
) -> MeanRatio | None:
    ratios = [number(one) for one in values if number(one) > 0]
    if not ratios:
        return None
    mean = geometric_mean(ratios)
    kinds = Counter(one.outcome.kind for one in values if one.outcome)
    sure = kinds["better" if mean > 1 else "worse"]
    ends = (min(ratios), max(ratios))
    return MeanRatio(mean, *ends, len(ratios), sure, kinds["equal"], kinds["undecided"])
