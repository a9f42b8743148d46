from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.screen.words.doubts import doubt_text
from runner.contract.job import PROFILES
from runner.contract.record.verdict import Doubt, percent, with_doubt
from runner.contract.rounds import CpuClock, DeviceState, Noise, PageFaults, RoundResult
from runner.measure.environment import read_environment
from runner.measure.grade import Conditions, doubts_of, grade_of
from runner.measure.statistics.summary import LatencySummary, summarise
from tests.support.records import a_round

MEASURE = PROFILES["standard"]
SILENT = Noise(
    steal=0.0,
    other_load=0.01,
    kernel_spread_before=0.02,
    kernel_spread_after=0.03,
    kernel_shift=-0.01,
)
HOST = read_environment().model_copy(
    update={
        "cpu_cores_logical": 2,
        "cpu_governor": "performance",
        "cpu_affinity": [0, 1],
        "container_cpu_limit": None,
    }
)
CONDITIONS = Conditions(HOST, clock_resolution_s=1e-7, harness_overhead_s=1e-6)


def measured(count: int = 400, spread: float = 0.03) -> LatencySummary:
    """Independent durations of about 10 ms."""
    draws = np.random.default_rng(0).lognormal(np.log(1e7), spread, count)
    durations = [int(value) for value in draws]
    return summarise(durations, samples=count, steady_ns=sum(durations))


def quiet_round(**changes: Any) -> RoundResult:
    return a_round(**{"noise": SILENT, "warmup_ns": [1] * 6, "load_average_1m": 1.9} | changes)


def doubts(
    summary: LatencySummary | None = None,
    *rounds: RoundResult,
    conditions: Conditions = CONDITIONS,
    **measure: Any,
) -> list[Doubt]:
    requested = MEASURE.model_copy(update=measure)
    return doubts_of(summary or measured(), requested, rounds or (quiet_round(),), conditions)


def only(doubts_: list[Doubt]) -> tuple[str, str]:
    (doubt,) = doubts_
    return doubt.grade, doubt_text(doubt)


@pytest.mark.parametrize(
    "rounds",
    [
        [quiet_round()],
        [quiet_round(settled=None, warmup_ns=[])],
        [quiet_round(load_average_1m=2.4)],
        [quiet_round(noise=SILENT.model_copy(update={"steal": None, "other_load": None}))],
    ],
    ids=["quiet", "no warm-up", "load of our own earlier cells", "a kernel that does not tell"],
)
def test_nothing_speaks_against_a_quiet_measurement(rounds: list[RoundResult]) -> None:
    assert doubts(None, *rounds) == []
    assert grade_of([]) == "A"
    assert (
        grade_of([Doubt("quota", "B", 1, "lift_quota"), Doubt("steal", "D", 1, "own_host")]) == "D"
    )


UNSETTLED = "the warm-up did not settle in 9 iterations: raise measure.warmup_max_duration"


@pytest.mark.parametrize(
    ("changes", "grade", "text"),
    [
        ({"settled": False, "warmup_ns": [1] * 9}, "C", UNSETTLED),
        ({"load_average_1m": 3.1}, "B", "host load 3.1 on 2 cores: stop what else runs"),
        ({"load_average_1m": 4.4}, "C", "host load 4.4 on 2 cores: stop what else runs"),
        ({"load_average_1m": 9.0}, "D", "host load 9.0 on 2 cores: stop what else runs"),
    ],
)
def test_one_round_that_was_not_quiet(changes: dict[str, Any], grade: str, text: str) -> None:
    assert only(doubts(None, quiet_round(), quiet_round(**changes))) == (grade, text)


PRECISION = "the median is known within {}, not 2.0 %: raise measure.max_rounds"
SCATTER = "cv {}: measure longer, on a quieter machine"
REPEATED = (
    "autocorrelation leaves {} independent of 400 iterations: "
    "raise measure.min_duration and measure.rounds"
)


