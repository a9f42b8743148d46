"""Options of verdicts on regressions: the baseline, the metrics, and what counts as a change."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.cli import options
from orchestrator.cli.completion import complete_metric, complete_run
from orchestrator.cli.option_groups import Command, with_option_group
from orchestrator.system.text import split_list

if TYPE_CHECKING:
    from orchestrator.app.results.regressing import RegressionRequest
    from orchestrator.app.results.selecting import SelectionRequest

_BESIDE_REPORT = "With `regression`: "
_OPTIONS: Mapping[str, tuple[Any, object]] = {
    "baseline": (
        Annotated[
            str | None,
            typer.Option(
                metavar="RUN_ID|last|…",
                help=f"{_BESIDE_REPORT}what the run is judged against, as of `regress`.",
                autocompletion=complete_run,
            ),
        ],
        None,
    ),
    "metric": (
        Annotated[
            list[str] | None,
            typer.Option(
                metavar="M,…",
                help=f"{_BESIDE_REPORT}latency, throughput, memory, p99, ttft, …",
                autocompletion=complete_metric,
            ),
        ],
        None,
    ),
    "threshold": (
        Annotated[
            str | None,
            typer.Option(metavar="5%", help=f"{_BESIDE_REPORT}the least change that matters."),
        ],
        None,
    ),
    "per_host": (
        Annotated[
            bool,
            typer.Option(
                "--per-host", help=f"{_BESIDE_REPORT}series of each machine's name apart."
            ),
        ],
        False,
    ),
}


@dataclass(frozen=True)
class Judging:
    """The values of these options."""

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
            UsageError: no baseline is named, or the extra `analysis` is not installed.
            typer.BadParameter: the threshold is no share.
        """
        from runner.contract.errors import UsageError

        if self.baseline is None:
            raise UsageError(
                "report regression: no baseline is named",
                hint="`--baseline last` judges a run against the one before it",
            )
        from orchestrator.app.results.regressing import RegressionRequest

        threshold = options.parse_percent(self.threshold, "--threshold")
        named: dict[str, Any] = {"metrics": self.metrics} if self.metrics else {}
        if threshold is not None:
            named["threshold"] = threshold
        return RegressionRequest(selected, self.baseline, run=run, per_host=self.per_host, **named)


def with_judging(command: Command) -> Command:
    """Give a command these options, which it takes as its parameter `judging`."""
    return with_option_group(command, "judging", _OPTIONS, _judging)


def _judging(chosen: Mapping[str, Any]) -> Judging:
    metrics = tuple(split_list(chosen["metric"] or ()))
    return Judging(chosen["baseline"], metrics, chosen["threshold"], chosen["per_host"])
