"""Columns about the work of an iteration, and what the machine can do at best."""

from runner.contract.cell import Frozen
from runner.contract.record.ranges import Positive


class Efficiency(Frozen):
    """Counted work and measured peaks; the view `efficiency` divides them.

    All are null for models that nobody counted, for starts, and where times say nothing of a
    device: on the fake backend and on simulators.
    """

    flops_per_iteration: Positive[int] | None = None
    """Floating-point operations of one iteration: two for each multiply-accumulate of matrix
    products and convolutions, counted from the model, not by the device."""
    bytes_per_iteration: Positive[int] | None = None
    """Bytes that one iteration must read or write, however large caches are: each weight once a
    pass, inputs, outputs, what tokens were cached; counted likewise, and a lower bound."""
    prefill_flops: Positive[int] | None = None
    """Those of the FLOPs up to the first token; null unless tokens are generated."""
    prefill_bytes: Positive[int] | None = None
    """Those of the bytes up to the first token; null likewise."""
    peak_flops_per_s: Positive[float] | None = None
    """FLOP per second of a product of large matrices in this precision, by this runtime with these
    threads, before the first cell of the job; null where it has no such product."""
    peak_bytes_per_s: Positive[float] | None = None
    """Bytes per second that a copy between arrays larger than the last cache reads and writes;
    null where the memory that a job may use has no room for them."""
    peak_method: str | None = None
    """Calls and sizes behind both peaks, or why there are none."""
    device_cache_bytes: Positive[int] | None = None
    """Last cache of the CPUs or of the accelerator, bytes: what fits in need not come from memory;
    null where none is shown."""
