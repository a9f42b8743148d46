"""One verdict as analysis and tables see it: the cell, the measurement, what limits it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from analysis.results.item_time import TimedWork
from analysis.statistics.ratios import Estimate, estimate
from runner.contract.reasons import Facts
from runner.contract.record.verdict import Doubt, Grade


@dataclass(frozen=True)
class ResultRow(TimedWork):
    """One line of a run's table of results, in customary units."""

    cell_id: str
    model: str
    backend: str
    runtime: str
    precision: str
    sequence_length: int | None
    image_size: int | None
    audio_seconds: int | None
    new_tokens: int | None
    slo_ms: float | None
    threads: int | None
    """Threads that were asked for; None where the machine decided."""
    workers: int | None
    training_precision: str | None
    status: str
    reason_code: str | None
    reason_facts: Facts | None
    reason: str | None
    """The reason in words."""
    remedy: str | None
    """The help against that, or against outputs that are wrong."""
    predicted: bool
    """True if the verdict was predicted before anything was launched."""
    proof: str
    correct: bool | None
    """True if the outputs agree with the fp32 CPU reference; None if that was not verified."""
    correct_code: str | None
    correct_facts: Facts | None
    correct_reason: str | None
    off: float | None
    """Norm of the outputs' difference from that reference, by the reference's norm."""
    grade: Grade | None
    doubts: Sequence[Doubt] | None
    """Doubts about the numbers, the heaviest first."""
    token_throughput: float | None
    """New tokens per second."""
    latency_precision: float | None
    """Half the width of the median's 95 % interval, by the median."""
    memory_mb: float | None
    """Highest memory use, megabytes (1,000,000 bytes)."""
    numbers: Mapping[str, float | None]
    """All other columns of `SHOWN_NUMBERS`."""
    hardware: str | None
    """The physical device that did the work."""
    cores: int | None
    """Cores of the machine."""
    hostname: str | None
    launcher: str | None
    """None where an imported file does not say."""
    profile: str | None
    measured_at: datetime | None

    @property
    def median_ms(self) -> Estimate | None:
        """The median with its interval; None where one of them is missing."""
        return estimate(
            self.latency_median_ms, self.latency_median_low_ms, self.latency_median_high_ms
        )

    def number(self, column: str) -> float | None:
        """The value of a column of `SHOWN_NUMBERS`; None where it was not measured."""
        value: float | None = (
            self.numbers[column] if column in self.numbers else getattr(self, column)
        )
        return value

    def data(self) -> dict[str, Any]:
        """All of it as plain data, each number under its column."""
        facts = asdict(self)
        facts.update(facts.pop("numbers"))
        return facts
