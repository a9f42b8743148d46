"""The answer of a run in sentences, its trust in two lines, and what changed since the last one."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from analysis.results.answer import Comparison, Lead, Ranking
from analysis.results.row import ResultRow, TimedWork, item_ms, seeks_peak
from analysis.results.trust import Change, GradeSummary
from analysis.statistics.numbers import format_number, number_range
from analysis.statistics.ratios import (
    THRESHOLD,
    Estimate,
    deciding_lines,
    equal_words,
    reason_counts,
    side_by_side_words,
    undecided_reason,
)
from orchestrator.commands.results.result_table import describe_axes, question_axes, varying_axes
from orchestrator.commands.results.run_report import RunReport
from orchestrator.screen.words.doubts import finding_text
from orchestrator.system.text import plural
from runner.contract.axes import AXIS_NAMES, AxisName

_SHOWN = 5
_NAMED = 3
_MOST_DIGITS = 4
_PATH: tuple[AxisName, ...] = ("backend", "runtime", "precision", "batch_size")


def answer_lines(report: RunReport) -> Iterator[str]:
    """The answer that results support, a sentence for each question, beginning with the fastest."""
    everything = [row for comparison in report.comparisons for row in comparison.rows]
    answered = [one for one in report.comparisons if one.comparable and len(one.rows) > 1]
    for comparison in answered[:_SHOWN]:
        yield from _sentences(comparison, _Names(comparison.rows, everything))
    if (count := len(answered) - _SHOWN) > 0:
        yield f"… and {count} more {plural(count, 'answer')}; --json has them all"
    hopeless = [one for one in report.comparisons if not one.comparable]
    if hopeless:
        counts: Counter[str] = Counter()
        for one in hopeless:
            counts.update({words: len(rows) for words, rows in _objections(one)})
        of_all = f"of {len(everything):,} results " if len(everything) > 1 else ""
        parts = (f"{n:,} {words}" if of_all else words for words, n in counts.items())
        advice = "no answer" if any(one.excluded for one in hopeless) else "measure again"
        yield f"{advice}: {of_all}{', '.join(parts)}"
    rankings = [one.fastest for one in answered if one.fastest]
    undecided = [lead.outcome for ranking in rankings for lead in ranking.undecided]
    yield from deciding_lines(undecided, report.run_id)
    yield from _disturbed(report)


def _disturbed(report: RunReport) -> Iterator[str]:
    """A line about ratios that the load of others may have changed."""
    paired = {name for names in report.pairs for name in names}
    rows = [row for row in report.results if row.cell_id in paired]
    loads = [
        one.value
        for row in rows
        for one in row.doubts or ()
        if one.code == "other_load" and one.grade > "B" and one.value is not None
    ]
    if loads and len({row.runtime for row in rows}) > 1:
        shares = number_range(100 * load for load in loads)
        yield (
            f"Other processes used {shares} % of the CPU time meanwhile, and runtimes suffer"
            " differently from that: alone, these ratios may be others."
        )


class _Names:
    """Names of a question's results: what differs between them."""

    def __init__(self, rows: Sequence[ResultRow], everything: Sequence[ResultRow]) -> None:
        self._varying = varying_axes(rows)
        others = [name for name in question_axes(everything) if name not in self._varying]
        subject = ", ".join(describe_axes(rows[0], others))
        self.subject = f"{subject}: " if subject else ""

    def of(self, row: ResultRow) -> str:
        """One result, e.g. `openvino int8 batch 4`."""
        path = " ".join(describe_axes(row, [name for name in self._varying if name in _PATH]))
        rest = describe_axes(row, [name for name in self._varying if name not in _PATH])
        return ", ".join(filter(None, (path, *rest))) or "it"

    def first_of(self, rows: Sequence[ResultRow]) -> list[str]:
        more = [f"{len(rows) - _NAMED} more"] if len(rows) > _NAMED else []
        return [*map(self.of, rows[:_NAMED]), *more]


