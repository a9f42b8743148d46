"""Mode `generation`: a forced number of tokens after a fixed prompt, prefill and decode apart."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from runner.backends.base import Generated, Session
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.job import Job, Measure
from runner.inputs import synthesise, tokens_to_generate
from runner.measure.clock import NANOSECONDS, Clock
from runner.measure.grade import Doubt, imprecision
from runner.measure.statistics.percentiles import Interval, median_interval
from runner.measure.statistics.spread import Floats, Series, effective_count
from runner.measure.statistics.summary import distribution, interval_columns
from runner.modes.inference import require_finite

_TO_FIRST = "first_token"
_BETWEEN = "output_token"
_JUDGED = {
    "time_to_first_token": "the median time to the first token",
    "time_per_output_token": "the median time per output token",
}
"""Columns that are graded beside the latency, with their names in a reason."""


class GenerationWorkload:
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
        self.parts_ns: Mapping[str, list[int]] = {_TO_FIRST: [], _BETWEEN: []}

    def __call__(self) -> int:
        """Generate once; return the time to the last token."""
        generated = self._generate()
        self._require_all(generated)
        times = generated.token_times_ns
        self.parts_ns[_TO_FIRST].append(times[0] - generated.started_ns)
        self.parts_ns[_BETWEEN].extend(after - before for before, after in pairwise(times))
        return times[-1] - generated.started_ns

    def check(self) -> None:
        """Check that a forward pass over the prompt gives finite outputs."""
        query = self._session.bind(self._cell, self._inputs)
        require_finite(self._session, query())

    def forget(self) -> None:
        """Drop the times recorded so far."""
        for durations in self.parts_ns.values():
            durations.clear()

    def columns(self) -> Mapping[str, object]:
        """No columns beyond those of the parts."""
        return {}

    def close(self) -> None:
        """Do nothing: the session holds nothing but the prompt."""

    def _require_all(self, generated: Generated) -> None:
        """Check that there are as many tokens as requested, each of them timed."""
        samples, requested = self._shape
        if len(generated.token_times_ns) != requested:
            raise BenchError(f"generated {len(generated.token_times_ns)} of {requested} tokens")
        if generated.tokens.shape != self._shape:
            raise BenchError(
                f"generated tokens of shape {list(generated.tokens.shape)} "
                f"for {samples} samples of {requested} tokens"
            )


def generation_columns(
    parts_ns: Mapping[str, Sequence[int]], durations_ns: Sequence[int], cell: Cell
) -> dict[str, float | None]:
    """Columns about the tokens of all rounds together.

    A time per output token is one value of each generation, (end - first token) / (tokens - 1), as
    MLPerf's loadgen and vLLM's benchmark have it; all gaps pooled are vLLM's inter-token latency.

    Throughputs are totals: batch_size × (new_tokens - 1) × iterations by the sum of all gaps
    between tokens, which is the sum of t_last - t_first; and batch_size × new_tokens × iterations
    by the sum of all durations. Both are tokens per second.
    """
    first, gaps = parts_ns[_TO_FIRST], parts_ns[_BETWEEN]
    per_token = _per_output_token(first, durations_ns, tokens_to_generate(cell))
    tokens = cell.batch_size * tokens_to_generate(cell) * len(durations_ns)
    return {
        **_with_interval("time_to_first_token", first),
        **_with_interval("time_per_output_token", per_token),
        **distribution("inter_token_latency", gaps),
        "decode_throughput": _per_second(cell.batch_size * len(gaps), gaps),
        "token_throughput": _per_second(tokens, durations_ns),
    }


def token_doubts(columns: Mapping[str, Any], measure: Measure) -> Iterator[Doubt]:
    """Doubts about the medians of the times to the first token and per further token."""
    for prefix, noun in _JUDGED.items():
        names = (f"{prefix}_median_{end}s" for end in ("low_", "", "high_"))
        low, median, high = (columns.get(name) for name in names)
        if low is not None and high is not None and median:
            reached = Interval(low, median, high).precision
            yield from imprecision(noun, reached, measure)


def _per_output_token(first_ns: Sequence[int], durations_ns: Sequence[int], tokens: int) -> Floats:
    """The time per output token of each generation, nanoseconds; none of a single token."""
    if tokens < 2:
        return np.empty(0)
    decoding: Floats = np.asarray(durations_ns, dtype=float) - np.asarray(first_ns, dtype=float)
    return decoding / (tokens - 1)


def _with_interval(prefix: str, durations_ns: Series) -> dict[str, float | None]:
    interval = None
    if len(durations_ns):
        interval = median_interval(durations_ns, effective_count(durations_ns))
    return {**distribution(prefix, durations_ns), **interval_columns(prefix, interval)}


def _per_second(tokens: int, durations_ns: Sequence[int]) -> float | None:
    total = sum(durations_ns)
    return tokens * NANOSECONDS / total if total else None
