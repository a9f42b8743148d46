"""Series of cells under a memory limit, from one sample up to a batch that runs out of memory.

Each cell is a run of its own, so that none finds what another left in its process, and a series
ends with the first one that runs out. The process launcher watches the resident memory of a job.
Times are of no interest: a cell has three timed iterations, and a busy machine does no harm.
"""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

MIB = 1 << 20
_LARGE = (1, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
_SMALL = (1, 64, 128, 192, 256, 384, 512, 768, 1024, 2048)
"""Batch sizes; those of small models begin to matter later."""
_BATCHES = {
    "bert-tiny": _LARGE,
    "t5-efficient-tiny": _LARGE,
    "vit-tiny": _LARGE,
    "gpt2-micro": _SMALL,
    "llama-micro": _SMALL,
    "opt-micro": _SMALL,
    "wav2vec2-micro": _SMALL,
}
_PATHS: Sequence[tuple[str, str, str, tuple[int, int]]] = (
    ("cpu", "onnxruntime", "fp32", (384, 512)),
    ("openvino", "openvino", "fp32", (416, 576)),
    ("cpu", "torch", "fp32", (768, 1024)),
)
"""Backend, runtime, precision, and limits in MiB that models have in turn. Torch alone takes 450 MB
at batch 1, the runtimes of graphs 120 to 250."""
_MEASURE = {
    "profile": "quick",
    "iterations": 3,
    "warmup_iterations": 1,
    "min_duration": "0s",
    "max_duration": "2s",
}
_ORCHESTRATOR = (sys.executable, "-m", "orchestrator", "--quiet")
_LAUNCHER = ("--launcher", "process")


@dataclass(frozen=True)
class PlannedSeries:
    """A model on a path, under one limit."""

    model: str
    backend: str
    runtime: str
    precision: str
    limit_bytes: int

    @property
    def name(self) -> str:
        """Its name in names of files."""
        return f"{self.backend}-{self.runtime}-{self.model}-{self.precision}"

    @property
    def batches(self) -> Sequence[int]:
        """The batch sizes, ascending."""
        return _BATCHES[self.model]

    def matrix(self, *, limited: bool) -> dict[str, Any]:
        """Its matrix; without the limit for what prepares the graph."""
        names = ("model", "backend", "runtime", "precision")
        return {
            "version": 1,
            "axes": {name: getattr(self, name) for name in names}
            | {"batch_size": list(self.batches)},
            "measure": _MEASURE,
            "limits": {"memory": self.limit_bytes} if limited else {},
        }


def planned_series() -> Iterator[PlannedSeries]:
    """All series of the study, path by path; neighbouring models have different limits."""
    for backend, runtime, precision, limits in _PATHS:
        for number, model in enumerate(_BATCHES):
            limit = limits[number % len(limits)] * MIB
            yield PlannedSeries(model, backend, runtime, precision, limit)


def measure_series(folder: Path) -> int:
    """Measure all series, and bundle them; the exit code of the bundle.

    Args:
        folder: gets the matrices, `results` and `memory_rows.zip`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results"
    for series in planned_series():
        if series.runtime != "torch":
            plain = _written(series, folder, limited=False)
            _call("run", plain, "--prepare-only", *_LAUNCHER, "--results", str(results))
        last = _measured(series, folder, results)
        print(f"{series.name}: ended at batch {last}", flush=True)
    return _call("export", "--results", str(results), "--bundle", str(folder / "memory_rows.zip"))


def _measured(series: PlannedSeries, folder: Path, results: Path) -> int:
    """Measure a series; the batch that ran out, or the last one."""
    matrix = _written(series, folder, limited=True)
    for batch in series.batches:
        selected = ("--select", f"*-b{batch}-*")
        code = _call(
            *("run", matrix, *selected, *_LAUNCHER, "--no-verify", "--results", str(results))
        )
        if code:
            return batch
    return series.batches[-1]


def _written(series: PlannedSeries, folder: Path, *, limited: bool) -> str:
    path = folder / f"{series.name}{'' if limited else '-prepare'}.yaml"
    path.write_text(yaml.safe_dump(series.matrix(limited=limited)))
    return str(path)


def _call(*words: str) -> int:
    command = [*_ORCHESTRATOR, *words]
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
