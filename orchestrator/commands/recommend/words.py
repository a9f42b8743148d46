"""Recommendations in words, and as a matrix whose measurement decides."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from analysis.recommend.candidates import COST, Candidate, Figure, cost_unit, is_no_faster
from analysis.recommend.choices import CandidateRanking, Choice, RankedCandidate
from analysis.recommend.memory_fit import memory_words, percentage
from analysis.results.synonyms import axis_words
from analysis.statistics.numbers import format_number
from analysis.statistics.ratios import THRESHOLD, equal_words, reason_counts, side_by_side_words
from orchestrator.commands.predict.stored_predictor import training_command
from orchestrator.commands.predict.words import added_words, source_words
from orchestrator.commands.recommend.answer import Recommendation
from orchestrator.system.files import database_option
from orchestrator.system.text import format_memory, format_size, plural
from runner.contract.axes import AXES, AXIS_NAMES
from runner.contract.cell import Cell
from runner.contract.errors import NothingToDo

MATRIX_FILE = "best.yaml"
MOST_EQUALS = 3
"""The most candidates beside the first that a matrix holds, of those as good as it."""
_USUAL = {"mode": "inference", "scenario": "single_stream"}
_ALL_BUT_A_PERCENT = 0.99


def candidate_words(candidate: Candidate, *, with_machine: bool = False) -> str:
    """The chosen values, e.g. `cpu onnxruntime int8 at batch 8`."""
    cell = candidate.cell
    where = f" on {candidate.machine.name}" if with_machine else ""
    return f"{candidate_path(cell)} {cell.precision} at batch {cell.batch_size}{where}"


def candidate_path(cell: Cell) -> str:
    return cell.backend if cell.runtime == cell.backend else f"{cell.backend} {cell.runtime}"


def figure_unit(answer: Recommendation, cell: Cell) -> str:
    objective = answer.requirements.objective
    if objective.name == COST and answer.prices:
        return cost_unit(answer.prices.currency, cell)
    return objective.unit


def figure_interval(figure: Figure) -> str:
    """The interval's ends, e.g. `1.9–2.4`; a question mark where nothing promises that it holds."""
    if figure.interval is None:
        return "not known"
    ends = f"{format_number(figure.interval.low)}–{format_number(figure.interval.high)}"
    return f"{ends} ?" if figure.outside else ends


def share_words(share: float | None) -> str:
    """A chance; never all or nothing, as it is a share of resamples."""
    if share is None:
        return "not known"
    if share > _ALL_BUT_A_PERCENT:
        return ">99 %"
    return "<1 %" if share < 1 - _ALL_BUT_A_PERCENT else percentage(share)


def subject_words(cell: Cell) -> str:
    """The model with its sizes and mode, e.g. `bert-tiny · 128 tokens · inference`."""
    sizes = [
        axis_words(axis.name, value)
        for axis in AXES
        if axis.kind in ("size", "count")
        and axis.name != "batch_size"
        and (value := getattr(cell, axis.name)) is not None
    ]
    return " · ".join((cell.model, *sizes, cell.mode))


def requirement_words(answer: Recommendation) -> str:
    """The number that candidates are ranked by and their conditions, e.g. `by cost, p95 < 9 ms`."""
    requirements, cell = answer.requirements, some_candidate(answer.choices[0]).cell
    unit = f" in {figure_unit(answer, cell)}" if requirements.objective.name == COST else ""
    parts = [f"by {requirements.objective.label}{unit}"]
    if requirements.level:
        parts.append(f"{requirements.level} at {percentage(requirements.confidence)}")
    if requirements.memory_bytes:
        parts.append(f"memory up to {format_memory(requirements.memory_bytes)}")
    return ", ".join(parts)


def some_candidate(choice: Choice) -> Candidate:
    return choice.ranking.first.candidate if choice.ranking else choice.left_out[0].candidate


def answer_words(answer: Recommendation, ranking: CandidateRanking) -> str:
    first, several = ranking.first, ranking.machines > 1

    def short(one: RankedCandidate) -> str:
        words = candidate_words(one.candidate, with_machine=several)
        rounds = side_by_side_words([one.outcome])
        return f"{words} with {format_number(one.figure.value)}{rounds}"

    name = candidate_words(first.candidate, with_machine=several)
    figure = f"{format_number(first.figure.value)} {figure_unit(answer, first.candidate.cell)}"
    best = answer.requirements.objective.best
    how = "measured" if first.figure.is_measured else "predicted"
    stated = f"{name}, {figure} {how}"
    if first.figure.grade == "D" and not side_by_side_words(one.outcome for one in ranking.rows):
        stated = f"{stated} with grade D, which leaves its rank undecided: measure it longer"
    if first.figure.outside:
        return f"nothing is recommended beyond doubt: {stated}, but {first.figure.outside[0]}"
    aside = len(ranking.extrapolated)
    beside = f"; {aside} extrapolated {plural(aside, 'one')} aside" if aside else ""
    if ranking.is_sure:
        return f"{best}: {stated}; next {short(ranking.others[0])}{beside}"
    if len(ranking.rows) - aside == 1:
        return f"the only candidate that is left: {stated}{beside}"
    if ranking.equals:
        return f"first: {stated}; {'; '.join(_level_words(ranking, short))}{beside}"
    alone = "undecided beside others: single values have no interval"
    return f"first: {stated}; {alone}{beside}"


