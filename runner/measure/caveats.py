"""What makes a cell's numbers less trustworthy, each with its remedy."""

from runner.cell import Measure
from runner.measure.environment import Environment
from runner.measure.phases import WarmUp
from runner.measure.statistics import Summary

MAX_VARIATION = 0.10
OWN_LOAD_MARGIN = 1.25
"""The load average still remembers our own earlier cells, which keep every core busy."""


def caveats(
    summary: Summary, warmup: WarmUp, measure: Measure, environment: Environment, load: float
) -> list[str]:
    """One sentence per doubt; empty when there is none."""
    found: list[str] = []
    if not warmup.settled:
        found.append(
            f"the warm-up did not settle in {len(warmup.durations_ns)} iterations: "
            "raise measure.warmup_max_duration"
        )
    if summary.iterations < measure.iterations:
        found.append(
            f"{summary.iterations} of {measure.iterations} iterations fitted into "
            f"{measure.max_s:g} s: raise measure.max_duration"
        )
    cores = environment.cpu_cores_logical or 1
    if load > cores * OWN_LOAD_MARGIN:
        found.append(f"host load {load:.1f} on {cores} cores: stop what else runs")
    if environment.cpu_governor == "powersave":
        found.append("the CPU governor is powersave: set it to performance")
    deviation = summary.latency_stddev_s or 0.0
    variation = deviation / summary.latency_mean_s if summary.latency_mean_s else 0.0
    if variation > MAX_VARIATION:
        found.append(f"cv {variation:.0%}: measure longer, on a quieter machine")
    return found
