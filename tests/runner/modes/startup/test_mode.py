"""Cold starts are real processes here; they load the fake backend."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from runner.contract.cell import Cell
from runner.contract.errors import BenchError, Unsupported
from runner.contract.job import Limits, Measure
from runner.contract.record.measured import Startup
from runner.contract.rounds import RoundResult
from runner.measure.clock import monotonic
from runner.measure.statistics.percentiles import fewest
from runner.modes.startup.child import StartRequest
from runner.modes.startup.launch import ColdStart, launch_start
from runner.modes.startup.mode import (
    STARTUP_STAGES,
    measure_startup,
    start_at_once,
    start_once,
    startup_columns,
)
from tests.support.jobs import a_job, fake_cell, fake_model
from tests.support.rounds import a_round
from tests.support.scene import Scene

pytestmark = pytest.mark.serial

MEASURE = Measure(
    profile="quick",
    warmup_iterations=1,
    warmup_max_s=1,
    iterations=1,
    min_s=0,
    max_s=60,
    precision_target=1e9,
    workers=2,
)


def a_cell(**changes: Any) -> Cell:
    return fake_cell(mode="startup", **changes)


def a_request(faults: dict[str, str] | None = None, **config: Any) -> StartRequest:
    job = a_job([a_cell()], fake_model(faults, **config))
    return StartRequest(job=job, threads=1, query=True)


def measured(round_: int, rounds: int, limits: Limits | None = None) -> tuple[RoundResult, Scene]:
    cell, scene = a_cell(batch_size=2), Scene()
    measure = MEASURE.model_copy(update={"rounds": rounds})
    job = a_job([cell], fake_model(load_s=0.1), measure, limits)
    job = job.model_copy(update={"round": round_})
    earlier = [a_round()] * (round_ - 1)
    return measure_startup(job, cell, scene.instruments(earlier)), scene


@pytest.fixture(scope="module")
def part() -> RoundResult:
    return measured(1, rounds=1)[0]


@pytest.mark.slow
def test_a_start_is_repeated_until_its_median_has_an_interval(part: RoundResult) -> None:
    assert len(part.durations_ns) == fewest()
    assert part.samples == 2 * fewest()
    assert part.steady_ns == sum(part.durations_ns)
    assert (part.first_ns, part.settled, part.warmup_ns) == (None, None, [])


def test_a_duration_is_the_sum_of_its_stages(part: RoundResult) -> None:
    assert set(part.parts_ns) == {*STARTUP_STAGES, "runner"}
    starts = zip(*(part.parts_ns[stage] for stage in STARTUP_STAGES), strict=True)
    assert [sum(stages) for stages in starts] == part.durations_ns
    assert min(part.parts_ns["weights"]) >= 0.1e9
    assert all(value > 0 for values in part.parts_ns.values() for value in values)


def test_starts_at_once_are_compared_with_starts_in_turn(part: RoundResult) -> None:
    columns = part.columns
    assert columns["concurrent_workers"] == 2
    assert columns["concurrent_time_s"] > 0.1
    rate = columns["concurrent_models_per_second"]
    assert rate == pytest.approx(2 / columns["concurrent_time_s"])
    assert columns["concurrent_speedup"] > 0


def test_memory_is_the_started_processes(part: RoundResult) -> None:
    assert part.memory.peak_bytes is not None
    assert 10e6 < part.memory.peak_bytes < 1e9
    assert "started process" in part.columns["memory_method"]


def test_the_boundaries_are_stated(part: RoundResult) -> None:
    assert "page cache" in part.columns["timed_region"]
    assert "without the runner's own imports" in part.columns["timed_region"]


def test_all_but_the_last_round_leave_starts_at_once_alone() -> None:
    part, scene = measured(1, rounds=2)
    assert "concurrent_workers" not in part.columns
    assert len(part.durations_ns) == 1
    assert scene.phases == ["steady"]


def test_no_more_models_are_held_at_once_than_process_ids_allow() -> None:
    part, _ = measured(2, 2, Limits(pids=20))
    assert part.columns["concurrent_workers"] == 1


def test_no_more_models_are_held_at_once_than_memory_has_room_for() -> None:
    part, _ = measured(2, 2, Limits(memory_bytes=1 << 20))
    assert part.columns["concurrent_workers"] == 1
    assert part.doubts == [("B", "there is room for 1 of 2 models at once: lower measure.workers")]


def test_stages_become_columns() -> None:
    columns = startup_columns({stage: [10**9, 3 * 10**9] for stage in STARTUP_STAGES})
    assert set(columns) == {name for name in Startup.model_fields if name.startswith("startup_")}
    assert columns["startup_import_mean_s"] == pytest.approx(2)
    assert columns["startup_weights_stddev_s"] == pytest.approx(2**0.5)


def test_a_start_is_timed_by_one_clock_in_two_processes() -> None:
    before = monotonic()
    start = start_once(a_request(load_s=0.05))
    assert before < start.launched_at_ns < start.report.first_line_at_ns
    assert start.report.first_line_at_ns < start.report.loaded_at_ns < monotonic()
    assert start.to_loaded_ns >= start.stages_ns["interpreter"] + start.stages_ns["weights"]


def test_what_is_our_own_is_kept_apart() -> None:
    start = start_once(a_request())
    stages = start.stages_ns
    before_query = start.to_output_ns - stages["first_query"]
    assert start.runner_ns + before_query == start.to_loaded_ns


def test_starts_at_once_take_the_time_until_the_last_has_loaded() -> None:
    assert start_at_once(a_request(load_s=0.2), 2) >= 0.2e9


@pytest.mark.parametrize("where", ["load", "*-startup"])
def test_a_failure_is_told_in_its_own_words_with_the_trace(where: str) -> None:
    with pytest.raises(BenchError, match="RuntimeError: a scripted failure") as caught:
        start_once(a_request({where: "raise"}))
    assert "Traceback" in caught.value.__notes__[0]


def test_memory_that_ran_out_there_ran_out_here() -> None:
    with pytest.raises(MemoryError, match="a scripted shortage"):
        start_once(a_request({"load": "memory_error"}))


def test_outputs_must_be_finite() -> None:
    with pytest.raises(BenchError, match="NaN or infinity"):
        start_once(a_request(finite=False))


def test_what_the_runner_cannot_do_is_unsupported() -> None:
    job = a_job([a_cell(runtime="onnxruntime_web")])
    with pytest.raises(Unsupported, match="knows no runtime onnxruntime_web"):
        start_once(StartRequest(job=job, threads=1, query=True))


@pytest.mark.parametrize(
    ("fault", "ending"), [("die", "died by SIGKILL"), ("exit", "ended with exit status 3")]
)
def test_a_sudden_end_is_told_with_its_last_words(fault: str, ending: str) -> None:
    with pytest.raises(BenchError, match=f"a cold start {ending}; its last words"):
        start_once(a_request({"load": fault}))


def test_last_words_are_on_stderr() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no such thing')"]
    with (
        launch_start(a_request(), command) as start,
        pytest.raises(BenchError, match="exit status 1; its last words on stderr: no such thing"),
    ):
        start.wait()


def test_a_clock_that_is_not_ours_is_refused() -> None:
    line = start_once(a_request()).report.model_copy(update={"first_line_at_ns": 1})
    command = [sys.executable, "-c", f"print({line.model_dump_json()!r})"]
    with (
        launch_start(a_request(), command) as start,
        pytest.raises(BenchError, match="processes disagree about the time"),
    ):
        start.wait()


def test_strays_on_stdout_do_no_harm() -> None:
    assert isinstance(start_once(a_request({"load": "print"})), ColdStart)


def test_leaving_ends_a_start_that_hangs(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    os.mkfifo(note)
    tells = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(999)"
    with launch_start(a_request(), [sys.executable, "-c", tells]):
        pid = int(note.read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_what_a_start_leaves_in_its_temporary_folder_goes_with_it() -> None:
    tells = "import tempfile; raise SystemExit(tempfile.mkdtemp())"
    with (
        pytest.raises(BenchError) as caught,
        launch_start(a_request(), [sys.executable, "-c", tells]) as start,
    ):
        start.wait()
    folder = Path(str(caught.value).rpartition(" ")[2])
    assert folder.is_absolute()
    assert not folder.parent.exists()