def _level_words(
    ranking: CandidateRanking, short: Callable[[RankedCandidate], str]
) -> Iterator[str]:
    """The candidates that are equal to the first, then those beside which it is undecided."""
    equal = [one for one in ranking.equals if one.outcome and not one.outcome.because]
    undecided = [one for one in ranking.equals if one not in equal]
    reasons = reason_counts(one.outcome for one in undecided if one.outcome)
    for words, several in (
        (f"{equal_words(THRESHOLD)} to", equal),
        (f"undecided ({reasons}) beside", undecided),
    ):
        if count := len(several):
            yield f"{words} {count} {plural(count, 'other')}, such as {short(several[0])}"


def largest_words(answer: Recommendation, ranking: CandidateRanking) -> Iterator[str]:
    limit = answer.requirements.memory_bytes
    if not (limit and answer.requirements.largest_batch):
        return
    largest = max(ranking.rows, key=lambda one: one.candidate.cell.batch_size)
    use = (
        f", of which it may use {memory_words(largest.memory.high * 1e6)}" if largest.memory else ""
    )
    name = candidate_words(largest.candidate, with_machine=ranking.machines > 1)
    yield f"largest batch under {format_memory(limit)}: {name}{use}"


def trust_words(answer: Recommendation) -> Iterator[str]:
    """At most two sentences about what the figures rest on, and one remedy."""
    rows = [row for choice in answer.choices if choice.ranking for row in choice.ranking.rows]
    predicted = [row for row in rows if not row.figure.is_measured]
    measured = len(rows) - len(predicted)
    doubtful = sum(row.figure.grade == "D" for row in rows)
    of_grade = f", {doubtful:,} of them of grade D" if doubtful else ""
    parts = [f"{measured:,} measured (95 % intervals{of_grade})"] if measured else []
    if predicted:
        rests = f" from {source_words(answer.examples)}" if answer.examples else ""
        parts.append(f"{len(predicted):,} predicted{rests} (90 % intervals)")
    if parts:
        yield f"candidates: {', '.join(parts)}"
    if any(row.figure.outside for row in predicted):
        yield "?: an extrapolation, whose interval nothing promises"
    if marks := sorted({mark for row in rows for mark in row.figure.marks}):
        yield f"* {', '.join(marks)}: never proven nor verified here"
    if len({choice.question[0] for choice in answer.choices}) > 1:
        yield "models are compared by speed and memory alone: nothing here knows their quality"
    yield from answer.notes
    if answer.ready.refusal:
        yield f"predictions are left out: {answer.ready.refusal}"
    yield from added_words(answer.ready.added, training_command(answer.request.database))


def next_words(answer: Recommendation) -> Iterator[str]:
    """Commands to go on with."""
    database = answer.request.database
    rankings = [choice.ranking for choice in answer.choices if choice.ranking]
    left_out = [one for choice in answer.choices for one in choice.left_out]
    unknown = [one for one in left_out if one.objection.kind in ("not_known", "fit_unknown")]
    if unknown and answer.ready.forecaster is None:
        count = f"{len(unknown):,} {plural(len(unknown), 'candidate')}"
        yield f"next: `{training_command(database)}` may predict {count} that nobody measured"
    slow = [one.candidate for one in left_out if one.objection.kind == "too_slow"]
    open_ = [one.candidate for one in left_out if one.objection.kind == "slo_unknown"]
    if longer := [one for one in open_ if not any(is_no_faster(one, other) for other in slow)]:
        command = f"{_bench(longer[0].cell, answer)} --profile standard"
        yield f"next: `{command}` may measure enough for {answer.requirements.level}"
    if rankings and not rankings[0].first.figure.is_measured:
        yield f"next: `{_bench(rankings[0].first.candidate.cell, answer)}` measures the first"
    elif rankings:
        line = f"--format matrix --output {MATRIX_FILE}"
        yield f"next: with `{line}` it is the matrix of `orchestrator run {MATRIX_FILE}`"


def _bench(cell: Cell, answer: Recommendation) -> str:
    words: list[str] = ["orchestrator", "bench"]
    for axis in AXES:
        value = getattr(cell, axis.name)
        if value is None or (axis.name in ("mode", "scenario") and value == axis.default):
            continue
        word = answer.words.get(value, value) if axis.name == "model" else value
        words += [axis.option, str(word)]
    return shlex.join([*words, *database_option(answer.request.database)])


def matrix_text(answer: Recommendation) -> str:
    """The matrix of the first of each ranking and those that may be as good, with why above."""
    import yaml

    lines = [f"chosen by `orchestrator recommend`, {requirement_words(answer)}"]
    cells: list[Cell] = []
    for choice in answer.choices:
        if ranking := choice.ranking:
            chosen = [ranking.first, *ranking.equals[:MOST_EQUALS]]
            more = "" if len(chosen) == 1 else f" ({len(chosen)} entries)"
            name = subject_words(ranking.first.candidate.cell)
            lines.append(f"{name}{more}: {answer_words(answer, ranking)}")
            cells += (one.candidate.cell for one in chosen)
    if not cells:
        raise NothingToDo(
            "no candidate is left for a matrix",
            hint="`orchestrator recommend` without --format matrix says why",
        )
    include = [_entry(cell, answer.words) for cell in dict.fromkeys(cells)]
    matrix: dict[str, Any] = {"version": 1, "include": include}
    if limit := answer.request.memory_bytes:
        words = format_size(limit)
        matrix["limits"] = {"memory": limit if "." in words else words}
    comments = "".join(f"# {line}\n" for line in lines)
    return comments + yaml.safe_dump(matrix, sort_keys=False, allow_unicode=True)


def _entry(cell: Cell, words: Mapping[str, str]) -> dict[str, Any]:
    """A combination of its own: what a cell has, without what every cell has."""
    entry: dict[str, Any] = {
        name: value
        for name in AXIS_NAMES
        if (value := getattr(cell, name)) is not None and value != _USUAL.get(name)
    }
    return entry | {"model": words.get(cell.model, cell.model)}
