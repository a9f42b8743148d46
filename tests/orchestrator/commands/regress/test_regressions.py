"""Verdicts on regressions as people and programs read them: sentences, tables, Markdown, JUnit."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest

from analysis.regress.judgements import Judgement
from analysis.regress.verdicts import VerdictReason
from analysis.statistics.paired import PairedRatio
from orchestrator.commands.regress.answer import regression_commands
from orchestrator.commands.regress.output import (
    print_verdicts,
    regression_junit,
    regression_markdown,
)
from orchestrator.commands.regress.sentences import round_lines
from orchestrator.commands.regress.table import regression_document
from tests.docs.command_line import parse
from tests.orchestrator.conftest import Screen
from tests.support.verdicts import BASE, RUN, a_judgement, a_refusal, an_answer

SAME = a_judgement("no change", 0.01, facts={"batch_size": 8})
OTHER = a_judgement("improvement", -0.2, facts={"batch_size": 4})
OPEN = a_judgement(
    *("inconclusive", 0.04),
    reason=VerdictReason("launches_would_decide", 8),
    facts={"batch_size": 2},
)
IMAGES = {"image_digest": "sha256:bb"}
EARLIER = {"image_digest": "sha256:aa"}
TWELVE = VerdictReason("launches_would_decide", 12)
FEW = VerdictReason(
    "rounds_would_not_decide", facts={"most": "24", "threshold": "3", "enough": "6"}
)
APART = VerdictReason("runs_apart", 1.5)
SPENT = {
    "code": "few_rounds",
    "grade": "B",
    "value": 10.0,
    "remedy": "raise_budget",
    "facts": [("requested", "24"), ("before", "budget_spent"), ("before.budget_s", "6000.0")],
}
HOSTILE = "another timed region: \x1b[31m\x00\ud800\ufffe<b>&\n| `x`"


@pytest.mark.parametrize(
    ("judgements", "sentence"),
    [
        ([a_judgement()], "The cell became slower by 12 % (9.4 to 15 %)."),
        (
            [a_judgement(), SAME, OPEN],
            "1 of 3 cells became slower: batch 1 by 12 % (9.4 to 15 %); 1 equal within 5 %;"
            " 1 inconclusive: 8 launches a side would decide.",
        ),
        ([SAME], "The cell did not change by 5 % or more."),
        ([a_refusal("another host")], "The cell cannot be compared."),
        (
            [
                *(a_judgement(), OPEN),
                a_judgement("inconclusive", 0.03, reason=TWELVE, facts={"batch_size": 16}),
                a_judgement("inconclusive", 0.0, reason=APART, facts={"batch_size": 32}),
            ],
            "3 inconclusive: 8 to 12 launches a side would decide (2), runs of it are 1.5 % apart:"
            " more launches would not decide, measuring them side by side would (1).",
        ),
        (
            [a_judgement("inconclusive", 0.03, reason=FEW)],
            "The cell stays inconclusive: 24 rounds, the most that are made, would not decide at"
            " 3 %: a quieter machine may, or `--threshold 6%`.",
        ),
        ([OPEN], "The cell stays inconclusive: 8 launches a side would decide."),
        (
            [a_judgement(change=-0.1, metric="throughput")],
            "The cell became slower by 10 % (7.9 to 12 %).",
        ),
    ],
)
def test_one_sentence_answers(
    screen: Screen, judgements: Sequence[Judgement], sentence: str
) -> None:
    print_verdicts(an_answer(*judgements))
    assert sentence in "\n".join(screen.printed())


def test_changes_and_open_cells_have_a_row_and_others_are_counted(screen: Screen) -> None:
    answer = an_answer(a_judgement(), SAME, OTHER, OPEN)
    print_verdicts(answer)
    heading, columns, *rows = screen.printed()
    assert heading.startswith(
        f"median latency, {BASE} then and {RUN} now, geometric means of launches, threshold 5 %: "
    )
    assert "bert-tiny" in heading
    assert columns.split()[:4] == ["verdict", "batch", "ms", "then"]
    assert [row.split()[0] for row in rows[:3]] == ["regression", "improvement", "inconclusive"]
    assert rows[0].split()[1:5] == ["1", "4", "4.48", "+12"]
    assert rows[3] == "Cells left out: 1 without a change (--wide)"
    print_verdicts(answer, wide=True)
    assert "no change" in "\n".join(screen.printed())


def test_what_changed_beside_is_told_once_then_by_cell(screen: Screen) -> None:
    shared = ("torch 2.13.0, now 2.14.0", "kernel 6.1, now 6.8")
    first = a_judgement(changes=(*shared, "CPU clock in GHz 3, now 2"))
    print_verdicts(an_answer(first, a_judgement(changes=shared, facts={"batch_size": 4})))
    lines = screen.printed()
    assert f"What differs beside it, in all of these: {'; '.join(shared)}." in lines
    assert f"{first.cell_id}: CPU clock in GHz 3, now 2" in lines
    print_verdicts(an_answer(a_judgement(changes=None)))
    assert "What else differs is not known: one side has no records." in screen.printed()


def test_trust_takes_two_lines_and_names_one_remedy(screen: Screen) -> None:
    weak = a_judgement("inconclusive", source="study", facts={"grade": "C", "batch_size": 2})
    print_verdicts(an_answer(a_judgement(), weak))
    text = "\n".join(screen.printed())
    assert "of the series' own history in 1, of the A/A study alone in 1 of 2." in text
    assert "`--profile standard` takes several." in text
    print_verdicts(an_answer(a_judgement("no change"), require_grade="A"))
    text = "\n".join(screen.printed())
    assert "1 of 1 cell is below it: cpu-bert-tiny-fp32-b1-s128-inference (B)" in text


def test_commands_to_go_on_with_are_understood() -> None:
    asked = {"metrics": ("p99",), "threshold": 0.1, "run": RUN}
    worse = a_judgement(facts=IMAGES, before=EARLIER)
    facts = IMAGES | {"batch_size": 8}
    undecided = a_judgement("inconclusive", reason=OPEN.explanation, facts=facts)
    command = "orchestrator run m.yaml --quiet"
    answer = an_answer(worse, undecided, command=command, **asked)
    cell = answer.judgements.judgements[0].cell_id
    assert regression_commands(answer) == (
        f"regress --baseline last {RUN} --metric p99 --threshold 0.1 --bisect",
        f"run m.yaml --compare-to {BASE} --interleave",
        "run m.yaml --set measure.rounds=8",
        f"regress --accept {RUN} --because TEXT --select {cell}",
    )
    for line in regression_commands(answer):
        parse(line.split())
    assert regression_commands(an_answer(SAME)) == ()
    elsewhere = regression_commands(replace(answer, of_one_database=False))
    assert not re.search("--bisect|--interleave", " ".join(elsewhere))


@pytest.mark.parametrize(
    ("facts", "before", "offered"),
    [
        (IMAGES, EARLIER, {"--bisect", "--interleave"}),
        (IMAGES, {}, {"--interleave"}),
        (IMAGES, {"model_id": "other", **EARLIER}, {"--interleave"}),
        ({"git_commit": "b" * 40}, {"git_commit": "a" * 40}, {"--bisect"}),
        ({}, {}, set()),
    ],
    ids=["images", "one image", "two series", "processes of two commits", "nothing known"],
)
def test_only_what_would_not_be_refused_is_proposed(
    facts: dict[str, str], before: dict[str, str], offered: set[str]
) -> None:
    judged = a_judgement(facts=facts, before=before)
    lines = regression_commands(an_answer(judged, command="orchestrator run m.yaml"))
    words = {word for line in lines for word in line.split()}
    assert words & {"--bisect", "--interleave"} == offered


def test_a_run_that_was_measured_side_by_side_is_not_sent_to_measure_again() -> None:
    command = f"orchestrator bench --model bert-tiny --compare-to {BASE} --interleave"
    words = regression_commands(an_answer(OPEN, command=command))
    assert not any(line.startswith("bench") for line in words)


def test_markdown_has_a_table_with_sparklines_and_folds_the_rest() -> None:
    judged = a_judgement(history=(4.0, 4.0, 4.5), step=0.12, changes=("torch 1, now 2",))
    text = regression_markdown(an_answer(judged, SAME, a_refusal(HOSTILE))).decode()
    shown, *folded = text.split("<details>")
    assert re.search(r"^\| regression \| .*\| ▁▁█ \|$", shown, re.M)
    assert [part.partition("</summary>")[0].partition(">")[2] for part in folded] == [
        "1 without a change in median latency",
        "What differs beside",
        "Steps in the history",
        "Not comparable",
        "How far it can be trusted",
        "What to do next",
    ]
    assert "\x1b" not in text
    assert re.search(r"(?<!\\)<b>", text) is None


def test_junit_has_a_case_for_each_cell_and_metric() -> None:
    judged = [a_judgement(), SAME, OPEN, a_refusal(HOSTILE)]
    answer = an_answer(*judged, a_judgement("no change", 0, metric="memory"))
    root = ElementTree.fromstring(regression_junit(answer))
    counts = {name: root.get(name) for name in ("tests", "failures", "skipped", "errors")}
    assert counts == {"tests": "5", "failures": "1", "skipped": "2", "errors": "0"}
    assert [suite.get("tests") for suite in root] == ["4", "1"]
    cases = {(case.get("classname"), case.get("name")): case for case in root.iter("testcase")}
    assert len(cases) == 5
    failed = cases["accelmatrix.latency", judged[0].cell_id]
    (failure,) = failed.findall("failure")
    assert failure.get("message") == "+12 % (9.4 to 15 %)"
    assert "4 ms then, 4.48 ms now" in (failure.text or "")
    numbers = {one.get("name"): one.get("value") for one in failed.iter("property")}
    assert float(numbers["ratio"] or 0) == pytest.approx(1.12)
    (skipped,) = cases["accelmatrix.latency", OPEN.cell_id].findall("skipped")
    assert skipped.get("message") == "inconclusive: 8 launches a side would decide"
    (skipped,) = cases["accelmatrix.latency", judged[3].cell_id].findall("skipped")
    assert r"\u001b[31m\u0000\ud800\ufffe<b>&" in (skipped.get("message") or "")


def test_json_has_numbers_that_json_can_hold() -> None:
    endless = a_judgement(history=(4.0, 4.4), step=0.1)
    document = regression_document(an_answer(endless, SAME, a_refusal("new"), require_grade="B"))
    assert (document["exit_code"], document["threshold"]) == (7, 0.05)
    first, _, last = sorted(document["judgements"], key=lambda one: one["verdict"] == "no change")
    assert (first["value"], first["baseline_value"]) == pytest.approx((4.48, 4.0))
    assert first["geometric_mean"] / first["baseline_geometric_mean"] == pytest.approx(1.12)
    assert first["ratio_low"] < first["ratio"] < first["ratio_high"]
    assert first["steps"][0]["run_id"] == "run-1"
    assert last["changes"] is None


@pytest.mark.parametrize(
    ("rounds", "doubts", "words"),
    [
        (10, [SPENT], "10 of 24 rounds before the budget of 1h40m was spent"),
        (24, None, "24 rounds, the most that are measured, tell too little"),
        (12, None, None),
        (0, [SPENT], None),
    ],
    ids=["the budget ended it", "all are taken", "more are to come", "measured apart"],
)
def test_rounds_that_decide_nothing_say_what_ended_them(
    rounds: int, doubts: list[dict[str, Any]] | None, words: str | None
) -> None:
    judged = a_judgement("inconclusive", source="pairs", reason=APART, facts={"doubts": doubts})
    assert judged.case is not None
    pair = PairedRatio((0.03,) * rounds, (6, 12, 24)) if rounds else None
    of_rounds = replace(judged, case=replace(judged.case, pair=pair))
    lines = list(round_lines(an_answer(of_rounds, SAME)))
    assert lines == ([f"Left open: {judged.cell_id}: {words}."] if words else [])
    found = regression_document(an_answer(of_rounds))["judgements"][0]
    assert found["side_by_side"] is (rounds > 0)
