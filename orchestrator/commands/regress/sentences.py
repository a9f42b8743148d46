"""Sentences about verdicts: the answer, what changed beside, steps, trust, and what is left out."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from analysis.compare.values import PART
from analysis.regress.judgements import REGRESSION_VERDICTS, Judgement
from analysis.regress.noise import NoiseSource
from analysis.regress.steps import LevelStep
from analysis.regress.verdicts import RegressionVerdict, VerdictReason
from analysis.results.differing import (
    WORK,
    are_distinct,
    fact_words,
    fewest_facts,
    questions,
    shared_words,
)
from analysis.results.metrics import Metric
from analysis.statistics.numbers import percent_text
from analysis.statistics.ratios import change_words, equal_words, extent_words
from orchestrator.commands.regress.answer import RegressionAnswer, status_command
from orchestrator.commands.results.run_report import below_grade_words
from orchestrator.screen.words.doubts import finding_text
from orchestrator.system.text import plural
from runner.contract.record.verdict import Doubt

CELL = "cell_id"
"""The fact that names a cell where nothing shorter does."""
_MOST_SIZES = 3
_MOST_NAMED = 5
_COMMIT_LETTERS = 12
_SOURCES: Mapping[NoiseSource, str] = {
    "pairs": "rounds side by side",
    "history": "the series' own history",
    "launches": "launches of the series",
    "calibration": "the host's calibration",
    "study": "the A/A study alone",
}
_WEAK: frozenset[NoiseSource | None] = frozenset({"calibration", "study"})
"""Sources that several launches a side replace by better ones."""


class MetricVerdicts:
    """The verdicts on one metric, with short names of their cells."""

    def __init__(self, metric: Metric, judgements: Sequence[Judgement]) -> None:
        self.metric = metric
        self.judgements = judgements
        """In the order of `REGRESSION_VERDICTS`, the greatest change first."""
        self.judged = [one for one in judgements if one.verdict != "not comparable"]
        self.by_verdict = {
            verdict: [one for one in judgements if one.verdict == verdict]
            for verdict in REGRESSION_VERDICTS
        }
        facts = [one.facts for one in self.judged]
        names = questions(facts)
        is_named = all(one.before or one.after for one in self.judged)
        is_distinct = is_named and are_distinct(facts, names)
        self.columns: Sequence[str] = fewest_facts(facts, names) if is_distinct else (CELL,)
        """The fewest facts that tell the judged results apart."""
        self.shared = "" if self.columns == (CELL,) or not facts else shared_words(facts, WORK)

    def name(self, judgement: Judgement) -> str:
        """The name of a judged cell in a sentence; empty where it is the only one."""
        return " ".join(fact_words({name: judgement.facts.get(name) for name in self.columns}))


def verdicts_by_metric(answer: RegressionAnswer) -> Iterator[MetricVerdicts]:
    """In the order in which metrics were asked for."""
    judgements, names = answer.judgements.judgements, list(answer.request.metrics)

    def order(metric: Metric) -> int:
        return names.index(metric.name) if metric.name in names else len(names)

    for metric in sorted(dict.fromkeys(one.metric for one in judgements), key=order):
        yield MetricVerdicts(metric, [one for one in judgements if one.metric == metric])


def full_name(judgement: Judgement) -> str:
    """The cell's id, with the part of its result where that has several."""
    part = judgement.facts.get(PART)
    return f"{judgement.cell_id}, {part}" if part else judgement.cell_id


def verdict_lines(
    answer: RegressionAnswer, known: Sequence[MetricVerdicts], *, wide: bool = False
) -> Iterator[str]:
    """All sentences below the table: the answer first, then what may explain it, then the trust."""
    yield from metric_answers(answer, known)
    yield from model_lines(answer)
    yield from round_lines(answer)
    yield from circumstance_lines(answer)
    yield from step_lines(answer, every=wide)
    yield from not_comparable_lines(known)
    yield from one_sided_lines(answer)
    yield from accepted_lines(answer)
    yield from trust_lines(answer)


def hidden_lines(changed: int = 0, same: int = 0) -> Iterator[str]:
    """The sentence about cells that have no row: those that changed or stay open, and others."""
    counts = ((changed, "that changed or stay open"), (same, "without a change"))
    parts = [f"{count:,} {words}" for count, words in counts if count]
    if parts:
        yield f"Cells left out: {' and '.join(parts)} (--wide)"


def metric_answers(answer: RegressionAnswer, known: Sequence[MetricVerdicts]) -> Iterator[str]:
    for verdicts in known:
        begin = f"In {verdicts.metric.label}, " if len(known) > 1 else ""
        sentence = _answer(verdicts, answer.judgements.threshold)
        yield f"{begin}{sentence[0].lower() if begin else sentence[0]}{sentence[1:]}"


def model_lines(answer: RegressionAnswer) -> Iterator[str]:
    """The sentence that says which models are others than those of the baseline, if any are."""
    changes = {
        str(one.facts["model"]): change
        for one in answer.judged
        if (change := one.model_change) is not None
    }
    if changes:
        words = _named(f"{name} ({then}, now {now})" for name, (then, now) in changes.items())
        yield f"The {plural(len(changes), 'model')} changed: {words}."


