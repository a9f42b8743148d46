"""A matrix becomes cells: each once, each with the reason if it can't run."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from orchestrator.errors import MatrixError
from orchestrator.matrix import Axis, Combination, Combiner, Matrix
from orchestrator.support import why_not
from runner.cell import DEFAULT_RUNTIMES, Backend, Cell

_DEFAULTS: Combination = {
    "backend": "cpu",
    "runtime": "default",
    "precision": "fp32",
    "batch_size": 1,
    "sequence_length": 128,
    "mode": "inference",
}
_Point = tuple[Any, ...]


@dataclass(frozen=True)
class Expansion:
    """The cells of a matrix."""

    cells: tuple[tuple[Cell, str | None], ...]
    """Each cell once, in the matrix' order, with the reason if no machine can run it."""
    notes: tuple[str, ...]
    """What became of combinations that are no cell of their own, in sentences."""


@dataclass
class _Tally:
    cells: Counter[str] = field(default_factory=Counter)
    combinations: Counter[str] = field(default_factory=Counter)

    def notes(self, matrix: Matrix) -> Iterator[str]:
        for model, count in self.combinations.items():
            cells = self.cells[model]
            if count == cells:
                continue
            became = f"{count:,} combinations are {cells:,} cell{'s' if cells > 1 else ''}"
            if matrix.models[model].takes_sequence:
                yield f"{model}: {became}, because some name the same cell"
            else:
                yield f"{model} takes no sequence length: {became}"


def expand(matrix: Matrix) -> Expansion:
    """Every cell of the matrix, none twice, none left out silently.

    Raises:
        MatrixError: a combination names no model, or two jobs would bear the same id.
    """
    combiner = Combiner(matrix.include, matrix.exclude)
    tally = _Tally()
    cells: dict[_Point, tuple[Cell, str | None]] = {}
    for combination in combiner.combinations(matrix.products()):
        point = _point(combination, matrix)
        model = point[0]
        tally.combinations[model] += 1
        if point not in cells:
            tally.cells[model] += 1
            cells[point] = _cell(point, matrix)
    _refuse_shared_ids((cell for cell, _ in cells.values()), matrix)
    notes = [*tally.notes(matrix), *_useless(combiner, matrix)]
    return Expansion(tuple(cells.values()), tuple(notes))


def _point(combination: Combination, matrix: Matrix) -> _Point:
    given = _DEFAULTS | combination
    if "model" not in given:
        named = ", ".join(f"{axis}: {value}" for axis, value in combination.items())
        raise MatrixError(
            f"{matrix.source}: the combination {{{named}}} names no model",
            hint="an include entry that fits no combination must name a model of its own",
        )
    model, backend, runtime = given["model"], given["backend"], given["runtime"]
    if runtime == "default":
        runtime = DEFAULT_RUNTIMES[cast("Backend", backend)]
    takes_sequence = matrix.models[str(model)].takes_sequence
    length = given["sequence_length"] if takes_sequence else None
    return (model, backend, runtime, given["precision"], given["batch_size"], length, given["mode"])


def _cell(point: _Point, matrix: Matrix) -> tuple[Cell, str | None]:
    model, backend, runtime, precision, batch_size, sequence_length, mode = point
    cell = Cell(
        model=model,
        backend=backend,
        runtime=runtime,
        precision=precision,
        batch_size=batch_size,
        sequence_length=sequence_length,
        mode=mode,
    )
    return cell, why_not(cell, matrix.models[model])


def _refuse_shared_ids(cells: Iterable[Cell], matrix: Matrix) -> None:
    """Two cells can share an id only if their jobs do: a model's name may end another's path."""
    owners: dict[str, Cell] = {}
    for cell in cells:
        owner = owners.setdefault(cell.job_id, cell)
        if (owner.model, owner.runtime) != (cell.model, cell.runtime):
            raise MatrixError(
                f"{matrix.source}: {owner.model!r} with runtime {owner.runtime} and "
                f"{cell.model!r} with runtime {cell.runtime} share the id {cell.job_id}",
                hint="rename the custom model",
            )


def _useless(combiner: Combiner[Axis], matrix: Matrix) -> Iterator[str]:
    for place in combiner.useless_excludes:
        named = ", ".join(f"{axis}: {value}" for axis, value in matrix.exclude[place].items())
        yield f"the exclude entry {{{named}}} fits no combination"
