"""`report`: results as a page to show, or as Markdown and JSON."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.regress.judging import JUDGING, Judging
from orchestrator.commands.results.selected import ResultSelection
from orchestrator.system.options import Force, Json, asked_format, choice, choice_argument
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.commands.report.answer import MadeReport
    from orchestrator.commands.results.selection import SelectionRequest

_OfResults = Literal["performance", "hardware", "compatibility", "startup", "scaling"]
_Topic = Literal[_OfResults, "run", "regression", "prediction", "site"]
_Format = Literal["html", "markdown", "json"]
_COMPARING = ("performance", "hardware", "startup", "scaling", "run", "site")
"""Topics that say what is equal within a threshold."""
_OF_RUNS = ("run", "regression")
"""Topics about one run."""


@dataclass(frozen=True, kw_only=True)
class ReportCommand(Judging, ResultSelection, Command):
    """Write results as a page to show, with tables and charts."""

    topic: Annotated[_Topic, choice_argument(_Topic, help="What it is about.")]
    subject: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN_ID|last|FILE",
            help="The run, with `run` and `regression`; or a file of another benchmark.",
            show_default=False,
            autocompletion=complete_run,
        ),
    ] = None
    format_: Annotated[
        _Format | None,
        choice(_Format, "--format", help="[default: what FILE's name says, else html]"),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file, - for stdout; with `site` a folder.  [default: a page in DIR/reports]",
        ),
    ] = None
    charts: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Leave every chart there as PNG and SVG.")
    ] = None
    limit: Annotated[
        int, typer.Option(metavar="N", min=1, help="Show N results at most, the newest first.")
    ] = 1000
    force: Force = False
    json: Json = False

    def execute(self) -> None:
        from orchestrator.commands.report.output import ReportOutput

        form = asked_format(self.format_, as_json=self.json)
        selected = replace(self.selected, most=self.limit)
        if self.topic == "site":
            self._write_site(selected)
            return
        destination = ReportOutput(form, self.output, self.charts, force=self.force)
        destination.require(selected.database)
        destination.show(self._made(selected))

    def _made(self, selected: "SelectionRequest") -> "MadeReport":
        from orchestrator.commands.report import answer

        if self.topic != "regression":
            self._refuse_judging()
        if self.topic not in _OF_RUNS:
            self._refuse_subject()
        if self.topic == "prediction":
            if selected.chooses:
                raise UsageError(
                    "report prediction: is about the whole predictor, and options chose results",
                    hint="drop them; `predict --model NAME` answers for single cells",
                )
            return answer.report_predictor(selected.database)
        if self.topic not in _OF_RUNS:
            return answer.report_topic(self.topic, selected)
        run = self._one_run()
        if self.topic == "regression":
            return answer.report_regressions(self.question("report regression", selected, run))
        if self.subject is not None and Path(self.subject).is_file():
            return answer.report_file(Path(self.subject), selected)
        return answer.report_one_run(run, selected)

    def _write_site(self, selected: "SelectionRequest") -> None:
        """A folder of pages, for a web server: one on each topic, and one that leads to them."""
        from orchestrator.commands.report.answer import report_everything
        from orchestrator.commands.report.output import require_site, write_site

        self.refuse_beside("site", ("subject", "format_", "charts", "json"))
        self._refuse_judging()
        if self.output is None:
            raise typer.BadParameter("a site needs a folder: --output FOLDER")
        require_site(self.output, force=self.force)
        write_site(self.output, report_everything(selected))

    def _one_run(self) -> str:
        """The run that is named behind the topic or by `--run`, else the newest."""
        if self.subject is not None and self.run is not None:
            raise UsageError(
                f"--run {self.run}: `report {self.topic} {self.subject}` names a run already",
                hint="leave one of them out",
            )
        return self.subject or self.run or "last"

    def _refuse_subject(self) -> None:
        if self.subject is not None:
            meant = "" if self.topic == "prediction" else f"--run {self.subject}"
            if Path(self.subject).is_file():
                meant = f"`report run {self.subject}`"
            guess = f"; did you mean {meant}?" if meant else ""
            raise UsageError(
                f"report {self.topic}: unexpected {self.subject!r}{guess}",
                hint="a run or a file is named behind `report run` and `report regression` alone",
            )

    def _refuse_judging(self) -> None:
        for name, option in self.given().items():
            if name in JUDGING and not (name == "threshold" and self.topic in _COMPARING):
                raise UsageError(
                    f"{option}: `report {self.topic}` judges nothing",
                    hint=f"did you mean `report regression {option} …`?",
                )
