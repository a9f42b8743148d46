"""PyTorch, compiled by `torch.compile` for each shape."""

import subprocess
import sysconfig
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import torch
from torch._dynamo import config as dynamo_config
from torch._dynamo.utils import calculate_time_spent, counters
from torch._inductor.cpp_builder import get_cpp_compiler
from torch._inductor.exc import InvalidCxxCompiler
from torch._inductor.utils import fresh_cache

from runner.backends.base import Iteration, Query
from runner.backends.torch.backend import TorchSession, is_out_of_memory, prepare_device
from runner.backends.torch.device import TorchDevice
from runner.backends.torch.forward import TorchQuery
from runner.backends.torch.generation import TorchGenerator
from runner.backends.torch.training import TorchTrainer
from runner.contract.cell import Cell, Mode
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.record.verdict import Proof
from runner.contract.support import mode_error, precision_error
from runner.inputs import Inputs
from runner.measure.clock import Clock


@dataclass(frozen=True)
class Compilation:
    """The work of torch.compile so far, or between two moments."""

    time_s: float = 0.0
    graphs: int = 0
    breaks: int = 0
    """Places at which Python had to go on between two graphs."""

    def __add__(self, other: "Compilation") -> "Compilation":
        return Compilation(
            self.time_s + other.time_s, self.graphs + other.graphs, self.breaks + other.breaks
        )

    def __sub__(self, other: "Compilation") -> "Compilation":
        return Compilation(
            self.time_s - other.time_s, self.graphs - other.graphs, self.breaks - other.breaks
        )


def compiled_so_far() -> Compilation:
    """The counts of torch itself; its time covers whole frames, from bytecode to machine code."""
    return Compilation(
        time_s=calculate_time_spent()["total_wall_time"],
        graphs=counters["stats"]["unique_graphs"],
        breaks=sum(counters["graph_break"].values()),
    )


class CompileStats:
    """Compilations, attributed to the work that caused them."""

    def __init__(self, read: Callable[[], Compilation] = compiled_so_far) -> None:
        self._read = read
        self._last = read()
        self._by_work: dict[str, Compilation] = {}
        self._work: str | None = None

    def begin(self, work: str) -> bool:
        """Attribute further compilations to this work; True if the work is new."""
        self._settle()
        self._work = work
        new = work not in self._by_work
        self._by_work.setdefault(work, Compilation())
        return new

    def rebase(self) -> None:
        """Start from torch's present counts, since it has reset some of them."""
        self._last = self._read()

    def of(self, work: str | None) -> Compilation:
        """The compilations attributed to the work until now."""
        self._settle()
        return Compilation() if work is None else self._by_work.get(work, Compilation())

    @property
    def current(self) -> Compilation:
        """The compilations of the work that began last."""
        return self.of(self._work)

    def _settle(self) -> None:
        now = self._read()
        if self._work is not None:
            self._by_work[self._work] += now - self._last
        self._last = now


HEADERS = Path(sysconfig.get_path("include"))
MOST_SHAPES = 1 << 16
"""Torch executes further shapes of a model eagerly without a message; a job has fewer."""


class CompiledSession(TorchSession):
    """A model whose every shape is compiled at its first call, from cold caches.

    The first query of a cell thus includes the compilation, and no cell profits from another.
    """

    def __init__(self, job: Job, chosen: TorchDevice, began_ns: int) -> None:
        super().__init__(job, chosen, began_ns)
        dynamo_config.recompile_limit = dynamo_config.accumulated_recompile_limit = MOST_SHAPES
        dynamo_config.fail_on_recompile_limit_hit = True
        # In place: the model's own methods and signature stay what they are.
        self._model.compile(dynamic=False)
        self._stats = CompileStats()
        self._caches = ExitStack()
        self._cell = job.cells[0]

    @property
    def columns(self) -> Mapping[str, object]:
        """Those of eager mode, and the compilation for the cell bound last."""
        mode: Mode = "training" if self._cell.mode == "training" else "inference"
        compiled = self._stats.of(_work(self._cell, mode))
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
        """Those of eager mode, and the compiler that builds the kernels of a CPU."""
        return {**super().libraries, **compiler_version()}

    def bind(self, cell: Cell, inputs: Inputs) -> TorchQuery:
        """Bind as in eager mode; a new cell starts with cold caches."""
        self._begin(cell, "inference")
        return super().bind(cell, inputs)

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> TorchGenerator:
        """Refuse."""
        del inputs, clock
        raise mode_error(cell, "generation")

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> TorchTrainer:
        """Bind as in eager mode; the backward pass is compiled too, the optimizer is not."""
        self._begin(cell, "training")
        return super().bind_training(cell, inputs, clock)

    def prove(
        self, query: Query, iteration: Iteration | None = None
    ) -> tuple[Proof, dict[str, str]]:
        """Prove as in eager mode, and that something was compiled at all."""
        proof, evidence = super().prove(query, iteration)
        graphs = self._stats.current.graphs
        if proof == "proven" and not graphs:
            raise Unsupported(reason("nothing_to_compile"))
        return proof, {**evidence, "graphs": str(graphs)}

    def close(self) -> None:
        """Drop the model and everything compiled for it."""
        super().close()
        torch.compiler.reset()
        self._caches.close()

    def _begin(self, cell: Cell, mode: Mode) -> None:
        self._cell = cell
        if self._stats.begin(_work(cell, mode)):
            torch.compiler.reset()
            self._stats.rebase()
            self._caches.close()
            self._caches.enter_context(fresh_cache())


def open_session(job: Job, threads: int, graphs: Path | None = None) -> CompiledSession:
    """Build the job's model on its device; nothing is compiled yet."""
    del graphs
    if job.cells[0].precision == "int8":
        raise precision_error(job.cells[0])
    require_compiler()
    return CompiledSession(job, *prepare_device(job, threads))


def require_compiler(find: Callable[[], str] = get_cpp_compiler, headers: Path = HEADERS) -> None:
    """Look for the compiler of inductor's kernels, or of their launcher on a GPU."""
    try:
        find()
    except InvalidCxxCompiler as error:
        summary = str(error).partition("\n")[0]
        raise Unavailable(reason("no_compiler", error=summary)) from error
    if not (headers / "Python.h").exists():
        raise Unavailable(reason("no_python_headers", folder=headers))


def compiler_version() -> dict[str, str]:
    """The C++ compiler's name and version, if it prints one."""
    compiler = get_cpp_compiler()
    process = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, check=False)
    version = process.stdout.decode(errors="replace").strip()
    return {Path(compiler).name: version} if version else {}


def _work(cell: Cell, mode: Mode) -> str:
    return f"{cell.id} b{cell.batch_size} {mode}"  # an id in scenario offline names no batch


__all__ = ["is_out_of_memory", "open_session"]
