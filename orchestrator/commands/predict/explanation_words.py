"""Explanations as a sheet: counted work, then the factors that make a prediction of it."""

from collections.abc import Iterator
from typing import Any

from analysis.charts.predictions.factors import factor_name, main_factors
from analysis.charts.predictions.units import shown_amount, shown_heading, shown_value
from analysis.charts.words import listed
from analysis.predict.explanation import Factor
from analysis.results.table import Field, Table
from analysis.statistics.numbers import format_number
from orchestrator.commands.predict.explanations import ExplainedCell, Explanations
from orchestrator.commands.predict.stored_predictor import training_command
from orchestrator.commands.predict.words import (
    NOVELTY_WORDS,
    added_words,
    source_words,
    training_words,
)
from orchestrator.screen.sheet import ON_SCREEN, Sheet

_MOST_FACTORS = 8
"""Factors that a terminal shows; of the others it shows the product."""
_MOST_NAMED = 2
_EFFECT, _TREES = "effect of what was measured", "trees"
_BASE, _PREDICTION = "counted work", "prediction"


def explanation_sheet(answer: Explanations, form: str) -> Sheet:
    """The explanations as a sheet of this format."""
    most = _MOST_FACTORS if form == ON_SCREEN else None
    tables = [_table(one, most) for one in answer.cells]
    document = {
        "database": str(answer.database),
        "explanations": [_document(one) for one in answer.cells],
        "refused": answer.refused,
    }
    return Sheet("Explained predictions", tables, tuple(_notes(answer)), document)


def _table(one: ExplainedCell, most: int | None) -> Table:
    factors = one.explanation.factors
    shown = [*factors] if most is None else main_factors(factors, most)
    steps = [_step(factor) for factor in shown]
    base = shown_value(one.explanation.base, one.target)
    value = shown_value(one.explanation.prediction.value, one.target)
    rows = [
        {"step": _BASE, "of": f"at the peaks of {one.machine.name}", "value": base},
        *steps,
        {"step": _PREDICTION, "value": value},
    ]
    fields = [
        Field("step", essential=True),
        Field("of", wraps=True, essential=True),
        Field("factor", "times", essential=True, right=True, shown=_factor_text),
        Field("value", shown_heading(one.target).rpartition(", ")[2], essential=True),
    ]
    title = f"{shown_heading(one.target).partition(',')[0]} of {one.cell.id}"
    return Table(title, fields, rows, tuple(_sentences(one)))


def _step(factor: Factor) -> dict[str, Any]:
    name = f"trees: {factor.name}" if factor.origin == "trees" else factor.name
    return {"step": name, "of": factor.subject or None, "factor": factor.value}


def _factor_text(value: float | None) -> str | None:
    return None if value is None else format_number(value)


def _sentences(one: ExplainedCell) -> Iterator[str]:
    explanation, target = one.explanation, one.target
    shares = sorted(explanation.shares.items(), key=lambda share: -share[1])
    parts = [f"{share:.0%} {name}" for name, share in shares if share >= 0.005]
    main = [
        f"{format_number(factor.value)} for {factor_name(factor)}"
        for factor in explanation.factors[:_MOST_NAMED]
    ]
    times = f", mostly times {listed(main)}" if main else ""
    yield (
        f"counted work is {listed(parts)}: {shown_amount(explanation.base, target)}; it becomes"
        f" {shown_amount(explanation.prediction.value, target)}{times}"
    )
    if explanation.prediction.outside:
        yield f"extrapolation: {'; '.join(explanation.prediction.outside)}"


def _notes(answer: Explanations) -> Iterator[str]:
    novelty = answer.cells[0].explanation.prediction.novelty
    facts = answer.manifest.targets[answer.cells[0].target.name]
    yield f"rests on {source_words(facts.examples)}; {NOVELTY_WORDS[novelty]}"
    if answer.refused:
        yield f"refused: {answer.refused:,} more, which `orchestrator predict` gives the reasons of"
    command = training_command(answer.database)
    yield from added_words(answer.added, training_words(answer.manifest, command))


def _document(one: ExplainedCell) -> dict[str, Any]:
    explanation, prediction = one.explanation, one.explanation.prediction
    return {
        "cell": one.cell.id,
        "hardware": one.machine.name,
        "target": one.target.column,
        "unit": one.target.unit,
        "value_predicted": prediction.value,
        "low_predicted": prediction.low,
        "high_predicted": prediction.high,
        "novelty": prediction.novelty,
        "outside": prediction.outside,
        "base": explanation.base,
        "base_shares": explanation.shares,
        "factors": [
            {"origin": one.origin, "name": one.name, "subject": one.subject, "factor": one.value}
            for one in explanation.factors
        ],
    }
