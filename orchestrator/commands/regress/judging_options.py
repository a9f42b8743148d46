"""Options of verdicts beside a report: a group that the other reports refuse."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from orchestrator.commands.options.verdict import (
    Baseline,
    Metrics,
    PerHost,
    Threshold,
    required_baseline,
    threshold_share,
)
from orchestrator.commands.program.groups import Command, with_option_group
from orchestrator.system.text import split_list

if TYPE_CHECKING:
    from orchestrator.commands.regress.answer import RegressionRequest
    from orchestrator.commands.results.selection import SelectionRequest

_OPTIONS: Mapping[str, tuple[Any, object]] = {
    "baseline": (Baseline, None),
    "metric": (Metrics, None),
    "threshold": (Threshold, None),
    "per_host": (PerHost, False),
}


@dataclass(frozen=True)
class Judging:
    """The values of these options; None where they were not given."""

    baseline: str | None
    metrics: tuple[str, ...]
    threshold: str | None
    per_host: bool

    @property
    def given(self) -> tuple[str, ...]:
        """The options that were given."""
        values = {
            "--baseline": self.baseline,
            "--metric": self.metrics,
            "--threshold": self.threshold,
            "--per-host": self.per_host,
        }
        return tuple(option for option, value in values.items() if value)

    def request(self, selected: "SelectionRequest", run: str) -> "RegressionRequest":
        """The question that they ask of a run.

        Raises:
            UsageError: no baseline is named, the threshold is no share, or the extra `analysis` is
                not installed.
        """
        baseline = required_baseline(self.baseline, "report regression")
        named: dict[str, Any] = {"metrics": self.metrics} if self.metrics else {}
        if self.threshold is not None:
            named["threshold"] = threshold_share(self.threshold, "--threshold")
        from orchestrator.commands.regress.answer import RegressionRequest

        return RegressionRequest(selected, baseline, run=run, per_host=self.per_host, **named)


def with_judging(command: Command) -> Command:
    """Give a command these options, which it takes as its parameter `judging`."""
    return with_option_group(command, "judging", _OPTIONS, _judging)


def _judging(chosen: Mapping[str, Any]) -> Judging:
    metrics = tuple(dict.fromkeys(split_list(chosen["metric"] or ())))
    return Judging(chosen["baseline"], metrics, chosen["threshold"], chosen["per_host"])
