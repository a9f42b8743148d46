"""A plan for people, for programs and for pipelines; what it knows of the machine and the past."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from orchestrator.backends.machine import Machine, host_facts
from orchestrator.commands.measure import plan as planning
from orchestrator.commands.measure import request
from orchestrator.commands.measure.plan import (
    PlannedExport,
    PlanningNotes,
    PlanReport,
    past_speeds,
    plan_jobs,
    plan_run,
    print_plan,
    report_plan,
)
from orchestrator.commands.measure.request import PlanRequest, available_backends
from orchestrator.commands.measure.run import describe_repeat
from orchestrator.commands.options.axes import BenchOptions
from orchestrator.launchers import diagnosis
from orchestrator.running.options import LauncherChoice, RunOptions
from orchestrator.screen.words.records import record_words
from orchestrator.store.store import Store
from runner.contract.axes import AxisName, Backend
from runner.contract.cell import Purpose
from runner.contract.errors import UsageError
from runner.contract.models import find
from runner.contract.reasons import Reason, reason
from runner.contract.record.files import save_record
from runner.contract.record.ids import model_id
from runner.contract.record.record import Record
from tests.orchestrator.conftest import Screen
from tests.support.command_line import complains, files
from tests.support.jobs import fake_cell
from tests.support.records import EXAMPLE_HOST, a_record, cell_of
from tests.support.runs import a_plan
from tests.support.workplace import Workplace

SIMULATED = {"qnn": "the simulator's time says nothing about a device"}
_REASONS: dict[Backend, Reason] = {
    backend: reason("said", text=text)  # type: ignore[misc]
    for backend, text in SIMULATED.items()
}


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A machine with a CPU and a simulator; the launchers that were asked for."""
    asked: list[str] = []

    def runnable(launcher: str) -> list[str]:
        asked.append(launcher)
        return ["cpu", "qnn"]

    def machine(purpose: Purpose) -> Machine:
        return Machine(unavailable={} if purpose == "verify" else _REASONS)

    monkeypatch.setattr(diagnosis, "runnable", runnable)
    monkeypatch.setattr(request, "this_machine", machine)
    return asked


def test_a_simulator_is_left_out_of_what_is_timed(machine: list[str]) -> None:
    timed = available_backends("process", "measure")
    assert (timed.launcher, timed.backends, timed.left_out) == ("process", ["cpu"], SIMULATED)
    assert available_backends("process", "verify").backends == ["cpu", "qnn"]
    assert machine == ["process", "process"]


def test_a_request_asks_the_machine_once_and_only_for_the_word(machine: list[str]) -> None:
    options = RunOptions(launcher="process")

    def backends(*named: str) -> object:
        axes = {"model": ["bert-tiny"], "backend": named}
        request = PlanRequest(BenchOptions.of_axes(axes), options=options)
        return request.parsed.axes["backend"]

    assert backends("cuda") == ("cuda",)
    assert machine == []
    assert backends("available") == ("cpu",)
    assert machine == ["process"]


