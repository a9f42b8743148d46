"""Sentences about a comparison: what it answers, what it rests on, and what it leaves out."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from analysis.compare.compare import ComparedGroup, ComparedValue, ComparisonBy
from analysis.compare.runs import RunComparison
from analysis.compare.values import MACHINE_KEY, Replication, spread_in_words
from analysis.results.differing import WORK, fact_heading, shared_words
from analysis.results.metrics import Metric
from analysis.results.series import SETTINGS
from analysis.statistics.numbers import format_number, number_range
from analysis.statistics.ratios import RatioOutcome, counted_words
from orchestrator.system.text import plural

_MOST_NAMED = 3
"""Values that the answer speaks of, and settings that a note names."""
_MOST_CELLS = 5
_TIMES = "times as good as the baseline"
_LAUNCHES = (("process", "processes"), ("round of starts", "rounds of starts"))
"""Words for one launch and for several: in most modes, and in `startup`."""
_OF_ONE: Mapping[str | None, str] = {
    "default": "a default spread of processes",
    "calibrated": "the spread that a calibration of their host found",
    None: "nothing of what processes differ by",
}
"""The share of differences between processes in intervals of one launch, by its origin."""


def heading(comparison: ComparisonBy, groups: Sequence[ComparedGroup]) -> str:
    """The metric, what it is compared by, and the facts that results of these groups share."""
    metric = f"{comparison.metric.label} by {comparison.by.replace('_', ' ')}, {_TIMES}"
    return ": ".join(filter(None, (metric, shared_words_of(groups))))


def shared_words_of(groups: Sequence[ComparedGroup]) -> str:
    facts = [row.result.facts for group in groups for row in group.rows]
    return shared_words([group.shared for group in groups], (*WORK, SETTINGS), facts)


def hidden_note(groups: int, rows: int) -> Iterator[str]:
    """The sentence about comparisons, and results in others, that a terminal has no room for."""
    counts = ((groups, "comparison"), (rows, "result"))
    if parts := [f"{count:,} {plural(count, noun)}" for count, noun in counts if count]:
        yield f"{' and '.join(parts)} more: --select keeps fewer, --output FILE.csv has them all"


def comparison_notes(comparison: ComparisonBy) -> Iterator[str]:
    yield from _answers(comparison)
    yield from comparison.deciding_lines()
    yield from _setting_notes(comparison)
    yield from _basis_notes(comparison)
    yield from _left_out(comparison)


def _answers(comparison: ComparisonBy) -> Iterator[str]:
    """One sentence for each value beside the baseline, those in most comparisons first."""

    def words(value: object) -> str:
        """A value that is compared: `openvino`, `batch 8`, `threads 2`."""
        return f"{fact_heading(comparison.by)} {value:,}" if isinstance(value, int) else str(value)

    by_pair: dict[tuple[Any, Any], list[ComparedValue]] = defaultdict(list)
    for group in comparison.groups:
        for row in group.rows[1:]:
            by_pair[row.name, group.baseline].append(row)
    pairs = sorted(by_pair.items(), key=lambda item: -len(item[1]))
    for (name, baseline), rows in pairs[:_MOST_NAMED]:
        yield _answer(words(name), words(baseline), rows, comparison.metric)
    if len(pairs) > _MOST_NAMED:
        more = len(pairs) - _MOST_NAMED
        yield f"{more:,} {plural(more, 'pair')} more in the table."


def _answer(name: str, baseline: str, rows: Sequence[ComparedValue], metric: Metric) -> str:
    """The sentence about one value beside the baseline, as far as the measurements support it."""
    answer = f"{name} beside {baseline}: {counted_words(_outcomes(rows), metric)}"
    row = rows[0]
    if len(rows) == 1 and row.outcome:
        ends = row.speedup_interval
        interval = f" (95 %: {number_range((ends.low, ends.high))})" if ends else ""
        size = f"{format_number(row.speedup)} times as good as {baseline}{interval}"
        answer = f"{name} is {size}: {row.outcome.words(metric)}"
    scaling = [row.scaling_efficiency for row in rows if row.scaling_efficiency is not None]
    efficiency = f"; scaling efficiency {number_range(scaling)}" if scaling else ""
    return f"In {metric.label}, {answer}{efficiency}."


def _outcomes(rows: Iterable[ComparedValue]) -> Iterator[tuple[RatioOutcome | None, float]]:
    return ((row.outcome, row.speedup) for row in rows)


def _setting_notes(comparison: ComparisonBy) -> Iterator[str]:
    """The settings that differ though nothing was compared by them, those in most rows first."""
    rows = [row for group in comparison.groups for row in group.rows[1:]]
    counts = Counter(words for row in rows for words in row.settings)
    named = [
        f"{words} ({count:,} of {len(rows):,} comparisons)" if len(rows) > 1 else words
        for words, count in counts.most_common(_MOST_NAMED)
    ]
    if len(counts) > _MOST_NAMED:
        named.append(f"{len(counts) - _MOST_NAMED:,} more")
    if named:
        by = fact_heading(comparison.by)
        yield f"Settings differ beside the {by}: {'; '.join(named)}."


def _basis_notes(comparison: ComparisonBy) -> Iterator[str]:
    """The replication behind the intervals."""
    known = {row.result.basis for row in comparison.rows if row.result.basis}
    if not known:
        label = comparison.metric.label
        yield f"Records hold one value of {label} and no interval of it, so a ratio has none."
    for spread, words in _OF_ONE.items():
        if nouns := {
            _LAUNCHES[b.of_starts][0] for b in known if (b.launches, b.spread) == (1, spread)
        }:
            yield f"Results of one {' or '.join(sorted(nouns))} hold {words}."
    launches: dict[str, list[float]] = defaultdict(list)
    for basis in known:
        if basis.launches > 1:
            launches[_LAUNCHES[basis.of_starts][1]].append(float(basis.launches))
    if counted := [f"{number_range(n)} {noun}" for noun, n in sorted(launches.items())]:
        yield f"Intervals are over {' or '.join(counted)}."


def basis_text(basis: Replication | None) -> str | None:
    """The replication behind an interval, such as `5 processes`."""
    if basis is None:
        return None
    one, several = _LAUNCHES[basis.of_starts]
    if basis.launches > 1:
        return f"{basis.launches} {several}"
    if basis.deviation is None:
        return f"1 {one} alone"
    spread = spread_in_words(basis.deviation, in_queue=basis.in_queue)
    kind = "a calibrated" if basis.spread == "calibrated" else "the default"
    return f"1 {one} and {kind} spread of {spread}"


def _left_out(comparison: ComparisonBy) -> Iterator[str]:
    left_out = comparison.left_out
    by = comparison.by.replace("_", " ")
    by = f"number of {by}" if by.endswith("s") else by
    counts = (
        (comparison.alone, f"without another {by} to compare with"),
        (left_out.on_other_hosts, "of these with one on another machine (--across-hosts)"),
        (left_out.of_other_scopes, "of these with one of another energy scope"),
        (comparison.passed_over, "behind a better one of the same " + by),
        (left_out.without_value, f"without {comparison.metric.label}"),
        (left_out.unquotable, "that must not be quoted (--all)"),
    )
    parts = [f"{count:,} {words}" for count, words in counts if count]
    if parts:
        yield f"Not in the table: {', '.join(parts)}."
    mixed = sum(
        len({row.result.facts[MACHINE_KEY] for row in group.rows}) > 1
        for group in comparison.groups
    )
    if mixed and comparison.by != "hardware":
        yield f"In {mixed:,} {plural(mixed, 'comparison')} machines differ too."
    results = [row.result for row in comparison.rows]
    imported = {str(one.facts["source"]) for one in results if one.is_imported}
    if imported:
        yield f"Numbers of {', '.join(sorted(imported))} are others' and proven by nobody here."


def pair_notes(pair: RunComparison, hidden: int) -> Iterator[str]:
    if hidden:
        yield f"{hidden:,} {plural(hidden, 'cell')} more: --output FILE.csv has them all"
    yield _pair_answer(pair)
    yield from pair.comparison.deciding_lines()
    yield from _verdict_notes(pair)
    yield from _change_notes(pair)
    yield from _basis_notes(pair.comparison)


def _pair_answer(pair: RunComparison) -> str:
    count, outcomes = len(pair.cells), _outcomes(cell.after for cell in pair.cells)
    words = counted_words(outcomes, pair.metric)
    return f"Of {count:,} {plural(count, 'cell')} of both runs: {words}."


def _verdict_notes(pair: RunComparison) -> Iterator[str]:
    for verdict in pair.verdicts[:_MOST_CELLS]:
        yield f"{verdict.cell_id}: {verdict.then}, now {verdict.now}"
    if len(pair.verdicts) > _MOST_CELLS:
        yield f"{len(pair.verdicts) - _MOST_CELLS:,} verdicts more changed."
    for cells, run in ((pair.only_before, pair.run_before), (pair.only_after, pair.run_after)):
        if cells:
            more = f" and {len(cells) - _MOST_CELLS:,} more" if len(cells) > _MOST_CELLS else ""
            yield f"Only in {run}: {', '.join(cells[:_MOST_CELLS])}{more}."
    for words, count in pair.not_compared.items():
        yield f"Not compared: {count:,} {words}."


def _change_notes(pair: RunComparison) -> Iterator[str]:
    """Differences beside the numbers: those of all cells, then those of some."""
    if pair.changes:
        yield f"What differs beside it, in all cells: {'; '.join(pair.changes)}."
    changed = [cell for cell in pair.cells if cell.changes]
    shown = [cell for cell in changed if cell.after.outcome and cell.after.outcome.is_shown]
    others = [cell for cell in changed if cell not in shown]
    for cell in [*shown, *others][:_MOST_CELLS]:
        yield f"{cell.after.result.cell_id}: {'; '.join(cell.changes)}"
    if len(changed) > _MOST_CELLS:
        more = len(changed) - _MOST_CELLS
        yield f"{more:,} {plural(more, 'cell')} more with differences: --format json has them."
    if not (pair.changes or changed):
        yield "Nothing else that records tell differs between the runs."
