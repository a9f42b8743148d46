"""The process launcher with a scripted interpreter: it starts any Python that the test wrote.

Its promises with the real runner stand in `tests/contracts/test_launchers.py`.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import psutil
import pytest

from orchestrator.backends.catalogue import CATALOGUE, Stack
from orchestrator.launchers.base import Exit, Task
from orchestrator.launchers.container import owner_id
from orchestrator.launchers.process import (
    ProcessExecution,
    ProcessLauncher,
    resident_bytes,
    scratch_folder,
)
from runner.contract.errors import Unavailable
from runner.contract.job import Limits, SideBySide
from tests.conftest import ROOT
from tests.support.jobs import a_job, a_task, fake_cell, fake_model
from tests.support.words import raises_words
from tests.support.workplace import wait_until

pytestmark = pytest.mark.serial

MIB = 1 << 20
LAUNCH = """
import sys
from pathlib import Path
from orchestrator.launchers.base import Task
from orchestrator.launchers.process import ProcessLauncher
from runner.contract.job import Job

job_file, out = map(Path, sys.argv[1:])
task = Task(Job.model_validate_json(job_file.read_bytes()), "fake", job_file, out)
with ProcessLauncher().launch(task) as execution:
    for line in iter(execution.lines.get, None):
        print(execution._process.pid, line, flush=True)
