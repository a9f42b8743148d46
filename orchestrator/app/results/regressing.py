"""Regression verdicts: a run judged against a baseline, and what a CI makes of it."""

from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from analysis.regressions.judgements import (
    THRESHOLD,
    Judgement,
    Judgements,
    RegressionQuestion,
    judge,
)
from analysis.results.metrics import metric_of
from orchestrator.app.results.selecting import SelectionRequest
from orchestrator.app.results.sides import open_sides
from runner.contract.errors import NothingToDo
from runner.contract.record import Grade

REGRESSION_CODE = 7
INCONCLUSIVE_CODE = 8


@dataclass(frozen=True)
class RegressionRequest:
    """A run that shall be judged, as options name it."""

    selected: SelectionRequest
    """The database, and filters of the cells that are judged."""
    baseline: str
    """A run's id, `last`, `last~2`, a snapshot, a host's name, or the path of a bundle, a folder,
    a database or an exported file."""
    run: str = "last"
    """The same for the side that is judged; `last` is the newest run."""
    metrics: tuple[str, ...] = ("latency",)
    threshold: float = THRESHOLD
    """The least relative change that matters."""
    per_host: bool = False
    """True if machines with different names have series of their own."""
    require_grade: Grade | None = None
    """The worst grade that judged results may have."""


@dataclass(frozen=True)
class RegressionAnswer:
    """The verdicts on a run."""

    database: Path
    judgements: Judgements
    require_grade: Grade | None = None

    @property
    def below_grade(self) -> tuple[Judgement, ...]:
        """Verdicts on results of a worse grade than the one required."""
        if self.require_grade is None:
            return ()
        return tuple(
            one
            for one in self.judgements.judgements
            if any(side and side.grade > self.require_grade for side in (one.before, one.after))
        )

    @property
    def exit_code(self) -> int:
        """The code for a CI.

        7 if anything became worse; 3 if no cell could be judged; 8 if any is inconclusive, not
        comparable or below the required grade; else 0.
        """
        counts = self.judgements.counts
        if counts["regression"]:
            return REGRESSION_CODE
        if not (counts["improvement"] or counts["no change"] or counts["inconclusive"]):
            return NothingToDo.exit_code
        unclear = counts["inconclusive"] or counts["not comparable"] or self.below_grade
        return INCONCLUSIVE_CODE if unclear else 0


def judge_regressions(request: RegressionRequest) -> RegressionAnswer:
    """Judge each cell of a run against a baseline.

    Raises:
        UsageError: there is no such baseline, run, metric or filter, or both are the same.
        NothingToDo: both have no cell in common.
        StoreError: a database, a bundle or a file cannot be read.
    """
    with ExitStack() as closing:
        sides = closing.enter_context(open_sides(request.selected, request.baseline, request.run))
        question = RegressionQuestion(
            base=sides.base,
            run=sides.run,
            metrics=tuple(metric_of(name, sides.run.source) for name in request.metrics),
            threshold=request.threshold,
            per_host=request.per_host,
            accepted=sides.accepted,
        )
        judgements = judge(question)
    if not judgements.judgements:
        raise NothingToDo(
            f"{judgements.run} shares no cell with {judgements.base}",
            hint="`orchestrator status RUN` shows what a run has",
        )
    return RegressionAnswer(request.selected.database, judgements, request.require_grade)
