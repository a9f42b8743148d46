"""A matrix becomes cells: each once, each with the reason if it can't run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from orchestrator.matrix import AXES, FIND_PEAK, Axis, Combination, Combiner, Matrix
from orchestrator.system.text import plural
from runner.contract.cell import DEFAULT_RUNTIMES, Backend, Cell
from runner.contract.errors import MatrixError
from runner.contract.models import ModelSpec
from runner.contract.support import why_not

_FALL_TOGETHER: Mapping[Axis, str] = {
    "batch_size": "offline finds its own batch_size",
    "sequence_length": "it takes no sequence_length",
    "image_size": "it takes no image_size",
    "audio_seconds": "it takes no audio_seconds",
    "new_tokens": "only generation has new_tokens",
    "scenario": "only inference has a scenario",
    "target_qps": "only the scenario server has a target_qps",
    "slo_ms": "only a rate that is sought has an slo_ms",
}
"""Why combinations that differ in an axis can be one cell."""
_KNOWN_WITH: Mapping[Axis, tuple[str, Callable[[Cell], bool]]] = {
    "image_size": ("a model for images of several sizes", lambda cell: bool(cell.image_size)),
    "audio_seconds": ("a model for sounds of any length", lambda cell: bool(cell.audio_seconds)),
    "new_tokens": ("mode generation", lambda cell: cell.mode == "generation"),
    "scenario": ("mode inference", lambda cell: cell.mode == "inference"),
    "target_qps": ("scenario server", lambda cell: cell.scenario == "server"),
    "slo_ms": (f"scenario server and target_qps {FIND_PEAK}", lambda cell: cell.seeks_peak),
}
"""What a cell needs to know an axis, and whether it does."""


@dataclass
class Tally:
    """How many combinations fell together, model by model, and on which axes they differed."""

    cells: Counter[str] = field(default_factory=Counter)
    """Cells of each model."""
    _repeats: Counter[str] = field(default_factory=Counter)
    _axes: dict[str, set[Axis]] = field(default_factory=dict)

    def repeat(self, first: Sequence[Any], again: Sequence[Any]) -> None:
        """Count a combination that is the same cell as an earlier one; both in `AXES`' order."""
        model = again[0]
        self._repeats[model] += 1
        differing = (axis for axis, a, b in zip(AXES, first, again, strict=True) if a != b)
        self._axes.setdefault(model, set()).update(differing)

    def notes(self) -> Iterator[str]:
        """A sentence for each model of which combinations fell together."""
        for model, repeats in self._repeats.items():
            cells = self.cells[model]
            became = f"{cells + repeats:,} combinations are {cells:,} {plural(cells, 'cell')}"
            why = [words for axis, words in _FALL_TOGETHER.items() if axis in self._axes[model]]
            yield f"{model}: {became}, because {_listing(why or ['some name the same cell'])}"


def useless_excludes(combiner: Combiner[Axis], matrix: Matrix) -> Iterator[str]:
    """A sentence for each `exclude` entry that dropped nothing."""
    for place in combiner.useless_excludes:
        named = ", ".join(f"{axis}: {value}" for axis, value in matrix.exclude[place].items())
        yield f"the exclude entry {{{named}}} fits no combination"


def unused_axes(cells: Sequence[Cell], matrix: Matrix) -> Iterator[str]:
    """A sentence for each axis that the matrix names though none of its cells knows it."""
    parts: tuple[Mapping[Axis, object], ...] = (*matrix.products(), *matrix.include)
    named = {axis for part in parts for axis in part}
    for axis, (needed, knows) in _KNOWN_WITH.items():
        if axis in named and not any(map(knows, cells)):
            yield f"no cell knows {axis}: that takes {needed}"


