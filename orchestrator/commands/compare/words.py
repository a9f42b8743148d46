"""Sentences about a comparison: what it answers, what it rests on, and what it leaves out."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from analysis.compare.compare import ComparedGroup, ComparedValue, ComparisonBy
from analysis.compare.values import MACHINE_KEY, Replication
from analysis.results.differing import WORK, fact_heading, shared_words
from analysis.results.metrics import Metric
from analysis.results.process_spread import spread_in_words
from analysis.statistics.numbers import format_number, number_range
from orchestrator.system.text import plural

_MOST_NAMED = 3
"""Values that the answer speaks of, and settings that a note names."""
_TIMES = "times as good as the baseline"
_LAUNCHES = (("process", "processes"), ("round of starts", "rounds of starts"))
"""Words for one launch and for several: in most modes, and in `startup`."""


def heading(comparison: ComparisonBy, groups: Sequence[ComparedGroup]) -> str:
    """The metric, what it is compared by, and the facts that results of these groups share."""
    metric = f"{comparison.metric.label} by {comparison.by.replace('_', ' ')}, {_TIMES}"
    words = shared_words_of(groups)
    return f"{metric}: {words}" if words else metric


def shared_words_of(groups: Sequence[ComparedGroup]) -> str:
    """The work, the machine and the launcher that all results of these groups share."""
    facts = [row.result.facts for group in groups for row in group.rows]
    return shared_words([group.shared for group in groups], WORK, facts)


def _value_words(by: str, value: object) -> str:
    """A value that is compared: `openvino`, `batch 8`, `threads 2`."""
    return f"{fact_heading(by)} {value:,}" if isinstance(value, int) else str(value)


def hidden_note(groups: int, rows: int) -> tuple[str, ...]:
    """The sentence about comparisons, and results in others, that a terminal has no room for."""
    parts = [
        f"{count:,} {plural(count, noun)}"
        for count, noun in ((groups, "comparison"), (rows, "result"))
        if count
    ]
    if not parts:
        return ()
    return (f"{' and '.join(parts)} more: --select keeps fewer, --output FILE.csv has them all",)


def comparison_notes(comparison: ComparisonBy) -> tuple[str, ...]:
    """The answer, what it rests on, and what takes no part in it."""
    return (
        *_answers(comparison),
        *_setting_notes(comparison),
        *basis_notes(comparison),
        *_left_out(comparison),
    )


def _answers(comparison: ComparisonBy) -> Iterator[str]:
    """One sentence for each value beside the baseline, those in most comparisons first."""
    by_pair: dict[tuple[Any, Any], list[ComparedValue]] = defaultdict(list)
    for group in comparison.groups:
        for row in group.rows[1:]:
            by_pair[row.name, group.baseline].append(row)
    pairs = sorted(by_pair.items(), key=lambda item: -len(item[1]))
    for (name, baseline), rows in pairs[:_MOST_NAMED]:
        words = [_value_words(comparison.by, value) for value in (name, baseline)]
        yield _answer(words[0], words[1], rows, comparison.metric)
    if len(pairs) > _MOST_NAMED:
        more = len(pairs) - _MOST_NAMED
        yield f"{more:,} {plural(more, 'pair')} more in the table."


def _answer(name: str, baseline: str, rows: Sequence[ComparedValue], metric: Metric) -> str:
    """The sentence about one value beside the baseline, as far as the measurements support it."""
    count = len(rows)
    begin = f"In {metric.label}, {name}"
    unknown = [row.speedup for row in rows if row.differs is None]
    if len(unknown) == count:
        times = f"{number_range(unknown)} times as good as {baseline}"
        return f"{begin} is {times}; {_doubt(rows)}."
    shown = [row for row in rows if row.differs]
    open_ = count - len(shown) - len(unknown)
    parts: list[str] = []
    for group in (
        [row for row in shown if row.speedup > 1],
        [row for row in shown if row.speedup < 1],
    ):
        if group:
            as_good = f"times as good as {baseline}" if not parts else "times"
            share = f" in {len(group):,} of {count:,}" if count > 1 else ""
            times = number_range([row.speedup for row in group])
            parts.append(f"is {times}{_alone_ends(rows)} {as_good}{share}")
    if open_:
        share = f" in {open_:,} of {count:,}" if count > 1 else ""
        beside = "" if parts else f" from {baseline}"
        parts.append(f"shows no difference{beside}{share}")
    if unknown:
        parts.append(f"cannot be told from chance in {len(unknown):,}")
    scaling = [row.scaling_efficiency for row in rows if row.scaling_efficiency is not None]
    if scaling:
        parts.append(f"has a scaling efficiency of {number_range(scaling)}")
    *first, last = parts
    return f"{begin} {' and '.join(filter(None, [', '.join(first), last]))}."


def _alone_ends(rows: Sequence[ComparedValue]) -> str:
    """The interval of the only speed-up; that of several is in the table."""
    ends = rows[0].speedup_interval
    if len(rows) > 1 or ends is None:
        return ""
    return f" (95 %: {format_number(ends.low)} to {format_number(ends.high)})"


def _doubt(rows: Sequence[ComparedValue]) -> str:
    """The reason why nothing is claimed of these."""
    if all(row.result.is_imported for row in rows):
        return "nobody here proved it"
    if any(row.result.marks for row in rows):
        return "what is marked must not be quoted"
    return "nothing tells whether that is more than chance"


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


def basis_notes(comparison: ComparisonBy) -> Iterator[str]:
    """The replication behind the intervals, with the remedy if there is one."""
    rows = [row for group in comparison.groups for row in group.rows]
    known = {row.result.basis for row in rows if row.result.basis}
    alone = [basis for basis in known if basis.launches == 1 and basis.spread is None]
    if not known:
        label = comparison.metric.label
        yield f"Records hold one value of {label} and no interval of it, so a ratio has none."
    elif by_default := [basis for basis in known if basis.spread == "default"]:
        one, several = _launch_words(by_default)
        yield (
            f"Results of one {one} hold a default spread of processes:"
            " `orchestrator doctor --calibrate` measures this host's, `--profile standard` takes"
            f" several {several}."
        )
    elif calibrated := [basis for basis in known if basis.spread == "calibrated"]:
        one, _ = _launch_words(calibrated)
        yield f"Results of one {one} hold the spread that a calibration of their host found."
    elif counts := [basis for basis in known if basis.launches > 1]:
        yield f"Intervals are over {_counted(counts)}."
    if alone:
        one, _ = _launch_words(alone)
        yield (
            f"Differences between processes are not in intervals of one {one} alone:"
            " `--profile standard` takes several."
        )
    doubtful = sum(row.result.grade == "D" and not row.result.is_imported for row in rows)
    if doubtful:
        yield (
            f"{doubtful:,} of {len(rows):,} {plural(len(rows), 'result')} have grade D, which shows"
            " no difference: `orchestrator status last --why` tells why."
        )


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


def _launch_words(bases: Sequence[Replication]) -> tuple[str, str]:
    """The words for one of the launches that these speak of, and for several."""
    kinds = [_LAUNCHES[of_starts] for of_starts in sorted({basis.of_starts for basis in bases})]
    return " or ".join(one for one, _ in kinds), " or ".join(several for _, several in kinds)


def _counted(bases: Sequence[Replication]) -> str:
    """The least and the greatest number of processes, and of rounds of starts."""
    counts: dict[str, list[float]] = defaultdict(list)
    for basis in bases:
        counts[_LAUNCHES[basis.of_starts][1]].append(float(basis.launches))
    return " or ".join(
        f"{number_range(numbers)} {noun}" for noun, numbers in sorted(counts.items())
    )


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
        noun = plural(mixed, "comparison")
        yield f"In {mixed:,} {noun} machines differ too."
    imported = {
        str(row.result.facts["source"])
        for group in comparison.groups
        for row in group.rows
        if row.result.is_imported
    }
    if imported:
        yield f"Numbers of {', '.join(sorted(imported))} are others' and proven by nobody here."
