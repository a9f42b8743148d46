"""Words of doubts about numbers: the finding with its value, and the remedy."""

import re
from collections.abc import Mapping

from orchestrator.screen.words.reasons import behind, fill, formatted
from runner.contract.reasons import Reason
from runner.contract.record.verdict import Doubt, DoubtCode, RemedyCode

_CLOCK = "let the machine cool down and stop what else runs"
_CALIBRATE = "calibrate this host by `orchestrator doctor --calibrate`"
_UNSHOWN = "differences below {value:percent} are not shown"
_RATES = "offered {offered_qps:.4g} qps, completed {completed_qps:.3g}"
_PEAK = "the peak of this process lies between {low_qps:.3g} and {high_qps:.3g} qps"

FINDINGS: Mapping[DoubtCode, str] = {
    "accelerator_held": "the accelerator's clock was held down {value:percent} of the time"
    " ({held_by})",
    "autocorrelation": "autocorrelation leaves {value:.0f} independent of {iterations} iterations",
    "batch_choice": "batch {batch} may give up to {value:percent} more samples/s than batch {over}",
    "batch_memory": "memory ran out as batch {value:.0f} over batch {over} was measured again",
    "batch_time": "no time was left to measure batch {value:.0f} over batch {over} again",
    "batch_untried": "no time was left to try batch {value:.0f}",
    "busy_cores": "other processes kept {value:.1f} of {cores} cores busy",
    "clock_resolution": "the clock's resolution is {value:percent} of the median",
    "concurrent_failed": "{value:.0f} models could not start at once ({cause:reason})",
    "concurrent_room": "there is room for {value:.0f} of {requested} models at once",
    "contradicted": "run {run} took {value:factor} times as long with the same software",
    "cut_short": "the iterations ended early: {cause:reason}",
    "drift": "rounds differ by {value:percent}, more than processes do",
    "drift_in_order": "rounds differ by {value:percent}, rose or fell in their order",
    "few_iterations": "{value:.0f} of {requested} iterations fitted into {limit_s:g} s",
    "few_rounds": "{value:.0f} of {requested} rounds before {before:reason}",
    "governor": "governor is powersave",
    "harness_overhead": "the harness' overhead is {value:percent} of the median",
    "hopeless_rate": "a query alone takes {value:.3g} ms, beyond slo_ms {slo_ms:g}",
    "host_load": "host load {value:.1f} on {cores} cores",
    "imprecise": "{median:median} is known within {value:percent}, not {requested:percent}",
    "inside_step": "a step inside the steady phase: {value:signed} time behind it",
    "inside_trend": "a trend inside the steady phase: {value:signed} time behind it",
    "kernel_shift": "fixed arithmetic took {value:signed} time after the cell",
    "kernel_spread": "fixed arithmetic spread by {value:percent}",
    "late_starts": "queries that found no line began {late_s:ms} ms late, {value:.0%} of their"
    " service time",
    "no_trial": "no trial was run: these are the warm-up's queries, which did not wait",
    "one_process": f"one process: {_UNSHOWN}",
    "one_round_of_starts": f"one round of starts: {_UNSHOWN}",
    "other_load": "other processes used {value:percent} of the CPU time",
    "peak_bracket": f"{_PEAK}; the {{value:.0f}} s that were left are too few for another verdict",
    "peak_unverified": "no verdict of fresh schedules verified the peak of {value:.3g} qps",
    "processor_heat": "heat held the processor's clock down {value:percent} of the time",
    "queue_grew": f"{_RATES}: the queue grew for the whole run, so latencies say nothing but that",
    "queue_left": f"{_RATES}: {{value:.0f}} queries were still in line when the time was spent",
    "quota": "a CPU quota held threads back for {value:percent} of the time",
    "rounding": "{value:percent} of the weights never changed, as bf16 rounds small updates away",
    "scale_skipped": "the loss' scale skipped {value:.0f} of {steps:plural step}",
    "scatter": "cv {value:percent}",
    "steal": "the hypervisor took {value:percent} of the CPU time",
    "too_few_for_median": "{value:plural iteration} cannot support a median, which takes {needed}",
    "warmup": "the warm-up did not settle in {value:plural iteration}",
}
REMEDIES: Mapping[RemedyCode, str] = {
    "accept_lateness": "take latencies as that much too long, or raise batch_size",
    "calibrate": _CALIBRATE,
    "calibrate_cool_or_rounds": f"{_CALIBRATE}, {_CLOCK}, or raise {{rounds:key}}",
    "calibrate_or_profile": f"{_CALIBRATE}, or take --profile standard",
    "cool": _CLOCK,
    "cool_or_rounds": f"{_CLOCK}, or raise {{rounds:key}}",
    "cool_processor": "cool it",
    "fewer_workers": "set fewer `workers`",
    "fix_clock": "fix the clock frequency, or cool the machine",
    "free_memory": "free memory",
    "governor": "set it to performance (cpupower frequency-set -g performance)",
    "hold_clock": "cool it, raise its power limit, or lock its clock where it can hold it",
    "larger_query": "measure a larger batch_size or sequence_length",
    "lift_quota": "lift it",
    "longer_or_quieter": "measure longer, on a quieter machine",
    "lower_rate": "lower target_qps below {most_qps:.3g}",
    "mixed_precision": "take training_precision mixed",
    "own_host": "use a host of your own",
    "profile": "take --profile standard",
    "quieter": "measure on a quieter machine",
    "raise_budget": "raise --budget",
    "raise_duration": "raise {max_duration:key}",
    "raise_duration_or_lower_rate": "raise {max_duration:key} or lower target_qps",
    "raise_iterations": "raise {iterations:key}",
    "raise_min_duration_and_rounds": "raise {min_duration:key} and {rounds:key}",
    "raise_rounds": "raise {max_rounds:key}",
    "raise_slo": "raise slo_ms",
    "raise_slo_or_duration": "raise slo_ms or {max_duration:key}",
    "raise_warmup": "raise {warmup_max_duration:key}",
    "raise_warmup_iterations": "raise {warmup_iterations:key}, so that it settles before",
    "read_why": "`orchestrator status --why` tells why",
    "remeasure": "measure it again",
    "run_several": "run it several times",
    "several_processes": "measure longer, in several processes",
    "stop_others": "stop what else runs",
    "stop_them": "stop them",
}
_MEDIANS: Mapping[str, str] = {
    "latency": "the median",
    "time_to_first_token": "the median time to the first token",
    "time_per_output_token": "the median time per output token",
}
"""The names of columns whose medians are graded."""
_VALUE = re.compile(r"\{value:([^}]*)\}")


