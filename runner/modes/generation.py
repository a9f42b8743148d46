"""Mode `generation`: a forced number of tokens after a fixed prompt, prefill and decode apart."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from runner.backends.base import Generated, Session
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.job import Job
from runner.inputs import synthesise, tokens_to_generate
from runner.measure.clock import NANOSECONDS, Clock
from runner.measure.statistics.summary import distribution
from runner.modes.inference import require_finite

_TO_FIRST = "first_token"
_BETWEEN = "output_token"


class GenerationWorkload:
    """One iteration generates once and records the time of the first token and the later gaps."""

    timed_region = (
        "greedy generation with a key-value cache: from the prompt on the device "
        "to the last token on the host"
    )

    def __init__(self, session: Session, job: Job, cell: Cell, clock: Clock) -> None:
        self._session = session
        self._cell = cell
        self._inputs = synthesise(job.model, cell, job.seed)
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

    Throughputs are totals: batch_size × (new_tokens - 1) × iterations by the sum of all gaps
    between tokens, which is the sum of t_last - t_first; and batch_size × new_tokens × iterations
    by the sum of all durations. Both are tokens per second.
    """
    gaps = parts_ns[_BETWEEN]
    tokens = cell.batch_size * tokens_to_generate(cell) * len(durations_ns)
    return {
        **distribution("time_to_first_token", parts_ns[_TO_FIRST]),
        **distribution("time_per_output_token", gaps),
        "decode_throughput": _per_second(cell.batch_size * len(gaps), gaps),
        "token_throughput": _per_second(tokens, durations_ns),
    }


def _per_second(tokens: int, durations_ns: Sequence[int]) -> float | None:
    total = sum(durations_ns)
    return tokens * NANOSECONDS / total if total else None
