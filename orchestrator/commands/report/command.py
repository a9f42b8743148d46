"""`report`: results as a page to show, or as Markdown and JSON."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_run
from orchestrator.commands.regress.judging import JUDGING, Judging
from orchestrator.commands.results.selection import ResultSelection
from orchestrator.system.options import Force, Json, asked_format, choice, choice_argument
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from orchestrator.commands.report.answer import MadeReport
    from orchestrator.commands.results.selection import SelectionRequest
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from analysis.report.predictions import (
    PREDICTION_TOPIC,
    DescribedPredictor,
    prediction_report,
    unevaluated_words,
)
from analysis.report.topics import REPORT_TOPICS
from orchestrator.commands.predict.stored_predictor import (
    StoredPredictor,
    evaluation_command,
    kept_evaluation,
    open_predictor,
    predictor_folder,
    training_command,
)
from orchestrator.commands.predict.words import predictor_sentences
from orchestrator.commands.regress.answer import RegressionAnswer
from orchestrator.commands.regress.sentences import (
    accepted_lines,
    circumstance_lines,
    metric_answers,
    trust_lines,
    verdicts_by_metric,
)
from orchestrator.commands.report.answer import REPORTS_FOLDER, MadeReport
from orchestrator.commands.report.output import with_answers
from orchestrator.commands.report.page import page_foot, report_page
from orchestrator.screen.lines import print_line
from orchestrator.screen.pages.markup import Markup, element, with_code
from orchestrator.screen.pages.page import Page, PageSection
from orchestrator.store.store import Store
from orchestrator.system.files import output_folder, require_free_folder
from orchestrator.system.text import plural
from runner.contract.errors import NothingToDo

INDEX = "index.html"
_SENTENCES = 2
"""Sentences of a report that its link stands above."""


@dataclass(frozen=True)
class Site:
    """A folder that a web server can give as it is."""

    folder: Path

    def require(self, *, force: bool) -> None:
        """Refuse a folder that holds anything but an earlier site."""
        pages = {INDEX, *(f"{topic}.html" for topic in REPORT_TOPICS)}
        require_free_folder(
            "--output", self.folder, force=force, is_export=lambda path: str(path) in pages
        )

    def write(self, reports: Iterable[MadeReport]) -> None:
        """Write all pages, or none."""
        written = [with_answers(one) for one in reports]
        if not written:
            raise NothingToDo(
                "the database holds nothing that a page could show",
                hint="`orchestrator run matrix.yaml` measures",
            )
        with output_folder(self.folder) as folder:
            for one in written:
                page = report_page(one.report, made_from=one.made_from)
                (folder / _file(one)).write_bytes(page)
            (folder / INDEX).write_text(_index(written).html(), encoding="utf-8")
        count = len(written)
        print_line(f"site: {self.folder / INDEX} leads to {count} {plural(count, 'page')}")


def _index(reports: Sequence[MadeReport]) -> Page:
    return Page(
        title="Benchmarks",
        lead=[element("p", "Every number comes from a device; its page tells which one and how.")],
        sections=[PageSection(one.report.topic, "", _entry(one)) for one in reports],
        foot=page_foot(reports[0].made_from, has_details=False),
    )


def _entry(one: MadeReport) -> list[Markup]:
    link = element("a", one.report.title, href=_file(one))
    sentences = one.report.answers[:_SENTENCES]
    return [element("h2", link), *(element("p", with_code(sentence)) for sentence in sentences)]


def _file(one: MadeReport) -> str:
    return f"{one.report.topic}.html"


@dataclass(frozen=True)
class ReportedPredictor:
    """The report on a predictor, and what its sentences are made of."""

    outcome: MadeReport
    shown: StoredPredictor
    unevaluated: str | None
    """The command that evaluates it, where that was not done yet."""


def report_predictor(database: Path) -> ReportedPredictor:
    with Store.open_readonly(database) as store:
        if not predictor_folder(database).is_dir():
            raise NothingToDo(
                f"{database}: there is no predictor to report on",
                hint=f"`{training_command(database)}` makes one of what was measured",
            )
        predictor = open_predictor(database, store)
    forecaster, manifest = predictor.forecaster(), predictor.manifest
    evaluation, command = kept_evaluation(predictor), evaluation_command(database, manifest.sources)
    described = DescribedPredictor(
        database=database.name,
        manifest=manifest,
        machines=forecaster.machines,
        domains={name: one.domain for name, one in forecaster.predictors.items()},
        evaluation=evaluation,
        evaluation_command=command,
    )
    path = database.parent / REPORTS_FOLDER / f"{PREDICTION_TOPIC}.html"
    return ReportedPredictor(
        MadeReport(prediction_report(described), str(database), path),
        predictor,
        None if evaluation else command,
    )


def with_verdict_sentences(outcome: MadeReport) -> MadeReport:
    """The report with the answer to its question before what it says already.

    Steps, and cells that cannot be compared, stand in its tables.
    """
    if outcome.verdicts is None:
        return outcome
    answers = [*_sentences(outcome.verdicts), *outcome.report.answers]
    return replace(outcome, report=replace(outcome.report, answers=answers))


def _sentences(answer: RegressionAnswer) -> Iterator[str]:
    yield from metric_answers(answer, list(verdicts_by_metric(answer)))
    yield from circumstance_lines(answer)
    yield from accepted_lines(answer)
    yield from trust_lines(answer)


def with_predictor_sentences(reported: ReportedPredictor) -> MadeReport:
    """The report with what the predictor rests on before what it says already."""
    outcome = reported.outcome
    command = reported.unevaluated
    unevaluated = [unevaluated_words(command)] if command else []
    answers = [*predictor_sentences(reported.shown), *unevaluated, *outcome.report.answers]
    return replace(outcome, report=replace(outcome.report, answers=answers))


_Topic = Literal[
    "performance",
    "hardware",
    "compatibility",
    "startup",
    "scaling",
    "run",
    "regression",
    "prediction",
    "site",
]
_Format = Literal["html", "markdown", "json"]
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
            "--output",
            metavar="FILE",
            help="The file, - for stdout; with `site` a folder.  [default: a page in DIR/reports]",
        ),
    ] = None
    charts: Annotated[
        Path | None,
        typer.Option("--charts", metavar="FOLDER", help="Leave every chart there as PNG and SVG."),
    ] = None
    force: Force = False
    json: Json = False

    def execute(self) -> None:
        """Write the report."""
        from orchestrator.commands.report.output import ReportOutput

        form, selected = asked_format(self.format_, as_json=self.json), self.selected
        if self.topic == "site":
            self.refuse_beside("site", ("subject", "format_", "charts", "json"))
            self._refuse_judging()
            _write_site(selected, self.output, force=self.force)
            return
        destination = ReportOutput(form, self.output, self.charts, force=self.force)
        destination.require(selected.database)
        if self.topic == "prediction":
            destination.show(self._of_predictor(selected))
            return
        outcome = self._made(selected)
        if outcome.verdicts is not None:
            outcome = with_verdict_sentences(outcome)
        destination.show(outcome)

    def _of_predictor(self, selected: "SelectionRequest") -> "MadeReport":
        """The report on the predictor of the database, of which no option chooses a part."""
        self._refuse_judging()
        self._refuse_subject()
        if selected.chooses:
            raise UsageError(
                "report prediction: is about the whole predictor, and options chose results",
                hint="drop them; `predict --model NAME` answers for single cells",
            )
        return with_predictor_sentences(report_predictor(selected.database))

    def _made(self, selected: "SelectionRequest") -> "MadeReport":
        from orchestrator.commands.report.answer import (
            report_file,
            report_one_run,
            report_regressions,
            report_topic,
        )

        if self.topic != "regression":
            self._refuse_judging()
        if self.topic not in _OF_RUNS:
            self._refuse_subject()
            return report_topic(self.topic, selected)
        run = self._one_run()
        if self.topic == "regression":
            return report_regressions(self.question("report regression", selected, run))
        if self.subject is not None and Path(self.subject).is_file():
            return report_file(Path(self.subject), selected)
        return report_one_run(run, selected)

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
            meant = "" if self.topic == "prediction" else f"; did you mean --run {self.subject}?"
            raise UsageError(
                f"report {self.topic}: unexpected {self.subject!r}{meant}",
                hint="a run or a file is named behind `report run` and `report regression` alone",
            )

    def _refuse_judging(self) -> None:
        for name, option in self.given().items():
            if name in JUDGING:
                raise UsageError(
                    f"{option}: `report {self.topic}` judges nothing",
                    hint=f"did you mean `report regression {option} …`?",
                )


def _write_site(selected: "SelectionRequest", folder: Path | None, *, force: bool) -> None:
    """A folder of pages, for a web server: one on each topic, and one that leads to them."""
    from orchestrator.commands.report.answer import report_everything

    if folder is None:
        raise typer.BadParameter("a site needs a folder: --output FOLDER")
    site = Site(folder)
    site.require(force=force)
    site.write(report_everything(selected))
