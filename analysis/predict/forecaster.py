"""Forecasts of cells on known machines, by one predictor for each target."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any, TypeAlias, TypeVar

from pydantic import TypeAdapter

from analysis.predict.calibrated import CalibratedTrees
from analysis.predict.effects import GROUPS, EffectSet
from analysis.predict.examples.placements import (
    PREDICTION_TARGETS,
    Counts,
    KnownMachine,
    Placement,
    cell_placement,
    unpredicted_part,
)
from analysis.predict.examples.work import counts_of_cell
from analysis.predict.expectation import Expectation
from analysis.predict.features import FEATURES, Domain
from analysis.predict.manifest import (
    ARTEFACT_VERSION,
    MANIFEST_NAME,
    OTHER_VERSION,
    NoveltyErrors,
    PredictorManifest,
    ReadFile,
    Refuse,
    TargetFacts,
    TrainingOrigin,
    read_verified,
    text_digest,
)
from analysis.predict.novelty import Novelty, Seen
from analysis.predict.predictor import NoPrediction, Prediction, TargetPredictor
from analysis.predict.trees import TreeColumns
from runner.contract.axes import SIZE_AXES
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec
from runner.contract.models.work import Polynomials

NamedPolynomials: TypeAlias = Mapping[str, Polynomials]
_COUNTED_BY = ("model", "precision", "mode", "training_precision", *SIZE_AXES)


@dataclass(frozen=True)
class Forecaster:
    """Everything that answers questions about unmeasured cells."""

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
            try:
                counts = counts_of_cell(model, cell, self._polynomials.get(model.name))
            except Unsupported as error:
                self._counts[key] = NoPrediction(str(error))
            else:
                unknown = NoPrediction(f"nobody counted the work of {model.name}")
                self._counts[key] = counts or unknown
        return self._counts[key]


def placement_of(
    cell: Cell, model: ModelSpec, machine: KnownMachine, counts: NamedPolynomials | None = None
) -> Placement | NoPrediction:
    return _Placing({cell.model: model}, counts or {}).placement(cell, machine)


_MACHINES_NAME, _MACHINES = "machines.json", tuple[KnownMachine, ...]
_Name = TypeVar("_Name", bound=str)
_Part = TypeVar("_Part")


@dataclass(frozen=True)
class _TargetFile:
    """A target's predictor; expectations and trees, which no question needs all, are beside it."""

    columns: TreeColumns
    domain: Domain
    seen: Seen
    examples: Mapping[str, int]
    expectations: tuple[EffectSet, ...]
    trees: tuple[Novelty, ...]


def predictor_files(forecaster: Forecaster, origin: TrainingOrigin) -> dict[str, str]:
    """The text of each file by its name; the manifest, which vouches for all others, is last."""
    files = {_MACHINES_NAME: _written(_MACHINES, forecaster.machines)}
    facts = {}
    for name, predictor in forecaster.predictors.items():
        target = _TargetFile(
            *(predictor.columns, predictor.domain, predictor.seen, predictor.examples),
            expectations=tuple(predictor.expectations),
            trees=tuple(predictor.trees),
        )
        files[f"{name}.json"] = _written(_TargetFile, target)
        for part, value in predictor.expectations.items():
            files[_part_name(name, part)] = _written(Expectation, value)
        for novelty, trees in predictor.trees.items():
            files[_part_name(name, novelty)] = _written(CalibratedTrees, trees)
        errors = {
            novelty: NoveltyErrors(
                examples=trees.errors, groups=trees.groups, median_error=trees.median_error
            )
            for novelty, trees in predictor.trees.items()
        }
        facts[name] = TargetFacts(examples=dict(predictor.examples), errors=errors)
    manifest = PredictorManifest(
        **dict(origin),
        version=ARTEFACT_VERSION,
        columns=_fitted_columns(),
        targets=facts,
        files={name: text_digest(text) for name, text in files.items()},
    )
    return {**files, MANIFEST_NAME: manifest.model_dump_json(indent=1) + "\n"}


def _part_name(target: str, part: str) -> str:
    return f"{target}-{part}.json"


def _fitted_columns() -> tuple[str, ...]:
    slopes = (
        f"{chosen}, {name}: {', '.join(group.slopes)}"
        for chosen, groups in GROUPS.items()
        for name, group in groups.items()
    )
    return (*FEATURES, *slopes)


def read_forecaster(
    manifest: PredictorManifest,
    read: ReadFile,
    refuse: Refuse,
    targets: Sequence[str] | None = None,
) -> Forecaster:
    """The forecaster in the files of this manifest; `refuse` makes the error of a wrong one.

    Files of targets other than these are not read, and expectations and trees not before a question
    needs them.
    """
    if manifest.columns != _fitted_columns():
        raise refuse(OTHER_VERSION)

    def part(kind: Any, name: str) -> Any:
        digest = manifest.files.get(name)
        text = read_verified(name, read, digest, refuse, f"is not what {MANIFEST_NAME} says")
        return _adapter(kind).validate_json(text)

    def part_of(target: str, kind: Any, chosen: str) -> Any:
        return part(kind, _part_name(target, chosen))

    predictors = {}
    for name in manifest.targets:
        if targets is not None and name not in targets:
            continue
        file: _TargetFile = part(_TargetFile, f"{name}.json")
        predictors[name] = TargetPredictor(
            target=PREDICTION_TARGETS[name],
            expectations=_Parts(file.expectations, partial(part_of, name, Expectation)),
            columns=file.columns,
            trees=_Parts(file.trees, partial(part_of, name, CalibratedTrees)),
            domain=file.domain,
            seen=file.seen,
            examples=file.examples,
        )
    return Forecaster(predictors, part(_MACHINES, _MACHINES_NAME))


@dataclass(frozen=True)
class _Parts(Mapping[_Name, _Part]):
    """Parts of a predictor by name, each read when it is needed first."""

    names: Sequence[_Name]
    read: Callable[[_Name], _Part]
    known: dict[_Name, _Part] = field(default_factory=dict)

    def __getitem__(self, name: _Name) -> _Part:
        if name not in self.names:
            raise KeyError(name)
        if name not in self.known:
            self.known[name] = self.read(name)
        return self.known[name]

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __iter__(self) -> Iterator[_Name]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)


def _written(kind: Any, value: Any) -> str:
    return _adapter(kind).dump_json(value).decode() + "\n"


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
