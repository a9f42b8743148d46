"""A result is found, consented to and measured again; both stand side by side."""

import json
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import duckdb
import pytest

from orchestrator.backends.catalogue import LauncherName
from orchestrator.commands.measure.replay import Replay, print_replay, replay_in
from orchestrator.launchers.registry import Pinned
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.replay import (
    Original,
    ReplayRequest,
    begin_replay,
    describe_choices,
    find_original,
    is_own,
    require_consent,
)
from orchestrator.store.query.results import Measurement
from orchestrator.store.store import Store
from runner.contract.errors import UsageError
from runner.contract.job import PROFILES, Job, Limits, Provenance
from runner.contract.web import BROWSER_VARIABLE, BrowserChoice
from tests.orchestrator.conftest import Screen
from tests.support.databases import write_records
from tests.support.jobs import a_job, fake_cell
from tests.support.records import a_record, record_for, said
from tests.support.results import a_measurement
from tests.support.runs import a_plan, a_run_folder


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


@pytest.fixture
def job(results: Path) -> Job:
    """The job of one cell that a run in the results folder planned."""
    folder = a_run_folder(results, a_plan(), "run-1")
    provenance = Provenance(launcher="docker", orchestrator_version="0")
    whole = folder.run.job(folder.cells[:1], provenance)
    return whole.model_copy(update={"limits": Limits(), "measure": PROFILES["quick"]})


def _with(job: Job, **changes: Any) -> Job:
    model = changes.pop("model", {})
    return job.model_copy(update={**changes, "model": job.model.model_copy(update=model)})


def test_a_result_is_own_if_a_run_here_planned_it_with_all_it_says(results: Path) -> None:
    folder = a_run_folder(results, a_plan(), "run-1")
    launcher = folder.run.launcher
    own = folder.run.job(folder.cells[:1], Provenance(launcher=launcher, orchestrator_version="0"))
    assert is_own(own, launcher, results)
    for other in (
        _with(own, run_id="run-2"),
        _with(own, seed=own.seed + 1),
        _with(own, weights_seed=own.weights_seed + 1),
        _with(own, limits=Limits(pids=10**6)),
        _with(own, browser=BrowserChoice(name="/tmp/evil")),
        _with(own, model={"weights": "pretrained", "path": "/etc"}),
    ):
        assert not is_own(other, launcher, results)


UNUSUAL: dict[str, tuple[dict[str, Any], str]] = {
    "folder": (
        {"model": {"weights": "pretrained", "path": "/home/me"}},
        "pretrained weights from /home/me",
    ),
    "pids": ({"limits": Limits(pids=10**6)}, r"limit pids 1000000 \(by default 4096\)"),
    "time": ({"limits": Limits(cell_timeout_s=1e9)}, "limit cell_timeout_s"),
    "duration": (
        {"measure": PROFILES["audit"].model_copy(update={"max_s": 1e9})},
        r"max_s 1e\+09 \(up to 3600\)",
    ),
    "rounds": ({"measure": PROFILES["quick"].model_copy(update={"rounds": 999})}, "rounds 999"),
    "variable": ({"inherit_environ": ("LD_PRELOAD",)}, "variable LD_PRELOAD of this shell"),
    "browser": ({"browser": BrowserChoice(name="/tmp/evil")}, "browser /tmp/evil"),
    "workers": ({"cells": (fake_cell(mode="startup", workers=999),)}, "workers 999"),
}


@pytest.mark.parametrize("case", UNUSUAL)
def test_what_run_would_not_choose_needs_an_option(job: Job, case: str) -> None:
    changes, words = UNUSUAL[case]
    unusual = _with(job, **changes)
    with pytest.raises(UsageError, match=words) as caught:
        require_consent(unusual, "docker", requested=None, as_recorded=False)
    assert "--as-recorded" in (caught.value.hint or "")
    require_consent(unusual, "docker", requested=None, as_recorded=True)


