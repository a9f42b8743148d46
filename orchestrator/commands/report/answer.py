"""Reports: on a topic, a run, verdicts or the predictor, or on a file that others measured."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from analysis.report.report import Report
from analysis.report.topics import REPORT_TOPICS, make_report
from orchestrator.commands.exchange.import_command import ImportCommand, import_results
from orchestrator.commands.results.run_report import RunReport, report_stored
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME, predictor_folder
from runner.contract.errors import NothingToDo, UsageError

if TYPE_CHECKING:
    from orchestrator.commands.regress.answer import RegressionAnswer, RegressionRequest

RUN_TOPIC = "run"


@dataclass(frozen=True)
class MadeReport:
    """A report with its origin."""

    report: Report
    made_from: str
    path: Path
    """The page that it becomes unless somebody names another."""
    run: RunReport | None = None
    """The answer of the run that it is about; None for other topics and foreign files."""


def _made(report: Report, database: Path, name: str, answers: Iterable[str] = ()) -> MadeReport:
    """The report on a database, with these sentences before what it says already."""
    report = replace(report, answers=[*answers, *report.answers])
    return MadeReport(report, str(database), database.parent / "reports" / f"{name}.html")


def report_topic(topic: str, request: SelectionRequest) -> MadeReport:
    with request.open() as (store, selection):
        report = make_report(topic, store, selection, request.most)
    if not report.sections:
        raise NothingToDo(
            f"{request.database}: holds nothing for a report on {topic}", hint=_hint(topic, request)
        )
    return _made(report, request.database, topic)


def report_one_run(run: str, request: SelectionRequest) -> MadeReport:
    """The report on a run of the database; `last` is the newest with times."""
    chosen = replace(request, unquotable=True)
    with chosen.open() as (store, selection):
        answer = report_stored(chosen.run_of_times(run, store, selection), store)
    chosen = replace(chosen, run=answer.run_id)
    outcome = report_topic(RUN_TOPIC, chosen)
    titled = replace(outcome.report, title=f"Run {answer.run_id}")
    path = outcome.path.with_name(f"run-{answer.run_id}.html")
    return replace(outcome, report=titled, path=path, run=None if request.filters else answer)


def report_everything(request: SelectionRequest) -> Iterator[MadeReport]:
    """The report on each topic that the database has results for, and on its newest run."""
    for topic in REPORT_TOPICS:
        with suppress(NothingToDo):
            if topic == RUN_TOPIC:
                yield report_one_run("last", request)
            else:
                yield report_topic(topic, request)


def report_regressions(request: "RegressionRequest") -> MadeReport:
    """The report on the verdicts of a run against a baseline, with the answer to its question."""
    from analysis.report.regressions import REGRESSION_TOPIC, regression_report
    from orchestrator.commands.regress.answer import judge_sides
    from orchestrator.commands.results.sides import open_sides

    words = (request.baseline, request.run)
    with open_sides(request.selected, *words, per_host=request.per_host) as sides:
        verdicts = judge_sides(sides, request)
        report = regression_report(verdicts.judgements, sides.run.source, sides.run.selection)
    return _made(report, request.selected.database, REGRESSION_TOPIC, _verdict_sentences(verdicts))


def _verdict_sentences(answer: "RegressionAnswer") -> Iterator[str]:
    from orchestrator.commands.regress.sentences import (
        accepted_lines,
        circumstance_lines,
        metric_answers,
        model_lines,
        trust_lines,
        verdicts_by_metric,
    )

    yield from metric_answers(answer, list(verdicts_by_metric(answer)))
    yield from model_lines(answer)
    yield from circumstance_lines(answer)
    yield from accepted_lines(answer)
    yield from trust_lines(answer)


def report_predictor(database: Path) -> MadeReport:
    from analysis.report.predictions import (
        PREDICTION_TOPIC,
        DescribedPredictor,
        prediction_report,
        unevaluated_words,
    )
    from orchestrator.commands.predict import stored_predictor as stored
    from orchestrator.commands.predict.words import predictor_sentences

    with Store.open_readonly(database) as store:
        if not predictor_folder(database).is_dir():
            raise NothingToDo(
                f"{database}: there is no predictor to report on",
                hint=f"`{stored.training_command(database)}` makes one of what was measured",
            )
        predictor = stored.open_predictor(database, store)
    forecaster, manifest = predictor.forecaster(), predictor.manifest
    evaluation = stored.kept_evaluation(predictor)
    command = stored.evaluation_command(database, manifest.sources)
    described = DescribedPredictor(
        database=database.name,
        manifest=manifest,
        machines=forecaster.machines,
        domains={name: one.domain for name, one in forecaster.predictors.items()},
        evaluation=evaluation,
        evaluation_command=command,
    )
    unevaluated = [] if evaluation else [unevaluated_words(command)]
    answers = [*predictor_sentences(predictor), *unevaluated]
    return _made(prediction_report(described), database, PREDICTION_TOPIC, answers)


def report_file(file: Path, request: SelectionRequest) -> MadeReport:
    """The report on a file of another benchmark, which is imported for this alone."""
    with _imported(file) as database:
        imported = replace(request, database=database, run=None, imported=True)
        try:
            outcome = report_topic(RUN_TOPIC, imported)
        except NothingToDo as error:
            raise NothingToDo(
                f"{file}: holds nothing that a report shows; simulated results never are",
                hint=f"`orchestrator import {file} --dry-run` tells what it holds",
            ) from error
    outcome = _made(replace(outcome.report, title=file.name), request.database, file.stem)
    return replace(outcome, made_from=str(file))


@contextmanager
def _imported(file: Path) -> Iterator[Path]:
    """A database that holds a file's records, for a while."""
    with TemporaryDirectory(prefix="accelmatrix-") as folder:
        database = Path(folder, DATABASE_NAME)
        request = ImportCommand(paths=[file], results=Path(folder), database=database)
        done = import_results(request)
        refused = next((one for one in done.outcomes if one.kind == "not recognised"), None)
        if refused is not None:
            raise UsageError(
                f"{file}: {refused.summary}",
                hint=f"`orchestrator import {file} --mapping FILE` reads any other CSV or JSON",
            )
        if not database.exists():
            raise NothingToDo(
                f"{file}: {'; '.join(one.summary for one in done.outcomes)}",
                hint="name a file with measurements",
            )
        yield database


def _hint(topic: str, request: SelectionRequest) -> str:
    if request.filters or request.run:
        return "drop a filter, or see what there is: `orchestrator status`"
    return REPORT_TOPICS[topic].remedy
