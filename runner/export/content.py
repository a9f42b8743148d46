"""What is exported of a model: its forward pass, or the parts that generate."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.export.remedies import Remedy
from runner.export.samples import Sample
from runner.export.torch_onnx import Subject
from runner.graph import Numbers, Part
from runner.models import ModelSpec


@dataclass(frozen=True)
class Export:
    """How the files of a content are written and checked."""

    files: Mapping[Part, str]
    """The name of each part's file, in the order in which the parts are run."""
    write: Callable[[Subject, Remedy, Path], None]
    """Writes the files into a folder as a remedy says; raises whatever an exporter raises."""
    difference: Callable[[ModelSpec, Path, Sequence[Sample], Numbers], float]
    """The largest relative difference between the folder's files and torch on these samples;
    raises `WrongExport` where it is larger than such numbers are allowed."""
