"""Evaluation of predictions on a database: its own results are hidden and predicted in turn."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.prediction.artefact.manifest import Sources
from analysis.prediction.evaluation.trials import NoveltyTrial, cross_validated
from analysis.prediction.examples.example_rows import ExampleRows, example_rows
from analysis.prediction.examples.targets import PREDICTION_TARGETS, Target
from analysis.prediction.novelty import NOVELTIES
from analysis.prediction.novelty_words import NAMED_NOVELTIES
from orchestrator.app.predictions.training import too_few_examples
from orchestrator.store import Store
from runner.contract.errors import NothingToDo

if TYPE_CHECKING:
    from analysis.charts.chart import Chart


_LONG = 1_000
"""Results from which on a trial takes so long that it is announced."""


@dataclass(frozen=True)
class TargetEvaluation:
    """The trials of one target."""

    target: Target
    examples: Mapping[str, int]
    """The number of examples by who measured them."""
    trials: Sequence[NoveltyTrial]
    """One for each novelty; those that could not be tried have no answers."""


@dataclass(frozen=True)
class EvaluationReport:
    """The trials of all targets of a database."""

    database: Path
    sources: Sources
    evaluations: Sequence[TargetEvaluation]
    left_out: Mapping[str, int]
    """By reason, the results that are no examples."""

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
) -> EvaluationReport:
    """Hide results of a database in turn, and predict them from the others.

    Args:
        database: the database.
        sources: `ours`, or `all` for imported results too.
        targets: the names of targets; those that no result has are left out.
        report: hears in a line what is being done.

    Raises:
        NothingToDo: too few results can be hidden.
        StoreError: the database cannot be read.
        UsageError: the extra `analysis` is missing.
    """
    with Store.open_readonly(database) as store:
        rows = example_rows(store, imported=sources == "all")
    evaluations = [
        evaluation
        for name in targets
        if (evaluation := _evaluation(rows, PREDICTION_TARGETS[name], report))
    ]
    if not any(one.trial.answered for part in evaluations for one in part.trials):
        raise _nothing(database, rows, sources)
    return EvaluationReport(database, sources, evaluations, rows.left_out)


def _evaluation(
    rows: ExampleRows, target: Target, report: Callable[[str], None]
) -> TargetEvaluation | None:
    examples = rows.examples(target)
    if not examples:
        return None
    report(f"{target.label}: {len(examples):,} results")
    trials = []
    for novelty in NOVELTIES:
        if len(examples) >= _LONG:
            report(f"{target.label}: {NAMED_NOVELTIES[novelty].hidden}")
        trials.append(cross_validated(target, examples, novelty))
    return TargetEvaluation(target, Counter(one.source for one in examples), trials)


def _nothing(database: Path, rows: ExampleRows, sources: Sources) -> NothingToDo:
    refusal = too_few_examples(database, rows, sources)
    if not rows.rows:
        return refusal
    return NothingToDo(
        f"{database}: none of its {len(rows.rows):,} results can be hidden and predicted from the"
        " others",
        hint=refusal.hint,
    )
