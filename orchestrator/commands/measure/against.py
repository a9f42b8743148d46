"""A run compared with a baseline: measured as ever, or side by side with it, and then judged."""

from dataclasses import dataclass, replace

from analysis.statistics.ratios import THRESHOLD
from orchestrator.commands.measure.baselines import NamedBaseline
from orchestrator.commands.measure.interleave import INTERLEAVED_THRESHOLD, run_interleaved
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.measure.run import RunResult, report_end, run_matrix
from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.commands.results.sides import require_side
from orchestrator.running.interleaved import BothFolders
from orchestrator.running.observer import Observer
from runner.contract.errors import EngineUnavailable, ImageError, NothingToDo, StoreError

_OBSTACLES = (EngineUnavailable.exit_code, ImageError.exit_code, StoreError.exit_code)


@dataclass(frozen=True)
class ComparedRun(RunResult):
    """A run that has ended, with the verdicts on it; None where nothing could be judged."""

    @property
    def exit_code(self) -> int:
        """That of the measurements and that of the verdicts.

        What kept cells from being measured goes first, then a regression, then failures, and last
        what no verdict could be reached on.
        """
        measured = self.outcome.exit_code
        if measured in _OBSTACLES:
            return measured
        judged = self.verdicts.exit_code if self.verdicts else NothingToDo.exit_code
        worse = self.verdicts is not None and self.verdicts.judgements.counts["regression"]
        return judged if worse else measured or judged


def run_against(
    request: PlanRequest,
    baseline: NamedBaseline,
    observer: Observer,
    *,
    interleave: bool = False,
    threshold: float | None = None,
) -> ComparedRun:
    """Measure a matrix and judge it by a baseline.

    Side by side the baseline is whatever `run_interleaved` takes, else whatever `regress` does.
    """
    if interleave or not isinstance(baseline, str):
        least = threshold or INTERLEAVED_THRESHOLD
        folders, outcome = run_interleaved(request, baseline, least, observer)
        report = report_end(folders.run, observer, request.options)
        return judge_pairs(RunResult(report, outcome, folders), folders, observer)
    selected = SelectionRequest(request.database, results=request.results)
    require_side(selected, baseline)
    result = run_matrix(request, observer)
    question = RegressionRequest(
        *(selected, baseline, result.report.run_id), threshold=threshold or THRESHOLD, by_name=True
    )
    return _judged(result, question, observer)


def judge_pairs(result: RunResult, folders: BothFolders, observer: Observer) -> ComparedRun:
    """Judge a run that was measured side by side with a baseline."""
    run = folders.run.run
    assert run.interleaving is not None
    question = RegressionRequest(
        SelectionRequest(result.report.database),
        run.interleaving.baseline.run_id,
        run.run_id,
        threshold=run.interleaving.threshold,
    )
    return _judged(result, question, observer)


def _judged(result: RunResult, question: RegressionRequest, observer: Observer) -> ComparedRun:
    """The result with the verdicts on it; where nothing can be judged, a line says why."""
    compared = ComparedRun(result.report, result.outcome, result.turns)
    try:
        return replace(compared, verdicts=judge_regressions(question))
    except NothingToDo as nothing:
        observer.note(f"{nothing}; {nothing.hint}" if nothing.hint else str(nothing))
        return compared
