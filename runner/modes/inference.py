"""Mode `inference`: forward passes at a fixed shape, one after the other."""

from runner.backends.base import Session
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.inputs import synthesise
from runner.measure.clock import Clock
from runner.measure.phases import SelfTimed, time_once
from runner.modes.base import Workload


class InferenceWorkload(Workload):
    """One iteration is one query; its outputs are checked once."""

    def __init__(self, session: Session, job: Job, cell: Cell, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._query = session.bind(cell, synthesise(job.model, cell, job.weights_seed))
        self.samples = cell.batch_size
        self.timed_region = session.timed_region
        self.series = self._query.series if isinstance(self._query, SelfTimed) else None

    def __call__(self) -> int:
        return time_once(self._query, self._clock)

    def check(self) -> None:
        require_finite(self._session, self._query())


def require_finite(session: Session, outputs: object) -> None:
    if not session.all_finite(outputs):
        raise BenchError(reason("not_finite"))
