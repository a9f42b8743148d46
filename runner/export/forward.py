"""A forward pass as one ONNX file, or as one for each part of the model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx_ir
import torch

from runner.contract.graph import WEIGHTS_SUFFIX, Numbers, Part
from runner.contract.models import ModelSpec
from runner.export.check import answering_in_parts, difference
from runner.export.export_once import Export, Files
from runner.export.onnx_files import prune, save_sharing
from runner.export.samples import Sample
from runner.export.strategies import Remedy, whole_or_in_parts
from runner.export.torch_exporters import Subject, Tensors, built, export, traced
from runner.export.vlm_split import steps


def export_parts(subject: Subject, remedy: Remedy, folder: Path) -> dict[Part, Path]:
    """Write a file for each part, their weights beside the first.

    Raises:
        Exception: whatever the exporter raises.
    """
    programs = dict(_programs(*built(subject, remedy)))
    _keep_what_is_wanted(programs, subject.outputs)
    files = {part: folder / f"{part}.onnx" for part in programs}
    models = {files[part]: program for part, program in programs.items()}
    save_sharing(models, folder / f"{next(iter(models)).name}{WEIGHTS_SUFFIX}")
    return files


def _programs(model: torch.nn.Module, tensors: Tensors) -> Iterator[tuple[Part, onnx_ir.Model]]:
    """Each part, traced with what the ones before give."""
    known: dict[str, Any] = dict(tensors)
    for part, module, takes in steps(model, tensors):
        arguments = {name: known[name] for name in takes if name in known}
        yield part, traced(module, arguments, None)
        with torch.no_grad():
            known |= module(**arguments)


def _keep_what_is_wanted(programs: dict[Part, onnx_ir.Model], outputs: tuple[str, ...]) -> None:
    """Leave each part the outputs that are the model's, or that a later part takes."""
    wanted = set(outputs)
    for program in reversed(programs.values()):
        prune(program, wanted)
        wanted |= {value.name or "" for value in program.graph.inputs}


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
