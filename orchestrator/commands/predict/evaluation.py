"""Evaluation of predictions on a database: its own results are hidden and predicted in turn."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.predict.evaluation.trials import NoveltyTrial, joined, run_trial
from analysis.predict.examples.example_rows import ExampleRows, example_rows
from analysis.predict.examples.placements import Example
from analysis.predict.examples.targets import PREDICTION_TARGETS, Target
from analysis.predict.examples.training_rows import digest_of_rows
from analysis.predict.folds import folds_of
from analysis.predict.kept_evaluation import kept_trial
from analysis.predict.manifest import Sources
from analysis.predict.novelty import NOVELTIES, Novelty
from analysis.predict.novelty_words import NAMED_NOVELTIES
from orchestrator.commands.predict.custom_models import kept_polynomials
from orchestrator.commands.predict.kept_evaluation import keep_evaluation
from orchestrator.commands.predict.training import too_few_examples
from orchestrator.store import Store
from orchestrator.system.files import RESULTS_FOLDER
from runner.contract.errors import NothingToDo, StoreError

if TYPE_CHECKING:
    from analysis.charts.chart import Chart


_LONG = 1_000
"""Results from which on a trial takes so long that it is announced."""
MOST_TRAINED = 10_000
"""Results that folds of one novelty are trained from, if there are more than one."""


@dataclass(frozen=True)
class TargetEvaluation:
    """The trials of one target."""

    target: Target
    examples: Mapping[str, int]
    """The number of examples by who measured them."""
    trials: Sequence[NoveltyTrial]
    """One for each novelty; those that could not be tried have no answers."""
    folds: Mapping[Novelty, tuple[int, int]]
    """The number of folds that were hidden, and of all that there are."""

    @property
    def hidden_in_part(self) -> bool:
        """True if not every fold was hidden."""
        return any(hidden < every for hidden, every in self.folds.values())


@dataclass(frozen=True)
class EvaluationReport:
    """The trials of all targets of a database."""

    database: Path
    sources: Sources
    evaluations: Sequence[TargetEvaluation]
    left_out: Mapping[str, int]
    """By reason, the results that are no examples."""
    kept: Path | None = None
    """The file beside the predictor of these results; None where there is no such predictor."""
    not_kept: str | None = None
    """The reason why they could not be kept there."""

    def chart(self) -> "Chart | None":
        """Predictions of the first target against measurements, in the trial with most of them."""
        from analysis.charts.predictions.accuracy import novelty_chart

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
    """Hide results of a database in turn, and predict them from the others.

    Beside a predictor of these results the evaluation is kept, for the report on it.

    Args:
        database: the database.
        sources: `ours`, or `all` for imported results too.
        targets: the names of targets; those that no result has are left out.
        report: hears in a line what is being done.
        results: the folder of runs, which holds the counted work of models.
        every_fold: hide all folds of large tables too; else as many as take some minutes.

    Raises:
        NothingToDo: too few results can be hidden.
        StoreError: the database cannot be read.
        UsageError: the extra `analysis` is missing.
    """
    with Store.open_readonly(database) as store:
        imported = sources == "all"
        rows = example_rows(store, imported=imported, counts_of=kept_polynomials(results))
    evaluations = [
        evaluation
        for name in targets
        if (evaluation := _evaluation(rows, PREDICTION_TARGETS[name], report, every_fold))
    ]
    if not any(one.trial.answered for part in evaluations for one in part.trials):
        raise _nothing(database, rows, sources)
    kept, not_kept = _kept(database, rows, evaluations)
    return EvaluationReport(database, sources, evaluations, rows.left_out, kept, not_kept)


def _evaluation(
    rows: ExampleRows, target: Target, report: Callable[[str], None], every_fold: bool
) -> TargetEvaluation | None:
    examples = rows.examples(target)
    if not examples:
        return None
    report(f"{target.label}: {len(examples):,} results")
    most = None if every_fold else max(1, MOST_TRAINED // len(examples))
    trials, folds = list[NoveltyTrial](), dict[Novelty, tuple[int, int]]()
    for novelty in NOVELTIES:
        if len(examples) >= _LONG:
            report(f"{target.label}: {NAMED_NOVELTIES[novelty].hidden}")
        tried, folds[novelty] = _tried(target, examples, novelty, most)
        trials.append(tried)
    sources = Counter(one.source for one in examples)
    return TargetEvaluation(target, sources, trials, folds)


def _tried(
    target: Target, examples: Sequence[Example], novelty: Novelty, most: int | None
) -> tuple[NoveltyTrial, tuple[int, int]]:
    """The trial of a novelty by at most so many of its folds; how many of how many these are."""
    folds = folds_of([example.placement for example in examples], novelty)
    hidden, groups = [], 0
    for fold in folds[:most]:
        known, withheld = (
            [examples[row] for row in part.tolist()] for part in (fold.known, fold.hidden)
        )
        trial = run_trial(target, known, withheld)
        hidden.append(trial)
        groups += fold.groups if trial.answered else 0
    return NoveltyTrial(novelty, joined(hidden), groups), (len(hidden), len(folds))


def _kept(
    database: Path, rows: ExampleRows, evaluations: Sequence[TargetEvaluation]
) -> tuple[Path | None, str | None]:
    """The file with the evaluation, or the reason why it could not be written."""
    trials = {
        part.target.name: {
            tried.novelty: kept
            for tried in part.trials
            if (kept := kept_trial(tried, part.folds[tried.novelty]))
        }
        for part in evaluations
    }
    try:
        return keep_evaluation(database, digest_of_rows(rows), trials), None
    except StoreError as error:
        return None, str(error)


def _nothing(database: Path, rows: ExampleRows, sources: Sources) -> NothingToDo:
    refusal = too_few_examples(database, rows, sources)
    if not rows.rows:
        return refusal
    return NothingToDo(
        f"{database}: none of its {len(rows.rows):,} results can be hidden and predicted from the"
        " others",
        hint=refusal.hint,
    )
