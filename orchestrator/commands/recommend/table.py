"""Recommendations as a sheet: ranked candidates, and those left out with their reasons."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from analysis.recommend.candidates import OBJECTIONS, Candidate, Figure, Objection, path_of
from analysis.recommend.choices import Choice, LeftOutCandidate, RankedCandidate
from analysis.results.metrics import METRICS
from analysis.results.table import Field, Table
from analysis.statistics.numbers import format_number
from analysis.statistics.ratios import THRESHOLD, equal_words, outcome_facts
from orchestrator.commands.recommend.answer import Recommendation
from orchestrator.commands.recommend.words import (
    answer_words,
    candidate_path,
    candidate_words,
    figure_interval,
    figure_unit,
    largest_words,
    next_words,
    requirement_words,
    share_words,
    some_candidate,
    subject_words,
    trust_words,
)
from orchestrator.screen.sheet import ON_SCREEN, Sheet
from orchestrator.system.text import plural
from runner.contract.axes import AXIS_NAMES

_SHOWN = 10
_REASONS = 7
_EMPTY = 5
_PATHS = 4
_IMPORTED = "*"


def recommendation_sheet(answer: Recommendation, form: str) -> Sheet:
    title = f"Recommendation {requirement_words(answer)}"
    document = recommendation_document(answer)
    everything = form != ON_SCREEN
    if len(answer.choices) == 1:
        tables = _tables(answer, answer.choices[0], everything=everything)
    else:
        tables = [_overview(answer)]
    notes = (*trust_words(answer), *next_words(answer))
    return Sheet(title, tables, notes, document, [*document["recommended"], *document["left_out"]])


def _tables(answer: Recommendation, choice: Choice, *, everything: bool) -> list[Table]:
    candidate, ranking = some_candidate(choice), choice.ranking
    alone = len(answer.machines) == 1 or (ranking and ranking.machines == 1)
    machine = f" · {candidate.machine.name}" if alone else ""
    title = f"{subject_words(candidate.cell)}{machine} · {requirement_words(answer)}"
    left_out = _left_out_table(answer, choice, everything=everything)
    if ranking is None:
        counts = Counter(one.objection.kind for one in choice.left_out)
        words = (f"{counts[name]} {words}" for name, words in OBJECTIONS.items() if counts[name])
        nothing = f"of {len(choice.left_out)} candidates {', '.join(words)}"
        notes = (*left_out.notes, f"nothing is recommended: {nothing}")
        return [replace(left_out, title=title, notes=notes)]
    shown = ranking.rows if everything else ranking.rows[:_SHOWN]
    beyond = len(ranking.rows) - len(shown)
    more = f"{beyond:,} more {plural(beyond, 'candidate')} (--format json has all)"
    sentences = (answer_words(answer, ranking), *largest_words(answer, ranking))
    unit = figure_unit(answer, ranking.first.candidate.cell)
    several = ranking.machines > 1
    fields = _fields(answer, unit, several=several)
    notes = (more, *sentences) if beyond else sentences
    ranked = Table(title, fields, [_row(one, several=several) for one in shown], notes)
    return [ranked, left_out] if left_out.rows else [ranked]


def _fields(
    answer: Recommendation, unit: str, *, several: bool, with_model: bool = False
) -> list[Field]:
    requirements = answer.requirements
    fields = [Field("model", essential=True, wraps=True)] if with_model else []
    if with_model or several or requirements.level:  # else there is room for a column each
        fields.append(Field("candidate", essential=True, wraps=True))
    else:
        fields += [
            Field("path", "backend, runtime", essential=True),
            Field("precision", essential=True),
            Field("batch_size", "batch", essential=True, right=True),
        ]
    fields += [
        Field("value", unit.partition(" per ")[0], essential=True, right=True),
        Field("interval", essential=True, right=True),
        Field("basis", essential=True),
    ]
    if requirements.level:
        fields.append(Field("chance", "meets it", essential=True, right=True))
    if requirements.memory_bytes or requirements.objective.name == "memory":
        own = requirements.objective.name == "memory"
        return fields if own else [*fields, Field("memory", "≤ MB", right=True)]
    return fields


def _row(one: RankedCandidate, *, several: bool) -> dict[str, Any]:
    cell, figure = one.candidate.cell, one.figure
    mark = _IMPORTED if figure.marks else ""
    return {
        "model": cell.model,
        "candidate": candidate_words(one.candidate, with_machine=several),
        "path": candidate_path(cell),
        "precision": cell.precision,
        "batch_size": cell.batch_size,
        "value": f"{format_number(figure.value)}{mark}",
        "interval": figure_interval(figure),
        "basis": "grade D" if figure.grade == "D" else figure.basis,
        "chance": share_words(one.chance.share) if one.chance else None,
        "memory": format_number(one.memory.high) if one.memory else None,
    }


def _left_out_table(answer: Recommendation, choice: Choice, *, everything: bool) -> Table:
    paths: dict[tuple[Any, ...], list[LeftOutCandidate]] = defaultdict(list)
    for one in choice.left_out:
        paths[*path_of(one.candidate), one.objection.kind].append(one)
    reasons: dict[Objection, list[list[LeftOutCandidate]]] = defaultdict(list)
    for path in paths.values():
        reasons[_nearest(path).objection].append(path)
    order = list(OBJECTIONS)
    ordered = sorted(reasons.values(), key=lambda of: order.index(of[0][0].objection.kind))
    shown = ordered if everything else _of_each_kind(ordered)
    rows = [_reason_row(group, several=len(answer.machines) > 1) for group in shown]
    beyond = sum(len(path) for group in ordered for path in group) - sum(
        len(path) for group in shown for path in group
    )
    more = f"{beyond:,} more {plural(beyond, 'candidate')} left out (--format json has all)"
    fields = [
        Field("candidates", "left out", essential=True, wraps=True),
        Field("batch_sizes", "batch", essential=True, right=True),
        Field("reason", "why not", essential=True, wraps=True),
    ]
    return Table("", fields, rows, (more,) if beyond else ())


def _nearest(path: Sequence[LeftOutCandidate]) -> LeftOutCandidate:
    return min(path, key=lambda one: one.candidate.cell.batch_size)


def _of_each_kind(
    groups: Sequence[list[list[LeftOutCandidate]]],
) -> list[list[list[LeftOutCandidate]]]:
    """As many groups as fit a screen: first one of each kind of reason."""
    kinds = [group[0][0].objection.kind for group in groups]
    firsts = {kinds.index(kind) for kind in kinds}
    others = (number for number in range(len(groups)) if number not in firsts)
    chosen = [*sorted(firsts), *others][:_REASONS]
    return [groups[number] for number in sorted(chosen)]


def _reason_row(group: Sequence[Sequence[LeftOutCandidate]], *, several: bool) -> dict[str, str]:
    nearest = _nearest(group[0])
    precisions: dict[str, dict[str, None]] = defaultdict(dict)
    for path in group:
        cell = path[0].candidate.cell
        precisions[candidate_path(cell)][cell.precision] = None
    names = [f"{name} {', '.join(of)}" for name, of in precisions.items()]
    if len(names) > _PATHS:
        names[_PATHS - 1 :] = [f"{len(names) - _PATHS + 1} more"]
    machines = {path[0].candidate.machine.name for path in group}
    where = f" on {machines.pop()}" if several and len(machines) == 1 else ""
    sizes = sorted({one.candidate.cell.batch_size for path in group for one in path})
    kind = OBJECTIONS[nearest.objection.kind].partition(",")[0]
    return {
        "candidates": f"{'; '.join(names)}{where}",
        "batch_sizes": str(sizes[0]) if len(sizes) == 1 else f"{sizes[0]}–{sizes[-1]}",
        "reason": f"{kind}: {nearest.objection.reason}",
    }


def _overview(answer: Recommendation) -> Table:
    firsts = [choice.ranking.first for choice in answer.choices if choice.ranking]
    several = len({one.candidate.machine.name for one in firsts}) > 1
    rows, empty = [], []
    models = Counter(choice.question[0] for choice in answer.choices)
    for choice in answer.choices:
        if choice.ranking:
            sure = "" if choice.ranking.is_sure else " ≈" * bool(choice.ranking.equals)
            row = _row(choice.ranking.first, several=several)
            cell = choice.ranking.first.candidate.cell
            alone = models[cell.model] == 1
            name = cell.model if alone else subject_words(cell).rpartition(" · ")[0]
            rows.append(row | {"model": f"{name}{sure}"})
        else:
            empty.append(some_candidate(choice).cell.model)
    notes = []
    if any("≈" in row["model"] for row in rows):
        notes.append(
            f"≈: others of the model are {equal_words(THRESHOLD)} or undecided: --model lists them"
        )
    if empty:
        known = list(dict.fromkeys(empty))
        more = f" and {len(known) - _EMPTY} more" if len(known) > _EMPTY else ""
        names = f"{', '.join(known[:_EMPTY])}{more}"
        notes.append(f"nothing to recommend for {names}: `recommend --model` says why")
    cell = some_candidate(answer.choices[0]).cell
    heading = f"the first choice for each model · {requirement_words(answer)}"
    unit = figure_unit(answer, cell)
    return Table(heading, _fields(answer, unit, several=several, with_model=True), rows, notes)


def recommendation_document(answer: Recommendation) -> dict[str, Any]:
    requirements = answer.requirements
    return {
        "objective": requirements.objective.name,
        "slo": str(requirements.level) if requirements.level else None,
        "slo_confidence": requirements.confidence if requirements.level else None,
        "memory_limit_bytes": requirements.memory_bytes,
        "measured_interval": 0.95,
        "predicted_interval": 0.90,
        "threshold": THRESHOLD,
        "examples": dict(answer.examples),
        "recommended": [
            _ranked_document(one, rank, choice, answer)
            for choice in answer.choices
            if choice.ranking
            for rank, one in enumerate(choice.ranking.rows, start=1)
        ],
        "left_out": [
            _candidate_document(one.candidate)
            | {"kind": one.objection.kind, "reason": one.objection.reason}
            for choice in answer.choices
            for one in choice.left_out
        ],
        "notes": [*trust_words(answer)],
    }


def _candidate_document(candidate: Candidate) -> dict[str, Any]:
    cell, machine = candidate.cell, candidate.machine
    return (
        {"cell_id": cell.id}
        | {name: getattr(cell, name) for name in AXIS_NAMES}
        | {"hardware": machine.name, "hardware_id": machine.key, "hostname": machine.hostname}
    )


def _ranked_document(
    one: RankedCandidate, rank: int, choice: Choice, answer: Recommendation
) -> dict[str, Any]:
    unit, objective = figure_unit(answer, one.candidate.cell), answer.requirements.objective
    return _candidate_document(one.candidate) | {
        "rank": rank,
        **outcome_facts(one.outcome, METRICS.get(objective.name, METRICS["energy"])),
        "basis": one.figure.basis,
        "unit": unit,
        **_figure_document(objective.name, one.figure),
        **_figure_document("memory_mb", one.memory),
        "slo_chance": one.chance.share if one.chance else None,
        "slo_basis": one.chance.basis if one.chance else None,
        "price_per_hour": one.price,
        "grade": one.figure.grade,
        "marks": list(one.figure.marks),
        "extrapolation": list(one.figure.outside),
    }


def _figure_document(name: str, figure: Figure | None) -> Mapping[str, float | None]:
    """A figure's columns; those of predictions say so in their names."""
    suffix = "" if figure is None or figure.is_measured else "_predicted"
    interval = figure.interval if figure else None
    return {
        f"{name}{suffix}": figure.value if figure else None,
        f"{name}{suffix}_low": interval.low if interval else None,
        f"{name}{suffix}_high": interval.high if interval else None,
    }