def test_a_process_is_started_only_if_the_user_names_it(job: Job) -> None:
    require_consent(job, "docker", requested=None, as_recorded=False)
    with pytest.raises(UsageError, match="outside any container") as caught:
        require_consent(job, "process", requested=None, as_recorded=True)
    assert "--launcher process" in (caught.value.hint or "")
    for requested in ("process", "docker"):
        require_consent(job, "process", requested=requested, as_recorded=False)


def test_a_records_text_makes_no_line_of_its_own(job: Job) -> None:
    image = "x\x1b[2J\nlimits as usual"
    strange = _with(job, provenance=job.provenance.model_copy(update={"image": image}))
    lines = describe_choices(strange, "docker")
    assert len(lines) == len(describe_choices(job, "docker"))
    assert all(line.isprintable() for line in lines)


DIGEST = f"sha256:{'0' * 64}"
IN_AN_IMAGE = Provenance(
    launcher="docker", image="accelmatrix-cpu:1", image_digest=DIGEST, orchestrator_version="0"
)
Site = Callable[..., RunFolder]


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
            job = folder.run.job(folder.cells, IN_AN_IMAGE, round_=2)
            folder.save(record_for(job, cell).model_copy(update=outcome))
        merge_run(folder, database)
        return folder

    return make


def test_a_result_is_found_with_its_job(measured: Site, database: Path) -> None:
    cell = measured().cells[1]
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
    with Store.open_readonly(database):
        for cell, (_, words, hint) in zip(folder.cells, cases, strict=True):
            with pytest.raises(UsageError, match=words) as caught:
                find_original(f"run-1/{cell.id}", database)
            assert hint in {None, caught.value.hint}


def test_a_job_that_is_not_the_results_own_is_refused(measured: Site, database: Path) -> None:
    forgeries: tuple[Callable[[Any], dict[str, object]], ...] = (
        lambda _: {"cells": [fake_cell(99).model_dump(mode="json")]},
        lambda _: {"run_id": "run-9"},
        lambda _: {"purpose": "prepare"},
        lambda cell: {"cells": [cell | {"model": "../../x"}]},
    )
    folder = measured("run-1", *({} for _ in forgeries))
    with duckdb.connect(database) as connection:
        for cell, forge in zip(folder.cells, forgeries, strict=True):
            own = folder.run.job([cell], IN_AN_IMAGE).model_dump(mode="json", exclude={"model"})
            job = json.dumps(own | forge(cell.model_dump(mode="json")))
            change = "UPDATE replay_jobs SET job = ? WHERE result_id = ?"
            connection.execute(change, [job, f"run-1/{cell.id}"])
    with Store.open_readonly(database):
        for cell in folder.cells:
            with pytest.raises(UsageError):
                find_original(f"run-1/{cell.id}", database)


def test_the_new_run_asks_for_the_same(measured: Site, results: Path, database: Path) -> None:
    before = measured()
    original = find_original(f"run-1/{before.cells[1].id}", database)
    folder = begin_replay(original, ReplayRequest("", results, command="orchestrator replay …"))
    job = folder.run.job(folder.cells, original.job.provenance)
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
    again = folder.run.job(folder.cells, job.provenance)
    assert again.browser == (edge if repeats else None)
    assert Job.model_validate_json(again.model_dump_json()) == again


def offline(median: float, batch_size: int) -> Measurement:
    ends = {"latency_median_low_ms": median * 0.99, "latency_median_high_ms": median * 1.01}
    facts = {"scenario": "offline", "batch_size": batch_size, "latency_median_ms": median}
    return a_measurement(**facts, **ends)


def peak(low: float, high: float, **facts: Any) -> Measurement:
    return a_measurement(scenario="server", peak_qps=low, peak_qps_high=high, **facts)