def round_lines(answer: RegressionAnswer) -> Iterator[str]:
    """Sentences about cells that rounds left open: all that are planned, or too little time."""
    ends: list[tuple[str, Judgement]] = []
    for one in answer.judged:
        pair = one.case.pair if one.case else None
        if one.verdict != "inconclusive" or one.after is None or pair is None:
            continue
        if len(pair.logarithms) >= (most := pair.looks[-1]):
            ends.append((f"{most} rounds, the most that are measured, tell too little", one))
        ends += [
            (finding_text(Doubt(**doubt | {"facts": dict(doubt["facts"])})), one)
            for doubt in one.after.facts.get("doubts") or ()
            if doubt["code"] == "few_rounds"
        ]
    for end, names in _names_by_reason(ends).items():
        yield f"Left open: {_named(names)}: {end}."


def _answer(verdicts: MetricVerdicts, threshold: float) -> str:
    total, known = len(verdicts.judgements), verdicts.by_verdict
    if total == 1:
        return f"The cell {_alone(verdicts, threshold)}."
    slower, faster = verdicts.metric.comparatives
    worse, better, same = known["regression"], known["improvement"], known["no change"]
    equal = [one for one in same if one.outcome and one.outcome.kind == "equal"]
    if not verdicts.judged:
        return f"None of {total:,} cells can be compared."
    if len(equal) == total:
        return f"None of {total:,} cells changed by {percent_text(threshold)} % or more."
    if not (worse or better or same):
        first = f"No verdict on {total:,} cells"
    elif worse:
        first = f"{len(worse):,} of {total:,} cells became {slower}: {_sizes(worse, verdicts)}"
    else:
        first = f"None of {total:,} cells is shown to be {slower}"
    rest = (
        f"{len(better):,} became {faster}: {_sizes(better, verdicts)}" if better else "",
        f"{len(equal):,} {equal_words(threshold)}" if equal else "",
        f"{len(same) - len(equal):,} accepted" if len(same) > len(equal) else "",
        _open_words(known["inconclusive"]),
        f"{len(known['not comparable']):,} not comparable" if known["not comparable"] else "",
    )
    return f"{'; '.join(filter(None, (first, *rest)))}."


def _alone(verdicts: MetricVerdicts, threshold: float) -> str:
    (judgement,) = verdicts.judgements
    slower, faster = verdicts.metric.comparatives
    size = f" by {extent_words(judgement.ratio)}" if judgement.ratio else ""
    words: Mapping[RegressionVerdict, str] = {
        "regression": f"became {slower}{size}",
        "improvement": f"became {faster}{size}",
        "no change": f"did not change by {percent_text(threshold)} % or more"
        if judgement.outcome and not judgement.outcome.because
        else "has a change that was accepted",
        "inconclusive": f"stays inconclusive: {judgement.reason}",
        "not comparable": "cannot be compared",
    }
    return words[judgement.verdict]


def _sizes(judgements: Sequence[Judgement], verdicts: MetricVerdicts) -> str:
    sizes = [
        f"{verdicts.name(one)} by {extent_words(one.ratio)}".lstrip()
        for one in judgements[:_MOST_SIZES]
        if one.ratio
    ]
    more = len(judgements) - _MOST_SIZES
    return f"{', '.join(sizes)}{f' and {more:,} more' if more > 0 else ''}"


def _open_words(judgements: Sequence[Judgement]) -> str:
    """The inconclusive ones with what would decide, those that differ by a number together."""
    if not judgements:
        return ""
    groups: dict[str, list[VerdictReason]] = {}
    for reason in (one.explanation for one in judgements):
        if reason is not None:
            groups.setdefault(reason.words(number="…"), []).append(reason)
    parts = []
    for reasons in groups.values():
        ordered = sorted(reasons, key=lambda reason: reason.number or 0)
        ends = dict.fromkeys((ordered[0].number_text, ordered[-1].number_text))
        count = f" ({len(reasons):,})" if len(groups) > 1 else ""
        parts.append(f"{reasons[0].words(number=' to '.join(ends))}{count}")
    return f"{len(judgements):,} inconclusive: {', '.join(parts)}"


def circumstance_lines(answer: RegressionAnswer) -> Iterator[str]:
    """Tell what else differs: in all results that did not stay the same, then in some."""
    judgements = answer.judgements
    shared = judgements.shared_changes
    changed = [one for one in judgements.judgements if one.verdict != "no change" and one.after]
    explained = [one for one in changed if one.changes is not None]
    if not changed:
        return
    if shared:
        where = ", in all of these" if len(explained) > 1 else ""
        yield f"What differs beside it{where}: {'; '.join(shared)}."
    own: dict[tuple[str, ...], dict[str, None]] = {}
    for one in explained:
        rest = tuple(change for change in one.changes or () if change not in shared)
        if rest and one.verdict != "not comparable":  # there the reason says it
            own.setdefault(rest, {})[full_name(one)] = None
    for changes, names in list(own.items())[:_MOST_NAMED]:
        yield f"{_named(names)}: {'; '.join(changes)}"
    if len(own) > _MOST_NAMED:
        more = sum(map(len, list(own.values())[_MOST_NAMED:]))
        yield f"{more:,} {plural(more, 'cell')} more with differences: --format json has them."
    if not (shared or own):
        known = "Nothing else that records tell differs." if explained else ""
        yield known or "What else differs is not known: one side has no records."


