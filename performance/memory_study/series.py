"""Series of cells under a memory limit, from one sample up to batches that run out of memory.

Each model has a series on each path, under a limit of its own, by `orchestrator run` and the
process launcher, which watches the resident memory of a job. Times are of no interest, so a cell
has three timed iterations and a busy machine does no harm.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

MIB = 1 << 20
_LARGE = (1, 2, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128)
_SMALL = (1, 16, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048)
_EAGER, _GRAPHS = "torch", "graphs"
_SERIES: Sequence[tuple[str, int, tuple[str, ...], Sequence[int]]] = (
    (_EAGER, 768, ("vit-tiny", "t5-efficient-tiny"), _LARGE),
    (_EAGER, 1024, ("bert-tiny",), _LARGE),
    (_EAGER, 768, ("gpt2-micro", "llama-micro"), _SMALL),
    (_EAGER, 1024, ("opt-micro", "wav2vec2-micro"), _SMALL),
    (_GRAPHS, 384, ("bert-tiny", "t5-efficient-tiny"), _LARGE),
    (_GRAPHS, 640, ("vit-tiny",), _LARGE),
    (_GRAPHS, 384, ("gpt2-micro", "llama-micro"), _SMALL),
    (_GRAPHS, 640, ("opt-micro", "wav2vec2-micro"), _SMALL),
)
"""Runtimes, the limit in MiB, models and batch sizes. Torch alone takes 450 MB, the runtimes of
graphs 120 to 200; batches of small models begin to matter later."""
_PATHS: Mapping[str, dict[str, Any]] = {
    _EAGER: {"backend": ["cpu"], "runtime": ["torch"]},
    _GRAPHS: {"backend": ["cpu", "openvino"]},
}
_OWN_LISTS: Mapping[str, dict[str, Any]] = {
    _EAGER: {},
    _GRAPHS: {
        "cpu": {"axes": {"runtime": ["onnxruntime"], "precision": ["fp32", "int8"]}},
        "openvino": {"axes": {"runtime": ["openvino"]}},
    },
}
_MEASURE = {
    "profile": "quick",
    "iterations": 3,
    "warmup_iterations": 1,
    "min_duration": "0s",
    "max_duration": "2s",
}
_ORCHESTRATOR = (sys.executable, "-m", "orchestrator", "--quiet")


@dataclass(frozen=True)
class SeriesRun:
    """A run of the study: models on paths of a kind, all under one limit."""

    name: str
    models: tuple[str, ...]
    kind: str
    limit_bytes: int
    batches: Sequence[int]

    def matrix(self, *, limited: bool) -> dict[str, Any]:
        """Its matrix; without the limit for what prepares the graphs."""
        axes = {"model": list(self.models), "batch_size": list(self.batches), **_PATHS[self.kind]}
        return {
            "version": 1,
            "axes": axes,
            "backends": _OWN_LISTS[self.kind],
            "measure": _MEASURE,
            "limits": {"memory": self.limit_bytes} if limited else {},
        }


def series_runs() -> Iterator[SeriesRun]:
    """All runs of the study."""
    for kind, limit_mib, models, batches in _SERIES:
        size = "large" if batches is _LARGE else "small"
        yield SeriesRun(f"{kind}-{limit_mib}-{size}", models, kind, limit_mib * MIB, batches)


def measure_series(folder: Path) -> int:
    """Measure all series, and bundle them; the exit code of the bundle.

    Args:
        folder: gets the matrices, `results` and `memory_rows.zip`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    results = folder / "results"
    for run in series_runs():
        if run.kind == _GRAPHS:
            plain = _written(run, folder, limited=False)
            _call("prepare", plain, "--launcher", "process", "--results", str(results))
        code = _call(
            *("run", _written(run, folder, limited=True)),
            *("--launcher", "process", "--no-verify", "--results", str(results)),
        )
        print(f"{run.name}: exit code {code}", flush=True)
    return _call("export", "--results", str(results), "--bundle", str(folder / "memory_rows.zip"))


def _written(run: SeriesRun, folder: Path, *, limited: bool) -> str:
    path = folder / f"{run.name}{'' if limited else '-prepare'}.yaml"
    path.write_text(yaml.safe_dump(run.matrix(limited=limited)))
    return str(path)


def _call(*words: str) -> int:
    command = [*_ORCHESTRATOR, *words]
    return subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode
