"""Every code of a reason, a doubt and a remedy has words; words of the screen are explained."""

import re
from typing import Any, get_args

import pytest

from orchestrator.screen.dictionary import WORDS, find_word
from orchestrator.screen.words.doubts import (
    FINDINGS,
    REMEDIES,
    doubt_text,
    finding_text,
    keys_of,
    remedy_of,
)
from orchestrator.screen.words.reasons import (
    OF_STATUS,
    REASONS,
    error_hint,
    error_text,
    reason_text,
    remedy_text,
)
from runner.contract.errors import (
    BenchError,
    ImageError,
    Unavailable,
    UsageError,
    how_to_install,
    reason_of,
)
from runner.contract.reasons import (
    Reason,
    ReasonCode,
    facts_behind,
    parse_reason,
    reason,
    write_reason,
)
from runner.contract.record.verdict import Doubt, DoubtCode, RemedyCode, doubt

_FACT = re.compile(r"\{(\w+)")


def every_fact(*templates: str | None) -> dict[str, str]:
    return dict.fromkeys(_FACT.findall(" ".join(filter(None, templates))), "7")


def test_every_code_has_words_and_every_word_a_code() -> None:
    assert set(get_args(ReasonCode)) == REASONS.keys()


@pytest.mark.parametrize("code", get_args(ReasonCode))
def test_the_words_of_a_code_hold_its_facts(code: ReasonCode) -> None:
    words = REASONS[code]
    told = Reason(code, every_fact(*words))
    text = reason_text(told)
    hint = error_hint(Unavailable(told))
    for sentence in filter(None, (text, hint)):
        assert not re.search(r"[{}|]|\[.*\]$", sentence), sentence
    assert (hint is None) == (words.hint is None)
    assert words.remedy is None or words.remedy.endswith(".")


ENGINE, NOT_FINITE, TORCH = (
    REASONS[code].remedy for code in ("engine_lost", "not_finite", "graph_lacks_cache")
)
AWAY = reason("engine_lost", phase="load")
BUDGET = reason("budget_spent", budget_s=300.0)
NO_PRODUCT = reason("int8_no_product")
DIFFER = reason(
    "outputs_differ", difference=0.123456, output="logits", precision="int8", allowed=0.1
)
WAYS = reason(
    "attempts_failed",
    attempt1=reason("attempt_failed", way="dynamic shapes", cause=NO_PRODUCT),
    attempt2=reason("attempt_failed", way="static shape", cause=reason("raised", kind="OSError")),
)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            reason("too_many_tokens", model="m", most=8, tokens=5, of_images=None, new=4),
            "m takes at most 8 tokens, not 5 and 4 new ones",
        ),
        (
            reason("too_many_tokens", model="m", most=8, tokens=5, of_images=3, new=4),
            "m takes at most 8 tokens, not 5 and 3 of an image and 4 new ones",
        ),
        (
            reason("predicted", cause=reason("memory_short", needed_bytes=2e9, allowed_bytes=1e9)),
            "predicted: needs at least 2 GB of memory, and 1 GB may be used",
        ),
        (
            reason("memory_limit", limit=1 << 30, phase="steady"),
            "killed for exceeding the memory limit of 1GiB, in phase steady",
        ),
        (
            reason("memory_limit", limit=None, phase="load"),
            "killed for exceeding the memory limit, in phase load",
        ),
        (
            reason("runner_died", signal="SIGKILL", phase="load", words="bye"),
            "the runner died by SIGKILL in phase load, saying: bye",
        ),
        (
            reason("runner_died", exit_status=3, phase="load"),
            "the runner ended with exit status 3 in phase load",
        ),
        (
            reason("stopped_after", round=2, cause=BUDGET),
            "stopped after round 2: the budget of 5m was spent",
        ),
        (
            reason("no_graph", cause=WAYS),
            "no prepared graph: dynamic shapes: the graph would not become int8: it has no product"
            " to quantise\nstatic shape: OSError",
        ),
        (
            reason("no_host", cause1=AWAY, cause2=BUDGET),
            "no host of the fleet can measure it: the container engine went away in phase load;"
            " the budget of 5m was spent",
        ),
        (reason("weights_unchanged", weights="a, b", steps=1), "a, b did not change in 1 step"),
        (
            reason("at_shape", shape="b2", cause=DIFFER),
            "at b2, the outputs differ from the fp32 reference by 0.12 (logits), int8 is allowed"
            " 0.1",
        ),
    ],
)
def test_facts_are_written_as_people_read_them(given: Reason, text: str) -> None:
    assert reason_text(given) == text
    assert parse_reason(write_reason(given)) == given


