"""Columns that say how far the others can be trusted."""

from typing import Self

from runner.contract.cell import Frozen
from runner.contract.reasons import Reason, reason_columns, reason_from
from runner.contract.record.ranges import Cosine, Deviation, Finite, Fraction, NonNegative
from runner.contract.record.verdict import Doubt, Grade, Phase, Proof, Status


class Outcome(Frozen):
    """Status of a cell, with the reason unless it is `ok`."""

    status: Status
    """How the cell ended."""
    reason_code: str | None = None
    """Code of the reason why, unless it ended well."""
    reason_facts: dict[str, str] | None = None
    """Facts of that reason, by name."""
    phase: Phase | None = None
    """The phase in which it ended, unless it ended well."""
    log: str | None = None
    """File with the trace, beside the records: `<job_id>/<cell_id>.log`."""

    @classmethod
    def because(
        cls,
        status: Status,
        reason: Reason | None,
        phase: Phase | None = None,
        log: str | None = None,
    ) -> Self:
        return cls(status=status, **reason_columns("reason", reason), phase=phase, log=log)

    @property
    def ending(self) -> Reason | None:
        return reason_from(self.reason_code, self.reason_facts)


class Trust(Outcome):
    """Outcome, proof, correctness, grade and the host's noise."""

    proof: Proof = "none"
    """Whether there is evidence that the claimed device did the work."""
    evidence: dict[str, str] | None = None
    """The facts behind `proof`."""
    kernel_share: Fraction | None = None
    """Share of an iteration, a whole generation or training step, in which an accelerator executed
    kernels: below 0.2 the proof is `partial`. Null on CPUs and where no profiler sees kernels."""

    correct: bool | None = None
    """Whether the outputs for the fixed inputs agree with the fp32 CPU reference."""
    correct_code: str | None = None
    """Code of the reason why `correct` is false or null."""
    correct_facts: dict[str, str] | None = None
    """Facts of that reason, by name."""
    verified_shape: str | None = None
    """Sizes of those inputs, e.g. `b2-s32`: one shape stands for all, and beside it the cell's own
    where a runtime compiles for each, e.g. `b2-s32, b8-s128`; null if none was compared."""
    difference_max_abs: Deviation | None = None
    """Largest absolute difference of any output element to the reference."""
    difference_where: str | None = None
    """The difference that is nearest to its tolerance or farthest beyond, and its output, e.g.
    `row of second.logits`: `steps.logits` are those of decode steps, `second.` is the padded input.
    """
    difference_relative: Deviation | None = None
    """That output's: Euclidean norm of the difference, by the norm of the reference."""
    difference_row: Deviation | None = None
    """That output's: norm of the difference at the worst position of any sample, by the root mean
    square of all positions' norms."""
    difference_mean: Deviation | None = None
    """That output's: norm of the mean difference over all positions of all queries, by the same
    size: what is wrong everywhere in the same direction."""
    difference_shared: Deviation | None = None
    """That output's: norm of what a factor and an offset that all values share explain of the
    difference, by the norm of the reference."""
    tolerance: NonNegative[float] | None = None
    """The `difference_relative` that this output is allowed in this precision."""
    tolerance_row: NonNegative[float] | None = None
    """The `difference_row` that it is allowed."""
    tolerance_mean: NonNegative[float] | None = None
    """The `difference_mean` that it is allowed."""
    tolerance_shared: NonNegative[float] | None = None
    """The `difference_shared` that it is allowed."""
    tolerance_share: Deviation | None = None
    """The difference at `difference_where` by its tolerance; above 1 the outputs are wrong."""
    cosine_similarity: Cosine | None = None
    """Cosine between outputs and reference; the worst output's."""
    token_agreement: Fraction | None = None
    """Share of greedily generated tokens that equal the reference's; decides nothing, since one
    near tie changes all that follow. Null unless tokens are generated."""

    grade: Grade | None = None
    """A: nothing speaks against the numbers; D: do not quote them. Null without a measurement."""
    doubts: list[Doubt] | None = None
    """What speaks against the numbers, the heaviest first: each with its code, the best grade that
    it leaves, its value, the code of its remedy, and further facts."""
    noise_score: Finite | None = None
    """How busy the host was, 0 is silent: steal, other load and the kernel's spread added up."""
    noise_steal: Fraction | None = None
    """Share of the time of the CPUs it may use that a hypervisor took while the cell was timed."""
    noise_other_load: Finite | None = None
    """Share of the host's CPU time that other processes used while the cell was timed."""
    noise_kernel_spread_before: NonNegative[float] | None = None
    """Spread of a fixed arithmetic kernel before the warm-up: (p90 - min) / min."""
    noise_kernel_spread_after: NonNegative[float] | None = None
    """The same after the steady phase."""
    noise_kernel_shift: Finite | None = None
    """The kernel's median after by the one before, minus 1."""
    noise_throttled_periods: NonNegative[int] | None = None
    """Periods in which the CPU quota of the control group ended before its work."""
    noise_throttled_s: NonNegative[float] | None = None
    """CPU seconds for which that quota held threads back while the cell was timed."""
    noise_involuntary_switches: NonNegative[int] | None = None
    """Times that another thread was given the CPU of one of the job's while the cell was timed."""
    transport: str | None = None
    """The way by which a fleet's driver reached this host: `ray`, `ssh` or `slurm`; null for a run
    that was started here."""
    load_average_1m: NonNegative[float] | None = None
    """Mean number of runnable threads over the last minute, when the cell started."""
    clock_resolution_s: NonNegative[float] | None = None
    """Smallest step of the clock that was observed, seconds."""
    harness_overhead_s: NonNegative[float] | None = None
    """Median of an iteration over a model that computes nothing, seconds."""
    garbage_collection: str | None = None
    """What was done with Python's garbage collection while iterations were timed."""

    @property
    def incorrectness(self) -> Reason | None:
        return reason_from(self.correct_code, self.correct_facts)
