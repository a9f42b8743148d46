"""The forecaster of a database, where one was trained: others go on without it."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.results.source import ArrowSource
from orchestrator.commands.predict.artefact_folder import open_predictor, predictor_folder
from runner.contract.errors import BenchError

if TYPE_CHECKING:
    from analysis.predict.forecaster import Forecaster


@dataclass(frozen=True)
class ReadyForecaster:
    """The forecaster of a database, or the reason why there is none."""

    forecaster: "Forecaster | None" = None
    added: int = 0
    """Results that came since it was trained."""
    refusal: str | None = None
    """The reason why what was trained cannot be used."""


def ready_forecaster(
    database: Path, source: ArrowSource, targets: Collection[str]
) -> ReadyForecaster:
    """The forecaster of these targets; one without a forecaster where none can be used.

    What was measured can be ranked without it, so a damaged, foreign or stale predictor, and a
    missing extra `analysis`, are no errors here, but remarks.
    """
    if not predictor_folder(database).is_dir():
        return ReadyForecaster()
    try:
        from orchestrator.commands.predict.freshness import rows_since  # needs the extra `analysis`

        predictor = open_predictor(database)
        added = rows_since(predictor, source)
        known = [name for name in predictor.manifest.targets if name in targets]
        return ReadyForecaster(predictor.forecaster(known), added)
    except BenchError as error:
        return ReadyForecaster(refusal=str(error))
