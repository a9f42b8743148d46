"""Comparison of two runs, cell by cell, with what differs beside the numbers."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from analysis.compare.circumstances import circumstance_changes, circumstances_of, common_changes
from analysis.compare.compare import ComparedGroup, ComparedValue, ComparisonBy, beside
from analysis.compare.values import MACHINE_KEY, MetricValue, metric_values, with_intervals
from analysis.results.metrics import Metric
from analysis.results.selection import Selection, Side, metric_of_sides
from analysis.results.series import FOUND, SCOPE, SERIES, SETTINGS, WEIGHTS
from analysis.results.source import ArrowSource

OTHER_MACHINE = "of another machine"


@dataclass(frozen=True)
class ComparedCell:
    """One cell in both runs."""

    before: MetricValue
    after: ComparedValue
    changes: tuple[str, ...]
    """Differences of its circumstances that not all cells have."""


@dataclass(frozen=True)
class ChangedVerdict:
    """A cell of both runs whose verdict is another one now."""

    cell_id: str
    then: str
    now: str


@dataclass(frozen=True)
class RunComparison:
    """Two runs, cell by cell."""

    run_before: str
    run_after: str
    metric: Metric
    cells: tuple[ComparedCell, ...]
    changes: tuple[str, ...]
    """Differences of circumstances that all these cells have."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    verdicts: tuple[ChangedVerdict, ...]
    not_compared: Mapping[str, int]

    @property
    def comparison(self) -> ComparisonBy:
        """The same as a comparison by the run, each cell a question of its own."""
        groups = [
            ComparedGroup(
                cell.after.result.facts,
                self.run_before,
                (beside(self.run_before, cell.before, cell.before, "run", self.metric), cell.after),
                0,
            )
            for cell in self.cells
        ]
        return ComparisonBy("run", self.metric, tuple(groups), 0)


def compare_runs(
    before: Side, after: Side, metric: Metric, *, across_hosts: bool = False
) -> RunComparison:
    """Compare two runs, or whatever else has results, where model, weights and machine agree."""
    metric = metric_of_sides(metric, before, after)
    earlier, later = (
        metric_values(side.source, side.selection, metric) for side in (before, after)
    )
    pairs, not_compared = _pairs(earlier, later, across_hosts)
    then, now = (cell_verdicts(side.source, side.selection) for side in (before, after))
    cells = _cells(before, after, pairs, metric)
    common = common_changes(cell.changes for cell in cells)
    return RunComparison(
        run_before=before.label,
        run_after=after.label,
        metric=metric,
        cells=tuple(
            replace(cell, changes=tuple(word for word in cell.changes if word not in common))
            for cell in cells
        ),
        changes=common,
        only_before=tuple(cell for cell in then if cell not in now),
        only_after=tuple(cell for cell in now if cell not in then),
        verdicts=tuple(
            ChangedVerdict(cell, then[cell].words, now[cell].words)
            for cell in then
            if cell in now and then[cell].kind != now[cell].kind
        ),
        not_compared=not_compared,
    )


_Pair: TypeAlias = tuple[MetricValue, MetricValue]


def _pairs(
    then: Sequence[MetricValue], now: Sequence[MetricValue], across_hosts: bool
) -> tuple[list[_Pair], dict[str, int]]:
    """Each later value with the earlier one that is most like it, and the others by reason."""
    candidates: dict[tuple[str, str | None], list[MetricValue]] = defaultdict(list)
    for value in reversed(then):  # the newest first
        candidates[_cell_part(value)].append(value)
    pairs, not_compared = [], Counter[str]()
    for value in now:
        if known := candidates.get(_cell_part(value)):
            earlier = _most_like(value, known, across_hosts)
            if reason := _refusal(earlier, value, across_hosts):
                not_compared[reason] += 1
            else:
                pairs.append((earlier, value))
    return pairs, dict(not_compared)


def _most_like(value: MetricValue, known: Sequence[MetricValue], across_hosts: bool) -> MetricValue:
    """One that may be compared if there is any, in as many columns of a series as can be."""

    def distance(one: MetricValue) -> tuple[bool, int]:
        differing = sum(one.facts[name] != value.facts[name] for name in SERIES)
        return _refusal(one, value, across_hosts) is not None, differing

    return min(known, key=distance)


def _cell_part(value: MetricValue) -> tuple[str, str | None]:
    return value.cell_id, value.key[1]


def _refusal(then: MetricValue, now: MetricValue, across_hosts: bool) -> str | None:
    if any(then.facts[name] != now.facts[name] for name in WEIGHTS):
        return "of another model or other weights"
    if not (across_hosts or _is_one_machine(then, now)):
        return OTHER_MACHINE
    if then.facts[SETTINGS] != now.facts[SETTINGS]:
        return f"of other settings: {then.facts[SETTINGS]}, now {now.facts[SETTINGS]}"
    if then.facts[FOUND] != now.facts[FOUND]:
        return "of another batch or rate, which was found (--metric throughput or peak_qps)"
    if then.facts[SCOPE] != now.facts[SCOPE]:
        return f"of another energy scope: {then.facts[SCOPE]}, now {now.facts[SCOPE]}"
    return None


def _is_one_machine(then: MetricValue, now: MetricValue) -> bool:
    """True if both name the same machine; the hardware stands for it where a table lacks its id."""
    hardware = then.facts["hardware_id"]
    if hardware is not None and hardware == now.facts["hardware_id"]:
        return True
    return bool(then.facts[MACHINE_KEY] == now.facts[MACHINE_KEY])


def _cells(before: Side, after: Side, pairs: Sequence[_Pair], metric: Metric) -> list[ComparedCell]:
    completed, known = [], []
    for index, side in enumerate((before, after)):
        values = [pair[index] for pair in pairs]
        completed.append(with_intervals(side.source, values, metric))
        known.append(circumstances_of(side.source, [value.result_id for value in values]))
    cells = []
    for pair in pairs:
        then, now = (side[value.key] for side, value in zip(completed, pair, strict=True))
        changes = circumstance_changes(known[0][then.result_id], known[1][now.result_id])
        cells.append(ComparedCell(then, beside(after.label, now, then, "run", metric), changes))
    return cells


@dataclass(frozen=True)
class CellVerdict:
    """The end of a cell, and the facts that let its numbers be quoted."""

    status: str
    reason: str | None
    proof: str
    correct: bool | None

    @property
    def kind(self) -> tuple[object, ...]:
        """The facts in which two verdicts agree that say the same."""
        return self.status, self.correct is False, self.proof == "proven"

    @property
    def words(self) -> str:
        """The status with its reason, or what speaks against outputs or device."""
        if self.status != "ok":
            return f"{self.status} ({self.reason})"
        if self.correct is False:
            return "ok, outputs wrong"
        return "ok" if self.proof == "proven" else f"ok, proof {self.proof}"


def cell_verdicts(source: ArrowSource, selection: Selection) -> dict[str, CellVerdict]:
    sql = f"""
        SELECT cell_id, status, reason, proof, correct FROM {selection.verdicts}
        ORDER BY cell_id, measured_at NULLS FIRST
    """
    return {row.pop("cell_id"): CellVerdict(**row) for row in source.arrow(sql).to_pylist()}
