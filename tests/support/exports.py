"""Scripted exports of graphs of a few nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import onnx

from runner.contract.cell import Cell
from runner.contract.graph import NumberFormat
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.export.check import Sample, WrongExport
from runner.export.graphs import Files, GraphExport, export_graphs
from runner.export.torch_exporters import ExportSubject, Strategy, whole_strategies
from tests.support.fakes import FakeClock, KeptProgress
from tests.support.onnx_graphs import layer
from tests.support.tiny_models import VISION, tiny, torch_cell

FILE = "forward.onnx"
DIFFERENCE = 1e-6


def tiny_vision() -> ModelSpec:
    """One layer of ViT."""
    pixels = {"name": "pixel_values", "kind": "normal", "shape": ("batch_size", 3, 16, 16)}
    return tiny(
        "AutoModelForImageClassification",
        {**VISION, "model_type": "vit", "num_labels": 7},
        inputs=(pixels,),
        forward={},
        labels=None,
        modality="image",
    )


def graph_cell(batch_size: int = 2, **changes: object) -> Cell:
    """A cell of that model on ONNX Runtime."""
    values = {"runtime": "onnxruntime", "sequence_length": None, **changes}
    return torch_cell(tiny_vision(), batch_size, **values)


@dataclass
class Scripted:
    """Writes a layer for any request, records the requests, and fails by strategy or numbers."""

    unwritten: Sequence[str] = ()
    """Remedies whose exporter raises."""
    wrong: Sequence[str] = ()
    """Remedies whose file differs from torch by more than any numbers are allowed."""
    allowed: Sequence[NumberFormat] = ("fp32", "fp16", "int8_dynamic", "uint8_dynamic", "int8_qdq")
    """Numbers within whose tolerance the file is."""
    tried: list[tuple[str, ExportSubject]] = field(default_factory=list)
    """The strategies that were tried, with their subjects."""
    checked: list[NumberFormat] = field(default_factory=list)
    """The numbers by whose tolerance files were checked."""
    batches: list[list[int]] = field(default_factory=list)
    """The batch sizes of the samples of each check."""

    @property
    def strategies(self) -> list[str]:
        return [name for name, _ in self.tried]

    def write(self, subject: ExportSubject, strategy: Strategy, folder: Path) -> Files:
        self.tried.append((strategy.name, subject))
        if strategy.name in self.unwritten:
            raise RuntimeError(f"cannot do {strategy.name}\nat great length")
        onnx.save_model(layer(), folder / FILE)
        return {"forward": folder / FILE}

    def difference(
        self, model: ModelSpec, files: Files, samples: Sequence[Sample], numbers: NumberFormat
    ) -> float:
        self.checked.append(numbers)
        self.batches.append([len(sample.inputs["pixel_values"]) for sample in samples])
        assert all(file.exists() for file in files.values())
        if self.strategies[-1] in self.wrong or numbers not in self.allowed:
            raise WrongExport("on fresh inputs, it is wrong")
        return DIFFERENCE

    def run(self, job: Job, folder: Path) -> None:
        """Export the job's graphs into the folder."""
        export = GraphExport(whole_strategies, self.write, self.difference)
        export_graphs(job, export, folder, KeptProgress(), FakeClock())


def names(folder: Path) -> Iterator[str]:
    """Names of the files in the folder."""
    return (path.name for path in sorted(folder.iterdir()))
