"""A result is found by its id and becomes a run of its own with the same cell."""

import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import duckdb
import pytest

from orchestrator.backends.catalogue import LauncherName
from orchestrator.commands.measure.replay import Replay, replay_in
from orchestrator.launchers.registry import Pinned
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.replay import Original, ReplayRequest, begin_replay, find_original
from orchestrator.store.query.results import Measurement
from orchestrator.store.store import Store
from runner.contract.errors import UsageError
from runner.contract.job import Job, Provenance
from runner.contract.web import BROWSER_VARIABLE, BrowserChoice
from tests.support.databases import write_records
from tests.support.jobs import a_job, fake_cell
from tests.support.records import a_record, record_for, said
from tests.support.results import a_measurement
from tests.support.runs import a_plan, a_run_folder

DIGEST = f"sha256:{'0' * 64}"
IN_AN_IMAGE = Provenance(
    launcher="docker", image="accelmatrix-cpu:1", image_digest=DIGEST, orchestrator_version="0"
)
Site = Callable[..., RunFolder]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def database(results: Path) -> Path:
    return results / "benchmarks.duckdb"


@pytest.fixture
def measured(results: Path, database: Path) -> Site:
    """Makes a merged run whose cells each ended in one of these ways."""

    def make(run_id: str = "run-1", *outcomes: dict[str, object]) -> RunFolder:
        ways = outcomes or ({},)
        cells = [fake_cell(2**power) for power in range(max(3, len(ways)))]
        folder = a_run_folder(results, a_plan(cells, rounds=2), run_id)
        for cell, outcome in zip(folder.cells, cycle(ways), strict=False):
            job = folder.job(folder.cells, IN_AN_IMAGE, round_=2)
            record = record_for(job, cell)
            folder.save(record.model_copy(update=outcome))
        merge_run(folder, database)
        return folder

    return make


def test_a_result_is_found_with_its_job(measured: Site, database: Path) -> None:
    folder = measured()
    cell = folder.cells[1]
    original = find_original(f"run-1/{cell.id}", database)
    assert original.measured.result_id == f"run-1/{cell.id}"
    assert (original.cell, original.job.cells) == (cell, (cell,))
    assert (original.job.round, original.job.measure.rounds) == (1, 2)
    assert (original.launcher, original.scratch) == ("docker", True)
    assert original.pinned == Pinned("fake", "accelmatrix-cpu:1", DIGEST)


NEVER_LAUNCHED = {"status": "unavailable", "phase": "plan", **said("reason", "no such device")}


def test_what_cannot_be_repeated_is_told(measured: Site, database: Path) -> None:
    cases: tuple[tuple[dict[str, object], str, str | None], ...] = (
        (NEVER_LAUNCHED, r"nothing was launched .*no such device", None),
        ({"job": None}, "holds no job that can be run again", None),
        ({"job": "{"}, "holds no job that can be run again", None),
        ({"job": "[" * 100_000}, "holds no job that can be run again", None),
        ({"job": '{"id": 3}'}, "holds no job that can be run again: .*: Field required", None),
        ({"launcher": "ray"}, "launched by 'ray'", "it knows docker, process"),
    )
    folder = measured("run-1", *(outcome for outcome, _, _ in cases))
    for cell, (_, words, hint) in zip(folder.cells, cases, strict=True):
        with pytest.raises(UsageError, match=words) as caught:
            find_original(f"run-1/{cell.id}", database)
        assert hint in {None, caught.value.hint}


def test_a_job_that_is_not_the_results_own_is_refused(measured: Site, database: Path) -> None:
    folder = measured()
    first, second = folder.cells[:2]
    own = json.loads(folder.job([first], IN_AN_IMAGE).model_dump_json(exclude={"model"}))
    for forged in (
        {"cells": [second.model_dump(mode="json")]},
        {"run_id": "run-9"},
        {"purpose": "prepare"},
        {"cells": [first.model_dump(mode="json") | {"model": "../../x"}]},
    ):
        with duckdb.connect(database) as connection:
            connection.execute("UPDATE replay_jobs SET job = ?", [json.dumps(own | forged)])
        with pytest.raises(UsageError):
            find_original(f"run-1/{first.id}", database)


def test_the_new_run_asks_for_the_same(measured: Site, results: Path, database: Path) -> None:
    before = measured()
    original = find_original(f"run-1/{before.cells[1].id}", database)
    folder = begin_replay(original, ReplayRequest("", results, command="orchestrator replay …"))
    job = folder.job(folder.cells, original.job.provenance)
    assert job.model_copy(update={"run_id": "run-1"}) == original.job
    assert (folder.run.launcher, folder.run.options.scratch) == ("docker", True)
    assert folder.run.command == "orchestrator replay …"
    assert folder.run.plan.notes == (f"replays run-1/{before.cells[1].id}",)


@pytest.mark.parametrize(("launcher", "repeats"), [("process", True), ("docker", False)])
def test_the_browser_is_chosen_again_where_no_image_has_one(
    launcher: LauncherName, repeats: bool, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(BROWSER_VARIABLE, "chrome")
    edge = BrowserChoice(name="edge", headed=True)
    cell = fake_cell(backend="wasm", runtime="onnxruntime_web")
    job = a_job([cell]).model_copy(update={"browser": edge})
    folder = begin_replay(
        Original(a_measurement(), job, launcher, scratch=True), ReplayRequest("", results)
    )
    again = folder.job(folder.cells, job.provenance)
    assert again.browser == (edge if repeats else None)
    assert Job.model_validate_json(again.model_dump_json()) == again


def offline(median: float, batch_size: int) -> Measurement:
    ends = {"latency_median_low_ms": median * 0.99, "latency_median_high_ms": median * 1.01}
    facts = {"scenario": "offline", "batch_size": batch_size, "latency_median_ms": median}
    return a_measurement(**facts, **ends)


def peak(low: float, high: float, **facts: Any) -> Measurement:
    return a_measurement(scenario="server", peak_qps=low, peak_qps_high=high, **facts)


@pytest.mark.parametrize(
    ("then", "now", "ratio", "differs"),
    [(offline(10, 32), offline(30, 64), 1.5, True), (peak(100, 104), peak(50, 52), 2, True)],
)
def test_what_a_search_found_is_compared_by_the_time_of_an_item(
    then: Measurement, now: Measurement, ratio: float, differs: bool
) -> None:
    replay = Replay(then, now)
    assert replay.ratio == pytest.approx(ratio)
    assert (replay.shows_difference, replay.intervals_overlap) == (differs, not differs)


def test_what_else_differs_is_named_once(tmp_path: Path) -> None:
    libraries = {"torch": "2.13.0", "transformers": "5.0.0", "nvidia-driver": "570"}
    others = {"hostname": "there", "kernel": "6.13.0", "libraries": libraries, "threads": 1}
    runs = [a_record(run_id="run-1"), a_record(run_id="run-2", **others)]
    database = write_records(tmp_path, runs)
    before, after = (f"{one.run_id}/{one.cell_id}" for one in runs)
    with Store.open_readonly(database) as store:
        then = store.measurement(before)
    assert then is not None
    replay = replay_in(database, then, after)
    assert replay is not None
    assert replay.differences == [
        "host example-host, now there",
        "kernel 6.12.0, now 6.13.0",
        "threads 2, now 1",
        "nvidia-driver missing, now 570",
    ]
    same = replay_in(database, then, before)
    assert same is not None
    assert same.differences == []
    assert replay_in(database, then, "run-3/nothing") is None
