"""Sessions of real models in this process, for measurements of the runner itself."""

import time
from collections.abc import Callable

from runner.backends import load_runtime
from runner.backends.base import Query, Session
from runner.contract.cell import Cell
from runner.contract.job import PROFILES, Job, Limits, Measure, Provenance
from runner.contract.models import find
from runner.measure.environment import read_environment, usable_cpus

QUICK = PROFILES["quick"]


def torch_job(model: str, measure: Measure = QUICK) -> Job:
    """A job of one cell: batch 1, 128 tokens, fp32, on the CPU."""
    spec = find(model)
    cell = Cell(
        model=model,
        backend="cpu",
        runtime="torch",
        precision="fp32",
        batch_size=1,
        sequence_length=128 if spec.takes_sequence else None,
        mode="inference",
    )
    return Job(
        run_id="performance",
        id=cell.job_id,
        model=spec,
        cells=(cell,),
        measure=measure,
        limits=Limits(),
        seed=0,
        provenance=Provenance(launcher="process", orchestrator_version="0"),
    )


def open_job_session(job: Job) -> Session:
    """The job's model, loaded as the harness does."""
    runtime = load_runtime(job.cells[0].runtime)
    return runtime.open_session(job, usable_cpus(read_environment()))


def slowed(query: Query, share: float) -> Callable[[], object]:
    """The query, followed by spinning for a share of the time it took."""

    def slow() -> object:
        start = time.perf_counter_ns()
        outputs = query()
        now = time.perf_counter_ns()
        end = now + round((now - start) * share)
        while time.perf_counter_ns() < end:
            pass
        return outputs

    return slow
