"""Mode `generation`: a forced number of tokens after a fixed prompt, prefill and decode apart."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from runner.backends.base import Generated, Session
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.inputs import synthesise, tokens_to_generate
from runner.measure.clock import NANOSECONDS, Clock
from runner.measure.statistics.spread import Floats, Series
from runner.modes.base import Workload, require_finite

_TO_FIRST = "first_token"
_BETWEEN = "output_token"
TO_FIRST = "time_to_first_token"
PER_OUTPUT = "time_per_output_token"
BETWEEN = "inter_token_latency"


class GenerationWorkload(Workload):
    """One iteration generates once and records the time of the first token and the later gaps."""

    timed_region = (
        "greedy generation with a key-value cache: from the prompt on the device "
        "to the last token on the host"
    )

    def __init__(self, session: Session, job: Job, cell: Cell, clock: Clock) -> None:
        self._session = session
        self._cell = cell
        self._inputs = synthesise(job.model, cell, job.weights_seed)
        self._generate = session.bind_generation(cell, self._inputs, clock)
        self._shape = (cell.batch_size, tokens_to_generate(cell))
        self.samples = cell.batch_size
        self.parts_ns = {_TO_FIRST: [], _BETWEEN: []}

    def __call__(self) -> int:
        generated = self._generate()
        self._require_all(generated)
        times = generated.token_times_ns
        self.parts_ns[_TO_FIRST].append(times[0] - generated.started_ns)
        self.parts_ns[_BETWEEN].extend(after - before for before, after in pairwise(times))
        return times[-1] - generated.started_ns

    def check(self) -> None:
        query = self._session.bind(self._cell, self._inputs)
        require_finite(self._session, query())

    def _require_all(self, generated: Generated) -> None:
        samples, requested = self._shape
        timed, shape = len(generated.token_times_ns), generated.tokens.shape
        if timed != requested:
            raise BenchError(reason("tokens_missing", generated=timed, requested=requested))
        if shape != self._shape:
            facts = {"shape": list(shape), "samples": samples, "requested": requested}
            raise BenchError(reason("tokens_shape", **facts))


def token_times(
    parts_ns: Mapping[str, Sequence[int]], durations_ns: Sequence[int], cell: Cell
) -> dict[str, Series]:
    """Nanoseconds of the tokens of a round, by the names of their columns."""
    first, tokens = parts_ns[_TO_FIRST], tokens_to_generate(cell)
    decoding: Floats = np.empty(0)  # none of a single token
    if tokens > 1:
        decoding = np.asarray(durations_ns, dtype=float) - np.asarray(first, dtype=float)
    return {TO_FIRST: first, PER_OUTPUT: decoding / max(1, tokens - 1), BETWEEN: parts_ns[_BETWEEN]}


def token_throughputs(
    gaps_ns: Series, durations_ns: Sequence[int], cell: Cell
) -> dict[str, float | None]:
    """Columns of tokens per second, by the sums of all gaps and of all durations."""
    tokens = cell.batch_size * tokens_to_generate(cell) * len(durations_ns)
    return {
        "decode_throughput": _per_second(cell.batch_size * len(gaps_ns), gaps_ns),
        "token_throughput": _per_second(tokens, durations_ns),
    }


def _per_second(tokens: int, durations_ns: Series) -> float | None:
    total = float(sum(durations_ns))
    return tokens * NANOSECONDS / total if total else None
