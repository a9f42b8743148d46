"""Options of `regress` about steps: those that are known, and the search for what brought one."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.program.groups import Command, with_option_group

if TYPE_CHECKING:
    from orchestrator.commands.regress.answer import RegressionRequest
    from orchestrator.commands.regress.bisect import BisectRequest
    from orchestrator.commands.regress.output import RegressionOutput
    from orchestrator.commands.results.selection import SelectionRequest

JUDGING = (
    *("judged", "baseline", "metric", "threshold", "per_host", "require_grade", "run"),
    *("output", "format_", "chart", "force", "wide"),
)
"""Parameters of a judgement, which known steps do not take."""
_OPTIONS: Mapping[str, tuple[Any, object]] = {
    "accept": (
        Annotated[
            str | None,
            typer.Option(
                "--accept",
                metavar="RUN_ID|last",
                help="Record that a known step begins with this run's cells, those selected.",
                autocompletion=complete_run,
            ),
        ],
        None,
    ),
    "because": (
        Annotated[
            str | None,
            typer.Option("--because", metavar="TEXT", help="The reason for --accept, one line."),
        ],
        None,
    ),
    "withdraw": (
        Annotated[
            str | None,
            typer.Option(
                "--withdraw",
                metavar="RUN_ID|last",
                help="Take back what --accept recorded of this run's cells.",
                autocompletion=complete_run,
            ),
        ],
        None,
    ),
    "bisect": (
        Annotated[
            bool,
            typer.Option(
                "--bisect",
                help="Propose which images or commits to measure again, to find the guilty one.",
            ),
        ],
        False,
    ),
    "go": (
        Annotated[
            bool,
            typer.Option("--go", help="With --bisect: measure them, in the images of the records."),
        ],
        False,
    ),
}


@dataclass(frozen=True)
class StepOptions:
    """A question about steps, if one is asked."""

    accept: str | None
    """The run whose step is known."""
    because: str | None
    """The reason."""
    withdraw: str | None
    """The run whose step is known no longer."""
    bisect: bool
    """True if the versions between good and bad are asked for."""
    go: bool
    """True if they are measured."""

    @property
    def option(self) -> str | None:
        """The option that changes known steps; None if none does."""
        if self.accept is not None:
            return "--accept"
        return "--withdraw" if self.withdraw is not None else None


def with_step_options(command: Command) -> Command:
    """Give a command options about steps, which it takes as its parameter `steps`."""
    return with_option_group(command, "steps", _OPTIONS, _options)


def change_steps(selected: "SelectionRequest", steps: StepOptions, *, as_json: bool) -> None:
    """Record a known step, or take one back."""
    from orchestrator.commands.regress.acceptance import print_acceptance
    from orchestrator.commands.regress.known_steps import (
        AcceptanceRequest,
        accept_step,
        withdraw_step,
    )

    if steps.accept is not None:
        request = AcceptanceRequest(selected, steps.accept, steps.because or "")
        acceptance = accept_step(request)
    else:
        acceptance = withdraw_step(AcceptanceRequest(selected, steps.withdraw or ""))
    print_acceptance(acceptance, as_json=as_json)


def search_causes(request: "RegressionRequest", output: "RegressionOutput", *, go: bool) -> int:
    """Show which versions to measure, or measure them; returns the exit code."""
    from orchestrator.commands.options.common import command_line
    from orchestrator.commands.regress.bisect import BisectRequest, propose_bisection

    output.require_search()
    search = BisectRequest(request, request.selected.results_folder, command_line())
    proposal = _measured(search) if go else propose_bisection(search)
    output.show_search(proposal)
    return proposal.exit_code


def _measured(request: "BisectRequest") -> Any:
    from orchestrator.commands.measure.progress import show_progress
    from orchestrator.commands.program.program import chosen
    from orchestrator.commands.regress.bisect import bisect_regressions

    with show_progress(quiet=chosen.quiet) as observer:
        return bisect_regressions(request, observer)


def _options(values: dict[str, Any]) -> StepOptions:
    """The options, if they agree.

    Raises:
        UsageError: one of them needs another, or cannot be combined with it.
    """
    from runner.contract.errors import UsageError

    steps = StepOptions(**values)
    if steps.accept is not None and steps.because is None:
        raise UsageError(
            f"--accept {steps.accept} needs a reason",
            hint=f"`orchestrator regress --accept {steps.accept} --because TEXT`",
        )
    if steps.because is not None and steps.accept is None:
        raise UsageError(
            "--because is the reason for --accept", hint="`--accept RUN_ID --because TEXT`"
        )
    if steps.go and not steps.bisect:
        raise UsageError("--go is for --bisect", hint="`--bisect --go` measures what it proposes")
    named = [name for name in ("accept", "withdraw", "bisect") if values[name]]
    if len(named) > 1:
        raise UsageError(
            f"--{named[0]}: cannot be combined with --{named[1]}", hint="leave one of them out"
        )
    return steps
