"""PyTorch, compiled by `torch.compile` for each shape."""

import subprocess
import sysconfig
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import torch
from torch._dynamo import config as dynamo_config
from torch._dynamo.utils import calculate_time_spent, counters
from torch._inductor.cpp_builder import get_cpp_compiler
from torch._inductor.exc import InvalidCxxCompiler
from torch._inductor.utils import fresh_cache

from runner.backends.base import Iteration, ProofEvidence, Query
from runner.backends.torch.backend import TorchSession, is_out_of_memory, prepare_device
from runner.backends.torch.device import TorchDevice
from runner.backends.torch.query import TorchGenerator, TorchQuery
from runner.backends.torch.training import TorchTrainer
from runner.contract.axes import Mode
from runner.contract.cell import Cell
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.support import mode_error, precision_error
from runner.inputs import Inputs
from runner.measure.clock import Clock

__all__ = ["is_out_of_memory", "open_session"]


class _Compilation(NamedTuple):
    """The work of torch.compile so far, or between two moments."""

    time_s: float = 0.0
    """Of whole frames, from bytecode to machine code."""
    graphs: int = 0
    breaks: int = 0
    """Places at which Python had to go on between two graphs."""


def _compiled_so_far() -> _Compilation:
    return _Compilation(
        time_s=calculate_time_spent()["total_wall_time"],
        graphs=counters["stats"]["unique_graphs"],
        breaks=sum(counters["graph_break"].values()),
    )


class CompiledSession(TorchSession):
    """A model compiled at the first call of every shape, from cold caches for each cell."""

    sees_products = False

    def __init__(self, job: Job, chosen: TorchDevice, began_ns: int) -> None:
        super().__init__(job, chosen, began_ns)
        # Further shapes than these would be executed eagerly without a message.
        dynamo_config.recompile_limit = dynamo_config.accumulated_recompile_limit = 1 << 16
        dynamo_config.fail_on_recompile_limit_hit = True
        # In place: the model's own methods and signature stay what they are.
        self._model.compile(dynamic=False)
        self._caches = ExitStack()
        self._cell = job.cells[0]
        self._last = _compiled_so_far()
        self._work = ""
        self._by_work = {"": _Compilation()}
        """Compilations by the work that caused them."""

    @property
    def columns(self) -> Mapping[str, object]:
        mode: Mode = "training" if self._cell.mode == "training" else "inference"
        compiled = self._compilation_of(_work(self._cell, mode))
        options = {
            "backend": "inductor",
            "mode": "default",
            "dynamic": "False",
            "graphs": str(compiled.graphs),
            "graph_breaks": str(compiled.breaks),
        }
        return {
            **super().columns,
            "compile_time_s": compiled.time_s or None,
            "execution_options": {**self._chosen.options, **options},
        }

    @property
    def libraries(self) -> dict[str, str]:
        """Those of eager mode, and the C++ compiler, if it prints a version."""
        compiler = get_cpp_compiler()
        process = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, check=False)
        version = process.stdout.decode(errors="replace").strip()
        return {**super().libraries, **({Path(compiler).name: version} if version else {})}

    def bind(self, cell: Cell, inputs: Inputs) -> TorchQuery:
        """Bind as in eager mode; a new cell starts with cold caches."""
        self._begin(cell, "inference")
        return super().bind(cell, inputs)

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> TorchGenerator:
        del inputs, clock
        raise mode_error(cell, "generation")

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> TorchTrainer:
        """Bind as in eager mode; the backward pass is compiled too, the optimizer is not."""
        self._begin(cell, "training")
        return super().bind_training(cell, inputs, clock)

    def prove(self, query: Query, iteration: Iteration | None = None) -> ProofEvidence:
        proof, evidence = super().prove(query, iteration)
        graphs = self._compilation_of(self._work).graphs
        if proof == "proven" and not graphs:
            raise Unsupported(reason("nothing_to_compile"))
        return proof, {**evidence, "graphs": str(graphs)}

    def close(self) -> None:
        super().close()
        torch.compiler.reset()
        self._caches.close()

    def _begin(self, cell: Cell, mode: Mode) -> None:
        """Attribute compilations to this work; a new one starts with cold caches and counts."""
        self._cell = cell
        self._settle()
        self._work = _work(cell, mode)
        if self._work not in self._by_work:
            self._by_work[self._work] = _Compilation()
            torch.compiler.reset()
            self._last = _compiled_so_far()
            self._caches.close()
            self._caches.enter_context(fresh_cache())

    def _compilation_of(self, work: str) -> _Compilation:
        self._settle()
        return self._by_work.get(work, _Compilation())

    def _settle(self) -> None:
        now = _compiled_so_far()
        before, last = self._by_work[self._work], self._last
        self._by_work[self._work] = _Compilation(
            before.time_s + (now.time_s - last.time_s),
            before.graphs + now.graphs - last.graphs,
            before.breaks + now.breaks - last.breaks,
        )
        self._last = now


def _work(cell: Cell, mode: Mode) -> str:
    return f"{cell.id} b{cell.batch_size} {mode}"  # an id in scenario offline names no batch


def open_session(job: Job, threads: int, graphs: Path | None = None) -> CompiledSession:
    del graphs
    if job.cells[0].precision == "int8":
        raise precision_error(job.cells[0])
    _require_compiler()
    return CompiledSession(job, *prepare_device(job, threads))


def _require_compiler() -> None:
    """Look for the compiler of inductor's kernels, or of their launcher on a GPU."""
    try:
        get_cpp_compiler()
    except InvalidCxxCompiler as error:
        raise Unavailable(reason("no_compiler", error=str(error).partition("\n")[0])) from error
    headers = Path(sysconfig.get_path("include"))
    if not (headers / "Python.h").exists():
        raise Unavailable(reason("no_python_headers", folder=headers))
