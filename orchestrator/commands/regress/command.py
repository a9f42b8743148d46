"""`regress`: a run judged against a baseline, cell by cell, with an exit code for a CI."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from orchestrator.commands.options.common import command_line
from orchestrator.commands.options.verdict import RequireGrade
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run, complete_side
from orchestrator.commands.program.program import chosen
from orchestrator.commands.regress.judging import JUDGING, Judging
from orchestrator.commands.results.selected import ResultSelection
from orchestrator.screen.sheet_output import ChartFile
from orchestrator.system.options import Force, Json, Output, asked_format, choice
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.commands.regress.answer import RegressionRequest
    from orchestrator.commands.regress.bisect import BisectRequest
    from orchestrator.commands.results.selection import SelectionRequest

_Format = Literal["table", "markdown", "json", "junit"]
_OF_JUDGEMENTS = (
    *("judged", "require_grade", "run", "output", "format_", "chart", "force", "wide"),
    *JUDGING,
)
"""Fields of a judgement, which known steps do not take."""


@dataclass(frozen=True, kw_only=True)
class _Steps:
    """Options about steps: those that are known, and the search for what brought one."""

    accept: Annotated[
        str | None,
        typer.Option(
            "--accept",
            metavar="RUN_ID|last",
            help="Record that a known step begins with this run's cells, those selected.",
            autocompletion=complete_run,
        ),
    ] = None
    because: Annotated[
        str | None,
        typer.Option("--because", metavar="TEXT", help="The reason for --accept, one line."),
    ] = None
    withdraw: Annotated[
        str | None,
        typer.Option(
            "--withdraw",
            metavar="RUN_ID|last",
            help="Take back what --accept recorded of this run's cells.",
            autocompletion=complete_run,
        ),
    ] = None
    bisect: Annotated[
        bool,
        typer.Option(
            "--bisect",
            help="Propose which images or commits to measure again, to find the guilty one.",
        ),
    ] = False
    go: Annotated[
        bool,
        typer.Option("--go", help="With --bisect: measure them, in the images of the records."),
    ] = False

    def _require_agreement(self) -> None:
        """Refuse an option that lacks the one it needs, or stands beside one that it excludes."""
        if self.accept is not None and self.because is None:
            raise UsageError(
                f"--accept {self.accept} needs a reason",
                hint=f"`orchestrator regress --accept {self.accept} --because TEXT`",
            )
        if self.because is not None and self.accept is None:
            raise UsageError(
                "--because is the reason for --accept", hint="`--accept RUN_ID --because TEXT`"
            )
        if self.go and not self.bisect:
            raise UsageError(
                "--go is for --bisect", hint="`--bisect --go` measures what it proposes"
            )
        named = [name for name in ("accept", "withdraw", "bisect") if getattr(self, name)]
        if len(named) > 1:
            raise UsageError(
                f"--{named[0]}: cannot be combined with --{named[1]}",
                hint="leave one of them out",
            )


@dataclass(frozen=True, kw_only=True)
class _Output:
    """Options of the output of verdicts."""

    format_: Annotated[
        _Format | None,
        choice(_Format, "--format", help="[default: what FILE's name says, else table]"),
    ] = None
    output: Output = None
    chart: ChartFile = None
    force: Force = False
    wide: Annotated[
        bool, typer.Option("--wide", help="Leave no column out, and no cell without a change.")
    ] = False
    json: Json = False


@dataclass(frozen=True, kw_only=True)
class RegressCommand(Judging, _Steps, _Output, ResultSelection, Command):
    """Judge a run against a baseline, with an exit code for a CI."""

    judged: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN",
            help="The run that is judged, named likewise.  [default: last]",
            show_default=False,
            autocompletion=complete_side,
        ),
    ] = None
    require_grade: RequireGrade = None

    def execute(self) -> int:
        """Judge the run, change known steps, or search for a cause."""
        self._require_agreement()
        form, selected = asked_format(self.format_, as_json=self.json), self.selected
        for option, run in (("--accept", self.accept), ("--withdraw", self.withdraw)):
            if run is not None:
                self.refuse_beside(option, _OF_JUDGEMENTS)
                self._change_steps(selected, run)
                return 0
        from orchestrator.commands.regress.answer import judge_regressions
        from orchestrator.commands.regress.output import require_verdict_output, show_verdicts
        from orchestrator.screen.sheet_output import draw_chart

        database = selected.database
        require_verdict_output(form, self.output, self.chart, force=self.force, database=database)
        request = self.question("regress", selected, self._judged_run(), self.require_grade)
        if self.bisect:
            return self._search_causes(request, form)
        answer = judge_regressions(request)
        draw_chart(self.chart, answer.chart)
        show_verdicts(answer, form, self.output, wide=self.wide)
        return answer.exit_code

    def _judged_run(self) -> str:
        if self.judged is not None and self.run is not None:
            raise UsageError(
                f"--run {self.run}: `regress … {self.judged}` names a run already",
                hint="leave one of them out",
            )
        return self.judged or self.run or "last"

    def _change_steps(self, selected: "SelectionRequest", run: str) -> None:
        """Record a known step, or take one back."""
        from orchestrator.commands.regress.acceptance import print_acceptance
        from orchestrator.commands.regress.known_steps import (
            AcceptanceRequest,
            accept_step,
            withdraw_step,
        )

        change = withdraw_step if self.accept is None else accept_step
        acceptance = change(AcceptanceRequest(selected, run, self.because or ""))
        print_acceptance(acceptance, as_json=self.json)

    def _search_causes(self, request: "RegressionRequest", form: str | None) -> int:
        """Show which versions to measure, or measure them; returns the exit code."""
        from orchestrator.commands.regress.bisect import BisectRequest, propose_bisection
        from orchestrator.commands.regress.output import require_search_output, show_search

        require_search_output(form, self.output, self.chart)
        search = BisectRequest(request, request.selected.results_folder, command_line())
        proposal = _measured(search) if self.go else propose_bisection(search)
        show_search(proposal, form, self.output, wide=self.wide)
        return int(proposal.exit_code)


def _measured(request: "BisectRequest") -> Any:
    from orchestrator.commands.measure.progress import show_progress
    from orchestrator.commands.regress.bisect import bisect_regressions

    with show_progress(quiet=chosen.quiet) as observer:
        return bisect_regressions(request, observer)
