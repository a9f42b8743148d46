"""A look into a database's predictor."""

from dataclasses import dataclass
from pathlib import Path

from analysis.predict.artefact.manifest import PredictorManifest
from analysis.predict.examples.placements import KnownMachine
from orchestrator.commands.predict.artefact_folder import open_predictor
from orchestrator.commands.predict.freshness import rows_since
from orchestrator.store import Store


@dataclass(frozen=True)
class PredictorReport:
    """A predictor, the machines that it knows, and what it does not know yet."""

    database: Path
    folder: Path
    manifest: PredictorManifest
    machines: tuple[KnownMachine, ...]
    added: int
    """Results that came since it was trained."""


def look_into_predictor(database: Path) -> PredictorReport:
    """The predictor of a database.

    Raises:
        StoreError: there is none, it is damaged or that of another database, or the database cannot
            be read.
        UsageError: the extra `analysis` is missing.
    """
    predictor = open_predictor(database)
    with Store.open_readonly(database) as store:
        added = rows_since(predictor, store)
    machines = predictor.forecaster(targets=()).machines
    return PredictorReport(database, predictor.folder, predictor.manifest, machines, added)