def _listing(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


_SEQUENCE_LENGTH = 128
_NEW_TOKENS = 32
"""Where neither the matrix nor what the model takes at most says otherwise."""
_DEFAULTS: Combination = {
    "backend": "cpu",
    "runtime": "default",
    "precision": "fp32",
    "batch_size": 1,
    "mode": "inference",
    "scenario": "single_stream",
    "target_qps": FIND_PEAK,
    "slo_ms": 100.0,
}
_Point = tuple[Any, ...]
"""A value for each axis, in the order of `AXES`."""
_Sizes = Mapping[Axis, int | None]
"""What a model takes where a matrix names no size; null on an axis that it doesn't know."""


@dataclass(frozen=True)
class Expansion:
    """The cells of a matrix."""

    cells: tuple[tuple[Cell, str | None], ...]
    """Each cell once, in the matrix' order, with the reason if no machine can run it."""
    notes: tuple[str, ...]
    """What became of combinations that are no cell of their own, in sentences."""


def expand(matrix: Matrix) -> Expansion:
    """Every cell of the matrix, none twice, none left out silently.

    A cell leaves out what it doesn't know, so combinations that differ in that alone are one cell.

    Raises:
        MatrixError: a combination names no model, or two jobs would bear the same id.
    """
    combiner = Combiner(matrix.include, matrix.exclude)
    sizes = {name: _sizes(model) for name, model in matrix.models.items()}
    tally = Tally()
    cells: dict[_Point, tuple[Cell, str | None]] = {}
    firsts: dict[_Point, _Point] = {}
    for combination in combiner.combinations(matrix.products()):
        given = _given(combination, matrix, sizes)
        asked = tuple(map(given.__getitem__, AXES))
        point = _point(given, sizes[given["model"]])
        first = firsts.setdefault(point, asked)
        if first is not asked:
            tally.repeat(first, asked)
            continue
        tally.cells[point[0]] += 1
        cells[point] = _cell(point, matrix)
    found = [cell for cell, _ in cells.values()]
    _refuse_shared_ids(found, matrix)
    notes = (*tally.notes(), *useless_excludes(combiner, matrix), *unused_axes(found, matrix))
    return Expansion(tuple(cells.values()), notes)


def _sizes(model: ModelSpec) -> _Sizes:
    return {
        "sequence_length": _usual_length(model) if model.takes_sequence else None,
        "image_size": model.image_size.default if model.image_size else None,
        "audio_seconds": model.audio_seconds.default if model.audio_seconds else None,
        "new_tokens": min(_NEW_TOKENS, model.max_new_tokens or _NEW_TOKENS),
    }


def _usual_length(model: ModelSpec, new_tokens: int = 0) -> int:
    """A decoder's new tokens take places behind the prompt; behind an encoder they don't."""
    behind = 0 if model.encoder_decoder else new_tokens
    room = (model.max_sequence_length or _SEQUENCE_LENGTH + behind) - behind
    return max(1, min(_SEQUENCE_LENGTH, room))


def _given(
    combination: Combination, matrix: Matrix, sizes: Mapping[str, _Sizes]
) -> dict[Axis, Any]:
    """What a combination asks for, defaults filled in."""
    if "model" not in combination:
        named = ", ".join(f"{axis}: {value}" for axis, value in combination.items())
        raise MatrixError(
            f"{matrix.source}: the combination {{{named}}} names no model",
            hint="an include entry that fits no combination must name a model of its own",
        )
    model = cast("str", combination["model"])
    given: dict[Axis, Any] = {**_DEFAULTS, **sizes[model], **combination}
    if given["mode"] == "generation" and "sequence_length" not in combination:
        given["sequence_length"] = _usual_length(matrix.models[model], given["new_tokens"])
    if given["runtime"] == "default":
        given["runtime"] = DEFAULT_RUNTIMES[cast("Backend", given["backend"])]
    return given


def _point(given: Mapping[Axis, Any], sizes: _Sizes) -> _Point:
    """The cell that is asked for: what it doesn't know is left out."""
    mode = given["mode"]
    scenario = given["scenario"] if mode == "inference" else "single_stream"
    server, sought = scenario == "server", given["target_qps"] == FIND_PEAK
    return (
        given["model"],
        given["backend"],
        given["runtime"],
        given["precision"],
        1 if scenario == "offline" else given["batch_size"],
        sizes["sequence_length"] and given["sequence_length"],
        sizes["image_size"] and given["image_size"],
        sizes["audio_seconds"] and given["audio_seconds"],
        given["new_tokens"] if mode == "generation" else None,
        mode,
        scenario,
        given["target_qps"] if server and not sought else None,
        given["slo_ms"] if server and sought else None,
    )


def _cell(point: _Point, matrix: Matrix) -> tuple[Cell, str | None]:
    cell = Cell.model_validate(dict(zip(AXES, point, strict=True)))
    return cell, why_not(cell, matrix.models[cell.model])


def _refuse_shared_ids(cells: Iterable[Cell], matrix: Matrix) -> None:
    """Two cells can share an id only if their jobs do: a model's name may end another's path.

    Read from its end, an id tells pattern, mode, shape and precision, whose words no other part
    has; so what is left, where model and path meet, is all that can be read in two ways.
    """
    owners: dict[str, Cell] = {}
    for cell in cells:
        owner = owners.setdefault(cell.job_id, cell)
        if (owner.model, owner.runtime) != (cell.model, cell.runtime):
            raise MatrixError(
                f"{matrix.source}: {owner.model!r} with runtime {owner.runtime} and "
                f"{cell.model!r} with runtime {cell.runtime} share the id {cell.job_id}",
                hint="rename the custom model",
            )
