"""Forecasts of cells on known machines, by one predictor for each target."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from analysis.predict.examples.placements import (
    Counts,
    KnownMachine,
    Placement,
    cell_placement,
    unpredicted_part,
)
from analysis.predict.examples.work import counts_of_cell
from analysis.predict.predictor import NoPrediction, Prediction, TargetPredictor
from runner.contract.axes import SIZE_AXES
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec
from runner.contract.models.work import Polynomials

NamedPolynomials: TypeAlias = Mapping[str, Polynomials]
_COUNTED_BY = ("model", "precision", "mode", "training_precision", *SIZE_AXES)
"""The axes that decide about counted work."""


@dataclass(frozen=True)
class Forecaster:
    """Everything that answers questions about cells that nobody measured."""

    predictors: Mapping[str, TargetPredictor]
    machines: tuple[KnownMachine, ...]

    def machine_of(self, backend: str) -> KnownMachine | None:
        return next((one for one in self.machines if backend in one.backends), None)

    def forecast(
        self,
        cells: Sequence[Cell],
        models: Mapping[str, ModelSpec],
        target: str,
        machine: KnownMachine | None = None,
    ) -> list[Prediction | NoPrediction]:
        return self.forecasts(cells, models, (target,), machine)[target]

    def forecasts(
        self,
        cells: Sequence[Cell],
        models: Mapping[str, ModelSpec],
        targets: Iterable[str],
        machine: KnownMachine | None = None,
        counts: NamedPolynomials | None = None,
    ) -> Mapping[str, list[Prediction | NoPrediction]]:
        """The same of several targets by name; `counts` are of models outside the catalogue."""
        placing = _Placing(models, counts or {})
        placed = [
            placing.placement(cell, machine or self.machine_of(cell.backend)) for cell in cells
        ]
        questions = [one for one in placed if isinstance(one, Placement)]
        by_target: dict[str, list[Prediction | NoPrediction]] = {}
        for target in targets:
            answers = iter(self.predictors[target].predict(questions))
            by_target[target] = [
                next(answers) if isinstance(one, Placement) else one for one in placed
            ]
        return by_target


class _Placing:
    """Places cells on machines; work is counted once for cells that differ in nothing else."""

    def __init__(self, models: Mapping[str, ModelSpec], polynomials: NamedPolynomials) -> None:
        self._models, self._polynomials = models, polynomials
        self._counts: dict[tuple[object, ...], Counts | NoPrediction] = {}

    def placement(self, cell: Cell, machine: KnownMachine | None) -> Placement | NoPrediction:
        if machine is None:
            return NoPrediction(f"no machine with backend {cell.backend} is known")
        if part := unpredicted_part(cell):
            return NoPrediction(f"{part} is not predicted")
        model = self._models[cell.model]
        counts, device = self._counted(model, cell), machine.devices.get(cell.precision)
        if isinstance(counts, NoPrediction):
            return counts
        if device is None:
            return NoPrediction(f"the peaks of {machine.name} in {cell.precision} are not known")
        software = machine.software.get((cell.backend, cell.runtime), "")
        return cell_placement(
            cell, model, device, counts, software=software, threads=machine.threads
        )

    def _counted(self, model: ModelSpec, cell: Cell) -> Counts | NoPrediction:
        key = tuple(getattr(cell, name) for name in _COUNTED_BY)
        if key not in self._counts:
            self._counts[key] = _counts(model, cell, self._polynomials.get(model.name))
        return self._counts[key]


def placement_of(
    cell: Cell, model: ModelSpec, machine: KnownMachine, counts: NamedPolynomials | None = None
) -> Placement | NoPrediction:
    return _Placing({cell.model: model}, counts or {}).placement(cell, machine)


def _counts(model: ModelSpec, cell: Cell, polynomials: Polynomials | None) -> Counts | NoPrediction:
    try:
        counts = counts_of_cell(model, cell, polynomials)
    except Unsupported as error:
        return NoPrediction(str(error))
    return counts or NoPrediction(f"nobody counted the work of {model.name}")
