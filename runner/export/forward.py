"""A forward pass as one ONNX file."""

from collections.abc import Sequence
from pathlib import Path

from runner.export.content import Export
from runner.export.onnx_check import answering, difference
from runner.export.remedies import Remedy
from runner.export.samples import Sample
from runner.export.torch_onnx import Subject, export
from runner.graph import Numbers
from runner.models import ModelSpec

FILE = "forward.onnx"


def _write(subject: Subject, remedy: Remedy, folder: Path) -> None:
    export(subject, remedy, folder / FILE)


def _difference(
    model: ModelSpec, folder: Path, samples: Sequence[Sample], numbers: Numbers
) -> float:
    del model  # all that the file needs are its inputs
    return difference(answering(folder / FILE), samples, numbers)


EXPORT = Export({"forward": FILE}, _write, _difference)