def doubt_text(doubt: Doubt) -> str:
    """The finding with its value, a colon, the remedy."""
    return f"{finding_text(doubt)}: {remedy_of(doubt)}"


def finding_text(doubt: Doubt, most: float | None = None) -> str:
    """The finding; with `most`, that of cells whose values reach from the doubt's to this one."""

    def value(match: re.Match[str]) -> str:
        least = formatted(str(doubt.value), match[1])
        return least if most is None else _span(least, formatted(str(most), match[1]))

    template = _VALUE.sub(value, FINDINGS.get(doubt.code, doubt.code))
    reasons = behind(Reason("said", doubt.facts))
    special = {**reasons, "median": lambda name: _MEDIANS.get(doubt.facts.get(name, ""), name)}
    return fill(template, doubt.facts, special)


def remedy_of(doubt: Doubt, *, with_options: bool = False) -> str:
    """The remedy, on request with the option that sets each key it names."""

    def key(name: str) -> str:
        return f"measure.{name}" + (f" (--set measure.{name}=…)" if with_options else "")

    return fill(REMEDIES.get(doubt.remedy, doubt.remedy), doubt.facts, {"key": key})


def _span(least: str, most: str) -> str:
    """`12 to 18 %` for `12 %` and `18 %`."""
    number, space, unit = least.partition(" ")
    return (
        most if least == most else f"{number if most.endswith(space + unit) else least} to {most}"
    )