@pytest.mark.parametrize(
    ("column", "value", "grade", "text"),
    [
        ("latency_precision", 0.03, "B", PRECISION.format("3.0 %")),
        ("latency_precision", 0.08, "C", PRECISION.format("8.0 %")),
        ("latency_precision", 0.3, "D", PRECISION.format("30 %")),
        ("latency_cv", 0.18, "B", SCATTER.format("18 %")),
        ("latency_cv", 0.4, "C", SCATTER.format("40 %")),
        ("latency_cv", 1.1, "D", SCATTER.format("110 %")),
        ("effective_iterations", 60.0, "B", REPEATED.format(60)),
        ("effective_iterations", 7.0, "C", REPEATED.format(7)),
    ],
)
def test_durations_that_are_imprecise_scatter_or_repeat_each_other(
    column: str, value: float, grade: str, text: str
) -> None:
    changed: dict[str, Any] = {column: value}
    assert only(doubts(replace(measured(), **changed))) == (grade, text)


MEDIAN = "{} cannot support a median, which takes 11: raise measure.iterations"


@pytest.mark.parametrize(
    ("count", "requested", "grade", "text"),
    [
        (1, 1, "D", MEDIAN.format("1 iteration")),
        (5, 1, "D", MEDIAN.format("5 iterations")),
        (6, 1, "C", MEDIAN.format("6 iterations")),
        (10, 1, "C", MEDIAN.format("10 iterations")),
        (30, 50, "B", "30 of 50 iterations fitted into 5 s: raise measure.max_duration"),
    ],
)
def test_too_few_iterations(count: int, requested: int, grade: str, text: str) -> None:
    summary = measured(count, spread=0.001)
    assert only(doubts(summary, iterations=requested, max_s=5)) == (grade, text)


def test_a_governor_that_saves_power() -> None:
    saving = replace(CONDITIONS, environment=HOST.model_copy(update={"cpu_governor": "powersave"}))
    remedy = "set it to performance (cpupower frequency-set -g performance)"
    assert only(doubts(conditions=saving)) == ("B", f"governor is powersave: {remedy}")


@pytest.mark.parametrize(
    ("driver", "preference", "is_fine"),
    [
        ("intel_pstate", "performance", True),
        ("intel_pstate", "balance_performance", True),
        ("amd-pstate-epp", "performance", True),
        ("intel_pstate", "power", False),
        ("intel_pstate", None, False),
        ("intel_cpufreq", "performance", False),
        (None, None, False),
    ],
)
def test_firmware_that_is_told_to_be_fast_is_no_doubt(
    driver: str | None, preference: str | None, is_fine: bool
) -> None:
    steered = {"cpu_scaling_driver": driver, "cpu_energy_preference": preference}
    host = HOST.model_copy(update={"cpu_governor": "powersave", **steered})
    assert (doubts(conditions=replace(CONDITIONS, environment=host)) == []) is is_fine


@pytest.mark.parametrize(("held_s", "grade"), [(0.0, None), (0.004, "B"), (0.02, "C"), (9, "D")])
def test_a_quota_that_held_threads_back(held_s: float, grade: str | None) -> None:
    held = quiet_round(noise=SILENT.model_copy(update={"throttled_s": held_s}))
    share = min(1.0, held_s / ((sum(held.warmup_ns) + held.steady_ns) / 1e9))
    found = [(doubt.grade, doubt_text(doubt)) for doubt in doubts(None, held, held)]
    text = f"a CPU quota held threads back for {percent(share)} of the time: lift it"
    assert found == ([] if grade is None else [(grade, text)])


