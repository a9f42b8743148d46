"""An evaluation of predictions as a sheet: a table for each target, a row for each novelty."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from analysis.charts.words import listed
from analysis.predict.evaluation.baselines import PREDICTION_BASELINES
from analysis.predict.evaluation.trials import NoveltyTrial
from analysis.predict.novelty_words import NAMED_NOVELTIES
from analysis.results.table import Field, Table
from orchestrator.commands.predict.evaluation import EvaluationReport, TargetEvaluation
from orchestrator.commands.predict.stored_predictor import training_command
from orchestrator.commands.predict.words import NOVELTY_WORDS, error_words, source_words
from orchestrator.screen.sheet import Sheet
from orchestrator.system.files import database_option
from orchestrator.system.text import plural

FEW_GROUPS = 10
"""Groups below which errors say little of others."""


def evaluation_sheet(report: EvaluationReport) -> Sheet:
    """The evaluation as a sheet; in CSV all numbers of all targets."""
    rows = [_flat(part, one) for part in report.evaluations for one in part.trials]
    title = f"Predictions of {report.database}, against what was measured"
    document = {"database": str(report.database), "trials": rows, "left_out": report.left_out}
    tables = [_table(part) for part in report.evaluations]
    return Sheet(title, tables, tuple(_notes(report)), document, rows)


def _table(part: TargetEvaluation) -> Table:
    fields = [
        Field("novelty", "asked about", essential=True),
        Field("mape", "MAPE", essential=True, right=True),
        Field("median_ape", "median", essential=True, right=True),
        Field("within_tenth", "≤ 10 %", right=True),
        Field("coverage", "90 % held", essential=True, right=True),
        Field("half_width", "interval", right=True),
        Field("baseline", "best baseline", essential=True, right=True),
        Field("rows", essential=True),
        Field("groups"),
    ]
    tried = [one for one in part.trials if one.trial.answered]
    heading = f"{part.target.label}: {source_words(part.examples)}, hidden and predicted in turn"
    return Table(heading, fields, [*map(_texts, tried)], tuple(_remarks(part, tried)))


def _texts(one: NoveltyTrial) -> dict[str, object]:
    """A trial as people see it; without numbers where nothing was answered."""
    accuracy, intervals = one.trial.accuracy, one.trial.intervals
    if accuracy is None or intervals is None:
        return {"novelty": NOVELTY_WORDS[one.novelty]}
    baselines = one.trial.baselines
    best = min(baselines, key=lambda name: baselines[name].mape)
    return {
        "novelty": NOVELTY_WORDS[one.novelty],
        "mape": error_words(accuracy.mape),
        "median_ape": error_words(accuracy.median_ape),
        "within_tenth": f"{accuracy.within_tenth:.0%}",
        "coverage": f"{intervals.coverage:.0%}",
        "half_width": f"×{intervals.half_width:.2f}",
        "baseline": f"{best} {error_words(baselines[best].mape)}",
        "rows": accuracy.questions,
        "groups": one.groups,
    }


def _flat(part: TargetEvaluation, one: NoveltyTrial) -> dict[str, Any]:
    """A trial as a line of CSV: shares, not percentages; null where nothing could be tried."""
    trial, baselines = one.trial, one.trial.baselines
    accuracy = asdict(trial.accuracy) if trial.accuracy else dict.fromkeys(_ERRORS)
    quality = trial.intervals
    return {
        "target": part.target.name,
        "novelty": one.novelty,
        "questions": len(trial.answered),
        "groups": one.groups,
        "folds": part.folds[one.novelty][0],
        "of_folds": part.folds[one.novelty][1],
        "refused": trial.refusals,
        "extrapolations": trial.marked,
        **{name: accuracy[name] for name in _ERRORS},
        "coverage": quality.coverage if quality else None,
        "half_width": quality.half_width if quality else None,
        **{
            f"{name.lower().replace('-', '_')}_mape": baselines[name].mape if baselines else None
            for name in PREDICTION_BASELINES
        },
    }


_ERRORS = ("mape", "median_ape", "within_tenth", "bias")


def _remarks(part: TargetEvaluation, tried: Sequence[NoveltyTrial]) -> Iterator[str]:
    """The answer of a table, and what it could not try."""
    nearer: dict[str, list[str]] = {}
    for one in tried:
        name = _best(one)
        if name is not None:
            nearer.setdefault(name, []).append(NOVELTY_WORDS[one.novelty])
    better = len(tried) - sum(map(len, nearer.values()))
    if tried:
        exceptions = (
            f"{name} is nearer for {listed(novelties)}" for name, novelties in nearer.items()
        )
        share = f"{better} of {len(tried)} {plural(len(tried), 'row')}"
        yield "; ".join([f"better than every baseline in {share}", *exceptions])
    untried: dict[str, list[str]] = {}
    for one in part.trials:
        if not one.trial.answered:
            untried.setdefault(NAMED_NOVELTIES[one.novelty].untried, []).append(
                NOVELTY_WORDS[one.novelty]
            )
    if untried:
        reasons = (f"{listed(names)}: {reason}" for reason, names in untried.items())
        yield f"not tried: {'; '.join(reasons)}"


def _best(one: NoveltyTrial) -> str | None:
    """The baseline that is nearer than the predictor; None where none is."""
    accuracy, baselines = one.trial.accuracy, one.trial.baselines
    best = min(baselines, key=lambda name: baselines[name].mape)
    return best if accuracy and accuracy.mape > baselines[best].mape else None


def _notes(report: EvaluationReport) -> Iterator[str]:
    trials = [one for part in report.evaluations for one in part.trials if one.trial.answered]
    few = sum(one.groups < FEW_GROUPS for one in trials)
    yield (
        "MAPE: mean of absolute relative errors; interval: √(high / low); baselines: roofline by"
        " efficiency, two-way means, ridge, LightGBM with its defaults"
    )
    if few:
        rows = "1 row hides" if few == 1 else f"{few} rows hide"
        yield f"{rows} fewer than {FEW_GROUPS} groups: such errors say little about others"
    if any(part.hidden_in_part for part in report.evaluations):
        yield (
            "of so many results some folds of each row were hidden: --every-fold hides all, which"
            " takes much longer"
        )
    total = sum(report.left_out.values())
    if total:
        reasons = "; ".join(f"{count:,}: {name}" for name, count in report.left_out.items())
        yield f"left out {total:,} {plural(total, 'result')}: {reasons}"
    yield from _kept(report)


def _kept(report: EvaluationReport) -> Iterator[str]:
    """The place of the evaluation and what shows it; without a predictor what makes one."""
    if report.not_kept:
        yield f"not kept: {report.not_kept}"
    elif report.kept:
        words = ["orchestrator report prediction", *database_option(report.database)]
        yield f"next: `{' '.join(words)}` shows it, as it is kept in {report.kept}"
    else:
        more = " --source all" if report.sources == "all" else ""
        yield f"next: `{training_command(report.database)}{more}` learns from all of them"