def _sentences(comparison: Comparison, names: _Names) -> Iterator[str]:
    ranking = comparison.fastest
    excluded = "".join(
        f". {words[:1].upper()}{words[1:]}: {' and '.join(names.first_of(rows))}"
        for words, rows in _objections(comparison)
    )
    if ranking is None:
        (held,) = comparison.comparable
        yield f"{names.subject}only {names.of(held)} can be quoted: {_speed(held)}{excluded}"
        return
    leads = [ranking.next] if ranking.next else []
    open_leads = (*ranking.equals, *ranking.undecided)
    if comparison.reference and comparison.reference not in (*leads, *open_leads):
        leads.append(comparison.reference)
    beside = side_by_side_words(lead.outcome for lead in (*leads, *open_leads)).removeprefix(", ")
    parts = [_lead_of(ranking, leads, names), beside, *_costs(ranking, leads, names)]
    yield f"{names.subject}fastest: {'; '.join(filter(None, parts))}{excluded}"
    if comparison.shortest:
        shortest = _named(comparison.shortest, names)
        median = _milliseconds(comparison.shortest.first.latency_median_ms)
        yield f"{names.subject}shortest query: {shortest}: {median}"


def _lead_of(ranking: Ranking, leads: Sequence[Lead], names: _Names) -> str:
    advance = ", ".join(f"{_times(lead.ratio)} {names.of(lead.behind)}" for lead in leads)
    if not (ranking.equals or ranking.undecided):
        return f"{_named(ranking, names)}: {_speed(ranking.first)}, {advance}"
    return ", ".join(filter(None, (_named(ranking, names), advance)))


def _named(ranking: Ranking, names: _Names) -> str:
    """The first with those that are as fast, then with those that may be, and why that is open."""
    equals, undecided = (
        " or ".join(names.first_of([lead.behind for lead in leads]))
        for leads in (ranking.equals, ranking.undecided)
    )
    words = names.of(ranking.first)
    if equals:
        words = f"{words} or {equals}, {equal_words(THRESHOLD)}"
    if undecided:
        reasons = reason_counts(lead.outcome for lead in ranking.undecided)
        words = f"{words}{',' if equals else ''} or {undecided}, undecided ({reasons})"
    return words


def _objections(comparison: Comparison) -> Iterator[tuple[str, Sequence[ResultRow]]]:
    """The reasons why results have no part in the answer, with these results."""
    for code, rows in comparison.undecided.items():
        yield f"undecided ({undecided_reason(code)})", rows
    for reason, rows in comparison.excluded.items():
        yield f"not comparable ({reason})", rows


def _costs(ranking: Ranking, leads: Sequence[Lead], names: _Names) -> Iterator[str]:
    """The price of speed: memory beside the result named last, and how far outputs are off."""
    first = ranking.first
    memory_mb = leads[-1].behind.memory_mb if leads else None
    owner = f"{names.of(first)}: " if ranking.equals or ranking.undecided else ""
    if first.memory_mb and memory_mb:
        sizes = [f"{size:,.0f}" for size in (first.memory_mb, memory_mb)]
        if sizes[0] != sizes[1]:
            yield f"{owner}{sizes[0]} MB instead of {sizes[1]}"
    if first.precision != "fp32" and first.off is not None:
        cause = ", by rounding or by a fault" if first.correct is None else ""
        yield f"{owner}outputs off by {format_number(first.off * 100)} %{cause}"
    elif first.correct is None:
        yield f"{owner}outputs not compared"


def _speed(row: ResultRow) -> str:
    if row.peak_qps is not None:
        ends = (row.peak_qps_low or row.peak_qps, row.peak_qps_high)
        return f"{' to '.join(format_number(end) for end in ends if end)} queries/s"
    time = item_ms(row)
    return f"{_milliseconds(time)}{'' if time == row.latency_median_ms else ' a sample'}"


def _milliseconds(value: float | None) -> str:
    return f"{format_number(value or 0)} ms"