@pytest.mark.parametrize(
    ("changes", "grade", "finding"),
    [
        ({"steal": 0.02}, "B", "the hypervisor took 2.0 % of the CPU time"),
        ({"steal": 0.3}, "D", "the hypervisor took 30 % of the CPU time"),
        ({"other_load": 0.07}, "B", "other processes used 7.0 % of the CPU time"),
        ({"other_load": 0.15}, "C", "other processes used 15 % of the CPU time"),
        ({"other_load": 0.28}, "D", "other processes used 28 % of the CPU time"),
        ({"kernel_spread_before": 0.2}, "B", "fixed arithmetic spread by 20 %"),
        ({"kernel_spread_after": 4.0}, "C", "fixed arithmetic spread by 400 %"),
        ({"kernel_shift": 0.1}, "B", "fixed arithmetic took 10 % more time after the cell"),
        ({"kernel_shift": -0.2}, "C", "fixed arithmetic took 20 % less time after the cell"),
    ],
)
def test_a_noisy_host(changes: dict[str, float], grade: str, finding: str) -> None:
    noisy = quiet_round(noise=SILENT.model_copy(update=changes))
    found_grade, text = only(doubts(None, quiet_round(), noisy))
    assert (found_grade, text.split(":")[0]) == (grade, finding)


@pytest.mark.parametrize(("cost_s", "grade"), [(2e-4, "B"), (1e-3, "C"), (5e-3, "D")])
def test_what_the_instrument_adds(cost_s: float, grade: str) -> None:
    coarse = replace(CONDITIONS, clock_resolution_s=cost_s)
    slow = replace(CONDITIONS, harness_overhead_s=cost_s)
    share = f"{cost_s * 1e4:.0f} %" if cost_s > 1e-3 else f"{cost_s * 1e4:.1f} %"
    summary = replace(measured(), latency_median_s=0.01)
    for conditions, name in ((coarse, "the clock's resolution"), (slow, "the harness' overhead")):
        found_grade, text = only(doubts(summary, conditions=conditions))
        assert found_grade == grade
        assert text.startswith(f"{name} is {share.replace('10.0 %', '10 %')} of the median:")


def test_every_doubt_comes_with_its_remedy() -> None:
    loud = {"steal": 0.5, "other_load": 0.9, "kernel_shift": 1.0}
    spread = {"kernel_spread_before": 2.0, "kernel_spread_after": 2.0}
    noise = Noise.model_validate({**loud, **spread})
    wild = quiet_round(settled=False, load_average_1m=20.0, noise=noise)
    poor = Conditions(HOST.model_copy(update={"cpu_governor": "powersave"}), 1.0, 1.0)
    summary = replace(measured(8, spread=2), effective_iterations=1.0, latency_precision=0.5)
    results = doubts(summary, wild, conditions=poor)
    assert len(results) == 14
    assert len({doubt.code for doubt in results}) == 14
    assert grade_of(results) == "D"


def test_a_busy_core_of_a_large_machine_is_a_doubt_though_its_share_is_small() -> None:
    large = replace(CONDITIONS, environment=HOST.model_copy(update={"cpu_cores_logical": 64}))
    noise = SILENT.model_copy(update={"other_load": 1 / 64})
    found = only(doubts(None, quiet_round(noise=noise), conditions=large))
    assert found == ("C", "other processes kept 1.0 of 64 cores busy: stop them")


@pytest.mark.parametrize(
    ("reasons", "grades"),
    [
        (None, []),
        ({}, []),
        ({"SyncBoost": 0.5}, []),
        ({"Power": 0.005}, []),
        ({"Power": 0.5}, ["B"]),
        ({"Power": 0.5, "Thermal": 0.02}, ["B", "C"]),
    ],
    ids=["unknown", "none", "somebody's setting", "hardly", "power", "power and heat"],
)
def test_a_throttled_accelerator_is_held_against_the_numbers(
    reasons: dict[str, float] | None, grades: list[str]
) -> None:
    state = DeviceState(clock_hz=1e9, temperature_c=90, throttled=reasons)
    rounds = [quiet_round(device=state), quiet_round(), quiet_round(device=state)]
    results = doubts_of(measured(), MEASURE, rounds, CONDITIONS, None)
    assert [doubt.grade for doubt in results] == grades
    for doubt, reason in zip(results, reasons if reasons and grades else [], strict=True):
        assert f"({reason}): cool it" in doubt_text(doubt)


