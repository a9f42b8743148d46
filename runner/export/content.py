"""What is exported of a model: its forward pass, or the parts that generate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.export.remedies import Remedy
from runner.export.samples import Sample
from runner.export.torch_onnx import Subject
from runner.graph import Numbers, Part
from runner.models import ModelSpec

Files = Mapping[Part, Path]
"""The file of each part, in the order in which the parts are run."""


@dataclass(frozen=True)
class Export:
    """How the files of a content are written and checked."""

    remedies: Callable[[ModelSpec], Sequence[Remedy]]
    """The ways of writing them, in the order in which they are tried."""
    write: Callable[[Subject, Remedy, Path], Files]
    """Writes the files into a folder as a remedy says; raises whatever an exporter raises."""
    difference: Callable[[ModelSpec, Files, Sequence[Sample], Numbers], float]
    """The largest relative difference between the files and torch on these samples; raises
    `WrongExport` where it is larger than such numbers are allowed."""
