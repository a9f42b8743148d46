"""What becomes of combinations that are no cell of their own, in sentences for the plan."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.matrix import AXES, FIND_PEAK, Axis, Combiner, Matrix
from orchestrator.units import plural
from runner.cell import Cell

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
