"""One verdict as analysis and tables see it: the cell, the measurement, what limits it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from analysis.statistics.ratios import Estimate, estimate
from runner.contract.reasons import Facts
from runner.contract.record import Grade
from runner.contract.record.doubts import Doubt


@dataclass(frozen=True)
class ResultRow:
    """One line of a run's table of results, in customary units."""

    cell_id: str
    model: str
    backend: str
    runtime: str
    precision: str
    batch_size: int
    sequence_length: int | None
    image_size: int | None
    audio_seconds: int | None
    new_tokens: int | None
    mode: str
    scenario: str
    target_qps: float | None
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
    throughput: float | None
    """Samples per second."""
    token_throughput: float | None
    """New tokens per second."""
    latency_median_ms: float | None
    latency_median_low_ms: float | None
    """Lower end of the median's 95 % interval."""
    latency_median_high_ms: float | None
    """Upper end of the median's 95 % interval."""
    latency_precision: float | None
    """Half the width of that interval, by the median."""
    latency_p90_ms: float | None
    latency_p99_ms: float | None
    time_to_first_token_median_ms: float | None
    time_per_output_token_median_ms: float | None
    forward_median_ms: float | None
    """Parts of a training step; null in other modes, as those of a start are."""
    backward_median_ms: float | None
    optimizer_median_ms: float | None
    startup_cold_median_ms: float | None
    startup_warm_import_median_ms: float | None
    startup_warm_instantiate_median_ms: float | None
    startup_warm_weights_median_ms: float | None
    startup_warm_first_query_median_ms: float | None
    concurrent_models_per_second: float | None
    achieved_qps: float | None
    peak_qps: float | None
    """The highest rate that was accepted."""
    peak_qps_low: float | None
    """Lower end of the peak's bracket, which allows for fresh processes; None where the search was
    another's."""
    peak_qps_high: float | None
    """Upper end."""
    load_time_s: float | None
    memory_mb: float | None
    """Highest memory use, megabytes (1,000,000 bytes)."""
    energy_per_sample_joules: float | None
    energy_per_token_joules: float | None
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