@pytest.mark.parametrize(
    ("events", "held_s", "grade"), [(0, 0.0, None), (1, 0.0, "B"), (3, 0.02, "C"), (9, 9.0, "D")]
)
def test_heat_that_held_the_processors_clock_down(
    events: int, held_s: float, grade: str | None
) -> None:
    unknown = dict.fromkeys(("before_hz", "mean_hz", "low_hz", "after_hz"))
    clock = CpuClock(**unknown, throttle_events=events, throttled_s=held_s)
    found = doubts(None, quiet_round(cpu_clock=clock), quiet_round(cpu_clock=clock))
    assert [doubt.grade for doubt in found] == ([] if grade is None else [grade])


@pytest.mark.parametrize(
    ("grade", "more", "result", "is_first"),
    [(None, "B", "B", True), ("A", "C", "C", True), ("C", "C", "C", True), ("D", "C", "D", False)],
)
def test_one_more_doubt_is_the_first_if_none_is_heavier(
    grade: Any, more: Any, result: str, is_first: bool
) -> None:
    other, another = Doubt("quota", "B", 1, "lift_quota"), Doubt("steal", more, 1, "own_host")
    columns = with_doubt({"grade": grade, "doubts": [other]}, another)
    ordered = [another, other] if is_first else [other, another]
    assert columns == {"grade": result, "doubts": ordered}
    assert with_doubt({}, another) == {"grade": more, "doubts": [another]}


KEPT = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "-1"}


@pytest.mark.parametrize(
    ("faults", "variables", "libc", "remedy"),
    [
        (15_000, None, "glibc", "keep_memory"),
        (1_300, {"MALLOC_MMAP_MAX_": "0"}, "glibc", "keep_memory"),
        (15_000, KEPT, "glibc", "smaller_batch"),
        (15_000, None, "", "smaller_batch"),
        (1_200, None, "glibc", None),
        (0.5, None, "glibc", None),
    ],
    ids=["new memory", "one variable", "kept already", "another allocator", "below 5 %", "none"],
)
def test_page_faults_that_cost_five_percent_are_a_doubt_with_what_helps_here(
    monkeypatch: pytest.MonkeyPatch,
    faults: float,
    variables: dict[str, str] | None,
    libc: str,
    remedy: str | None,
) -> None:
    monkeypatch.setattr("platform.libc_ver", lambda: (libc, "2.36"))
    host = HOST.model_copy(update={"environment_variables": variables})
    summary = measured()
    cost_s = 0.04 * summary.latency_mean_s / 1_000
    counted = PageFaults(count=round(20 * faults), cost_s=cost_s if faults > 1 else 1.0)
    raised = doubts(
        summary, quiet_round(page_faults=counted), conditions=replace(CONDITIONS, environment=host)
    )
    expected = [("page_faults", "B", remedy)] if remedy else []
    assert [(doubt.code, doubt.grade, doubt.remedy) for doubt in raised] == expected
    if remedy:
        assert raised[0].value == pytest.approx(min(1.0, 4e-5 * faults))


def test_a_queue_is_judged_by_the_time_of_its_queries() -> None:
    served, waited = measured(), replace(measured(), latency_mean_s=1.0, latency_median_s=1.0)
    faults = PageFaults(count=20_000, cost_s=0.1 * served.latency_mean_s / 1_000)
    rounds = [quiet_round(page_faults=faults)]
    raised = doubts_of(waited, MEASURE, rounds, CONDITIONS, served)
    assert "page_faults" in {doubt.code for doubt in raised}
    assert "page_faults" not in {doubt.code for doubt in doubts(waited, *rounds)}
