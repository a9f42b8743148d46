"""Knowledge of a database that helps to choose cells: measurements, and this machine's verdicts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.predict.examples.placements import Placement
from analysis.recommend.host_verdicts import HostVerdicts, hardware_of_host, host_verdicts
from orchestrator.backends.machine import this_host
from orchestrator.commands.predict.host.forecast import HostForecast, host_forecast
from orchestrator.commands.predict.stored_predictor import open_predictor, predictor_folder
from orchestrator.store import Store
from runner.contract.errors import StoreError, UsageError

if TYPE_CHECKING:
    from runner.contract.cell import Cell
    from runner.contract.models import ModelSpec


@dataclass(frozen=True)
class HostKnowledge:
    """Measurements that predictors learn from, and verdicts and predictions of this machine."""

    placements: Sequence[Placement] = ()
    """The placements of all measurements, the newest last, repeats included."""
    hardware_ids: frozenset[str] = frozenset()
    """The ids of this machine with each of its devices."""
    verdicts: HostVerdicts = field(default_factory=HostVerdicts)
    forecast: HostForecast | None = None
    """None without a predictor that knows this machine."""
    faults: tuple[str, ...] = ()
    """Sentences about a predictor that cannot be used."""

    def half_widths(
        self, cells: "Sequence[Cell]", models: "dict[str, ModelSpec]"
    ) -> list[float] | None:
        """Half the interval of each cell's median latency, as a logarithm.

        A cell without a prediction has the widest; None if no cell has one.
        """
        if self.forecast is None:
            return None
        predictions = self.forecast.predictions(cells, models, "latency")
        widths = [log(one.high / one.low) / 2 if one else None for one in predictions]
        known = [width for width in widths if width is not None]
        if not known:
            return None
        widest = max(known)
        return [widest if width is None else width for width in widths]


def host_knowledge(database: Path) -> HostKnowledge:
    """Read what a database knows; nothing where there is none.

    Raises:
        StoreError: the database cannot be read.
        UsageError: the extra `analysis` is missing.
    """
    from analysis.predict.examples.example_rows import example_rows

    if not database.is_file():
        return HostKnowledge()
    forecast, faults = None, list[str]()
    try:
        forecast = host_forecast(database)
    except (StoreError, UsageError) as error:
        faults.append(f"intervals are not predicted: {error}")
    host = this_host()
    with Store.open_readonly(database) as store:
        rows = example_rows(store, imported=_learns_from_others(database, store))
        return HostKnowledge(
            placements=rows.placements,
            hardware_ids=hardware_of_host(store, host) if host else frozenset(),
            verdicts=host_verdicts(store, host) if host else HostVerdicts(),
            forecast=forecast,
            faults=tuple(faults),
        )


def _learns_from_others(database: Path, store: Store) -> bool:
    """True if the database's predictor was trained on imported results too."""
    if not predictor_folder(database).is_dir():
        return False
    try:
        return open_predictor(database, store).manifest.sources == "all"
    except StoreError:
        return False
