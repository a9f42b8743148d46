"""A forward pass as one ONNX file, or as one for each part of the model."""

from collections.abc import Sequence
from pathlib import Path

from runner.export.content import Export, Files
from runner.export.onnx_check import answering_in_parts, difference
from runner.export.parts import export_parts
from runner.export.remedies import Remedy, whole_or_in_parts
from runner.export.samples import Sample
from runner.export.torch_onnx import Subject, export
from runner.graph import Numbers
from runner.models import ModelSpec

FILE = "forward.onnx"


def _write(subject: Subject, remedy: Remedy, folder: Path) -> Files:
    if remedy.parts:
        return export_parts(subject, remedy, folder)
    export(subject, remedy, folder / FILE)
    return {"forward": folder / FILE}


def _difference(
    model: ModelSpec, files: Files, samples: Sequence[Sample], numbers: Numbers
) -> float:
    del model  # all that the files need are its inputs
    return difference(answering_in_parts(files), samples, numbers)


EXPORT = Export(whole_or_in_parts, _write, _difference)
