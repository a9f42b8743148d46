"""Export a forward pass as one ONNX file, or as one for each part of the model."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx_ir
import torch

from runner.contract.graph import PART_WEIGHTS_SUFFIX, NumberFormat, Part
from runner.contract.models import ModelSpec
from runner.export.check import largest_difference, parts_evaluator
from runner.export.export_once import Files, GraphExport
from runner.export.onnx_files import keep_outputs, save_sharing
from runner.export.samples import Sample
from runner.export.strategies import Strategy, whole_or_split_strategies
from runner.export.torch_exporters import (
    ExportSubject,
    Tensors,
    build_model,
    export_whole,
    trace_model,
)
from runner.export.vlm_split import split_model


def export_parts(subject: ExportSubject, strategy: Strategy, folder: Path) -> dict[Part, Path]:
    """Write a file for each part, their weights beside the first."""
    programs = dict(_programs(*build_model(subject, strategy)))
    _keep_wanted_outputs(programs, subject.outputs)
    files = {part: folder / f"{part}.onnx" for part in programs}
    models = {files[part]: program for part, program in programs.items()}
    save_sharing(models, folder / f"{next(iter(models)).name}{PART_WEIGHTS_SUFFIX}")
    return files


def _programs(model: torch.nn.Module, tensors: Tensors) -> Iterator[tuple[Part, onnx_ir.Model]]:
    """Each part, traced with the outputs of the parts before."""
    known: dict[str, Any] = dict(tensors)
    for part, module, takes in split_model(model, tensors):
        arguments = {name: known[name] for name in takes if name in known}
        yield part, trace_model(module, arguments, None)
        with torch.no_grad():
            known |= module(**arguments)


def _keep_wanted_outputs(programs: dict[Part, onnx_ir.Model], outputs: tuple[str, ...]) -> None:
    """Keep the outputs that are the model's, or inputs of a later part."""
    wanted = set(outputs)
    for program in reversed(programs.values()):
        keep_outputs(program, wanted)
        wanted |= {value.name or "" for value in program.graph.inputs}


_FILE = "forward.onnx"


def _write(subject: ExportSubject, strategy: Strategy, folder: Path) -> Files:
    if strategy.parts:
        return export_parts(subject, strategy, folder)
    export_whole(subject, strategy, folder / _FILE)
    return {"forward": folder / _FILE}


def _difference(
    model: ModelSpec, files: Files, samples: Sequence[Sample], numbers: NumberFormat
) -> float:
    del model  # all that the files need are its inputs
    return largest_difference(parts_evaluator(files), samples, numbers)


EXPORT = GraphExport(whole_or_split_strategies, _write, _difference)
