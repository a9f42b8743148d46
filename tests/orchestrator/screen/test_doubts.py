"""Every code of a doubt and of a remedy has words, with the value as people read it."""

import re
from typing import Any, get_args

import pytest

from orchestrator.screen.words.doubts import FINDINGS, REMEDIES, doubt_text, finding_text, remedy_of
from runner.contract.reasons import facts_behind, reason
from runner.contract.record.verdict import Doubt, DoubtCode, RemedyCode, doubt

SPENT = facts_behind("before", reason("budget_spent", budget_s=300))
SILENCE = facts_behind("cause", reason("page_silent", action="series", seconds=2.0))
CASES: dict[DoubtCode, tuple[float | None, RemedyCode, dict[str, Any], str]] = {
    "scatter": (0.123, "longer_or_quieter", {}, "cv 12 %: measure longer, on a quieter machine"),
    "host_load": (
        3.14,
        "stop_others",
        {"cores": 2},
        "host load 3.1 on 2 cores: stop what else runs",
    ),
    "kernel_shift": (
        -0.055,
        "fix_clock",
        {},
        "fixed arithmetic took 5.5 % less time after the"
        " cell: fix the clock frequency, or cool the machine",
    ),
    "warmup": (
        1,
        "raise_warmup",
        {},
        "the warm-up did not settle in 1 iteration: raise measure.warmup_max_duration",
    ),
    "few_iterations": (
        17,
        "raise_duration",
        {"requested": 50, "limit_s": 30.0},
        "17 of 50 iterations fitted into 30 s: raise measure.max_duration",
    ),
    "imprecise": (
        0.2,
        "raise_rounds",
        {"median": "latency", "requested": 0.02},
        "the median is known within 20 %, not 2.0 %: raise measure.max_rounds",
    ),
    "few_rounds": (
        2,
        "raise_budget",
        {"requested": 3, **SPENT},
        "2 of 3 rounds before the budget of 5m was spent: raise --budget",
    ),
    "cut_short": (
        None,
        "remeasure",
        SILENCE,
        "the iterations ended early: series: the page did not answer within 2 s: measure it again",
    ),
    "contradicted": (
        2.0,
        "several_processes",
        {"run": "r"},
        "run r took 2.00 times as long with"
        " the same software: measure longer, in several processes",
    ),
    "queue_grew": (
        None,
        "lower_rate",
        {"offered_qps": 9, "completed_qps": 3, "most_qps": 4.2},
        "offered 9 qps, completed 3: the queue grew for the whole run, so latencies say nothing but"
        " that: lower target_qps below 4.2",
    ),
}


def test_every_code_has_words() -> None:
    assert set(get_args(DoubtCode)) == FINDINGS.keys()
    assert set(get_args(RemedyCode)) == REMEDIES.keys()


@pytest.mark.parametrize("code", CASES)
def test_a_doubt_in_words(code: DoubtCode) -> None:
    value, remedy, facts, text = CASES[code]
    assert doubt_text(doubt(code, "C", value, remedy, **facts)) == text


@pytest.mark.parametrize("code", get_args(DoubtCode))
def test_every_finding_holds_its_facts(code: DoubtCode) -> None:
    facts = dict.fromkeys(set(re.findall(r"\{(\w+)", FINDINGS[code])) - {"value"}, "7")
    assert not re.search(r"[{}]", finding_text(doubt(code, "C", 7.0, "cool", **facts)))


def test_values_of_several_cells_are_a_range() -> None:
    scatter = Doubt("scatter", "C", 0.12, "longer_or_quieter")
    assert finding_text(scatter, 0.185) == "cv 12 to 18 %"
    assert finding_text(scatter, 0.1201) == "cv 12 %"
    load = doubt("host_load", "D", 8.1, "stop_others", cores=2)
    assert finding_text(load, 10.0) == "host load 8.1 to 10.0 on 2 cores"


def test_a_remedy_names_the_option_that_sets_a_key() -> None:
    unsettled = Doubt("warmup", "C", 7, "raise_warmup")
    assert remedy_of(unsettled, with_options=True) == (
        "raise measure.warmup_max_duration (--set measure.warmup_max_duration=…)"
    )
