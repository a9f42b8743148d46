"""Words of predictions and of the predictor that they come from."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.charts.words import listed
from analysis.predict.examples.placements import PREDICTION_TARGETS
from analysis.predict.manifest import PredictorManifest
from analysis.predict.novelty import NAMED_NOVELTIES
from analysis.results.source import OWN_SOURCES
from analysis.results.table import Field, Table
from analysis.statistics.numbers import percent_text
from orchestrator.commands.predict.stored_predictor import StoredPredictor, training_command
from orchestrator.screen.sheet import Sheet
from orchestrator.system.files import database_option
from orchestrator.system.text import format_duration, plural
from runner.contract.errors import NothingToDo

if TYPE_CHECKING:
    from analysis.charts.chart import Chart

NOVELTY_WORDS: Mapping[str, str] = {name: words.measured for name, words in NAMED_NOVELTIES.items()}
_OURS = "ours"
_MOST_REASONS = 2
_MOST_MACHINES = 4


def error_words(error: float) -> str:
    """A relative error with its sign, e.g. `4.1 %` and `92 %`."""
    return f"{percent_text(error)} %"


def source_words(examples: Mapping[str, int]) -> str:
    """The results that a predictor rests on, by whom: `35 results of ours and 11,200 of timm`."""
    ours = sum(count for source, count in examples.items() if source in OWN_SOURCES)
    theirs = {name: count for name, count in examples.items() if name not in OWN_SOURCES and count}
    parts = [(ours, _OURS)] if ours or not theirs else []
    parts += [(count, name) for name, count in sorted(theirs.items(), key=lambda one: -one[1])]
    first, *others = (f"{count:,} {{}}of {name}" for count, name in parts)
    noun = f"{plural(parts[0][0], 'result')} "
    words = [first.format(noun), *(other.format("") for other in others)]
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def added_words(added: int, command: str) -> Iterator[str]:
    if added:
        came = f"{added:,} {plural(added, 'result')} came since it was trained"
        yield f"{came}: `{command}` learns from {'it' if added == 1 else 'them'}"


def later_words(predictor: StoredPredictor) -> Iterator[str]:
    command = training_command(predictor.database, predictor.manifest.sources)
    yield from added_words(predictor.added, command)


_FIELDS = (
    Field("target", hidden=True),
    Field("label", "predicted", essential=True),
    Field("novelty", "asked about", essential=True, shown=NOVELTY_WORDS.__getitem__),
    Field("examples", "tried on", essential=True),
    Field("groups"),
    Field("median_error", "median error", essential=True, right=True, shown=error_words),
)


def trained_sheet(predictor: StoredPredictor, seconds: float) -> Sheet:
    manifest, folder = predictor.manifest, str(predictor.folder)
    notes = (
        f"{folder}: trained in {format_duration(round(seconds, 1))}",
        *_left_out(manifest),
        _next(predictor.database),
    )
    return _sheet(manifest, predictor.database, notes, {"folder": folder})


def predictor_chart(manifest: PredictorManifest) -> "Chart":
    from analysis.charts.accuracy import errors_chart

    chart = errors_chart(manifest, NOVELTY_WORDS)
    if chart is None:
        raise NothingToDo(
            "--chart: too little was measured to know errors of predictions",
            hint="measure more sizes and models, and train again",
        )
    return chart


def predictor_sheet(predictor: StoredPredictor) -> Sheet:
    manifest, known = predictor.manifest, predictor.forecaster(targets=()).machines
    names = [machine.name for machine in known]
    more = len(names) - _MOST_MACHINES
    machines = ", ".join(names[:_MOST_MACHINES]) + (f" and {more} more" if more > 0 else "")
    moment = f"{manifest.trained_at:%Y-%m-%d %H:%M} UTC"
    notes = (
        f"trained {moment} by AccelMatrix {manifest.accelmatrix}; it knows {machines}",
        *_left_out(manifest),
        *later_words(predictor),
        _next(predictor.database),
    )
    data = {
        "folder": str(predictor.folder),
        "added_since": predictor.added,
        "machines": [{"key": one.key, "name": one.name, "backends": one.backends} for one in known],
    }
    return _sheet(manifest, predictor.database, notes, data)


def predictor_sentences(predictor: StoredPredictor) -> Iterator[str]:
    """Sentences on what a predictor rests on, how wrong it was, and what it does not know yet."""
    manifest = predictor.manifest
    yield f"rests on {source_words(manifest.examples)}"
    yield from _answer([*_rows(manifest)], manifest)
    yield from later_words(predictor)


def _sheet(
    manifest: PredictorManifest, database: Path, notes: Sequence[str], data: Mapping[str, Any]
) -> Sheet:
    rows = [*_rows(manifest)]
    shown = [
        row | {"label": "" if above and above["label"] == row["label"] else row["label"]}
        for above, row in zip([None, *rows], rows, strict=False)
    ]
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


def _answer(rows: Sequence[Mapping[str, Any]], manifest: PredictorManifest) -> Iterator[str]:
    if count := manifest.doubtful:
        yield (
            f"{count:,} {plural(count, 'result')} of grade D among these: such a number tells an"
            " order of size alone, and `--profile standard` measures longer"
        )
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
