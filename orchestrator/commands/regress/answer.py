"""Regression verdicts: a run judged against a baseline, and what a CI makes of it."""

from dataclasses import dataclass
from functools import cached_property

from analysis.charts.chart import Chart
from analysis.regress.judgements import THRESHOLD, Judgement, Judgements, RegressionQuestion, judge
from analysis.results.comparability import usual_metrics
from analysis.results.metrics import metric_of
from analysis.results.selection import Side
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.commands.results.sides import Sides, open_sides
from orchestrator.store.store import Store
from runner.contract.errors import Inconclusive, NothingToDo
from runner.contract.record.verdict import Grade

REGRESSION_CODE = 7


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
    metrics: tuple[str, ...] = ()
    """Their names; none for the usual one of each scenario."""
    threshold: float = THRESHOLD
    """The least relative change that matters."""
    per_host: bool = False
    """True if machines with different names have series of their own."""
    require_grade: Grade | None = None
    """The worst grade that judged results may have."""


@dataclass(frozen=True)
class RegressionAnswer:
    """The verdicts on a run."""

    request: RegressionRequest
    judgements: Judgements
    command: str | None = None
    """The command line that planned the judged run; None if nobody knows."""

    @property
    def judged(self) -> tuple[Judgement, ...]:
        """Verdicts on results that can be compared."""
        return tuple(one for one in self.judgements.judgements if one.verdict != "not comparable")

    @cached_property
    def below_grade(self) -> tuple[tuple[str, Grade], ...]:
        """Judged cells of which a result has a worse grade than the one required, with that."""
        required = self.request.require_grade
        grades: dict[str, Grade] = {}
        for one in self.judged:
            known = [side.grade for side in (one.before, one.after) if side]
            grades[one.cell_id] = max([*known, grades.get(one.cell_id, "A")])
        return tuple(
            (cell, grade) for cell, grade in grades.items() if required and grade > required
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
        if not self.judged:
            return NothingToDo.exit_code
        unclear = counts["inconclusive"] or counts["not comparable"] or self.below_grade
        return Inconclusive.exit_code if unclear else 0

    def chart(self) -> Chart | None:
        """The drawing of the series that changed most; None if nothing could be compared."""
        from analysis.charts.regressions import regression_chart

        return regression_chart(self.judgements)


def judge_regressions(request: RegressionRequest) -> RegressionAnswer:
    """Judge each cell of a run against a baseline."""
    words = (request.baseline, request.run)
    with open_sides(request.selected, *words, per_host=request.per_host) as sides:
        return judge_sides(sides, request)


def judge_sides(sides: Sides, request: RegressionRequest) -> RegressionAnswer:
    """Judge each cell of one side against the other, while both are open."""
    question = RegressionQuestion(
        base=sides.base,
        run=sides.run,
        metrics=tuple(metric_of(name, sides.run.source) for name in request.metrics)
        or usual_metrics(sides.run.source, sides.run.selection),
        threshold=request.threshold,
        per_host=request.per_host,
        accepted=sides.accepted,
    )
    judgements = judge(question)
    if not judgements.judgements:
        raise _nothing_shared(judgements)
    return RegressionAnswer(request, judgements, _command_of(sides.run, judgements))


def _nothing_shared(judgements: Judgements) -> NothingToDo:
    base, run = judgements.base, judgements.run
    counts = (len(judgements.only_before), len(judgements.only_after))
    return NothingToDo(
        f"{run} shares no cell with {base}: {counts[0]:,} only in {base}, {counts[1]:,} only in"
        f" {run}",
        hint="`orchestrator status RUN` shows what a run has; or leave out a filter",
    )


def _command_of(side: Side, judgements: Judgements) -> str | None:
    """The command line that planned the judged run, where one is judged that we planned."""
    runs = {str(one.after.facts["run_id"]) for one in judgements.judgements if one.after}
    if len(runs) != 1 or not isinstance(side.source, Store):
        return None
    return side.source.command_of(next(iter(runs)))
