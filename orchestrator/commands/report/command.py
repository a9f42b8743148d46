"""`report`: results as a page to show, or as Markdown and JSON."""

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.program.refusals import refuse_beside
from orchestrator.commands.regress.judging_options import with_judging
from orchestrator.commands.results.filter_options import with_filters

if TYPE_CHECKING:
    from orchestrator.commands.regress.judging_options import Judging
    from orchestrator.commands.report.answer import MadeReport
    from orchestrator.commands.results.selection import SelectionRequest


class TopicOfReport(StrEnum):
    """Topics of reports."""

    performance = "performance"
    hardware = "hardware"
    compatibility = "compatibility"
    startup = "startup"
    scaling = "scaling"
    run = "run"
    regression = "regression"
    prediction = "prediction"
    site = "site"


class ReportFormat(StrEnum):
    """Formats of reports."""

    html = "html"
    markdown = "markdown"
    json = "json"


_OF_RUNS = (TopicOfReport.run, TopicOfReport.regression)
"""Topics about one run."""


@with_filters
@with_judging
def report(
    context: typer.Context,
    selected: "SelectionRequest",
    judging: "Judging",
    topic: Annotated[
        TopicOfReport,
        typer.Argument(metavar=options.one_of(TopicOfReport), help="What it is about."),
    ],
    subject: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN_ID|last|FILE",
            help="The run, with `run` and `regression`; or a file of another benchmark.",
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
            help="The file, - for stdout; with `site` a folder.  [default: a page in DIR/reports]",
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
    from orchestrator.commands.report.output import ReportOutput

    form = options.answer_format(format_, as_json=json)
    if topic is TopicOfReport.site:
        refuse_beside(context, "site", ("subject", "format_", "charts", "json"))
        _refuse_judging(topic, judging)
        _write_site(selected, output, force=force)
        return
    destination = ReportOutput(form, output, charts, force=force)
    destination.require(selected.database)
    if topic is TopicOfReport.prediction:
        destination.show(_of_predictor(subject, selected, judging))
        return
    outcome = _made(topic, subject, selected, judging)
    if outcome.verdicts is not None:
        from orchestrator.commands.report.regression import with_verdict_sentences

        outcome = with_verdict_sentences(outcome)
    destination.show(outcome)


def _write_site(selected: "SelectionRequest", folder: Path | None, *, force: bool) -> None:
    """A folder of pages, for a web server: one on each topic, and one that leads to them."""
    from orchestrator.commands.report.answer import report_everything
    from orchestrator.commands.report.site import Site

    if folder is None:
        raise typer.BadParameter("a site needs a folder: --output FOLDER")
    site = Site(folder)
    site.require(force=force)
    site.write(report_everything(selected))


def _of_predictor(
    subject: str | None, selected: "SelectionRequest", judging: "Judging"
) -> "MadeReport":
    """The report on the predictor of the database, of which no option chooses a part."""
    from orchestrator.commands.report.prediction import report_predictor
    from orchestrator.commands.report.prediction_words import with_predictor_sentences
    from runner.contract.errors import UsageError

    _refuse_judging(TopicOfReport.prediction, judging)
    _refuse_subject(TopicOfReport.prediction, subject)
    if selected.chooses:
        raise UsageError(
            "report prediction: is about the whole predictor, and options chose results",
            hint="drop them; `predict --model NAME` answers for single cells",
        )
    return with_predictor_sentences(report_predictor(selected.database))


def _made(
    topic: TopicOfReport, subject: str | None, selected: "SelectionRequest", judging: "Judging"
) -> "MadeReport":
    from orchestrator.commands.report.answer import (
        report_file,
        report_one_run,
        report_regressions,
        report_topic,
    )

    if topic is not TopicOfReport.regression:
        _refuse_judging(topic, judging)
    if topic not in _OF_RUNS:
        _refuse_subject(topic, subject)
        return report_topic(topic.value, selected)
    run = _one_run(topic, subject, selected)
    if topic is TopicOfReport.regression:
        return report_regressions(judging.request(replace(selected, run=None), run))
    if subject is not None and Path(subject).is_file():
        return report_file(Path(subject), selected)
    return report_one_run(run, selected)


def _one_run(topic: TopicOfReport, subject: str | None, selected: "SelectionRequest") -> str:
    """The run that is named behind the topic or by `--run`, else the newest."""
    from runner.contract.errors import UsageError

    if subject is not None and selected.run is not None:
        raise UsageError(
            f"--run {selected.run}: `report {topic} {subject}` names a run already",
            hint="leave one of them out",
        )
    return subject or selected.run or "last"


def _refuse_subject(topic: TopicOfReport, subject: str | None) -> None:
    from runner.contract.errors import UsageError

    if subject is not None:
        meant = "" if topic is TopicOfReport.prediction else f"; did you mean --run {subject}?"
        raise UsageError(
            f"report {topic}: unexpected {subject!r}{meant}",
            hint="a run or a file is named behind `report run` and `report regression` alone",
        )


def _refuse_judging(topic: TopicOfReport, judging: "Judging") -> None:
    from runner.contract.errors import UsageError

    if judging.given:
        raise UsageError(
            f"{judging.given[0]}: `report {topic}` judges nothing",
            hint=f"did you mean `report regression {judging.given[0]} …`?",
        )
