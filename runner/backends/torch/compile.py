"""PyTorch, compiled by torch.compile, anew for each shape."""

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

from runner.backends.base import Query
from runner.backends.torch.device import Place
from runner.backends.torch.forward import TorchQuery
from runner.backends.torch.generation import TorchGenerator
from runner.backends.torch.session import TorchSession, is_out_of_memory, prepare
from runner.backends.torch.training import TorchTrainer
from runner.contract.cell import Cell, Mode
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.job import Job
from runner.contract.record import Proof
from runner.inputs import Inputs
from runner.measure.clock import Clock


@dataclass(frozen=True)
class Compilation:
    """What torch.compile has done so far, or between two moments."""

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
    """By torch's own books: of time it counts whole frames, from their bytecode to machine code."""
    return Compilation(
        time_s=calculate_time_spent()["total_wall_time"],
        graphs=counters["stats"]["unique_graphs"],
        breaks=sum(counters["graph_break"].values()),
    )


class Ledger:
    """Which work made torch compile how much."""

    def __init__(self, read: Callable[[], Compilation] = compiled_so_far) -> None:
        self._read = read
        self._last = read()
        self._by_work: dict[str, Compilation] = {}
        self._work: str | None = None

    def begin(self, work: str) -> bool:
        """From now on what is compiled is this work's; whether the work is new."""
        self._settle()
        self._work = work
        new = work not in self._by_work
        self._by_work.setdefault(work, Compilation())
        return new

    def rebase(self) -> None:
        """Torch has cleared some of its books: what they say now was counted already."""
        self._last = self._read()

    def of(self, work: str | None) -> Compilation:
        """What was compiled for it until now."""
        self._settle()
        return Compilation() if work is None else self._by_work.get(work, Compilation())

    @property
    def current(self) -> Compilation:
        """What was compiled until now for the work that began last."""
        return self.of(self._work)

    def _settle(self) -> None:
        now = self._read()
        if self._work is not None:
            self._by_work[self._work] += now - self._last
        self._last = now


HEADERS = Path(sysconfig.get_path("include"))
MOST_SHAPES = 1 << 16
"""Torch runs further shapes of a model eagerly, without a word; a job has fewer."""
NO_INT8 = (
    "int8 is not possible with torch_compile: on CPUs the quantised layers of torch.ao hold packed "
    "weights, which torch.compile leaves to eager mode; elsewhere nobody tried"
)
NO_GENERATION = (
    "torch_compile does not generate here: with fixed shapes every token would be compiled anew, "
    "as the key-value cache grows"
)


class CompiledSession(TorchSession):
    """A model whose every shape is compiled at its first call, from cold caches.

    The first query of a cell thus takes the compilation along, and no cell profits from another.
    """

    def __init__(self, job: Job, place: Place) -> None:
        super().__init__(job, place)
        dynamo_config.recompile_limit = dynamo_config.accumulated_recompile_limit = MOST_SHAPES
        dynamo_config.fail_on_recompile_limit_hit = True
        # In place: the model's own methods and signature stay what they are.
        self._model.compile(dynamic=False)
        self._ledger = Ledger()
        self._caches = ExitStack()
        self._cell = job.cells[0]

    @property
    def columns(self) -> Mapping[str, object]:
        """The same, and what was compiled for the cell that was bound last."""
        mode: Mode = "training" if self._cell.mode == "training" else "inference"
        compiled = self._ledger.of(_work(self._cell, mode))
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
            "execution_options": {**self._place.options, **options},
        }

    @property
    def libraries(self) -> dict[str, str]:
        """The same, and the compiler that builds the kernels of a CPU."""
        return {**super().libraries, **compiler_version()}

    def bind(self, cell: Cell, inputs: Inputs) -> TorchQuery:
        """The same; a cell that is new finds all caches cold."""
        self._begin(cell, "inference")
        return super().bind(cell, inputs)

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> TorchGenerator:
        """Refuse."""
        del cell, inputs, clock
        raise Unsupported(NO_GENERATION)

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> TorchTrainer:
        """The same; the backward pass is compiled, too, the optimizer is not."""
        self._begin(cell, "training")
        return super().bind_training(cell, inputs, clock)

    def prove(self, query: Query) -> tuple[Proof, dict[str, str]]:
        """The same, and that something was compiled at all.

        Raises:
            Unsupported: nothing was, so that these are eager mode's numbers.
        """
        proof, evidence = super().prove(query)
        graphs = self._ledger.current.graphs
        if proof == "proven" and not graphs:
            raise Unsupported("torch.compile found nothing to compile: the model runs eagerly")
        return proof, {**evidence, "graphs": str(graphs)}

    def close(self) -> None:
        """Drop the model and what was compiled."""
        super().close()
        torch.compiler.reset()
        self._caches.close()

    def _begin(self, cell: Cell, mode: Mode) -> None:
        self._cell = cell
        if self._ledger.begin(_work(cell, mode)):
            torch.compiler.reset()
            self._ledger.rebase()
            self._caches.close()
            self._caches.enter_context(fresh_cache())


def open_session(job: Job, threads: int, graphs: Path | None = None) -> CompiledSession:
    """Build the job's model on its device; nothing is compiled yet."""
    del graphs
    if job.cells[0].precision == "int8":
        raise Unsupported(NO_INT8)
    place = prepare(job, threads)
    require_compiler()
    return CompiledSession(job, place)


def require_compiler(
    find: Callable[[], str] = get_cpp_compiler,
    headers: Path = HEADERS,
) -> None:
    """Look for what inductor builds its kernels with, or what launches them on a GPU.

    Raises:
        Unavailable: there is no C++ compiler, or it would not find Python's headers.
    """
    try:
        find()
    except InvalidCxxCompiler as error:
        reason = str(error).partition("\n")[0]
        raise Unavailable(
            f"torch_compile needs a C++ compiler: {reason}",
            hint="install g++, which AccelMatrix's images hold",
        ) from error
    if not (headers / "Python.h").exists():
        raise Unavailable(
            f"torch_compile needs Python's headers, and {headers} holds no Python.h",
            hint="install the package that brings them, such as python3-dev",
        )


def compiler_version() -> dict[str, str]:
    """The C++ compiler's name and version, where it tells one."""
    compiler = get_cpp_compiler()
    told = subprocess.run([compiler, "-dumpfullversion"], capture_output=True, check=False)
    version = told.stdout.decode(errors="replace").strip()
    return {Path(compiler).name: version} if version else {}


def _work(cell: Cell, mode: Mode) -> str:
    return f"{cell.id} b{cell.batch_size} {mode}"  # an id in scenario offline names no batch


__all__ = ["is_out_of_memory", "open_session"]