@pytest.mark.parametrize(
    ("status", "given", "remedy"),
    [
        ("ok", None, None),
        ("lost", AWAY, ENGINE),
        ("failed", reason("raised", kind="E", text="no"), OF_STATUS["failed"]),
        ("out_of_memory", reason("raised", kind="E", text="no"), OF_STATUS["out_of_memory"]),
        ("unsupported", reason("no_graph", cause=WAYS), REASONS["int8_no_product"].remedy),
        ("unsupported", reason("no_graph", cause=reason("raised", kind="E")), TORCH),
        ("unverified", reason("no_reference", cause=reason("outputs_not_finite")), NOT_FINITE),
        ("unproven", None, OF_STATUS["unproven"]),
    ],
)
def test_a_remedy_is_that_of_the_cause_else_of_the_reason_else_of_the_status(
    status: str, given: Reason | None, remedy: str | None
) -> None:
    assert remedy_text(status, given) == remedy


def test_what_another_version_wrote_is_shown_as_it_is() -> None:
    strange = Reason("not_ours", {"a": "1"})  # type: ignore[arg-type]
    assert reason_text(strange) == "not_ours (a=1)"
    assert reason_text(Reason("memory_short", {"needed_bytes": "much"})) == (
        "needs at least much of memory, and ? may be used"
    )
    for text in ("plain words", "[1]", '{"code": 7}', "{", "[" * 100_000):
        assert parse_reason(text) == reason("said", text=text)


def test_errors_have_words_and_hints() -> None:
    assert error_text(BenchError("as it says")) == "as it says"
    assert error_text(OSError("no")) == "OSError: no"
    assert reason_of(MemoryError(BUDGET)) == BUDGET
    own = ImageError(reason("disk_full", image="cpu"), hint="make room")
    assert error_hint(own) == "make room"
    assert error_hint(BenchError("nothing helps")) is None


SPENT = facts_behind("before", reason("budget_spent", budget_s=300))
SILENCE = facts_behind("cause", reason("page_silent", action="series", seconds=2.0))
DOUBTS: list[tuple[DoubtCode, float | None, RemedyCode, dict[str, Any], str]] = [
    ("scatter", 0.123, "longer_or_quieter", {}, "cv 12 %: measure longer, on a quieter machine"),
    (
        "host_load",
        3.14,
        "stop_others",
        {"cores": 2},
        "host load 3.1 on 2 cores: stop what else runs",
    ),
    (
        *("kernel_shift", -0.055, "fix_clock", {}),
        "fixed arithmetic took 5.5 % less time after the cell: fix the clock frequency, or cool the"
        " machine",
    ),
    (
        *("warmup", 1, "raise_warmup", {}),
        "the warm-up did not settle in 1 iteration: raise measure.warmup_max_duration",
    ),
    (
        *("few_iterations", 17, "raise_duration", {"requested": 50, "limit_s": 30.0}),
        "17 of 50 iterations fitted into 30 s: raise measure.max_duration",
    ),
    (
        *("imprecise", 0.2, "raise_rounds", {"median": "latency", "requested": 0.02}),
        "the median is known within 20 %, not 2.0 %: raise measure.max_rounds",
    ),
    (
        *("few_rounds", 2, "raise_budget", {"requested": 3, **SPENT}),
        "2 of 3 rounds before the budget of 5m was spent: raise --budget",
    ),
    (
        *("cut_short", None, "remeasure", SILENCE),
        "the iterations ended early: series: the page did not answer within 2 s: measure it again",
    ),
    (
        *("page_faults", 0.31, "smaller_batch", {}),
        "page faults of new memory took up to 31 % of the time: measure a smaller batch_size",
    ),
    (
        *("contradicted", 2.0, "several_processes", {"run": "r"}),
        "run r took 2.00 times as long with the same software: measure longer, in several"
        " processes",
    ),
    (
        *("queue_grew", None, "lower_rate"),
        {"offered_qps": 9, "completed_qps": 3, "most_qps": 4.2},
        "offered 9 qps, completed 3: the queue grew for the whole run, so latencies say nothing but"
        " that: lower target_qps below 4.2",
    ),
]


