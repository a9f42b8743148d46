"""Options of verdicts, which `regress` and the report on regressions share."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from orchestrator.commands.options.verdict import (
    Baseline,
    Metrics,
    PassingGrade,
    PerHost,
    Threshold,
    required_baseline,
)

if TYPE_CHECKING:
    from orchestrator.commands.regress.answer import RegressionRequest
    from orchestrator.commands.results.selection import SelectionRequest

JUDGING = ("baseline", "metric", "threshold", "per_host")


@dataclass(frozen=True, kw_only=True)
class Judging:
    """Options of verdicts."""

    baseline: Baseline = None
    metric: Metrics = None
    threshold: Threshold = None
    per_host: PerHost = False

    def question(
        self,
        command: str,
        selected: "SelectionRequest",
        run: str,
        require_grade: PassingGrade | None = None,
    ) -> "RegressionRequest":
        baseline = required_baseline(self.baseline, command)
        named: dict[str, Any] = {} if self.threshold is None else {"threshold": self.threshold}
        from orchestrator.commands.regress.answer import RegressionRequest

        return RegressionRequest(
            replace(selected, run=None),
            baseline,
            run=run,
            metrics=tuple(self.metric or ()),
            per_host=self.per_host,
            require_grade=require_grade,
            **named,
        )
