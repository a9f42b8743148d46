"""A matrix becomes cells: each once, each with the reason if it can't run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from operator import itemgetter
from typing import Any, TypeVar, cast

from orchestrator.matrix import Combination, Combiner, Matrix
from orchestrator.system.selector import Selector
from orchestrator.system.text import plural
from runner.contract.axes import AXES, AXIS_NAMES, FIND_PEAK, AxisName, Backend
from runner.contract.cell import DEFAULT_RUNTIMES, Cell
from runner.contract.errors import MatrixError, NothingToDo, closest
from runner.contract.models import ModelSpec
from runner.contract.reasons import Reason
from runner.contract.support import why_not

_DEFAULTS: Mapping[AxisName, Any] = {axis.name: axis.default for axis in AXES}
_values = itemgetter(*AXIS_NAMES)
Item = TypeVar("Item")
_Point = tuple[Any, ...]
_Sizes = Mapping[AxisName, int | None]
"""A model's sizes where a matrix names none; null on an axis that it does not have."""


@dataclass(frozen=True)
class Expansion:
    """The cells of a matrix."""

    cells: tuple[tuple[Cell, Reason | None], ...]
    """Each cell once, in the matrix' order, with the reason if no machine can run it."""
    notes: tuple[str, ...]


PlanningProgress = Callable[[str, int, int], None]
"""Hears of the work, of how much of it is done, and of how much there is."""
_STRIDE = 1 << 14


def unheard(work: str, done: int, total: int) -> None:
    """PlanningProgress that nobody hears of."""


def counted(
    items: Iterable[Item], work: str, total: int, progress: PlanningProgress
) -> Iterator[Item]:
    """The same items, with a call of `progress` now and then."""
    for done, item in enumerate(items):
        if done % _STRIDE == 0:
            progress(work, done, total)
        yield item


def expand(matrix: Matrix, progress: PlanningProgress = unheard) -> Expansion:
    """Every cell of the matrix, none twice, none left out silently.

    A cell leaves out what it doesn't have, so combinations that differ in that alone are one cell.
    Cells are made once all combinations are known, each in the place of its plain values, since
    a million of both at once would not fit into a gigabyte.

    Raises:
        MatrixError: a combination names no model, or two jobs would bear the same id.
    """
    combiner = Combiner(matrix.include, matrix.exclude)
    sizes = {name: _usual_sizes(model) for name, model in matrix.models.items()}
    tally = _Tally()
    combinations = combiner.combinations(matrix.products())
    for combination in counted(combinations, "combined", matrix.size, progress):
        request = _request(combination, matrix, sizes)
        values = _values(request)
        tally.count(_point(request, values, sizes[request["model"]], tally.present), values)
    useless = (matrix.exclude[position] for position in combiner.useless_excludes)
    excludes = (f"the exclude entry {{{_named(entry)}}} fits no combination" for entry in useless)
    notes = (*matrix.notes, *tally.notes(), *excludes, *tally.unused(matrix))
    points = tally.take_points()
    waiting = counted(drained(points), "made", len(points), progress)
    unchecked = (
        Cell.model_construct(_FIELDS, **dict(zip(AXIS_NAMES, point, strict=True)))
        for point in waiting  # the matrix has checked their values
    )
    cells = tuple((cell, why_not(cell, matrix.models[cell.model])) for cell in unchecked)
    _refuse_shared_ids((cell for cell, _ in cells), matrix)
    return Expansion(cells, notes)


def drained(items: list[Item]) -> Iterator[Item]:
    """The items in their order; each leaves the list as it is taken."""
    items.reverse()
    while items:
        yield items.pop()


def _usual_sizes(model: ModelSpec) -> _Sizes:
    """The sizes of a model where a matrix names none: a range's own default, or the axis'."""
    most = model.max_new_tokens or _DEFAULTS["new_tokens"]
    ranges = ((axis.name, getattr(model, axis.name, None)) for axis in AXES if axis.of_model)
    return {name: allowed.default if allowed else None for name, allowed in ranges} | {
        "sequence_length": _usual_length(model) if model.takes_sequence else None,
        "new_tokens": min(_DEFAULTS["new_tokens"], most),
    }


def _usual_length(model: ModelSpec, new_tokens: int = 0) -> int:
    """A decoder's new tokens take places behind the prompt; behind an encoder they don't."""
    behind = 0 if model.encoder_decoder else new_tokens
    usual = int(_DEFAULTS["sequence_length"])
    room = (model.max_sequence_length or usual + behind) - behind
    return max(1, min(usual, room))


def _request(
    combination: Combination, matrix: Matrix, sizes: Mapping[str, _Sizes]
) -> dict[AxisName, Any]:
    if "model" not in combination:
        raise MatrixError(
            f"{matrix.source}: the combination {{{_named(combination)}}} names no model",
            hint="an include entry that fits no combination must name a model of its own",
        )
    model = cast("str", combination["model"])
    request: dict[AxisName, Any] = {**_DEFAULTS, **sizes[model], **combination}
    if request["mode"] == "generation" and "sequence_length" not in combination:
        request["sequence_length"] = _usual_length(matrix.models[model], request["new_tokens"])
    if request["runtime"] == "default":
        request["runtime"] = DEFAULT_RUNTIMES[cast("Backend", request["backend"])]
    return request


