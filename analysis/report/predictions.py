"""The report on a predictor: what it rests on, its errors, predictions against measurement."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.charts.chart import Chart
from analysis.charts.predictions.accuracy import kept_chart
from analysis.charts.predictions.errors import errors_chart
from analysis.charts.topics import distinctly_named
from analysis.predict.examples.placements import PREDICTION_TARGETS, KnownMachine, Target
from analysis.predict.features import Domain
from analysis.predict.kept_evaluation import KeptEvaluation, KeptTrial
from analysis.predict.manifest import PredictorManifest, TargetFacts
from analysis.predict.novelty import NAMED_NOVELTIES, NOVELTIES, Novelty
from analysis.report.prediction_misses import miss_table
from analysis.report.predictor_ground import ground_tables, span_table
from analysis.report.report import Report, ReportSection
from analysis.results.table import Field, RowFacts, Table

PREDICTION_TOPIC = "prediction"
_ERRORS = (
    Field("novelty", "asked about"),
    Field("mape", "MAPE", "share"),
    Field("median_ape", "median error", "share"),
    Field("within_tenth", "≤ 10 %", "share"),
    Field("coverage", "90 % hold", "share"),
    Field("half_width", "interval ×", "number"),
    Field("baseline", "best baseline"),
    Field("baseline_mape", "its MAPE", "share"),
    Field("questions", "hidden results", "number"),
    Field("groups", "in groups", "number"),
    Field("folds"),
    Field("median_error", "median error in training", "share"),
    Field("examples", "hidden in training", "number"),
    Field("bias", kind="change"),
    Field("extrapolations", kind="number"),
    Field("refused", kind="number"),
)
_TRIED = tuple(
    column.name for column in _ERRORS if column.name in KeptTrial.model_fields.keys() - {"folds"}
)
_HIDDEN = (
    "Each result was hidden together with all that such a question would not know of, and predicted"
    " from the others by a predictor that was trained for it: no point is a fit to itself.",
)
_METHOD = (
    "Errors are relative to what was measured; MAPE is their mean, bias the median with its sign. A"
    " 90 % interval should hold 9 of 10 results; one of × 1.2 reaches from the prediction divided"
    " by 1.2 to 1.2 times it.",
    "Errors in training are those of hidden results that calibrate the intervals; an evaluation"
    " trains for every part that it hides anew, so that its intervals know nothing of it either.",
    "`docs/prediction.md` tells what each word of the first column means, and how far to trust it.",
)


@dataclass(frozen=True)
class DescribedPredictor:
    """Everything that a report shows of a predictor."""

    database: str
    """The name of its database."""
    manifest: PredictorManifest
    machines: Sequence[KnownMachine]
    domains: Mapping[str, Domain]
    """The span of the examples by target."""
    evaluation: KeptEvaluation | None
    """The evaluation that is kept beside it."""
    evaluation_command: str
    """The command that makes one."""

    @property
    def trials(self) -> Iterator[tuple[Target, Novelty, KeptTrial]]:
        """All trials of the evaluation, target by target."""
        known = self.evaluation.targets if self.evaluation else {}
        for name, target in PREDICTION_TARGETS.items():
            of_target = known.get(name, {})
            yield from ((target, one, of_target[one]) for one in NOVELTIES if one in of_target)


def prediction_report(predictor: DescribedPredictor) -> Report:
    manifest, machines = predictor.manifest, predictor.machines
    sections = (
        ReportSection("errors", "Errors", (), [*_error_tables(predictor)], _errors(manifest)),
        _measured_section(predictor),
        ReportSection("misses", "Largest misses", (), [*_miss_tables(predictor)]),
        ReportSection("rests", "What it rests on", (), [*ground_tables(manifest, machines)]),
        ReportSection("domain", "What it spans", (), [span_table(predictor.domains)]),
        ReportSection("method", "Method", notes=_METHOD),
    )
    return Report(
        topic=PREDICTION_TOPIC,
        title=f"Predictor of {predictor.database}",
        facts=_facts(predictor),
        answers=[],
        sections=[section for section in sections if not section.is_empty],
    )


def _facts(predictor: DescribedPredictor) -> dict[str, str]:
    manifest, evaluation = predictor.manifest, predictor.evaluation
    sources = "our own and imported results" if manifest.sources == "all" else "our own results"
    trained = f"{manifest.trained_at:%Y-%m-%d %H:%M} UTC"
    evaluated = evaluation and f"{evaluation.evaluated_at:%Y-%m-%d %H:%M} UTC"
    return {
        "trained": f"{trained}, by AccelMatrix {manifest.accelmatrix}",
        "from": sources,
        "evaluated": evaluated or "not yet",
    }


def _errors(manifest: PredictorManifest) -> tuple[Chart, ...]:
    words: dict[str, str] = {name: of.measured for name, of in NAMED_NOVELTIES.items()}
    chart = errors_chart(manifest, words)
    return (chart,) if chart else ()


def _error_tables(predictor: DescribedPredictor) -> Iterator[Table]:
    trials = {(target.name, novelty): trial for target, novelty, trial in predictor.trials}
    for name, facts in predictor.manifest.targets.items():
        target = PREDICTION_TARGETS[name]
        rows = [
            _error_row(novelty, facts, trials.get((name, novelty)))
            for novelty in NOVELTIES
            if novelty in facts.errors or (name, novelty) in trials
        ]
        title = _title(target)
        yield Table(title, _ERRORS, rows, name=f"errors_{name}").filled()


def _error_row(novelty: Novelty, facts: TargetFacts, trial: KeptTrial | None) -> RowFacts:
    known = facts.errors.get(novelty)
    row: dict[str, Any] = {"novelty": NAMED_NOVELTIES[novelty].measured}
    if known:
        row |= {"median_error": known.median_error, "examples": known.examples}
    if trial is None:
        return row
    best = min(trial.baselines, key=trial.baselines.__getitem__, default=None)
    return {
        **row,
        **{name: getattr(trial, name) for name in _TRIED},
        "bias": 1 + trial.bias,
        "folds": f"{trial.folds} of {trial.of_folds}",
        "baseline": best,
        "baseline_mape": best and trial.baselines[best],
    }


def _measured_section(predictor: DescribedPredictor) -> ReportSection:
    charts = distinctly_named(
        kept_chart(trial, target, novelty) for target, novelty, trial in predictor.trials
    )
    notes = _HIDDEN if charts else (unevaluated_words(predictor.evaluation_command),)
    return ReportSection("measured", "Predictions against measurements", notes=notes, charts=charts)


def unevaluated_words(command: str) -> str:
    """The sentence that stands in for what was not evaluated yet."""
    return (
        "No prediction was held against a measurement yet:"
        f" `{command}` hides results in turn and keeps what it predicts of them."
    )


def _miss_tables(predictor: DescribedPredictor) -> Iterator[Table]:
    for target in PREDICTION_TARGETS.values():
        trials = [(novelty, trial) for of, novelty, trial in predictor.trials if of == target]
        if trials:
            yield miss_table(target, _title(target), trials)


def _title(target: Target) -> str:
    return f"{target.label[:1].upper()}{target.label[1:]}"
