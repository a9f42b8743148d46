"""Predicted cells for programs and as tables."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analysis.charts.predictions import shown_amount, shown_heading, shown_value
from analysis.charts.words import path_words
from analysis.predict.examples.placements import PREDICTION_TARGETS, Target
from analysis.predict.novelty import NOVELTIES
from analysis.predict.predictor import NoPrediction, Prediction
from analysis.results.differing import fact_heading, fact_words, shared, varying, work_words
from analysis.results.table import Field, RowFacts, Table
from analysis.statistics.numbers import format_number
from orchestrator.commands.predict.question import PREDICTED_NAMES
from orchestrator.commands.predict.questions import PredictedCell, PredictedCells
from orchestrator.commands.predict.words import (
    NOVELTY_WORDS,
    error_words,
    later_words,
    source_words,
)
from orchestrator.screen.sheet import ON_SCREEN, Sheet
from orchestrator.system.files import database_option
from orchestrator.system.text import plural
from runner.contract.axes import AXES
from runner.contract.cell import DEFAULT_RUNTIMES

TRUST_COLUMNS = ("novelty", "extrapolation", "reason")
_MOST_ROWS = 20
"""Cells that a terminal shows; files have all of them."""
_PATH = ("backend", "runtime")
_DEFAULTS: Mapping[str, object] = {
    axis.name: axis.default for axis in AXES if axis.name != "backend"
}
"""Values without options; a backend is named in any case."""
_OUTSIDE, _REFUSED = "extrapolation", "refused"
_DOUBT = "?"


def value_columns(target: str) -> tuple[str, str, str, str]:
    """The columns of a target: its prediction, the ends of the 90 % interval, what was measured."""
    column = PREDICTION_TARGETS[target].column
    ends = (f"{column}_low_predicted", f"{column}_high_predicted")
    return (f"{column}_predicted", *ends, column)


def predicted_rows(
    cells: Sequence[PredictedCell], targets: Sequence[str]
) -> Iterator[dict[str, Any]]:
    columns = {target: value_columns(target) for target in targets}
    for one in cells:
        row: dict[str, Any] = {name: getattr(one.cell, name) for name in PREDICTED_NAMES}
        row["hardware"] = one.machine.name if one.machine else None
        for target, (value, low, high, measured) in columns.items():
            answer = one.answers[target]
            known = answer if isinstance(answer, Prediction) else None
            row[value] = known and known.value
            row[low] = known and known.low
            row[high] = known and known.high
            row[measured] = one.measured.get(target)
        yield row | trust_of(one.answers)


def trust_of(answers: Mapping[str, Prediction | NoPrediction]) -> dict[str, Any]:
    """The novelty of the target that least is known of, and reasons for doubt or refusal of any."""
    predictions = [one for one in answers.values() if isinstance(one, Prediction)]
    refused = [one.reason for one in answers.values() if isinstance(one, NoPrediction)]
    outside = dict.fromkeys(sentence for one in predictions for sentence in one.outside)
    novelty = max((one.novelty for one in predictions), key=NOVELTIES.index, default=None)
    return {
        "novelty": novelty,
        "extrapolation": bool(outside) if predictions else None,
        "reason": "; ".join(dict.fromkeys([*refused, *outside])) or None,
    }


def cells_sheet(answer: PredictedCells, form: str) -> Sheet:
    """The answer as a sheet of this format; CSV and JSON have a row a cell, in base units."""
    predictor = answer.predictor
    labels = ", ".join(PREDICTION_TARGETS[name].label for name in answer.targets)
    rows = [*predicted_rows(answer.cells, answer.targets)]
    document = {
        "database": str(predictor.database),
        "predictor": {
            **predictor.manifest.model_dump(mode="json", include={"trained_at", "sources"}),
            "examples": predictor.manifest.examples,
            "added_since": predictor.added,
        },
        "targets": answer.targets,
        "cells": rows,
    }
    tables = [_table(answer, PREDICTION_TARGETS[name], form) for name in answer.targets]
    hidden = len(answer.cells) - _MOST_ROWS
    more = [f"… {hidden:,} more: `--output FILE` for all"] if hidden > 0 else []
    notes = (*(more if form == ON_SCREEN else []), _answer(answer), *_trust(answer), _next(answer))
    return Sheet(f"Predicted {labels}", tables, notes, document, rows)


def _table(answer: PredictedCells, target: Target, form: str) -> Table:
    facts = _facts(answer.cells)
    differing = _differing(facts)
    device = shared(facts, ["hardware"]).get("hardware")
    where = f" on {device}" if device else ""
    work = work_words(facts, [name for name in PREDICTED_NAMES if name not in differing])
    heading = f"predicted {shown_heading(target)}: {work}{where}"
    shown = answer.cells[:_MOST_ROWS] if form == ON_SCREEN else answer.cells
    rows = [{**known, **_numbers(one, target)} for known, one in zip(facts, shown, strict=False)]
    return Table(heading, _fields(differing, rows, target), rows)


def _facts(cells: Sequence[PredictedCell]) -> list[RowFacts]:
    axes = [vars(one.cell) for one in cells]
    is_path = len(varying(axes, _PATH)) != 1
    return [
        {
            **{name: of[name] for name in PREDICTED_NAMES},
            **({"backend": path_words(of), "runtime": None} if is_path else {}),
            "hardware": one.machine.name if one.machine else None,
        }
        for of, one in zip(axes, cells, strict=True)
    ]


def _differing(facts: Sequence[RowFacts]) -> list[str]:
    """The facts that tell cells apart; the batch size where nothing does."""
    different = varying(facts, (*PREDICTED_NAMES, "hardware"))
    known = [name for name in different if len({one[name] for one in facts} - {None}) > 1]
    return known or ["batch_size"]


def _numbers(one: PredictedCell, target: Target) -> dict[str, Any]:
    answer, measured = one.answers[target.name], one.measured.get(target.name)
    known = {"measured": measured and shown_value(measured, target)}
    if isinstance(answer, NoPrediction):
        return {**known, "interval": _REFUSED}
    low, high = (format_number(shown_value(end, target)) for end in (answer.low, answer.high))
    return {
        **known,
        "predicted": shown_value(answer.value, target),
        "interval": f"{low}–{high}",
        "doubt": answer.extrapolates,
        "novelty": answer.novelty,
    }


def _fields(
    differing: Sequence[str], rows: Sequence[Mapping[str, Any]], target: Target
) -> list[Field]:
    several = len({row["novelty"] for row in rows if "novelty" in row}) > 1
    measured = any(row["measured"] is not None for row in rows)
    doubtful = any(row.get("doubt") for row in rows)
    doubt = Field("doubt", "?", essential=True, shown=lambda one: _DOUBT if one else "")
    return [
        *(Field(name, fact_heading(name), essential=True, wraps=True) for name in differing),
        Field("predicted", target.label.split()[-1], essential=True),
        Field("interval", "90 %", essential=True, right=True),
        *([doubt] if doubtful else []),
        *([Field("measured", essential=True)] if measured else []),
        *([Field("novelty", "asked about", shown=NOVELTY_WORDS.get)] if several else []),
    ]


def _answer(answer: PredictedCells) -> str:
    """The first target in a sentence: the one value, or the ends of what was asked."""
    target = PREDICTION_TARGETS[answer.targets[0]]
    known = [
        (one, reply)
        for one in answer.cells
        if isinstance(reply := one.answers[target.name], Prediction)
    ]
    if not known:
        return f"{target.label} of none of them is predicted"
    if len(known) == 1:
        one, reply = known[0]
        return f"{target.label} of {one.cell.id}: {_amount(reply, target)}"
    sign = -1 if target.more_is_better else 1
    best, worst = (end(known, key=lambda pair: sign * pair[1].value) for end in (min, max))
    more = "most" if target.more_is_better else "least"
    return (
        f"{more} {target.label}: {_amount(best[1], target)} for {_name(best[0], answer)}; from"
        f" there to {_amount(worst[1], target)} for {_name(worst[0], answer)}"
    )


def _name(one: PredictedCell, answer: PredictedCells) -> str:
    differing = _differing(_facts(answer.cells))
    facts = {**_facts([one])[0], "runtime": one.cell.runtime}
    return ", ".join(fact_words({name: facts[name] for name in differing}))


def _amount(answer: Prediction, target: Target) -> str:
    low, high = shown_amount(answer.low, target), shown_amount(answer.high, target)
    doubt = "" if answer.extrapolates else " in 9 of 10 cases"
    return f"{shown_amount(answer.value, target)} ({low.split()[0]} to {high}{doubt})"


def _trust(answer: PredictedCells) -> Iterator[str]:
    """The results that the answer rests on, and what of it nothing promises."""
    target = answer.targets[0]
    facts = answer.predictor.manifest.targets[target]
    answers = [one.answers[target] for one in answer.cells]
    novelties = {one.novelty for one in answers if isinstance(one, Prediction)}
    rests = f"rests on {source_words(facts.examples)}"
    if novelties:
        novelty = max(novelties, key=NOVELTIES.index)
        errors = facts.errors.get(novelty)
        known = f": typically wrong by {error_words(errors.median_error)}" if errors else ""
        rests += f"; {NOVELTY_WORDS[novelty]}{known}"
    yield rests
    parts = []
    outside = [
        sentences
        for one in answer.cells
        if (sentences := [*dict.fromkeys(s for known in one.predictions for s in known.outside)])
    ]
    if outside:
        parts.append(_reasons(f"?: {_OUTSIDE}", len(outside), answer, outside[-1]))
    replies = [reply for one in answer.cells for reply in one.answers.values()]
    refused = Counter(reply.reason for reply in replies if isinstance(reply, NoPrediction))
    if refused:
        cells = sum(len(one.predictions) < len(one.answers) for one in answer.cells)
        reasons = [reason for reason, _ in refused.most_common()]
        parts.append(_reasons(_REFUSED, cells, answer, reasons))
    if parts:
        yield "; ".join(parts)


def _reasons(label: str, count: int, answer: PredictedCells, reasons: Sequence[str]) -> str:
    """The number of cells with the first of several reasons."""
    total, more = len(answer.cells), len(reasons) - 1
    of = f", {count:,} of {total:,}" if total > 1 else ""
    rest = f" (and {more} more {plural(more, 'reason')})" if more else ""
    return f"{label}{of}: {reasons[0]}{rest}"


def _next(answer: PredictedCells) -> str:
    if later := [*later_words(answer.predictor)]:
        return later[0]
    words = ["orchestrator", "bench"]
    unknown = [one for one in answer.cells if not one.measured]
    is_usual = all(one.cell.runtime == DEFAULT_RUNTIMES[one.cell.backend] for one in answer.cells)
    for name in PREDICTED_NAMES:
        values = dict.fromkeys(getattr(one.cell, name) for one in unknown or answer.cells)
        values.pop(None, None)
        if name == "model" and answer.named_models:
            values = dict.fromkeys(answer.named_models)
        if name == "runtime" and is_usual:
            continue
        if values and [*values] != [_DEFAULTS.get(name)]:
            words += [f"--{name.replace('_', '-')}", ",".join(map(str, values))]
    where = database_option(answer.predictor.database)
    devices = {one.machine.name for one in answer.cells if one.machine}
    there = f", on {next(iter(devices))}" if len(devices) == 1 else ""
    verb = "measures them" if unknown else "measures them again"
    return f"next{there}: `{shlex.join([*words, *where])}` {verb}"
