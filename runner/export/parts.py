"""Exports a model that sees and reads as a file for each of its parts.

`vision` makes features of the image, `embed` puts them in the image's place among the words, and
`language` makes the model's own outputs of both. What one gives the next ones take under the same
names.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnx_ir
import torch

from runner.export.anatomy import steps
from runner.export.onnx_file import prune
from runner.export.remedies import Remedy
from runner.export.shared_weights import save_sharing
from runner.export.torch_onnx import Subject, Tensors, built, traced
from runner.graph import WEIGHTS_SUFFIX, Part


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
