"""Cold starts are real processes here; they load the fake backend."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from orchestrator.screen.words.reasons import error_text
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.job import Limits, Measure
from runner.contract.record.record import Columns
from runner.contract.rounds import DeviceState, RoundResult
from runner.measure.accelerator import AcceleratorReader
from runner.measure.clock import monotonic
from runner.measure.cpu_clock import CpuClockMeter
from runner.measure.phases import LOOKING_CONFIDENCE
from runner.measure.statistics.percentiles import fewest
from runner.measure.vendors.nvidia import watch_nvidia_gpu
from runner.modes.startup import mode
from runner.modes.startup.child import StartRequest
from runner.modes.startup.launch import TimedStart, launch_start
from runner.modes.startup.mode import STARTUP_STAGES, measure_startup, start_once, startup_columns
from tests.support.jobs import a_job, fake_cell, fake_model
from tests.support.machines import a_sys_folder, cores
from tests.support.onnx_graphs import layer, onnx_cell, onnx_job, save_graph
from tests.support.records import a_round
from tests.support.scene import Scene, ScriptedCache
from tests.support.vendors import Nvml
from tests.support.words import raises_words

pytestmark = pytest.mark.serial

MEASURE = Measure(
    profile="quick",
    warmup_iterations=1,
    warmup_max_s=1,
    iterations=1,
    min_s=0,
    max_s=60,
    precision_target=1e9,
)


def further(*values: object) -> Any:
    """A row that starts one more process, for which the fast suite has no time."""
    return pytest.param(*values, marks=pytest.mark.slow)


def a_cell(**changes: Any) -> Cell:
    return fake_cell(mode="startup", **changes)


def a_request(faults: dict[str, str] | None = None, **config: Any) -> StartRequest:
    job = a_job([a_cell()], fake_model(faults, **config))
    return StartRequest(job=job, threads=1, query=True)


def measured(
    round_: int, rounds: int, limits: Limits | None = None, cache: ScriptedCache | None = None
) -> tuple[RoundResult, Scene]:
    cell, scene = a_cell(batch_size=2, workers=2), Scene()
    scene.cache = cache or scene.cache
    measure = MEASURE.model_copy(update={"rounds": rounds})
    job = a_job([cell], fake_model(load_s=0.1), measure, limits)
    job = job.model_copy(update={"round": round_})
    earlier = [a_round()] * (round_ - 1)
    return measure_startup(job, cell, scene.instruments(earlier)), scene


@pytest.mark.slow
def test_a_start_is_repeated_until_its_median_has_an_interval() -> None:
    result, _ = measured(1, rounds=1)
    assert len(result.durations_ns) == fewest(LOOKING_CONFIDENCE)
    assert result.samples == 2 * len(result.durations_ns)
    assert result.steady_ns == sum(result.durations_ns)
    assert (result.first_ns, result.settled, result.warmup_ns) == (None, None, [])

    assert set(result.parts_ns) == {*STARTUP_STAGES, "runner"}
    starts = zip(*(result.parts_ns[stage] for stage in STARTUP_STAGES), strict=True)
    assert [sum(stages) for stages in starts] == result.durations_ns
    assert min(result.parts_ns["weights"]) >= 0.1e9
    assert all(value > 0 for values in result.parts_ns.values() for value in values)

    columns = result.columns  # of starts at once
    assert columns["concurrent_workers"] == 2
    assert columns["concurrent_time_s"] > 0.1
    rate = columns["concurrent_models_per_second"]
    assert rate == pytest.approx(2 / columns["concurrent_time_s"])
    assert columns["concurrent_speedup"] > 0

    assert result.memory.peak_bytes is not None
    assert 10e6 < result.memory.peak_bytes < 1e9
    assert "started process" in columns["memory_method"]
    assert "page cache" in columns["timed_region"]
    assert "without the runner's own imports" in columns["timed_region"]


class HeatingMeter(CpuClockMeter):
    """The meter of CPU 0 of a machine that heats up as the timed starts begin."""

    def __init__(self, sys_folder: Path, heat_up: Callable[[], None]) -> None:
        super().__init__([0], sys_folder)
        self._heat_up = heat_up

    def begin(self) -> None:
        super().begin()
        self._heat_up()


@pytest.mark.slow
def test_what_holds_clocks_down_during_warm_starts_is_told(tmp_path: Path) -> None:
    cpu, gpu = "devices/system/cpu/cpu0", Nvml()
    count = f"{cpu}/thermal_throttle/core_throttle_count"
    files = {f"{cpu}/cpufreq/scaling_cur_freq": "2000000", count: "3"}
    folder = a_sys_folder(tmp_path, [cores(0, 1)], files=files)

    def heat_up() -> None:
        (folder / count).write_text("5\n")
        gpu.at_us += 1_000
        gpu.held_ns[1] += 500_000

    scene = Scene()
    scene.cpu_clock = HeatingMeter(folder, heat_up)
    scene.accelerator = AcceleratorReader(lambda: watch_nvidia_gpu(gpu))
    job = a_job([a_cell()], fake_model(), MEASURE.model_copy(update={"rounds": 2}))
    result = measure_startup(job, job.cells[0], scene.instruments())
    scene.cpu_clock.close()
    clock = result.cpu_clock
    assert clock is not None
    assert (clock.before_hz, clock.mean_hz, clock.after_hz) == (2e9, 2e9, 2e9)
    assert clock.throttle_events == 2
    # A GPU without work has no clock that says anything of the starts.
    assert result.device == DeviceState(clock_hz=None, temperature_c=64, throttled={"Thermal": 0.5})


@pytest.mark.slow
@pytest.mark.parametrize("limits", [Limits(pids=20), Limits(memory_bytes=1 << 20)])
def test_no_more_models_are_held_at_once_than_ids_and_memory_allow(limits: Limits) -> None:
    result, _ = measured(2, 2, limits)
    assert result.columns["concurrent_workers"] == 1
    (doubt,) = result.doubts
    assert (doubt.code, doubt.grade, doubt.value) == ("concurrent_room", "B", 1)


@pytest.mark.slow
def test_each_cold_start_finds_its_files_dropped_and_is_no_iteration() -> None:
    result, scene = measured(1, rounds=3, cache=ScriptedCache(0.1))
    cold = result.parts_ns["cold_weights"]
    assert len(cold) == len(scene.cache.dropped) == fewest() // 3
    assert len(result.durations_ns) == len(result.parts_ns["weights"]) == 1
    assert result.samples == 2
    assert result.columns["startup_cold_resident_share"] == 0.1
    (files, _) = scene.cache.dropped
    assert {Path(path).name for path in files} >= {"fake.py", Path(sys.executable).name}
    assert any("numpy" in path and path.endswith((".so", ".pyc")) for path in files)
    assert not any(path.startswith(("/proc", "/dev", "/sys")) for path in files)


@pytest.mark.slow
def test_where_files_stay_in_memory_no_start_is_called_cold() -> None:
    result, scene = measured(1, rounds=3, cache=ScriptedCache(0.6))
    assert not any(name.startswith("cold_") for name in result.parts_ns)
    assert len(scene.cache.dropped) == 1
    assert result.columns["startup_cold_resident_share"] == 0.6


@pytest.fixture(scope="module")
def start() -> TimedStart:
    """A start that prints on stdout as it loads, which must do no harm."""
    return start_once(a_request({"load": "print"}, load_s=0.05))


class NotedCache(ScriptedCache):
    """A page cache whose drops are events."""

    def __init__(self, resident: float | None, events: list[str], *, can_drop: bool = True) -> None:
        super().__init__(resident, can_drop=can_drop)
        self._events = events

    def drop(self, files: Iterable[str]) -> None:
        super().drop(files)
        self._events.append("drop")


_LISTED = ["first", "start", "drop"]


@pytest.mark.representatives(2)
@pytest.mark.parametrize(
    ("round_", "resident", "can_drop", "before", "share"),
    [
        (3, 0.1, True, [*_LISTED, "start", "drop", "start"], 0.1),
        (3, 0.6, True, [*_LISTED, "start"], 0.6),
        (3, None, True, [*_LISTED, "start", "start"], 0.9),
        (3, None, False, ["first", "start"], None),
        (4, 0.1, True, ["first", "start"], None),
    ],
    ids=["cold", "files stay", "the start read little", "nothing drops", "a further round"],
)
def test_an_untimed_start_precedes_the_warm_ones_unless_a_cold_one_does(
    monkeypatch: pytest.MonkeyPatch,
    start: TimedStart,
    round_: int,
    resident: float | None,
    can_drop: bool,
    before: list[str],
    share: float | None,
) -> None:
    scene = Scene()
    scene.cache = NotedCache(resident, scene.phases, can_drop=can_drop)
    report = start.report.model_copy(update={"unread_share": 0.9})

    def scripted(request: StartRequest) -> TimedStart:
        scene.phases.append("start")
        return replace(start, report=report)

    monkeypatch.setattr(mode, "start_once", scripted)
    monkeypatch.setattr(mode, "start_at_once", lambda request, workers: 1)
    job = a_job([a_cell(workers=1)], fake_model(), MEASURE.model_copy(update={"rounds": 3}))
    job = job.model_copy(update={"round": round_})
    result = measure_startup(job, job.cells[0], scene.instruments())
    assert scene.phases == [*before, "steady", "start"]
    assert result.columns.get("startup_cold_resident_share", "absent") == (share or "absent")


def test_a_start_is_timed_by_one_clock_in_two_processes(start: TimedStart) -> None:
    assert start.launched_at_ns < start.report.first_line_at_ns
    assert start.report.first_line_at_ns < start.report.loaded_at_ns < monotonic()
    assert start.to_loaded_ns >= start.stages_ns["interpreter"] + start.stages_ns["weights"]
    before_query = start.to_output_ns - start.stages_ns["first_query"]
    assert start.runner_ns + before_query == start.to_loaded_ns  # the runner's own share is apart


@pytest.mark.parametrize(
    ("request_", "kind", "message"),
    [
        (a_request({"load": "raise"}), BenchError, "RuntimeError: a scripted failure"),
        (a_request({"load": "die"}), BenchError, "died by SIGKILL; its last words"),
        further(a_request({"*-startup": "raise"}), BenchError, "RuntimeError: a scripted failure"),
        further(a_request({"load": "memory_error"}), MemoryError, "a scripted shortage"),
        further(a_request(finite=False), BenchError, "NaN or infinity"),
        further(
            a_request({"load": "exit"}), BenchError, "ended with exit status 3; its last words"
        ),
    ],
    ids=["load", "kill", "query", "memory", "outputs", "exit"],
)
def test_a_start_that_fails_raises_the_childs_error(
    request_: StartRequest, kind: type[Exception], message: str
) -> None:
    with raises_words(kind, match=message) as caught:
        start_once(request_)
    assert caught.value.__notes__[0].startswith("stderr of the cold start:")
    assert ("Traceback" in caught.value.__notes__[0]) == ("last words" not in message)


def test_leaving_ends_a_start_that_hangs(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    os.mkfifo(note)
    tells = f"import os, time; open({str(note)!r}, 'w').write(str(os.getpid())); time.sleep(999)"
    with launch_start(a_request(), [sys.executable, "-c", tells]):
        pid = int(note.read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def failure_of(program: str) -> str:
    """The error of a start whose child is this program."""
    with (
        pytest.raises(BenchError) as caught,
        launch_start(a_request(), [sys.executable, "-c", program]) as start,
    ):
        start.wait()
    return error_text(caught.value)


def test_last_words_are_on_stderr_and_a_clock_that_is_not_ours_is_refused(
    start: TimedStart,
) -> None:
    words = failure_of("import sys; sys.exit('no such thing')")
    assert words.endswith("exit status 1; its last words on stderr: no such thing")
    line = start.report.model_copy(update={"first_line_at_ns": 1})
    clock = failure_of(f"print({line.model_dump_json()!r})")
    assert "processes disagree about the time" in clock


@pytest.mark.slow
@pytest.mark.serial
@pytest.mark.parametrize("query", [True, False], ids=["query", "held"])
def test_a_browser_starts_in_stages_and_ends_with_its_start(tmp_path: Path, query: bool) -> None:
    save_graph(tmp_path, {"forward": layer()})
    job = onnx_job(onnx_cell(1, runtime="onnxruntime_web", backend="wasm", mode="startup"))
    request = StartRequest(job=job, threads=1, graphs=tmp_path, query=query, files=True)
    others = set(psutil.Process().children(recursive=True))
    with launch_start(request) as pending:
        start = pending.wait()
        held = set(psutil.Process().children(recursive=True)) - others
    assert all(value > 0 for name, value in start.stages_ns.items() if name != "first_query")
    assert (start.stages_ns["first_query"] > 0) == query
    assert start.runner_ns > 0
    assert {Path(path).name for path in start.report.files} >= {"chromium", "page.mjs"}
    assert start.report.peak_bytes is not None
    assert start.report.peak_bytes > 100e6
    assert len(held) > 3 or query
    assert not any(process.is_running() for process in held)


SECOND = 10**9


def starts(warm: Sequence[float], cold: Sequence[float] = ()) -> RoundResult:
    """A round whose starts take so many seconds in each stage."""
    parts = {stage: [round(value * SECOND) for value in warm] for stage in STARTUP_STAGES}
    if cold:
        dropped = [round(value * SECOND) for value in cold]
        parts |= {f"cold_{stage}": dropped for stage in STARTUP_STAGES}
    return a_round([len(STARTUP_STAGES) * value for value in parts["import"]], parts_ns=parts)


def columns_of(*rounds: RoundResult) -> Columns:
    return startup_columns(a_job(), rounds)


def interval(columns: Columns, name: str) -> list[float | None]:
    """The ends of an interval around its median."""
    return [columns[f"startup_{name}_median_{end}s"] for end in ("low_", "", "high_")]


def around(median: float, share: float) -> object:
    """That median, with an interval of so large a share on each side."""
    return pytest.approx([(1 - share) * median, median, (1 + share) * median], rel=1e-3)


KNOWN = 1.96 * 0.053
"""What processes of an unknown host differ by."""
OVER_THREE = 4.3027 * 0.02 / 3**0.5
THREE_APART = 4.3027 * 0.1 / 1.2
"""Of 1, 1.3 and 1.3, whose mean is 1.2 and whose standard error is 0.1."""


@pytest.mark.parametrize(
    ("rounds", "warm", "cold"),
    [
        ([([1] * 20, [5] * 6)], KNOWN, KNOWN),
        ([([0.98], [4.9]), ([1], [5]), ([1.02], [5.1])], OVER_THREE, OVER_THREE),
        ([([0.98], [5] * 6), ([1], []), ([1.02], [])], OVER_THREE, KNOWN),
        ([([1] * 9, [5] * 9), ([1.3], [6.5]), ([1.3], [6.5])], THREE_APART, THREE_APART),
    ],
    ids=["one", "several", "several, with cold ones in the first", "of all starts"],
)
def test_intervals_allow_for_what_other_processes_would_measure(
    rounds: list[tuple[list[float], list[float]]], warm: float, cold: float
) -> None:
    columns = columns_of(*(starts(*durations) for durations in rounds))
    assert interval(columns, "warm_import") == around(1, warm)
    assert interval(columns, "cold_weights") == around(5, cold)
    assert interval(columns, "cold") == around(25, cold)