@pytest.mark.parametrize("launcher", ["process", "docker"])
def test_what_a_browser_lacks_is_known_before_anything_is_launched(
    launcher: LauncherChoice, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runner.contract.web.RUNTIME_FOLDER", tmp_path / "none")
    axes: dict[AxisName, Sequence[str]] = {"model": ["bert-micro"], "backend": ["cpu", "wasm"]}
    options = RunOptions(launcher=launcher)
    plan, _ = plan_run(PlanRequest(BenchOptions.of_axes(axes), results=tmp_path, options=options))
    reasons = {entry.cell.backend: entry.reason for entry in plan.entries}
    assert reasons["cpu"] is None
    assert (reasons["wasm"] == reason("onnx_web_missing")) is (launcher == "process")


def test_a_plan_too_large_for_one_run_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text("version: 1\naxes: {model: bert-tiny, batch_size: [1, 2, 3]}\n")
    monkeypatch.setattr(planning, "MOST_RUN_CELLS", 2)
    with pytest.raises(UsageError, match="3 cells are more than the 2 that one run may") as caught:
        plan_run(PlanRequest(matrix, results=tmp_path))
    assert "--limit" in str(caught.value.hint)
    plan, source = plan_run(PlanRequest(matrix, results=tmp_path, limit=2))
    assert (len(plan.entries), source.matrix) == (2, matrix.read_text())


TWO_RUNTIMES: dict[AxisName, Sequence[str]] = {
    "model": ["bert-tiny"],
    "backend": ["cpu"],
    "runtime": ["torch", "onnxruntime"],
}


@pytest.mark.parametrize(
    ("options", "prepares", "grouped", "groups"),
    [
        ({}, False, True, 1),
        ({"no_verify": True}, False, True, 1),
        ({"verify_only": True}, False, True, 0),
        ({}, True, True, 0),
        ({}, False, False, 0),
    ],
    ids=["run", "time", "verify", "prepare", "others decide"],
)
def test_only_what_is_timed_is_measured_side_by_side(
    options: dict[str, bool], prepares: bool, grouped: bool, groups: int, tmp_path: Path
) -> None:
    wanted = PlanRequest(
        BenchOptions.of_axes(TWO_RUNTIMES, profile="quick"),
        results=tmp_path,
        options=RunOptions(launcher="process", **options),
        prepares=prepares,
    )
    plan, _ = plan_run(wanted, grouped=grouped)
    assert len(plan.groups) == groups
    assert sum("side by side" in note for note in plan.notes) == groups


def test_a_plan_names_what_is_measured_side_by_side(
    screen: Screen, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    axes = {**TWO_RUNTIMES, "runtime": ["torch", "onnxruntime", "torch_compile"]}
    matrix = BenchOptions.of_axes(axes, profile="standard")
    options = RunOptions(launcher="process")
    report = report_plan(PlanRequest(matrix, results=tmp_path, options=options))
    jobs = ["cpu-bert-tiny-fp32-inference", "cpu-onnxruntime-bert-tiny-fp32-inference"]
    lines = screen.lines(print_plan, report)
    notes = [
        f"2 jobs are measured side by side in 3 to 12 rounds: {', '.join(jobs)}",
        "1 job is measured alone, since torch_compile compiles anew at each launch:"
        " cpu-torch_compile-bert-tiny-fp32-inference",
    ]
    assert [line for line in lines if "measured side" in line or "alone, since" in line] == [
        f"note: {note}" for note in notes
    ]
    assert lines[-1].startswith("3 to run in 3 jobs (at least 9 launches), ")
    print_plan(report, as_json=True)
    text = capsys.readouterr().out
    data = json.loads(text)
    known = {"rounds": 3, "max_rounds": 12, "together": True, "versions": 1}
    assert data["groups"] == [{"group": "g1", "job_id": job, **known} for job in jobs]
    assert data["notes"][-2:] == notes
    assert text == json.dumps(data, indent=2) + "\n"


def remember(database: Path, **facts: object) -> str:
    """Merge a record that this host made; returns its cell's id."""
    record = a_record(batch_size=1, **host_facts(), **facts)
    elsewhere = a_record(batch_size=2, hostname="another-host")
    with Store.open(database) as store:
        store.merge(
            [save_record(made, database.parent) for made in (record, elsewhere)], words=record_words
        )
    return record.cell_id


def test_speeds_are_remembered_on_the_same_host(tmp_path: Path) -> None:
    database = tmp_path / "benchmarks.duckdb"
    assert past_speeds(database) == {}
    cell_id = remember(database)
    assert list(past_speeds(database)) == [cell_id]
    assert past_speeds(database)[cell_id].iteration_s > 0


def test_an_unreadable_database_remembers_nothing(tmp_path: Path) -> None:
    database = tmp_path / "benchmarks.duckdb"
    database.write_bytes(b"no database at all" * 500)
    assert past_speeds(database) == {}


def test_a_pipeline_gets_the_minutes_of_the_profile_that_is_asked_for(tmp_path: Path) -> None:
    remember(tmp_path / "benchmarks.duckdb", profile="quick", iterations=10, steady_time_s=1)

    def minutes(profile: str) -> int:
        options = BenchOptions.of_axes({"model": ["bert-tiny"]}, profile=profile)
        (job,) = plan_jobs(PlanRequest(options, results=tmp_path))
        return job.estimate_minutes

    assert minutes("quick") == 1
    assert minutes("audit") >= 10


def test_a_plan_is_the_same_in_every_format_and_writes_nothing(place: Workplace) -> None:
    before = files(place.folder)
    cells = json.loads(place.do("plan", "matrix.yaml", "--format", "json").stdout)["cells"]
    table = place.do("plan", "matrix.yaml").stdout.splitlines()
    assert len(cells) == 3
    assert [cell["cell_id"] for cell in cells] == [line.split()[0] for line in table[1:4]]
    done = place.do("plan", "matrix.yaml", "--format", "github")
    assert done.stdout.count("\n") == 1
    (entry,) = json.loads(done.stdout)["include"]
    assert (entry["cells"], entry["runs-on"][0]) == (3, "self-hosted")
    assert files(place.folder) == before


def test_runners_of_ones_own_have_their_labels(place: Workplace) -> None:
    named = ("--runs-on", "fake=self-hosted,bench1", "--max-jobs", "1")
    (entry,) = json.loads(place.do("plan", "matrix.yaml", "--format=github", *named).stdout)[
        "include"
    ]
    assert entry["runs-on"] == ["self-hosted", "bench1"]
    assert "tags:" in place.do("plan", "matrix.yaml", "--format=gitlab", *named).stdout
    complains(place.do("plan", "matrix.yaml", *named), 2, "cannot be combined with --format table")


def test_what_this_machine_cannot_hold_is_foreseen_here_and_not_for_others(
    place: Workplace,
) -> None:
    axes = {"model": "gpt2", "batch_size": 1_000_000, "sequence_length": 1024}
    (place.folder / "large.json").write_text(json.dumps({"version": 1, "axes": axes}))
    (cell,) = json.loads(place.do("plan", "large.json", "--format=json").stdout)["cells"]
    assert (cell["decision"], cell["status"]) == ("skip", "out_of_memory")
    elsewhere = place.do("plan", "large.json", "--format=github").stdout
    assert [entry["cells"] for entry in json.loads(elsewhere)["include"]] == [1]


def test_a_plan_shows_what_a_run_has_done(measured: Workplace) -> None:
    done = measured.do("plan", "matrix.yaml", "--resume", "last", "--format", "json")
    cells = json.loads(done.stdout)["cells"]
    assert {cell["decision"] for cell in cells} == {"done"}
    assert sorted(cell["status"] for cell in cells) == ["failed", "ok", "ok"]


def test_schemas_are_json_and_take_no_other_option(place: Workplace) -> None:
    assert json.loads(place.do("plan", "--schema").stdout)["properties"]["axes"]
    assert json.loads(place.do("plan", "--hosts-schema").stdout)["properties"]["hosts"]
    for words in (["matrix.yaml", "--schema"], ["--hosts-schema", "--limit", "1"]):
        complains(place.do("plan", *words), 2, "cannot be combined with --")


SPEC = find("bert-tiny")


def measured(batch_size: int, ago: timedelta) -> Record:
    spec = SPEC.content
    facts = {"model_spec": spec, "model_id": model_id(spec), "launcher": "process"}
    return a_record(
        batch_size=batch_size, run_id="run-1", recorded_at=datetime.now(UTC) - ago, **facts
    )


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("batches", "ago", "note"),
    [
        ([1, 8], timedelta(minutes=12, seconds=5), "measured 12 minutes ago in run run-1;"),
        ([8], timedelta(days=1, hours=3), "1 of 2 cells measured 1 day ago in run run-1;"),
        ([4], timedelta(hours=2), None),
        ([], timedelta(), None),
    ],
)
def test_a_repetition_is_named_with_what_fills_gaps(
    tmp_path: Path, batches: list[int], ago: timedelta, note: str | None
) -> None:
    records = [measured(batch, ago) for batch in batches]
    database = tmp_path / "benchmarks.duckdb"
    with Store.open(database) as store:
        for record in records:
            save_record(record, tmp_path)
        store.merge([tmp_path], words=record_words)
    wanted = [measured(batch, ago) for batch in (1, 8)]
    cells = [cell_of(vars(record)) for record in wanted]
    plan = a_plan(cells, SPEC)
    described = describe_repeat(plan, "process", database, EXAMPLE_HOST)
    expected = note and (
        note and f"{note} `orchestrator run --resume run-1` fills its gaps, this measures all again"
    )
    assert described == expected
    assert describe_repeat(plan, "docker", database, EXAMPLE_HOST) is None
    assert describe_repeat(plan, "process", tmp_path / "none.duckdb", EXAMPLE_HOST) is None
    assert describe_repeat(plan, "process", database, None) is None


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
    assert EXPORTING.exporting_s == 100
    print_plan(EXPORTING, as_json=True)
    text = capsys.readouterr().out
    data = json.loads(text)
    assert data["exports"] == [
        {"model": "scripted", "content": "forward", "numbers": "fp32", "estimate_s": 100.0}
    ]
    assert text == json.dumps(data, indent=2) + "\n"
