"""`report`: results as a page to show, or as Markdown and JSON."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.completion import complete_run
from orchestrator.cli.filter_options import with_filters

if TYPE_CHECKING:
    from orchestrator.app.results.reports import MadeReport
    from orchestrator.app.results.selecting import SelectionRequest


class TopicOfReport(StrEnum):
    """Topics of reports."""

    performance = "performance"
    hardware = "hardware"
    compatibility = "compatibility"
    startup = "startup"
    scaling = "scaling"
    run = "run"


class ReportFormat(StrEnum):
    """Formats of reports."""

    html = "html"
    markdown = "markdown"
    json = "json"


@with_filters
def report(
    selected: "SelectionRequest",
    topic: Annotated[
        TopicOfReport,
        typer.Argument(metavar=options.one_of(TopicOfReport), help="What it is about."),
    ],
    subject: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN_ID|last|FILE",
            help="The run, or a file that another benchmark wrote; with `run` alone.",
            show_default=False,
            autocompletion=complete_run,
        ),
    ] = None,
    format_: Annotated[
        ReportFormat | None,
        typer.Option(
            "--format",
            metavar=options.one_of(ReportFormat),
            help="[default: what FILE's name says, else html]",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            metavar="FILE",
            help="The file, - for stdout.  [default: a page in DIR/reports]",
        ),
    ] = None,
    charts: Annotated[
        Path | None,
        typer.Option("--charts", metavar="FOLDER", help="Leave every chart there as PNG and SVG."),
    ] = None,
    force: options.Force = False,
    json: options.Json = False,
) -> None:
    """Write results as a page to show, with tables and charts."""
    from orchestrator.render.results.reports import ReportOutput

    form = options.answer_format(format_, as_json=json)
    destination = ReportOutput(form, output, charts, force=force)
    destination.require(selected.database)
    destination.show(_made(topic, subject, selected))


def _made(topic: TopicOfReport, subject: str | None, selected: "SelectionRequest") -> "MadeReport":
    from orchestrator.app.results.reports import report_file, report_one_run, report_topic
    from runner.contract.errors import UsageError

    if topic is not TopicOfReport.run:
        if subject is not None:
            raise UsageError(
                f"report {topic}: unexpected {subject!r}; did you mean --run {subject}?",
                hint="a run or a file is named behind `report run` alone",
            )
        return report_topic(topic.value, selected)
    if subject is not None and selected.run is not None:
        raise UsageError(
            f"--run {selected.run}: `report run {subject}` names a run already",
            hint="leave one of them out",
        )
    if subject is not None and Path(subject).is_file():
        return report_file(Path(subject), selected)
    return report_one_run(subject or selected.run or "last", selected)
