"""The report on a predictor: what it rests on, its errors, predictions against measurement."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.charts.accuracy import errors_chart, kept_chart
from analysis.charts.chart import Chart, distinctly_named
from analysis.charts.predictions import shown_unit, shown_value
from analysis.charts.words import listed, noun_count, path_words, uppercase_first
from analysis.predict.examples.placements import PREDICTION_TARGETS, KnownMachine, Target
from analysis.predict.features import Domain
from analysis.predict.manifest import (
    KeptAnswer,
    KeptEvaluation,
    KeptTrial,
    PredictorManifest,
    TargetFacts,
)
from analysis.predict.novelty import NAMED_NOVELTIES, NOVELTIES, Novelty
from analysis.predict.trials import NEAR
from analysis.report.report import Report, ReportSection
from analysis.results.source import OWN_SOURCES
from analysis.results.table import Field, RowFacts, Table
from analysis.statistics.numbers import rounded

_DIGITS = 4
_MOST_LOGARITHM = 700.0
_MOST_ROWS = 100
_SPAN = (
    Field("target", "predicted"),
    Field("feature", "of a question"),
    Field("least", kind="number"),
    Field("most", kind="number"),
    Field("values", kind="prose"),
)
_LEFT_OUT = (Field("reason", "because", "prose"), Field("results", kind="number"))
_MACHINES = (Field("name", "device"), Field("backends"), Field("precisions"), Field("peaks"))


def _ground_tables(
    manifest: PredictorManifest, machines: Sequence[KnownMachine]
) -> Iterator[Table]:
    """Results by who measured them, those left out by reason, and devices."""
    sources = dict.fromkeys(name for one in manifest.targets.values() for name in one.examples)
    labels = {name: PREDICTION_TARGETS[name].label for name in manifest.targets}
    numbers = (Field(name, label, "number") for name, label in labels.items())
    columns = [Field("source", "measured by"), *numbers]
    rows = [
        {
            "source": "ourselves" if source in OWN_SOURCES else source,
            **{name: facts.examples.get(source) for name, facts in manifest.targets.items()},
        }
        for source in sources
    ]
    note = f"They are of {noun_count(len(manifest.rows), 'run')} or imported files."
    yield Table("Results", columns, rows, (note,), "sources")
    left_out = [
        {"reason": reason, "results": count}
        for reason, count in sorted(manifest.left_out.items(), key=lambda one: -one[1])
    ]
    if left_out:
        yield Table("Left out", _LEFT_OUT, left_out, name="left_out")
    yield Table("Devices that it knows", _MACHINES, [*map(_machine, machines)], name="machines")


def _machine(machine: KnownMachine) -> RowFacts:
    measured = sorted({device.measured for device in machine.devices.values()})
    origins = ["measured" if one else "of a data sheet" for one in measured]
    return {
        "name": machine.name,
        "backends": ", ".join(machine.backends),
        "precisions": ", ".join(machine.devices),
        "peaks": " and ".join(origins) or None,
    }


def _span_table(domains: Mapping[str, Domain]) -> Table:
    """The span of each number of questions; targets with the same examples share rows."""
    alike: list[tuple[Domain, list[str]]] = []
    for name, domain in domains.items():
        same = next((names for one, names in alike if one == domain), None)
        if same is None:
            alike.append((domain, [PREDICTION_TARGETS[name].label]))
        else:
            same.append(PREDICTION_TARGETS[name].label)
    rows = [row for domain, labels in alike for row in _spans(domain, listed(labels))]
    note = (
        "Beyond these ends an answer is marked as an extrapolation, and refused if it is 32 times"
        " beyond; a value that is not among the named ones is refused."
    )
    return Table("Span", _SPAN, rows, (note,), "span").filled()


def _spans(domain: Domain, labels: str) -> Iterator[RowFacts]:
    for name in domain.lows:
        ends = (domain.lows[name], domain.highs.get(name, domain.lows[name]))
        least, most = map(_number, ends)
        yield {"target": labels, "feature": name, "least": least, "most": most}
    for name, values in domain.choices.items():
        yield {"target": labels, "feature": name, "values": ", ".join(sorted(values))}


def _number(logarithm: float) -> float | None:
    """The number behind a logarithm; None where no number is as large."""
    return rounded(math.exp(logarithm), _DIGITS) if abs(logarithm) < _MOST_LOGARITHM else None


def _miss_table(target: Target, title: str, trials: Iterable[tuple[Novelty, KeptTrial]]) -> Table:
    misses = [
        (one, novelty) for novelty, trial in trials for one in trial.misses if one.error > NEAR
    ]
    misses.sort(key=lambda miss: -miss[0].error)
    rows = [_miss_row(one, target, novelty) for one, novelty in misses[:_MOST_ROWS]]
    note = (
        "Of each way of asking, the hidden results that were predicted worst, if they are off by"
        f" more than {100 * NEAR:.0f} %."
    )
    name, left_out = f"misses_{target.name}", len(misses) - len(rows)
    return Table(title, _miss_columns(target), rows, (note,), name, left_out=left_out).filled()


def _miss_columns(target: Target) -> tuple[Field, ...]:
    unit = shown_unit(target)
    return (
        Field("novelty", "asked about"),
        Field("model"),
        Field("ratio", "off by", "change"),
        Field("measured", f"measured, {unit}", "number"),
        Field("predicted", f"predicted (90 %), {unit}", "number", "low", "high"),
        Field("held", "in its interval"),
        Field("device"),
        Field("path", kind="id"),
        Field("batch_size", "batch", "number"),
        Field("length", kind="number"),
        Field("outside", "extrapolation", "prose"),
    )


def _miss_row(one: KeptAnswer, target: Target, novelty: Novelty) -> RowFacts:
    path = path_words({"backend": one.backend, "runtime": one.runtime})
    mode = [] if one.mode == "inference" else [one.mode]
    names = ("predicted", "low", "high", "measured")
    return {
        "novelty": NAMED_NOVELTIES[novelty].measured,
        "model": one.model,
        "device": one.device,
        "path": " ".join([path, one.precision, *mode]),
        "batch_size": one.batch_size,
        "length": one.length,
        **{name: shown_value(getattr(one, name), target) for name in names},
        "ratio": one.predicted / one.measured,
        "held": one.held,
        "outside": "; ".join(one.outside) or None,
    }


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
    manifest: PredictorManifest
    machines: Sequence[KnownMachine]
    domains: Mapping[str, Domain]
    """The span of the examples by target."""
    evaluation: KeptEvaluation | None
    evaluation_command: str

    @property
    def trials(self) -> Iterator[tuple[Target, Novelty, KeptTrial]]:
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
        ReportSection("rests", "What it rests on", (), [*_ground_tables(manifest, machines)]),
        ReportSection("domain", "What it spans", (), [_span_table(predictor.domains)]),
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
    trained = f"{manifest.trained_at:%Y-%m-%d %H:%M} UTC, by AccelMatrix {manifest.accelmatrix}"
    evaluated = f"{evaluation.evaluated_at:%Y-%m-%d %H:%M} UTC" if evaluation else "not yet"
    return {"trained": trained, "from": sources, "evaluated": evaluated}


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
        title = uppercase_first(target.label)
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
            yield _miss_table(target, uppercase_first(target.label), trials)