def step_lines(answer: RegressionAnswer, *, every: bool) -> Iterator[str]:
    """Steps in the history of series that changed or stay open, or of every series, by run."""
    by_run: dict[str, list[tuple[Judgement, LevelStep]]] = {}
    for judgement in answer.judgements.judgements:
        if every or judgement.verdict != "no change":
            for step in judgement.steps:
                by_run.setdefault(step.run_id, []).append((judgement, step))
    runs = sorted(by_run.values(), key=lambda steps: steps[0][1].date, reverse=True)
    several = len({one.metric for one in answer.judgements.judgements}) > 1
    for steps in runs[: None if every else _MOST_NAMED]:
        sizes = [
            f"{full_name(one)}{f' in {one.metric.label}' if several else ''}"
            f" {change_words(step.ratio)}"
            for one, step in steps
        ]
        most = len(sizes) if every else _MOST_SIZES
        more = f" and {len(sizes) - most:,} more" if len(sizes) > most else ""
        yield f"{step_words(steps[0][1])}: {', '.join(sizes[:most])}{more}"
    if not every and len(runs) > _MOST_NAMED:
        more_runs = len(runs) - _MOST_NAMED
        yield f"Steps in {more_runs:,} {plural(more_runs, 'run')} more: --wide lists them."


def step_words(step: LevelStep) -> str:
    """The date of a step, and the first run and commit that have it."""
    commit = f", commit {step.first.git_commit[:_COMMIT_LETTERS]}" if step.first.git_commit else ""
    accepted = f", accepted ({step.accepted})" if step.accepted else ""
    return f"Step of {step.date:%Y-%m-%d}, first in run {step.run_id}{commit}{accepted}"


def _names_by_reason(pairs: Iterable[tuple[str, Judgement]]) -> dict[str, dict[str, None]]:
    reasons: dict[str, dict[str, None]] = {}
    for reason, judgement in pairs:
        reasons.setdefault(reason, {})[full_name(judgement)] = None
    return reasons


def not_comparable_lines(known: Sequence[MetricVerdicts]) -> Iterator[str]:
    """Cells that cannot be compared, alike reasons in one sentence."""
    reasons = _names_by_reason(
        (one.reason, one) for verdicts in known for one in verdicts.by_verdict["not comparable"]
    )
    for reason, names in list(reasons.items())[:_MOST_NAMED]:
        yield f"Not comparable: {_named(names)}: {reason}"
    if len(reasons) > _MOST_NAMED:
        more = len(reasons) - _MOST_NAMED
        yield f"{more:,} other {plural(more, 'reason')}: --format json has them."


def one_sided_lines(answer: RegressionAnswer) -> Iterator[str]:
    judgements = answer.judgements
    sides = ((judgements.only_before, judgements.base), (judgements.only_after, judgements.run))
    yield from (f"Only in {label}: {_named(cells)}." for cells, label in sides if cells)


def _named(names: Iterable[str]) -> str:
    known = list(names)
    more = f" and {len(known) - _MOST_NAMED:,} more" if len(known) > _MOST_NAMED else ""
    return f"{', '.join(known[:_MOST_NAMED])}{more}"


def accepted_lines(answer: RegressionAnswer) -> Iterator[str]:
    reasons = _names_by_reason(
        (one.case.accepted, one)
        for one in answer.judgements.judgements
        if one.case and one.case.accepted is not None
    )
    for reason, names in reasons.items():
        yield f"Accepted, so no verdict: {_named(names)}: {reason}"


def trust_lines(answer: RegressionAnswer) -> Iterator[str]:
    """The noise that verdicts rest on, then the one thing that most limits them."""
    judged = [one for one in answer.judged if one.noise]
    bases = dict.fromkeys(one.noise for one in judged)
    if len(bases) == 1:
        yield f"Noise is that of {next(iter(bases))}."
    elif judged:
        sources = [one.noise_source for one in judged]
        counts = {source: sources.count(source) for source in _SOURCES if source in sources}
        words = (f"{_SOURCES[source]} in {count:,}" for source, count in counts.items())
        yield f"Noise is that of {', of '.join(words)} of {len(judged):,}."
    required, unclear = answer.request.require_grade, answer.judgements.counts["inconclusive"]
    weak = sum(one.verdict == "inconclusive" and one.noise_source in _WEAK for one in answer.judged)
    if required and answer.below_grade:
        total = len({one.cell_id for one in answer.judged})
        yield (
            f"Grade {required} is required; {below_grade_words(answer.below_grade, total, 'cell')}:"
            f" `orchestrator {status_command(answer)}` tells why, and what helps."
        )
    elif weak:
        yield (
            f"In {weak:,} of {unclear:,} inconclusive, one launch a side says too little:"
            " `--profile standard` takes several."
        )
