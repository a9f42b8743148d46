"""One process of the A/A study: its iterations' nanoseconds, as a JSON list.

`python -m performance.aa_process SLOWDOWN SECONDS`. It imports nothing but what a round needs.
"""

import json
import sys

from performance.sessions import open_job_session, slowed, torch_job
from runner.contract.job import PROFILES, Measure
from runner.inputs import synthesise
from runner.measure.clock import monotonic
from runner.measure.phases import quota_of, run_steady_phase, time_once, warm_up

STUDIED_MODEL = "bert-tiny"


def studied_measure(seconds: float) -> Measure:
    """The profile `standard`, with so many seconds of iterations in a record."""
    return PROFILES["standard"].model_copy(update={"min_s": seconds})


def durations(slowdown: float, measure: Measure) -> list[int]:
    """Nanoseconds of one round's iterations, behind a load and a warm-up."""
    job = torch_job(STUDIED_MODEL, measure)
    session, cell = open_job_session(job), job.cells[0]
    query = session.bind(cell, synthesise(job.model, cell, job.weights_seed))
    query = slowed(query, slowdown) if slowdown else query

    def timed() -> int:
        return time_once(query, monotonic)

    warm_up(timed, monotonic, measure)
    return run_steady_phase(timed, quota_of(measure))


if __name__ == "__main__":
    print(json.dumps(durations(float(sys.argv[1]), studied_measure(float(sys.argv[2])))))