def test_every_doubt_and_remedy_has_words() -> None:
    assert set(get_args(DoubtCode)) == FINDINGS.keys()
    assert set(get_args(RemedyCode)) == REMEDIES.keys()


@pytest.mark.parametrize(("code", "value", "remedy", "facts", "text"), DOUBTS)
def test_a_doubt_in_words(
    code: DoubtCode, value: float | None, remedy: RemedyCode, facts: dict[str, Any], text: str
) -> None:
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


def test_a_remedy_names_the_keys_that_it_raises() -> None:
    unsettled = Doubt("warmup", "C", 7, "raise_warmup")
    assert remedy_of(unsettled) == "raise measure.warmup_max_duration"
    assert keys_of("raise_min_duration_and_rounds") == ["min_duration", "rounds"]


def test_every_word_has_three_lines_and_names_of_its_own() -> None:
    names = [name.casefold() for word in WORDS for name in (word.name, *word.others)]
    assert len(set(names)) == len(names)
    assert [word.name.casefold() for word in WORDS] == sorted(w.name.casefold() for w in WORDS)
    for word in WORDS:
        assert len(word.lines) == 3, word.name
        assert all(line.strip() == line and line for line in word.lines), word.name
        assert "docs/" not in " ".join(word.lines), "pip installs no pages"
        assert word.lines[0].endswith((".", "…")), f"{word.name}: the list shows this line alone"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Grades", "grade"),
        ("± %", "±"),
        ("support_class", "support class"),
        ("throughput", "samples/s"),
    ],
)
def test_a_word_is_found_by_the_name_on_the_screen(text: str, name: str) -> None:
    assert find_word(text).name == name


def test_an_unknown_word_gets_a_guess() -> None:
    with pytest.raises(UsageError, match="did you mean grade") as caught:
        find_word("grad")
    assert caught.value.hint == "`orchestrator explain` lists the words"


@pytest.mark.parametrize(
    ("code", "facts", "text"),
    [
        (
            "outputs_differ",
            {
                "difference": "1.004e-05",
                "allowed": "1e-05",
                "output": "logits",
                "precision": "fp32",
            },
            "the outputs differ from the fp32 reference by 1.004e-05 (logits), fp32 is allowed"
            " 1e-05",
        ),
        (
            "step_differs",
            {"where": "loss", "difference": "0.3", "allowed": "0.2", "precision": "bf16"},
            "in one training step the loss differs from the fp32 reference by 0.3, bf16 is allowed"
            " 0.2",
        ),
        (
            "memory_short",
            {"needed_bytes": "2000400000", "allowed_bytes": "2000000000"},
            "needs at least 2.0004 GB of memory, and 2 GB may be used",
        ),
    ],
)
def test_a_value_beyond_a_limit_has_the_digits_that_show_it(
    code: ReasonCode, facts: dict[str, str], text: str
) -> None:
    assert reason_text(Reason(code, facts)) == text


def test_a_doubt_about_a_value_beyond_its_limit_shows_that_too() -> None:
    imprecise = doubt("imprecise", "C", 0.0203, "raise_rounds", median="latency", requested=0.02)
    assert finding_text(imprecise) == "the median is known within 2.03 %, not 2 %"
    hopeless = doubt("hopeless_rate", "D", 100.04, "raise_slo", slo_ms=100)
    assert finding_text(hopeless) == "a query alone takes 100.04 ms, beyond slo_ms 100"


@pytest.mark.parametrize(
    ("status", "reason", "remedy"),
    [
        ("unverified", Reason("not_verified"), "Measure it without `--no-verify`."),
        (
            "unavailable",
            Reason("other_system", {"backend": "mps", "systems": "macOS", "here": "Linux"}),
            "Measure on a machine that has it, then bring the results here: `orchestrator merge"
            " RESULTS`.",
        ),
        (
            "unavailable",
            Reason("runtime_package_missing", {"runtime": "onnxruntime", "package": "onnx"}),
            f"Install it: {how_to_install('cpu')}; or measure in the image with"
            " `--launcher docker`.",
        ),
        (
            "unavailable",
            Reason("launcher_package_missing", {"package": "torch"}),
            "Measure in the image with `--launcher docker`.",
        ),
    ],
)
def test_a_remedy_fits_its_reason_and_this_installation(
    status: str, reason: Reason, remedy: str
) -> None:
    assert remedy_text(status, reason) == remedy
