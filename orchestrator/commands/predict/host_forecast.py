"""Forecasts for plans on this machine, by the predictor of a database where there is one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.backends.machine import this_host
from orchestrator.planning.estimate import CellForecast, CellForecasts
from orchestrator.system.files import predictor_folder
from runner.contract.cell import Cell
from runner.contract.models import ModelSpec

if TYPE_CHECKING:
    from analysis.predict.examples.placements import KnownMachine
    from analysis.predict.forecaster import Forecaster
    from analysis.predict.predictor import Prediction

_TARGETS = ("latency", "memory")


def find_forecast(database: Path) -> CellForecasts | None:
    """FindForecasts that takes the database's predictor, which is read when cells are asked for."""
    if not database.is_file() or find_spec("lightgbm") is None:
        return None

    def forecast(cells: Sequence[Cell], models: Mapping[str, ModelSpec]) -> list[CellForecast]:
        known = host_forecast(database)
        return known(cells, models) if known else [CellForecast()] * len(cells)

    return forecast if predictor_folder(database).is_dir() else None


def host_forecast(database: Path) -> "HostForecast | None":
    """The database's predictor for cells on this machine; None where none can be used."""
    if find_forecast(database) is None:
        return None
    from analysis.recommend.this_host import hardware_of_host
    from orchestrator.commands.predict.stored_predictor import open_predictor
    from orchestrator.store.store import Store

    host = this_host()
    with Store.open_readonly(database, wait_s=0) as store:
        predictor = open_predictor(database, store)
        hardware = hardware_of_host(store, host) if host else frozenset[str]()
    known = [name for name in _TARGETS if name in predictor.manifest.targets]
    forecaster = predictor.forecaster(known)
    here = [machine for machine in forecaster.machines if machine.key in hardware]
    machines = {name: machine for machine in reversed(here) for name in machine.backends}
    return HostForecast(forecaster, machines) if machines else None


@dataclass(frozen=True)
class HostForecast:
    """A predictor that knows this machine."""

    forecaster: "Forecaster"
    machines: Mapping[str, "KnownMachine"]

    def __call__(
        self, cells: Sequence[Cell], models: Mapping[str, ModelSpec]
    ) -> list[CellForecast]:
        predicted = {name: self.predictions(cells, models, name) for name in _TARGETS}
        return [
            CellForecast(latency and latency.value, memory and memory.value)
            for latency, memory in zip(*predicted.values(), strict=True)
        ]

    def predictions(
        self, cells: Sequence[Cell], models: Mapping[str, ModelSpec], target: str
    ) -> "list[Prediction | None]":
        from analysis.predict.predictor import NoPrediction

        answers: list[Prediction | None] = [None] * len(cells)
        if target not in self.forecaster.predictors:
            return answers
        for backend, machine in self.machines.items():
            numbers = [number for number, cell in enumerate(cells) if cell.backend == backend]
            wanted = [cells[number] for number in numbers]
            forecasts = self.forecaster.forecast(wanted, models, target, machine) if wanted else []
            for number, answer in zip(numbers, forecasts, strict=True):
                answers[number] = None if isinstance(answer, NoPrediction) else answer
        return answers