def _times(ratio: Estimate) -> str:
    """A ratio with its interval, in as many digits as tell its ends apart, and from 1."""
    usual = 2 if ratio.value < 10 else 1 if ratio.value < 100 else 0
    for digits in range(usual, _MOST_DIGITS + 1):
        value, low, high = (f"{end:,.{digits}f}" for end in (ratio.value, ratio.low, ratio.high))
        if low != high and float(low.replace(",", "")) != 1:
            break
    return f"{value} ({low} to {high}) times as fast as"


def proof_line(rows: Sequence[ResultRow]) -> str | None:
    """The proof of the device and the check of outputs, where they hold for all."""
    facts = []
    if all(row.proof == "proven" for row in rows):
        facts.append("device proven")
    by_precision: dict[str, list[ResultRow]] = {}
    for row in sorted(rows, key=lambda row: row.precision != "fp32"):
        by_precision.setdefault(row.precision, []).append(row)
    if all(row.correct for row in rows):
        facts += [_check(alike, alone=len(alike) == len(rows)) for alike in by_precision.values()]
    many = f"all {len(rows):,}: " if len(rows) > 1 else ""
    return f"{many}{', '.join(facts)}" if rows and facts else None


def _check(rows: Sequence[ResultRow], *, alone: bool) -> str:
    """The check that outputs of one precision passed; of one below fp32 with error and limit."""
    precision = rows[0].precision
    outputs = "outputs" if alone else f"{precision} outputs"
    if precision == "fp32":
        return f"{outputs} agree with {'fp32' if alone else 'the reference'}"
    model = "this model" if len({row.model for row in rows}) == 1 else "these models"
    known = {"off by": [row.off for row in rows], "allowed": [row.tolerance for row in rows]}
    sizes = [
        f"{name} {number_range(100 * share for share in shares if share is not None)} %"
        for name, shares in known.items()
        if None not in shares
    ]
    within = f"{outputs} within what {precision} may do to {model}"
    return f"{within}: {', '.join(sizes)}" if sizes else within


def trust_line(grades: GradeSummary, *, always: bool = False) -> str | None:
    """The grades where some show no differences of 5 %, with the cause that explains most."""
    if grades.worst is None or (grades.is_sound and not always):
        return None
    total, worst = sum(grades.grades.values()), grades.worst
    others = ", ".join(f"{n:,} {grade}" for grade, n in grades.grades.items() if grade != worst)
    beside = f" ({others})" if others else ""
    cells = f"{grades.grades[worst]:,} of {total:,} {plural(total, 'cell')}"
    line = f"grade {worst}: {cells}{beside}"
    if grades.cause is None:
        return line
    explained, count = grades.cause.cells, grades.grades[worst]
    share = "" if explained == count else f" in {explained:,} of these {count:,}"
    return f"{line}: {finding_text(grades.cause.doubt, grades.cause.most)}{share}"


def change_lines(changes: Sequence[Change], rows: Sequence[ResultRow]) -> Iterator[str]:
    """Results that differ from the last ones of their series."""
    varying = varying_axes(rows)
    for change in changes[:_SHOWN]:
        name = " ".join(describe_axes(change.now, varying or AXIS_NAMES[:4]))
        software = "same software" if change.then.same_software else "other software"
        cause = "; ".join(change.then.differences) or software
        cause = "grade D" if change.now.grade == "D" else cause
        yield (
            f"changed: {name} {_compared(change.now)}, was {_compared(change.then)}"
            f" {_moment(change.then.measured_at)} ({cause})"
        )
    if len(changes) > _SHOWN:
        yield f"… and {len(changes) - _SHOWN} more changes; --json has them all"


def _compared(result: TimedWork) -> str:
    """The number by which it is compared with its series: a query's time where nothing is found."""
    if seeks_peak(result):
        return f"{format_number(result.peak_qps or 0)} queries/s"
    if result.scenario == "offline":
        return f"{_milliseconds(item_ms(result))} a sample"
    return _milliseconds(result.latency_median_ms)


def _moment(moment: datetime) -> str:
    local, today = moment.astimezone(), datetime.now(UTC).astimezone()
    return f"at {local:%H:%M}" if local.date() == today.date() else f"on {local:%Y-%m-%d}"
