import json

import pytest

from orchestrator.render.plan import plan_data, print_plan
from tests.support.jobs import fake_cell
from tests.support.runs import a_plan

Capture = pytest.CaptureFixture[str]
SKIPPED = fake_cell(64)
PLAN = a_plan(skips={SKIPPED: "the model ends at 32"}).model_copy(
    update={"notes": ("--limit 3 leaves out 2 of 5 cells",)}
)


def test_a_plan_shows_every_cell_with_its_decision_then_the_sums(capsys: Capture) -> None:
    print_plan(PLAN, as_json=False)
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines[0].split() == ["cell", "decision", "estimate", "reason"]
    assert lines[1].split() == [fake_cell(1).id, "run", "1s"]
    assert lines[4].split(maxsplit=3) == [SKIPPED.id, "skip", "–", "the model ends at 32"]
    assert "note: --limit 3 leaves out 2 of 5 cells" in lines
    assert lines[-1].startswith("3 to run in 1 job, 1 to skip, 0 done; about ")


def test_a_plan_in_rounds_tells_how_often_jobs_are_launched(capsys: Capture) -> None:
    measure = {name: value.model_copy(update={"rounds": 3}) for name, value in PLAN.measure.items()}
    print_plan(PLAN.model_copy(update={"measure": measure}), as_json=False)
    assert "3 to run in 1 job (3 launches), 1 to skip" in capsys.readouterr().out


def test_a_plan_as_json_has_every_axis_of_a_cell(capsys: Capture) -> None:
    print_plan(PLAN, as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert data == plan_data(PLAN)
    assert data["notes"] == ["--limit 3 leaves out 2 of 5 cells"]
    last = data["cells"][-1]
    assert (last["cell_id"], last["decision"], last["status"]) == (
        SKIPPED.id,
        "skip",
        "unsupported",
    )
    assert (last["batch_size"], last["model"], last["backend"]) == (64, "scripted", "fake")


def test_a_plan_as_json_names_the_graphs_that_are_exported_first(capsys: Capture) -> None:
    print_plan(PLAN, as_json=True, exports=[("scripted", "forward", "fp32")])
    (graph,) = json.loads(capsys.readouterr().out)["exports"]
    assert graph.pop("estimate_s") > 0
    assert graph == {"model": "scripted", "content": "forward", "numbers": "fp32"}
    assert plan_data(PLAN)["exports"] == []


def test_a_plan_counts_the_graphs_that_are_exported_first(capsys: Capture) -> None:
    print_plan(PLAN, as_json=False)
    before = capsys.readouterr().out.splitlines()[-1]
    print_plan(PLAN, as_json=False, exports=[("scripted", "forward", "fp32")])
    *_, told, sums = capsys.readouterr().out.splitlines()
    assert told.startswith("note: 1 graph is exported first, in about ")
    assert sums != before
