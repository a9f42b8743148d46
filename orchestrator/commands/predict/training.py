"""Training of a database's predictor, and its evaluation: results hidden and predicted in turn."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from analysis.charts.words import listed
from analysis.predict.baselines import PREDICTION_BASELINES
from analysis.predict.examples.example_rows import digest_of_rows, example_rows, rows_by_run
from analysis.predict.examples.machines import known_machines
from analysis.predict.examples.placements import PREDICTION_TARGETS, ExampleRows, Target
from analysis.predict.forecaster import Forecaster, predictor_files
from analysis.predict.manifest import (
    MANIFEST_NAME,
    PredictorManifest,
    Sources,
    TrainingOrigin,
    kept_trial,
    text_digest,
)
from analysis.predict.novelty import NAMED_NOVELTIES, NOVELTIES
from analysis.predict.predictor import LEAST_RESULTS, train_target
from analysis.predict.trials import NoveltyTrial, cross_validated
from analysis.results.table import Field, Table
from orchestrator.commands.predict.cells import Notice, kept_polynomials
from orchestrator.commands.predict.stored_predictor import (
    StoredPredictor,
    keep_evaluation,
    save_predictor,
    training_command,
)
from orchestrator.commands.predict.words import NOVELTY_WORDS, error_words, source_words
from orchestrator.screen.sheet import Sheet
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.store import Store
from orchestrator.system.files import RESULTS_FOLDER, database_option
from orchestrator.system.text import plural
from runner import __version__
from runner.contract.errors import NothingToDo, StoreError

if TYPE_CHECKING:
    from analysis.charts.chart import Chart


def train_predictor(
    database: Path, sources: Sources, report: Notice, results: Path = RESULTS_FOLDER
) -> StoredPredictor:
    imported = sources == "all"
    with Store.open_readonly(database) as store:
        rows = example_rows(store, imported=imported, counts_of=kept_polynomials(results))
        machines = known_machines(store, rows)
        by_run = rows_by_run(store, imported=imported)
    predictors = {}
    for name, target in PREDICTION_TARGETS.items():
        examples = rows.examples(target)
        report(f"{target.label}: {len(examples):,} results")
        if predictor := train_target(target, examples):
            predictors[name] = predictor
    if not predictors:
        raise too_few_examples(database, rows, sources)
    origin = TrainingOrigin(
        accelmatrix=__version__,
        schema_version=STORE_VERSION,
        trained_at=datetime.now(UTC),
        database=database.name,
        sources=sources,
        rows=by_run,
        rows_digest=digest_of_rows(rows),
        left_out=rows.left_out,
        doubtful=sum(row["grade"] == "D" for row in rows.rows),
    )
    files = predictor_files(Forecaster(predictors, machines), origin)
    text = files[MANIFEST_NAME]
    save_predictor(database, files, text_digest(text))
    return StoredPredictor(database, PredictorManifest.model_validate_json(text), added=0)


def too_few_examples(database: Path, rows: ExampleRows, sources: Sources) -> NothingToDo:
    count = len(rows.rows)
    reasons = "".join(
        f"; {number:,} left out: {why_not}" for why_not, number in rows.left_out.items()
    )
    held = f"{count:,} results to learn from" if count else "no result to learn from"
    message = f"{database}: holds {held}, and {LEAST_RESULTS} are needed{reasons}"
    bench = "`orchestrator bench --model bert-tiny --batch-size 1,2,4,8,16"
    if sources == "ours":
        train = training_command(database, "all")
        hint = f"`{train}` learns from imported results too; or measure some: {bench}`"
    else:
        hint = f"measure some: {' '.join([bench, *database_option(database)])}`"
    return NothingToDo(message, hint=hint)


_LONG = 1_000
"""Results from which on a trial takes so long that it is announced."""
MOST_TRAINED = 10_000
"""Results that folds of one novelty are trained from, if there are more than one."""
FEW_GROUPS = 10
_ERRORS = ("mape", "median_ape", "within_tenth", "bias")


@dataclass(frozen=True)
class TargetEvaluation:
    """The trials of one target."""

    target: Target
    examples: Mapping[str, int]
    trials: Sequence[NoveltyTrial]
    """One for each novelty; those that could not be tried have no answers."""


@dataclass(frozen=True)
class EvaluationReport:
    """The trials of all targets of a database."""

    database: Path
    sources: Sources
    evaluations: Sequence[TargetEvaluation]
    left_out: Mapping[str, int]
    kept: Path | None = None
    not_kept: str | None = None

    def chart(self) -> "Chart | None":
        from analysis.charts.accuracy import novelty_chart

        first = self.evaluations[0]
        tried = max(first.trials, key=lambda one: len(one.trial.answered))
        return novelty_chart(tried, first.target)


def evaluate_predictions(
    database: Path,
    sources: Sources,
    targets: Sequence[str],
    report: Callable[[str], None],
    results: Path = RESULTS_FOLDER,
    *,
    every_fold: bool = False,
) -> EvaluationReport:
    """Hide results in turn, predict them from others, and keep the errors with the predictor."""
    with Store.open_readonly(database) as store:
        imported = sources == "all"
        rows = example_rows(store, imported=imported, counts_of=kept_polynomials(results))
    evaluations = [
        evaluation
        for name in targets
        if (evaluation := _evaluation(rows, PREDICTION_TARGETS[name], report, every_fold))
    ]
    if not any(one.trial.answered for part in evaluations for one in part.trials):
        refusal = too_few_examples(database, rows, sources)
        if rows.rows:
            held = f"none of its {len(rows.rows):,} results can be hidden and predicted"
            refusal = NothingToDo(f"{database}: {held} from the others", hint=refusal.hint)
        raise refusal
    trials = {
        part.target.name: {
            tried.novelty: summary for tried in part.trials if (summary := kept_trial(tried))
        }
        for part in evaluations
    }
    kept, not_kept = None, None
    try:
        kept = keep_evaluation(database, digest_of_rows(rows), trials)
    except StoreError as error:
        not_kept = str(error)
    return EvaluationReport(database, sources, evaluations, rows.left_out, kept, not_kept)


def _evaluation(
    rows: ExampleRows, target: Target, report: Callable[[str], None], every_fold: bool
) -> TargetEvaluation | None:
    examples = rows.examples(target)
    if not examples:
        return None
    report(f"{target.label}: {len(examples):,} results")
    most = None if every_fold else max(1, MOST_TRAINED // len(examples))
    trials = list[NoveltyTrial]()
    for novelty in NOVELTIES:
        if len(examples) >= _LONG:
            report(f"{target.label}: {NAMED_NOVELTIES[novelty].hidden}")
        trials.append(cross_validated(target, examples, novelty, most))
    return TargetEvaluation(target, Counter(one.source for one in examples), trials)


def evaluation_sheet(report: EvaluationReport) -> Sheet:
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
    accuracy, intervals = one.trial.accuracy, one.trial.intervals
    assert accuracy is not None
    assert intervals is not None
    name, best = one.trial.best_baseline
    return {
        "novelty": NOVELTY_WORDS[one.novelty],
        "mape": error_words(accuracy.mape),
        "median_ape": error_words(accuracy.median_ape),
        "within_tenth": f"{accuracy.within_tenth:.0%}",
        "coverage": f"{intervals.coverage:.0%}",
        "half_width": f"×{intervals.half_width:.2f}",
        "baseline": f"{name} {error_words(best.mape)}",
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
        "folds": one.folds[0],
        "of_folds": one.folds[1],
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


def _remarks(part: TargetEvaluation, tried: Sequence[NoveltyTrial]) -> Iterator[str]:
    nearer: dict[str, list[str]] = {}
    for one in tried:
        accuracy, (name, best) = one.trial.accuracy, one.trial.best_baseline
        if accuracy and accuracy.mape > best.mape:
            nearer.setdefault(name, []).append(NOVELTY_WORDS[one.novelty])
    if tried:
        better = len(tried) - sum(map(len, nearer.values()))
        share = f"{better} of {len(tried)} {plural(len(tried), 'row')}"
        exceptions = (f"{name} is nearer for {listed(of)}" for name, of in nearer.items())
        yield "; ".join([f"better than every baseline in {share}", *exceptions])
    untried: dict[str, list[str]] = {}
    for one in part.trials:
        if not one.trial.answered:
            words = NAMED_NOVELTIES[one.novelty]
            untried.setdefault(words.untried, []).append(words.measured)
    if untried:
        reasons = (f"{listed(names)}: {reason}" for reason, names in untried.items())
        yield f"not tried: {'; '.join(reasons)}"


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
    if any(one.folds[0] < one.folds[1] for part in report.evaluations for one in part.trials):
        yield (
            "of so many results some folds of each row were hidden: --every-fold hides all, which"
            " takes much longer"
        )
    total = sum(report.left_out.values())
    if total:
        reasons = "; ".join(f"{count:,}: {name}" for name, count in report.left_out.items())
        yield f"left out {total:,} {plural(total, 'result')}: {reasons}"
    if report.not_kept:
        yield f"not kept: {report.not_kept}"
    elif report.kept:
        words = ["orchestrator report prediction", *database_option(report.database)]
        yield f"next: `{' '.join(words)}` shows it, as it is kept in {report.kept}"
    else:
        command = training_command(report.database, report.sources)
        yield f"next: `{command}` learns from all of them"
