"""Options of commands that measure: the baseline that a run is compared with."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from orchestrator.commands.program.completion import complete_side
from orchestrator.commands.program.groups import Command, with_option_group

if TYPE_CHECKING:
    from orchestrator.commands.measure.against import Against

_OPTIONS: dict[str, tuple[Any, object]] = {
    "compare_to": (
        Annotated[
            str | None,
            typer.Option(
                "--compare-to",
                metavar="last|RUN|SNAPSHOT|MATRIX",
                help="Judge the run against a baseline, as `regress --baseline` does; with"
                " --interleave also another matrix, whose models differ.",
                autocompletion=complete_side,
            ),
        ],
        None,
    ),
    "interleave": (
        Annotated[
            bool,
            typer.Option(
                "--interleave",
                help="Measure the baseline's version again, side by side, in the images that its"
                " records name.",
            ),
        ],
        False,
    ),
    "threshold": (
        Annotated[
            str | None,
            typer.Option(
                "--threshold",
                metavar="SHARE",
                help="The least change that matters, e.g. 5%.  [default: 5%, interleaved 3%]",
            ),
        ],
        None,
    ),
}


def with_against(command: Command) -> Command:
    """Give a command the options of a comparison, which it takes as its parameter `against`."""
    return with_option_group(command, "against", _OPTIONS, _against)


def _against(chosen: dict[str, Any]) -> "Against | None":
    from runner.contract.errors import UsageError

    baseline, threshold = chosen["compare_to"], chosen["threshold"]
    if baseline is None:
        if chosen["interleave"] or threshold is not None:
            option = "--interleave" if chosen["interleave"] else "--threshold"
            raise UsageError(
                f"{option}: no baseline is named",
                hint="`--compare-to last` takes the newest run that measured the same",
            )
        return None
    from orchestrator.commands.measure.against import Against
    from orchestrator.commands.options.verdict import threshold_share

    share = None if threshold is None else threshold_share(threshold, "--threshold")
    return Against(baseline, interleave=chosen["interleave"], threshold=share)