"""

Interpreter = Callable[[str], ProcessLauncher]


@pytest.fixture
def scripted(tmp_path: Path) -> Interpreter:
    """A launcher whose interpreter ignores its arguments and executes this script."""

    def interpreter(script: str) -> ProcessLauncher:
        path = tmp_path / "interpreter"
        path.write_text(f"#!{sys.executable}\n{dedent(script)}\n")
        path.chmod(0o755)
        return ProcessLauncher(str(path))

    return interpreter


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return a_task(tmp_path)


def limited_task(folder: Path, **limits: Any) -> Task:
    return a_task(folder, a_job(limits=Limits(**limits)))


def play(launcher: ProcessLauncher, task: Task) -> tuple[list[str], Exit]:
    with launcher.launch(task) as execution:
        lines = [line.rstrip("\n") for line in iter(execution.lines.get, None)]
        return lines, execution.wait()


def is_alive(pid: int) -> bool:
    """True if it runs; a zombie does not."""
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_the_runner_gets_its_job_and_output_folder_alone(scripted: Interpreter, task: Task) -> None:
    lines, end = play(scripted("import sys, json; print(json.dumps(sys.argv[1:]))"), task)
    arguments = ["--job", str(task.job_file), "--out", str(task.out), "--die-with-parent"]
    assert json.loads(lines[0]) == ["-P", "-m", "runner", *arguments]
    assert end == Exit(0, out_of_memory=False, log="")


@pytest.mark.parametrize(("ours", "theirs"), [("", "1"), ("0", "0")])
def test_the_runner_sees_what_was_named_and_no_model_hub_unless_we_say_so(
    ours: str, theirs: str, scripted: Interpreter, task: Task, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OMP_NUM_THREADS", "MKL_DYNAMIC", "SECRET"):
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("HF_HUB_OFFLINE", ours)
    named = replace(task, job=task.job.model_copy(update={"inherit_environ": ("MKL_DYNAMIC",)}))
    (line,), _ = play(scripted("import os, json; print(json.dumps(dict(os.environ)))"), named)
    found = json.loads(line)
    names = ("MKL_DYNAMIC", "HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "PYTHONPATH")
    assert [found[name] for name in names] == ["1", theirs, theirs, str(ROOT)]
    assert not {"OMP_NUM_THREADS", "SECRET"} & found.keys()


@pytest.mark.parametrize(("script", "expected"), [
    ("for number in range(20000): print(number)", [str(number) for number in range(20000)]),
    (r'import os; os.write(1, b"half\n\xff\nunfinished")',
     ["half", "\N{REPLACEMENT CHARACTER}", "unfinished"]),
], ids=["all in order", "odd bytes"])  # fmt: skip
def test_no_line_is_lost(scripted: Interpreter, task: Task, script: str, expected: Any) -> None:
    assert play(scripted(script), task)[0] == expected


def test_an_interpreter_that_cannot_start_is_no_launch(task: Task, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), ProcessLauncher(str(tmp_path / "none")).launch(task):
        pass


@pytest.mark.parametrize("after", ["", "del held"], ids=["now", "between two looks"])
def test_a_runner_over_its_memory_limit_is_killed(
    scripted: Interpreter, tmp_path: Path, after: str
) -> None:
    script = f"held = bytearray(200 << 20)\n{after}\nimport time; time.sleep(600)"
    _, end = play(scripted(script), limited_task(tmp_path, memory_bytes=100 * MIB))
    assert (end.code, end.out_of_memory) == (-signal.SIGKILL, True)


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="the system pins no process")
@pytest.mark.parametrize("cpus", [1, 1000])
def test_the_runner_gets_so_many_cores(scripted: Interpreter, tmp_path: Path, cpus: int) -> None:
    script = """
        import os, sys
        sys.stdin.readline()
        print(sorted(os.sched_getaffinity(0)))
    """
    with scripted(script).launch(limited_task(tmp_path, cpus=cpus)) as execution:
        say(execution, "go on\n")
        line = execution.lines.get()
    assert line is not None
    assert json.loads(line) == sorted(os.sched_getaffinity(0))[-cpus:]


def test_children_end_with_the_runner_that_left_them(scripted: Interpreter, task: Task) -> None:
    script = """
        import os, time
        child = os.fork()
        if child:
            print(child, flush=True)
            os._exit(3)
        time.sleep(600)
    """
    (line,), end = play(scripted(script), task)
    assert end.code == 3
    wait_until(lambda: not is_alive(int(line)), "the end of the child")


def test_orders_arrive_line_by_line_and_are_harmless_after_the_end(
    scripted: Interpreter, task: Task
) -> None:
    script = """
        import sys
        for line in sys.stdin:
            print(line.strip()[::-1], flush=True)
            if line == "end\\n":
                break
    """
    with scripted(script).launch(task) as execution:
        for order in ("one", "end"):
            execution.send(order)
            assert execution.lines.get() == order[::-1]
        assert execution.lines.get() is None
        execution.send("more")
        assert execution.wait().code == 0
        execution.send("more")


def test_killing_ends_the_children_too(scripted: Interpreter, task: Task) -> None:
    script = """
        import subprocess, time
        print(subprocess.Popen(["sleep", "600"]).pid, flush=True)
        time.sleep(600)
    """
    with scripted(script).launch(task) as execution:
        child = int(execution.lines.get() or 0)
        execution.kill()
        assert execution.wait().code == -signal.SIGKILL
    wait_until(lambda: not is_alive(child), "the end of the child")


def test_a_runner_that_hangs_after_its_last_line_goes_on(scripted: Interpreter, task: Task) -> None:
    script = """
        import os, time
        print("last", flush=True)
        os.close(1)
        time.sleep(600)
    """
    with scripted(script).launch(task) as execution:
        assert execution.lines.get() == "last"
        assert execution.lines.empty()
        execution.kill()
        assert execution.lines.get() is None
        assert execution.wait().code == -signal.SIGKILL


def test_ctrl_c_reaches_the_orchestrator_alone(scripted: Interpreter, task: Task) -> None:
    (line,), _ = play(scripted("import os; print(os.getpgid(0), os.getsid(0))"), task)
    assert os.getpgid(0) not in map(int, line.split())


@pytest.mark.slow
@pytest.mark.parametrize("waits", [False, True], ids=["hangs", "waits for its turn"])
def test_the_runner_dies_with_an_orchestrator_that_is_killed(tmp_path: Path, waits: bool) -> None:
    job_file, last = tmp_path / "job.json", '"waits"' if waits else '"load"'
    job = a_job(model=fake_model({} if waits else {"*": "hang"}))
    group = SideBySide(group="g1", looks=(3,)) if waits else None
    job_file.write_text(job.model_copy(update={"side_by_side": group}).model_dump_json())
    command = [sys.executable, "-c", LAUNCH, str(job_file), str(tmp_path)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, text=True) as orchestrator:
        assert orchestrator.stdout is not None
        line = next(line for line in orchestrator.stdout if last in line)
        runner = psutil.Process(int(line.split()[0]))
        assert "runner" in runner.cmdline()
        orchestrator.kill()
    assert psutil.wait_procs([runner], timeout=60)[1] == []
    assert list(tmp_path.glob("*.parquet")) == []


BROWSER = """
import subprocess, sys, tempfile, time
from pathlib import Path
profile = Path(tempfile.mkdtemp(prefix="profile-"), "Default")
profile.mkdir()
command = [sys.executable, "-c", "import time; time.sleep(600)", f"--user-data-dir={profile}"]
silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
child = subprocess.Popen(command, start_new_session=True, **silent).pid
print(f"{child} {profile}", flush=True)
time.sleep(600)
"""
"""A program that ends with nobody, and its profile."""


@pytest.mark.slow
def test_a_browser_ends_with_its_launch_and_its_profile_goes(
    scripted: Interpreter, tmp_path: Path
) -> None:
    web = fake_cell(backend="wasm", runtime="onnxruntime_web")
    with scripted(BROWSER).launch(a_task(tmp_path, a_job([web]))) as execution:
        child, profile = (execution.lines.get() or "").split()
        assert is_alive(int(child))
        assert Path(profile).is_dir()
        os.kill(execution._process.pid, signal.SIGKILL)
        execution.wait()
    wait_until(lambda: not is_alive(int(child)), "the end of the browser")
    assert not Path(profile).parents[1].exists()


def test_scratch_folders_go_with_their_users_once_whoever_made_them_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gone, alive = tmp_path / "accelmatrix-job-1@1.00-orphan", owner_id(os.getppid())
    kept = [tmp_path / f"accelmatrix-job-{alive}-kept", tmp_path / "accelmatrix-query-another"]
    for folder in (gone, *kept):
        folder.mkdir()
    with scratch_folder() as own:
        assert ProcessLauncher().clean(frozenset()) == 1
        assert sorted(tmp_path.iterdir()) == sorted([*kept, own])
    assert sorted(tmp_path.iterdir()) == sorted(kept)


def test_a_backend_whose_stack_is_not_installed_is_unavailable() -> None:
    lacking = replace(CATALOGUE["cpu"], stack=Stack("no_such_package", "get it"))
    launcher = ProcessLauncher(catalogue={**CATALOGUE, "cpu": lacking})
    with raises_words(Unavailable, match="no_such_package, which is not installed"):
        launcher.prepare("cpu")
    assert launcher.prepare("fake").launcher == "process"


def say(execution: ProcessExecution, text: str) -> None:
    stdin = execution._process.stdin
    assert stdin is not None
    stdin.write(text.encode())
    stdin.flush()


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    """Every test leaves no child behind."""
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    yield
    after = {child.pid for child in psutil.Process().children(recursive=True)}
    assert after <= before


def test_the_memory_of_children_counts_too() -> None:
    child = "held = b'x' * (64 << 20); print(flush=True); input()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    with subprocess.Popen(
        [sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        held = resident_bytes(process.pid) - psutil.Process(process.pid).memory_info().rss
        process.communicate(b"\n")
    assert held > 64 << 20