_CONDITIONAL = tuple(
    (position, axis) for position, axis in enumerate(AXES) if axis.of_model or axis.applies
)
"""The axes that not every cell has, with their positions."""
_conditional = itemgetter(*(position for position, _ in _CONDITIONAL))


def _point(
    request: Mapping[AxisName, Any], values: _Point, sizes: _Sizes, present: set[AxisName]
) -> _Point:
    """The cell without the axes that it lacks; adds the others to `present`."""
    point = list(values)
    for position, axis in _CONDITIONAL:
        if axis.applies(request) if axis.applies else sizes[axis.name] is not None:
            present.add(axis.name)
            if point[position] == FIND_PEAK:  # the cell knows it by its `slo_ms`
                point[position] = None
        else:
            point[position] = axis.otherwise
    return tuple(point)


_FIELDS: set[str] = set(AXIS_NAMES)
"""Shared by all cells, which saves half of their memory."""


@dataclass
class _Tally:
    """Combinations that are the same cell, model by model, and the axes on which they differ."""

    present: set[AxisName] = field(default_factory=set)
    _requests: dict[_Point, _Point] = field(default_factory=dict)
    """Of each cell the values on conditional axes of the first combination that asked for it."""
    _shared: dict[_Point, _Point] = field(default_factory=dict)
    """Each of those once, as many cells have the same."""
    _cells: Counter[str] = field(default_factory=Counter)
    _repeats: Counter[str] = field(default_factory=Counter)
    _differing: dict[str, set[AxisName]] = field(default_factory=dict)

    def count(self, point: _Point, request: _Point) -> None:
        model = point[0]
        requested = _conditional(request)
        known = len(self._requests)
        first = self._requests.setdefault(point, self._shared.setdefault(requested, requested))
        if len(self._requests) > known:
            self._cells[model] += 1
            return
        self._repeats[model] += 1
        pairs = zip(_CONDITIONAL, first, requested, strict=True)
        differing = {axis.name for (_, axis), one, other in pairs if one != other}
        self._differing.setdefault(model, set()).update(differing)

    def take_points(self) -> list[_Point]:
        points = list(self._requests)
        self._requests.clear()
        return points

    def notes(self) -> Iterator[str]:
        for model, repeats in self._repeats.items():
            cells = self._cells[model]
            became = f"{cells + repeats:,} combinations are {cells:,} {plural(cells, 'cell')}"
            differing = self._differing[model]
            reasons = [axis.merges for axis in AXES if axis.merges and axis.name in differing]
            *most, last = reasons or ["some name the same cell"]
            because = f"{', '.join(most)} and {last}" if most else last
            yield f"{model}: {became}, because {because}"

    def unused(self, matrix: Matrix) -> Iterator[str]:
        parts: tuple[Mapping[AxisName, object], ...] = (*matrix.products(), *matrix.include)
        named = {axis for part in parts for axis in part}
        for axis in AXES:
            if axis.needs and axis.name in named - self.present:
                yield f"no cell knows {axis.name}: that takes {axis.needs}"


def _named(entry: Mapping[AxisName, Any]) -> str:
    return ", ".join(f"{axis}: {value}" for axis, value in entry.items())


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


_LOOKED_AT = 10_000


def nothing_selected(expansion: Expansion, selector: Selector) -> NothingToDo:
    if not expansion.cells:
        return NothingToDo(
            "the matrix holds no cell", hint="its exclude entries leave no combination"
        )
    cells = [cell for cell, _ in expansion.cells[:_LOOKED_AT]]
    words = " ".join(f"--select {glob!r}" for glob in selector.globs)
    count = len(expansion.cells)
    guess = "".join(f"; did you mean {meant!r}?" for meant in _meant(selector.globs, cells)[:1])
    return NothingToDo(
        f"{words} keeps none of {count:,} {plural(count, 'cell')}{guess}",
        hint="a word keeps the ids that hold it, a glob with * those that fit it as a whole; "
        f"one id is {cells[0].id}",
    )


def _meant(globs: Sequence[str], cells: Sequence[Cell]) -> list[str]:
    ids = [cell.id for cell in cells]
    names = ("backend", "runtime", "model", "precision", "mode", "scenario")
    parts = {str(getattr(cell, name)) for cell in cells for name in names}
    meant: list[str] = []
    for glob in globs:
        if glob.startswith("!") or any(map(Selector([glob]).keeps_id, ids)):
            continue
        wider = f"*{glob.strip('*')}*"
        if any(fnmatchcase(name, wider) for name in ids):
            meant.append(wider)
        meant += closest(glob.strip("*-").lower(), parts)
    return meant
