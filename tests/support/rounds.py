"""Results of rounds for tests, with values that a test may change."""

from typing import Any

from runner.contract.rounds import Energy, MemoryUse, Noise, RoundResult

MIB = 1 << 20
QUIET = Noise(
    steal=0.0,
    other_load=0.0,
    kernel_spread_before=0.01,
    kernel_spread_after=0.01,
    kernel_shift=0.0,
)


def a_round(durations_ns: list[int] | None = None, **changes: Any) -> RoundResult:
    """The result of a quiet round of a cell of batch 1."""
    durations = durations_ns or [10_000_000 + step * 1_000 for step in range(20)]
    values: dict[str, Any] = {
        "samples": len(durations),
        "steady_ns": sum(durations),
        "durations_ns": durations,
        "first_ns": 50_000_000,
        "warmup_ns": [12_000_000, 11_000_000],
        "settled": True,
        "noise": QUIET,
        "energy": Energy(joules=None, window_s=None, method="unavailable: no counter"),
        "memory": MemoryUse(
            peak_bytes=300 * MIB, steady_peak_bytes=290 * MIB, average_bytes=280 * MIB
        ),
        "load_average_1m": 0.5,
        "columns": {"timed_region": "a sleep"},
    }
    return RoundResult(**values | changes)
