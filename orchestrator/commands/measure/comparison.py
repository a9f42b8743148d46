"""Options of commands that measure: the baseline that a run is compared with."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.options.verdict import share
from orchestrator.commands.program.completion import complete_side
from runner.contract.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Against:
    """The options of a comparison."""

    compare_to: Annotated[
        str | None,
        typer.Option(
            "--compare-to",
            metavar="last|RUN|SNAPSHOT|MATRIX",
            help="Judge the run against a baseline, as `regress --baseline` does; with"
            " --interleave also another matrix, whose models differ.",
            autocompletion=complete_side,
        ),
    ] = None
    interleave: Annotated[
        bool,
        typer.Option(
            "--interleave",
            help="Measure the baseline's version again, side by side, in the images that its"
            " records name.",
        ),
    ] = False
    threshold: Annotated[
        float | None,
        typer.Option(
            "--threshold",
            metavar="SHARE",
            help="The least change that matters, e.g. 5%.  [default: 5%, interleaved 3%]",
            parser=share("--threshold"),
        ),
    ] = None

    def require_baseline(self) -> None:
        """Refuse options of a comparison without one."""
        if self.compare_to is None and (self.interleave or self.threshold is not None):
            option = "--interleave" if self.interleave else "--threshold"
            raise UsageError(
                f"{option}: no baseline is named",
                hint="`--compare-to last` takes the newest run that measured the same",
            )
