"""A plan for people, for programs and for GitHub."""

import json
from dataclasses import replace

import pytest

from orchestrator.commands.measure.plan import PlannedExport, PlanningNotes, PlanReport, print_plan
from tests.orchestrator.conftest import Screen
from tests.support.jobs import fake_cell
from tests.support.runs import a_plan

SKIPPED = fake_cell(64)
PLAN = a_plan(skips={SKIPPED: "the model ends at 32"}).model_copy(
    update={"notes": ("--limit 3 leaves out 2 of 5 cells",)}
)
REPORT = PlanReport(PLAN, ())
EXPORTING = replace(REPORT, exports=(PlannedExport("scripted", "forward", "fp32", 100.0),))


def test_a_plan_shows_every_cell_with_its_decision_then_the_sums(screen: Screen) -> None:
    lines = screen.lines(print_plan, REPORT)
    assert lines[0].split() == ["cell", "decision", "estimate", "reason"]
    assert lines[1].split() == [fake_cell(1).id, "run", "1s"]
    assert lines[4].split() == [SKIPPED.id, "skip", "–", "[1]"]
    assert "[1] the model ends at 32" in lines
    assert "note: --limit 3 leaves out 2 of 5 cells" in lines
    assert lines[-1].startswith("3 to run in 1 job, 1 to skip, 0 done; about ")


def test_reasons_of_a_plan_stand_once(screen: Screen) -> None:
    plan = a_plan(skips=dict.fromkeys([fake_cell(8), fake_cell(16)], "the model ends at 4"))
    lines = screen.lines(print_plan, PlanReport(plan, ()))
    assert [line.split()[-1] for line in lines if " skip " in line] == ["[1]", "[1]"]
    assert [line for line in lines if "the model ends" in line] == ["[1] the model ends at 4"]


def test_a_long_planning_says_now_and_then_how_far_it_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    seconds = iter([0.0, 1.0, 6.0, 7.0, 12.0])
    notes = PlanningNotes(clock=lambda: next(seconds))
    for done in (0, 16_384, 32_768, 49_152):
        notes("made", done, 1_000_000)
    assert capsys.readouterr().err.splitlines() == [
        "planning: 16,384 of 1,000,000 cells made",
        "planning: 49,152 of 1,000,000 cells made",
    ]


def test_a_plan_names_and_counts_the_graphs_that_are_exported_first(
    screen: Screen, capsys: pytest.CaptureFixture[str]
) -> None:
    note = "note: 1 graph is exported first, in about 1m40s, and kept for later runs"
    assert note in screen.lines(print_plan, EXPORTING)
    assert EXPORTING.sums().total_s == REPORT.sums().total_s + 100
    print_plan(EXPORTING, as_json=True)
    text = capsys.readouterr().out
    data = json.loads(text)
    assert data["exports"] == [
        {"model": "scripted", "content": "forward", "numbers": "fp32", "estimate_s": 100.0}
    ]
    assert text == json.dumps(data, indent=2) + "\n"
