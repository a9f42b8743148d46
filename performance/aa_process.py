"""One process of the A/A study, which prints its round's result as JSON.

`python -m performance.aa_process SLOWDOWN SECONDS WINDOWS`. The last is the windows of a warm-up
that are enough, by what earlier processes of the record found; 0 if none did.
"""

import sys
from datetime import UTC, datetime

from performance.sessions import open_job_session, slowed, torch_job
from performance.simulated import a_result
from runner.contract.job import PROFILES, Measure
from runner.contract.rounds import RoundResult
from runner.inputs import synthesise
from runner.measure.clock import monotonic
from runner.measure.phases import quota_of, run_steady_phase, time_once, warm_up

STUDIED_MODEL = "bert-tiny"


def studied_measure(seconds: float) -> Measure:
    """The profile `standard`, with so many seconds of iterations in a record."""
    return PROFILES["standard"].model_copy(update={"min_s": seconds})


def measured_round(slowdown: float, measure: Measure, windows: int) -> RoundResult:
    """One round's iterations, behind a load and a warm-up."""
    job = torch_job(STUDIED_MODEL, measure)
    session, cell = open_job_session(job), job.cells[0]
    query = session.bind(cell, synthesise(job.model, cell, job.weights_seed))
    query = slowed(query, slowdown) if slowdown else query

    def timed() -> int:
        return time_once(query, monotonic)

    warmup = warm_up(timed, monotonic, measure, windows or None)
    result = a_result(run_steady_phase(timed, quota_of(measure)))
    return result.model_copy(
        update={"enough_windows": warmup.enough_windows, "measured_at": datetime.now(UTC)}
    )


if __name__ == "__main__":
    measure = studied_measure(float(sys.argv[2]))
    print(measured_round(float(sys.argv[1]), measure, int(sys.argv[3])).model_dump_json())
