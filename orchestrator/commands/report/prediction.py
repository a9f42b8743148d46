"""The report on a predictor, from what lies beside its database."""

from dataclasses import dataclass
from pathlib import Path

from analysis.report.predictions import (
    PREDICTION_TOPIC,
    DescribedPredictor,
    prediction_report,
)
from orchestrator.commands.predict.stored_predictor import (
    StoredPredictor,
    evaluation_command,
    kept_evaluation,
    open_predictor,
    predictor_folder,
    training_command,
)
from orchestrator.commands.report.answer import REPORTS_FOLDER, MadeReport
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo


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
