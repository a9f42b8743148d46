"""The cells that a question to a predictor is about, by options, ids or a matrix file."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

from orchestrator.commands.options.axes import BenchOptions
from orchestrator.commands.options.bench_matrix import bench_matrix
from orchestrator.planning.expand import expand
from orchestrator.system.files import RESULTS_FOLDER
from runner.contract.axes import RUNTIMES, SIZE_LETTERS, AxisName, Backend, Mode, Precision, Runtime
from runner.contract.cell import DEFAULT_RUNTIMES, Cell
from runner.contract.errors import UsageError
from runner.contract.models import ModelSpec
from runner.contract.models.work import Polynomials
from runner.contract.reasons import Reason

_SIZES = "|".join(letter for letter, _ in SIZE_LETTERS)
_ID = re.compile(
    rf"(?P<backend>{'|'.join(get_args(Backend))})-"
    rf"(?:(?P<runtime>{'|'.join(get_args(Runtime))})-)?"
    rf"(?P<model>.+)-(?P<precision>{'|'.join(get_args(Precision))})"
    rf"(?P<shape>(?:-(?:{_SIZES})[0-9]+)+)-(?P<mode>{'|'.join(get_args(Mode))})(?P<pure>-pure)?"
)
_SIZE = re.compile(rf"-({_SIZES})([0-9]+)")
_NAMES: Mapping[str, AxisName] = dict(SIZE_LETTERS)


@dataclass(frozen=True)
class CellsAsked:
    """A question to a predictor."""

    database: Path
    results: Path = RESULTS_FOLDER
    """The folder of all runs, beside which counted work is kept."""
    axes: Mapping[AxisName, Sequence[str]] = field(default_factory=dict)
    """Values of the axes that options name."""
    device: str | None = None
    """The name of a machine or a device; None for the best known one of each backend."""
    targets: tuple[str, ...] = ()
    """Names of targets; empty for the usual one."""

    @property
    def names_a_path(self) -> bool:
        """True if options name backends, or runtimes that imply one."""
        return bool(self.axes.get("backend") or self.axes.get("runtime"))


@dataclass(frozen=True)
class PossibleCells:
    """Cells of a question, with their models."""

    cells: tuple[tuple[Cell, Reason | None], ...]
    """Each with the reason if no machine can run it."""
    models: Mapping[str, ModelSpec]
    counts: Mapping[str, Polynomials] = field(default_factory=dict)
    """The work of models that are not of the catalogue, by name."""
    uncounted: Mapping[str, str] = field(default_factory=dict)
    """The reasons why the work of others is not known, by name."""
    guessed: Mapping[str, str] = field(default_factory=dict)
    """Sentences about work that is taken from another model, by name."""


def require_models(axes: Mapping[AxisName, Sequence[str]]) -> None:
    """Insist that options name a model."""
    if not axes.get("model"):
        raise UsageError(
            "predict: --model is missing",
            hint="for example `orchestrator predict --model bert-tiny --batch-size 1,2,4,8`",
        )


def cells_of_axes(axes: Mapping[AxisName, Sequence[str]]) -> PossibleCells:
    """All cells of these values, as `bench` would measure them."""
    matrix = bench_matrix(BenchOptions.of_axes(axes), command="predict")
    return PossibleCells(expand(matrix).cells, matrix.models)


def axes_of_id(cell_id: str) -> dict[AxisName, Sequence[str]]:
    match = _ID.fullmatch(cell_id)
    if match is None:
        raise UsageError(
            f"{cell_id!r} is no id of a cell that can be predicted",
            hint="one is cpu-bert-tiny-fp32-b8-s128-inference; `orchestrator plan MATRIX` lists"
            " those of a matrix, and --model, --backend, … name one too",
        )
    facts: dict[str, Any] = match.groupdict()
    backend, runtime, model = facts["backend"], facts["runtime"], facts["model"]
    if runtime is not None and runtime not in RUNTIMES[backend]:
        model, runtime = f"{runtime}-{model}", None
    sizes = {_NAMES[letter]: [number] for letter, number in _SIZE.findall(facts["shape"])}
    pure: dict[AxisName, Sequence[str]] = {"training_precision": ["pure"]} if facts["pure"] else {}
    return {
        "model": [model],
        "backend": [backend],
        "runtime": [runtime or DEFAULT_RUNTIMES[backend]],
        "precision": [facts["precision"]],
        "mode": [facts["mode"]],
        **sizes,
        **pure,
    }
