"""A predictor as a sheet: what it rests on, and its errors by what of a question was measured."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.charts.words import listed
from analysis.predict.examples.targets import PREDICTION_TARGETS
from analysis.predict.manifest import PredictorManifest
from analysis.results.table import Field, Table
from orchestrator.commands.predict.stored_predictor import PredictorReport, training_command
from orchestrator.commands.predict.training import TrainedPredictor
from orchestrator.commands.predict.words import (
    NOVELTY_WORDS,
    added_words,
    error_words,
    source_words,
    training_words,
)
from orchestrator.screen.sheet import Sheet
from orchestrator.system.files import database_option
from orchestrator.system.text import format_duration, plural
from runner.contract.errors import NothingToDo

if TYPE_CHECKING:
    from analysis.charts.chart import Chart

_MOST_REASONS = 2
_MOST_MACHINES = 4
_FIELDS = (
    Field("target", hidden=True),
    Field("label", "predicted", essential=True),
    Field("novelty", "asked about", essential=True, shown=NOVELTY_WORDS.__getitem__),
    Field("examples", "tried on", essential=True),
    Field("groups"),
    Field("median_error", "median error", essential=True, right=True, shown=error_words),
)


def trained_sheet(trained: TrainedPredictor) -> Sheet:
    """A predictor that was just made."""
    manifest = trained.manifest
    notes = (
        f"{trained.folder}: trained in {format_duration(round(trained.seconds, 1))}",
        *_left_out(manifest),
        _next(trained.database),
    )
    return _sheet(manifest, trained.database, notes, {"folder": str(trained.folder)})


def predictor_chart(manifest: PredictorManifest) -> "Chart":
    """The errors of a predictor, drawn.

    Raises:
        NothingToDo: too little was measured to know any.
    """
    from analysis.charts.predictions.errors import errors_chart

    chart = errors_chart(manifest, NOVELTY_WORDS)
    if chart is None:
        raise NothingToDo(
            "--chart: too little was measured to know errors of predictions",
            hint="measure more sizes and models, and train again",
        )
    return chart


def predictor_sheet(report: PredictorReport) -> Sheet:
    """A predictor that was looked into."""
    manifest, command = report.manifest, training_command(report.database)
    names = [machine.name for machine in report.machines]
    more = len(names) - _MOST_MACHINES
    machines = ", ".join(names[:_MOST_MACHINES]) + (f" and {more} more" if more > 0 else "")
    moment = f"{manifest.trained_at:%Y-%m-%d %H:%M} UTC"
    notes = (
        f"trained {moment} by AccelMatrix {manifest.accelmatrix}; it knows {machines}",
        *_left_out(manifest),
        *added_words(report.added, training_words(manifest, command)),
        _next(report.database),
    )
    more_data = {
        "folder": str(report.folder),
        "added_since": report.added,
        "machines": [
            {"key": one.key, "name": one.name, "backends": one.backends} for one in report.machines
        ],
    }
    return _sheet(manifest, report.database, notes, more_data)


def predictor_sentences(report: PredictorReport) -> Iterator[str]:
    """Sentences on what a predictor rests on, how wrong it was, and what it does not know yet."""
    manifest, command = report.manifest, training_command(report.database)
    yield f"rests on {source_words(manifest.examples)}"
    yield from _answer([*_rows(manifest)], manifest)
    yield from added_words(report.added, training_words(manifest, command))


def _sheet(
    manifest: PredictorManifest, database: Path, notes: Sequence[str], data: Mapping[str, Any]
) -> Sheet:
    rows = [*_rows(manifest)]
    shown = [row | {"label": _unless_above(rows, number)} for number, row in enumerate(rows)]
    title = f"Predictor of {database}: {source_words(manifest.examples)}"
    table = Table(title, _FIELDS, shown, tuple(_answer(rows, manifest)))
    document = manifest.model_dump(mode="json", exclude={"files", "columns"})
    return Sheet(title, [table], tuple(notes), {"database": str(database), **document, **data})


def _rows(manifest: PredictorManifest) -> Iterator[dict[str, Any]]:
    for name, facts in manifest.targets.items():
        label = PREDICTION_TARGETS[name].label
        for novelty in NOVELTY_WORDS:
            if errors := facts.errors.get(novelty):
                yield {"target": name, "label": label, "novelty": novelty, **errors.model_dump()}


def _unless_above(rows: Sequence[Mapping[str, Any]], number: int) -> str:
    """The label of a row; empty where the row above has the same."""
    label: str = rows[number]["label"]
    return "" if number and rows[number - 1]["label"] == label else label


def _answer(rows: Sequence[Mapping[str, Any]], manifest: PredictorManifest) -> Iterator[str]:
    """The errors of the first target in a sentence."""
    labels = [PREDICTION_TARGETS[name].label for name in manifest.targets]
    if not rows:
        yield (
            f"predicts {listed(labels)}, and too little was measured to know its errors: every"
            " answer is marked"
        )
        return
    first = [row for row in rows if row["target"] == rows[0]["target"]]
    errors = [
        f"{error_words(one['median_error'])} ({NOVELTY_WORDS[one['novelty']]})" for one in first
    ]
    yield f"{rows[0]['label']} was typically wrong by {listed(errors)}"
    silent = [label for label in labels if label not in {row["label"] for row in rows}]
    if silent:
        yield f"too little was measured to know the errors of {listed(silent)}"


def _left_out(manifest: PredictorManifest) -> Iterator[str]:
    reasons = sorted(manifest.left_out.items(), key=lambda one: -one[1])
    total = sum(manifest.left_out.values())
    if not total:
        return
    named = "; ".join(f"{count:,}: {words}" for words, count in reasons[:_MOST_REASONS])
    more = len(reasons) - _MOST_REASONS
    others = f"; {more} more reasons" if more > 0 else ""
    yield f"left out {total:,} {plural(total, 'result')}: {named}{others}"


def _next(database: Path) -> str:
    where = "".join(f" {word}" for word in database_option(database))
    return f"next: `orchestrator predict --model bert-tiny --batch-size 1,2,4,8{where}`"
