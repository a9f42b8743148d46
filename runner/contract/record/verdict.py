"""The verdict on a cell: status, proof and grade, and doubts about its numbers.

The screen has the words of doubts.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from runner.contract.reasons import Facts

Status = Literal["ok", "unsupported", "unavailable", "out_of_memory", "timeout", "failed", "lost"]
RETRIED: Collection[Status] = ("unavailable", "lost")
"""Verdicts that say a cell never had its chance: resuming a run tries again, and any other verdict
outweighs them, whatever the clocks say."""
Proof = Literal["proven", "partial", "contradicted", "none"]
Phase = Literal["plan", "load", "first", "warmup", "steady", "observe", "verify"]
Grade = Literal["A", "B", "C", "D"]


# fmt: off
DoubtCode = Literal[
    "accelerator_held", "autocorrelation", "batch_choice", "batch_memory", "batch_time",
    "batch_untried", "busy_cores", "clock_resolution", "concurrent_failed", "concurrent_room",
    "contradicted", "cut_short", "drift", "drift_in_order", "few_iterations",
    "few_rounds", "governor", "harness_overhead", "hopeless_rate", "host_load", "imprecise",
    "inside_step", "inside_trend", "kernel_shift", "kernel_spread", "late_starts", "no_trial",
    "one_process", "one_round_of_starts", "other_load", "page_faults", "peak_bracket",
    "peak_unverified", "processor_heat", "queue_grew", "queue_left", "quota", "rounding",
    "scale_skipped", "scatter", "steal", "too_few_for_median", "warmup",
]
RemedyCode = Literal[
    "accept_lateness", "calibrate", "calibrate_cool_or_rounds", "calibrate_or_profile", "cool",
    "cool_or_rounds", "cool_processor", "fewer_workers", "fix_clock", "free_memory", "governor",
    "hold_clock", "keep_memory", "larger_query", "lift_quota", "longer_or_quieter", "lower_rate",
    "mixed_precision", "own_host", "profile", "quieter", "raise_budget",
    "raise_duration", "raise_duration_or_lower_rate", "raise_iterations",
    "raise_min_duration_and_rounds", "raise_rounds", "raise_slo", "raise_slo_or_duration",
    "raise_warmup", "raise_warmup_iterations", "read_why", "remeasure", "run_several",
    "several_processes", "smaller_batch", "stop_others", "stop_them",
]
TAKES_TIME: Collection[RemedyCode] = frozenset({
    "calibrate_cool_or_rounds", "cool_or_rounds", "longer_or_quieter", "raise_duration",
    "raise_duration_or_lower_rate",
    "raise_iterations", "raise_min_duration_and_rounds", "raise_rounds", "raise_slo_or_duration",
    "raise_warmup", "raise_warmup_iterations", "several_processes",
})
# fmt: on
"""Remedies by which one measures longer, whatever else helps."""


@dataclass(frozen=True)
class Doubt:
    """A reason not to trust the numbers, with its remedy."""

    code: DoubtCode
    grade: Grade
    """The best grade that numbers with this doubt can have."""
    value: float | None
    """The size of the finding; a share is 0.05 for 5 %. None where it has none."""
    remedy: RemedyCode
    facts: Facts = field(default_factory=dict, hash=False)

    @property
    def takes_time(self) -> bool:
        return self.remedy in TAKES_TIME


@dataclass(frozen=True)
class Scale:
    """Values beyond which a finding costs the grade A, B and C."""

    b: float
    c: float
    d: float = math.inf

    def grade(self, value: float) -> Grade | None:
        """The grade that a value leaves; None if it raises no doubt."""
        if value <= self.b:
            return None
        return "D" if value > self.d else "C" if value > self.c else "B"


# What the grades promise: numbers of grade A can be compared down to the precision they state,
# those of grade B down to differences of 5 %, those of grade C down to 20 %; D: do not quote them.
BIAS = Scale(b=0.01, c=0.05, d=0.20)
"""Shares by which a median may be wrong; below 1 % lies what our own loop may add to one."""


def scaled(
    scale: Scale, size: float, code: DoubtCode, remedy: RemedyCode, value: float, **facts: object
) -> Iterator[Doubt]:
    """The doubt that a finding of this size on the scale raises, if it raises one."""
    grade = scale.grade(size)
    if grade is not None:
        yield doubt(code, grade, value, remedy, **facts)


def doubt(
    code: DoubtCode, grade: Grade, value: float | None, remedy: RemedyCode, **facts: object
) -> Doubt:
    return Doubt(code, grade, value, remedy, {name: str(fact) for name, fact in facts.items()})


CAUSES: Sequence[DoubtCode] = (
    *("other_load", "busy_cores", "host_load", "steal", "quota"),
    *("accelerator_held", "processor_heat", "governor"),
)
"""Disturbances from outside, the most specific first."""
SYMPTOMS: Collection[DoubtCode] = (
    *("autocorrelation", "drift", "drift_in_order", "imprecise", "inside_step", "inside_trend"),
    *("kernel_shift", "kernel_spread", "scatter", "warmup"),
)
"""Signs of a disturbance in the times."""


def explains(cause: Doubt, other: Doubt) -> bool:
    """True if the cause may bring about another finding on the same result, at most a grade worse.

    7 % of the CPU time (B) explain a drift of grade C, and none of grade D.
    """
    by_others = other.code == "host_load" and cause.code in ("other_load", "busy_cores")
    near = ord(other.grade) - ord(cause.grade) <= 1
    return cause.code in CAUSES and near and (by_others or other.code in SYMPTOMS)


def heaviest_first(doubts: Iterable[Doubt]) -> list[Doubt]:
    """Doubts from the worst grade to the best, a cause with the worst grade that it explains.

    Of one grade causes come first, in their order, and last what more time helps against.
    """
    known, causes = list(doubts), {code: number for number, code in enumerate(CAUSES)}

    def rank(doubt: Doubt) -> tuple[int, int, bool]:
        worst = max(one.grade for one in known if one is doubt or explains(doubt, one))
        order = causes.get(doubt.code, len(CAUSES) + (doubt.code in SYMPTOMS))
        return -ord(worst), order, doubt.takes_time

    return sorted(known, key=rank)


def with_doubt(columns: Mapping[str, Any], doubt: Doubt) -> dict[str, Any]:
    """`grade` and `doubts` of a record with one more doubt: first if none is heavier."""
    grade: Grade = columns.get("grade") or "A"
    doubts = columns.get("doubts") or ()
    ordered = [doubt, *doubts] if doubt.grade >= grade else [*doubts, doubt]
    return {"grade": max(grade, doubt.grade), "doubts": ordered}


def percent(share: float) -> str:
    """A share as a rounded percentage: `0.4 %`, `18 %`."""
    return f"{share * 100:.{0 if share >= 0.1 else 1}f} %"