@pytest.mark.parametrize(
    ("then", "now", "ratio"),
    [(offline(10, 32), offline(30, 64), 1.5), (peak(100, 104), peak(50, 52), 2)],
)
def test_what_a_search_found_is_compared_by_the_time_of_an_item(
    then: Measurement, now: Measurement, ratio: float
) -> None:
    replay = Replay(then, now)
    assert replay.ratio == pytest.approx(ratio)
    assert replay.outcome.kind == "worse"


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


THEN = a_measurement(latency_p90_ms=0.9, memory_mb=300.0)
DIFFERS = "They differ by more than fresh processes do"


def shown(screen: Screen, then: Measurement = THEN, **now: Any) -> list[str]:
    again = a_measurement(**{"result_id": "run-2/cell-1", "memory_mb": 330.0} | now)
    return [" ".join(words) for words in screen.words(print_replay, Replay(then, again))]


def test_both_stand_side_by_side(screen: Screen) -> None:
    lines = shown(screen, latency_median_ms=1.62, latency_p90_ms=None)
    assert {
        *("then: run-1/cell-1", "now: run-2/cell-1", "metric then now ratio"),
        *("median ms 0.81 1.62 2", "p90 ms 0.9 – –", "peak MB 300 330 1.1"),
        *("correct yes yes", "launcher docker docker", f"commit {'c' * 19} {'c' * 19}"),
        f"image sha256:{'a' * 12} sha256:{'a' * 12}",
    } <= {*lines}
    assert not any(line.startswith(("p99", "tokens/s", "energy")) for line in lines)


@pytest.mark.parametrize(
    ("median", "low", "high", "sentence"),
    [
        (0.85, 0.82, 0.88, "Whether the two medians differ is undecided (one process)."),
        (0.81, 0.80, 0.82, "The two medians are equal within 5 %."),
        (0.88, 0.84, 0.93, f"{DIFFERS}: now it takes 8.6 % more time, 1.04 to 1.15 times as much."),
    ],
)
def test_one_sentence_tells_whether_the_medians_differ(
    screen: Screen, median: float, low: float, high: float, sentence: str
) -> None:
    ends: dict[str, Any] = {"latency_median_low_ms": low, "latency_median_high_ms": high}
    assert sentence in shown(screen, latency_median_ms=median, **ends)


OFFLINE: dict[str, Any] = {"scenario": "offline", "batch_size": 32}
PEAK: dict[str, Any] = {"scenario": "server", "peak_qps": 100.0, "peak_qps_high": 104.0}


@pytest.mark.parametrize(
    ("then", "now", "sentence"),
    [
        (
            OFFLINE,
            {**OFFLINE, "batch_size": 64},
            "now a sample takes 50.0 % less time, 0.49 to 0.51 times as much.",
        ),
        (
            PEAK,
            {**PEAK, "peak_qps": 50.0, "peak_qps_high": 52.0},
            "now the peak is 50.0 % lower, 0.48 to 0.52 times as high.",
        ),
        (PEAK, {**PEAK, "peak_qps": None}, "There are no two peaks with brackets to compare."),
    ],
)
def test_what_a_search_found_has_a_sentence_of_its_own(
    screen: Screen, then: dict[str, Any], now: dict[str, Any], sentence: str
) -> None:
    lines = shown(screen, a_measurement(**then), **now)
    assert any(sentence in line for line in lines)
    batches = {then.get("batch_size"), now.get("batch_size")}
    assert ("note: offline found another batch: 32, now 64" in lines) is (len(batches) > 1)


def test_a_difference_that_the_grade_cannot_show_is_undecided(screen: Screen) -> None:
    ends: dict[str, Any] = {"latency_median_low_ms": 0.9, "latency_median_high_ms": 0.92}
    open_ = "Whether the two medians differ is undecided (within the 20 % of grade C)."
    assert open_ in shown(screen, grade="C", latency_median_ms=0.91, **ends)
    assert any(DIFFERS in line for line in shown(screen, grade="B", latency_median_ms=0.91, **ends))
