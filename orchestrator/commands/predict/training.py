"""Training of a database's predictor: what it learnt from, and how good it is."""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from analysis.predict.examples.example_rows import digest_of_rows, example_rows, rows_by_run
from analysis.predict.examples.machines import known_machines
from analysis.predict.examples.placements import PREDICTION_TARGETS, ExampleRows
from analysis.predict.forecaster import Forecaster, predictor_files
from analysis.predict.manifest import (
    MANIFEST_NAME,
    PredictorManifest,
    Sources,
    TrainingOrigin,
    text_digest,
)
from analysis.predict.predictor import LEAST_RESULTS, train_target
from orchestrator.commands.predict.cells import Notice, kept_polynomials
from orchestrator.commands.predict.stored_predictor import (
    predictor_folder,
    save_predictor,
    training_command,
)
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.store.store import Store
from orchestrator.system.files import RESULTS_FOLDER, database_option
from runner import __version__
from runner.contract.errors import NothingToDo


@dataclass(frozen=True)
class TrainedPredictor:
    """A predictor that was made."""

    database: Path
    manifest: PredictorManifest
    seconds: float
    """Time of training, from opening the database on."""

    @property
    def folder(self) -> Path:
        return predictor_folder(self.database)


def train_predictor(
    database: Path, sources: Sources, report: Notice, results: Path = RESULTS_FOLDER
) -> TrainedPredictor:
    began = time.monotonic()
    imported = sources == "all"
    with Store.open_readonly(database) as store:
        rows = example_rows(store, imported=imported, counts_of=kept_polynomials(results))
        machines = known_machines(store, rows)
        by_run = rows_by_run(store, imported=imported)
    predictors = {}
    for name, target in PREDICTION_TARGETS.items():
        examples = rows.examples(target)
        report(f"{target.label}: {len(examples):,} results")
        if predictor := train_target(target, examples):
            predictors[name] = predictor
    if not predictors:
        raise too_few_examples(database, rows, sources)
    origin = TrainingOrigin(
        accelmatrix=__version__,
        schema_version=STORE_VERSION,
        trained_at=datetime.now(UTC),
        database=database.name,
        sources=sources,
        rows=by_run,
        rows_digest=digest_of_rows(rows),
        left_out=rows.left_out,
    )
    files = predictor_files(Forecaster(predictors, machines), origin)
    text = files[MANIFEST_NAME]
    save_predictor(database, files, text_digest(text))
    manifest = PredictorManifest.model_validate_json(text)
    return TrainedPredictor(database, manifest, time.monotonic() - began)


def too_few_examples(database: Path, rows: ExampleRows, sources: Sources) -> NothingToDo:
    """The error that says that a database holds too little to learn from, and what to do."""
    count = len(rows.rows)
    reasons = "".join(
        f"; {number:,} left out: {why_not}" for why_not, number in rows.left_out.items()
    )
    held = f"{count:,} results to learn from" if count else "no result to learn from"
    message = f"{database}: holds {held}, and {LEAST_RESULTS} are needed{reasons}"
    bench = "`orchestrator bench --model bert-tiny --batch-size 1,2,4,8,16"
    if sources == "ours":
        train = training_command(database, "all")
        hint = f"`{train}` learns from imported results too; or measure some: {bench}`"
    else:
        hint = f"measure some: {' '.join([bench, *database_option(database)])}`"
    return NothingToDo(message, hint=hint)
