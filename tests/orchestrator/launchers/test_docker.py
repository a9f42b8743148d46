"""The docker launcher with scripts: confinement, output, refusals and outages.

Its promises with the real runner stand in `tests/contracts/test_launchers.py`.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from docker import DockerClient
from docker.errors import NotFound

from orchestrator.launchers.base import Exit
from orchestrator.launchers.container import labels
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.launchers.job_user import UNPRIVILEGED, job_user
from orchestrator.screen.words.reasons import error_hint
from runner.contract.errors import EngineUnavailable, ImageError, Unavailable
from runner.contract.job import Limits, SideBySide
from tests.conftest import ROOT
from tests.orchestrator.launchers.conftest import MIB, TEST_HOST, Bench, trial_image
from tests.support.proxy import EngineProxy
from tests.support.words import raises_words
from tests.support.workplace import wait_until

pytestmark = [pytest.mark.engine, pytest.mark.slow]

HANG = "print('up', flush=True); import time; time.sleep(600)"

LOOK_AROUND = """
    import json, os, pathlib, socket, threading

    def tried(action):
        try:
            action()
            return "done"
        except Exception as error:
            return type(error).__name__ + ": " + str(error)

    def connect():
        socket.create_connection(("1.1.1.1", 53), timeout=2)

    def spawn():
        hold = threading.Event()
        for _ in range(64):
            threading.Thread(target=hold.wait, daemon=True).start()

    def first_of(*paths):
        return next(pathlib.Path(p).read_text() for p in paths if pathlib.Path(p).exists())

    cgroup = "/sys/fs/cgroup/"
    facts = {
        "root": tried(lambda: open("/written", "w")),
        "job": tried(lambda: open("/in/job.json", "a")),
        "tmp": tried(lambda: open("/tmp/written", "w")),
        "network": tried(connect),
        "interfaces": [name for _, name in socket.if_nameindex()],
        "user": [os.getuid(), os.getgid()],
        "pid": os.getpid(),
        "threads": tried(spawn),
        "docker_socket": os.path.exists("/var/run/docker.sock"),
        "memory": first_of(cgroup + "memory.max", cgroup + "memory/memory.limit_in_bytes"),
        "cpus": len(os.sched_getaffinity(0)),
        "status": dict(
            line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines()
            if line.startswith(("Cap", "NoNewPrivs"))
        ),
    }
    os.write(1, json.dumps(facts).encode() + b"\\n")
    pathlib.Path("/out/record").write_text("measured")
    os._exit(0)
"""


def test_a_container_can_do_nothing_but_measure(bench: Bench) -> None:
    limits = Limits(memory_bytes=256 * MIB, cpus=1, pids=24)
    (line,), end = bench.run(LOOK_AROUND, limits)
    facts = json.loads(line)
    assert end.code == 0, end.log
    assert "Read-only file system" in facts["root"]
    assert facts["job"].startswith(("OSError", "PermissionError"))
    assert facts["tmp"] == "done"
    assert "Network is unreachable" in facts["network"]
    assert facts["interfaces"] == ["lo"]
    user = job_user(bench.client.info(), os.getuid(), os.getgid())
    assert facts["user"] == [user.uid, user.gid]
    assert os.getuid() or user.uid == UNPRIVILEGED
    assert facts["pid"] != 1
    assert "can't start new thread" in facts["threads"]
    assert not facts["docker_socket"]
    assert int(facts["memory"]) == 256 * MIB
    assert facts["cpus"] == 1
    assert facts["status"].pop("NoNewPrivs") == "1"
    assert {int(capabilities, 16) for capabilities in facts["status"].values()} == {0}
    assert (bench.out / "record").read_text() == "measured"
    assert (bench.out / "record").stat().st_uid == os.getuid()


def test_a_job_leaves_nothing_that_acts_as_its_owner_and_reads_what_it_is_given(
    bench: Bench,
) -> None:
    script = """
        import os, shutil
        shutil.copy("/bin/sh", "/out/shell")
        os.chmod("/out/shell", 0o6755)
        os.mkdir("/out/inner", 0o700)
        print(os.stat("/out").st_uid == os.getuid())
    """
    task = bench.task(script)
    task.job_file.chmod(0o600)
    with bench.launcher.launch(task) as execution:
        lines = list(iter(execution.lines.get, None))
        assert (lines, execution.wait().code) == (["True"], 0)
    assert {path.stat().st_uid for path in (bench.out, *bench.out.iterdir())} == {os.getuid()}
    if os.getuid() == 0:  # else whoever launched it strips them
        assert (bench.out / "shell").stat().st_mode & 0o7777 == 0o755


ECHO = """
    import sys
    print(sys.argv[1:], flush=True)
    for line in sys.stdin:
        print(line.strip()[::-1], flush=True)
        if line == "end\\n":
            break
    else:
        open("/out/left", "w")
"""
IN_TURNS = {"side_by_side": SideBySide(group="g1", looks=(3,))}


def test_a_job_that_takes_turns_hears_its_orders_and_is_told_to_go_with_its_launcher(
    bench: Bench,
) -> None:
    with bench.launcher.launch(bench.task(ECHO, **IN_TURNS)) as execution:
        assert "--die-with-parent" in (execution.lines.get() or "")
        for order in ("one", "two", "end"):
            execution.send(order)
            assert execution.lines.get() == order[::-1]
        assert execution.lines.get() is None
        assert execution.wait() == Exit(0, out_of_memory=False, log="")
        execution.send("more")
    assert execution._stdin
    assert execution._stdin.closed
    assert not (bench.out / "left").exists()


def test_a_job_that_takes_no_turns_has_no_stdin(bench: Bench) -> None:
    (arguments,), end = bench.run(ECHO)
    assert "--die-with-parent" not in arguments
    assert end.code == 0
    assert (bench.out / "left").exists()


LAUNCH = """
import sys
from pathlib import Path
from orchestrator.launchers.base import Task
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.system.engine import connect_engine
from runner.contract.job import Job
from tests.orchestrator.launchers.conftest import TEST_HOST, trial_image

folder, image = Path(sys.argv[1]), sys.argv[2]
job = Job.model_validate_json((folder / "kept.json").read_bytes())
task = Task(job, "fake", folder / "job.json", folder / "out")
launcher = DockerLauncher(connect_engine(), trial_image(image), host=TEST_HOST)
with launcher.launch(task) as execution:
    for line in iter(execution.lines.get, None):
        print(line, flush=True)
"""


def test_a_job_that_waits_for_its_turn_meets_its_end_with_an_orchestrator_that_is_killed(
    bench: Bench, script_image: str
) -> None:
    (bench.folder / "kept.json").write_text(bench.task(ECHO, **IN_TURNS).job.model_dump_json())
    command = [sys.executable, "-c", LAUNCH, str(bench.folder), script_image]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as orchestrator:
        assert orchestrator.stdout is not None
        assert orchestrator.stdout.readline()
        orchestrator.kill()
    wait_until((bench.out / "left").exists, "the end of its stdin")
    assert bench.launcher.clean(frozenset({"fake"})) == 1


@pytest.mark.parametrize("action", ["kill", "remove_container"])
def test_a_container_ended_from_outside(bench: Bench, action: str) -> None:
    with bench.launch(HANG) as execution:
        assert execution.lines.get() == "up"
        (name,) = bench.containers()
        force = {"force": True} if action == "remove_container" else {}
        getattr(bench.client.api, action)(name, **force)
        assert execution.lines.get() is None
        assert execution.wait().code == 128 + signal.SIGKILL


def test_a_missing_image(bench: Bench, client: DockerClient) -> None:
    launcher = DockerLauncher(client, trial_image("sha256:" + "0" * 64), host=TEST_HOST)
    with raises_words(ImageError, match="No such image") as caught:
        launcher.launch(bench.task("")).__enter__()
    assert caught.value.exit_code == 5
    assert "images build" in str(error_hint(caught.value))


def test_what_the_engine_refuses_is_unavailable(bench: Bench) -> None:
    with raises_words(Unavailable, match="refuses a container for backend fake"):
        bench.launcher.launch(bench.task("", limits=Limits(memory_bytes=1))).__enter__()
    assert bench.containers() == []


def test_a_device_node_is_there_or_its_backend_is_unavailable(bench: Bench) -> None:
    task = bench.task("exit 0", "rocm")
    if Path("/dev/kfd").exists():
        with bench.launcher.launch(task) as execution:
            assert execution.wait().code == 0
    else:
        with raises_words(Unavailable, match="refuses a container for backend rocm"):
            bench.launcher.launch(task).__enter__()
    assert bench.containers() == []


def test_when_the_engine_goes_away_the_next_start_cleans_what_is_left(
    cut_bench: Bench, bench: Bench, proxy: EngineProxy
) -> None:
    with cut_bench.launch(HANG) as execution:
        assert execution.lines.get() == "up"
        proxy.cut()
        assert execution.lines.get() is None
        execution.kill()
        with raises_words(EngineUnavailable, match="its exit status is unknown"):
            execution.wait()
    assert len(bench.containers()) == 1
    assert bench.launcher.clean(frozenset({"fake"})) == 1
    assert bench.containers() == []


def test_an_engine_that_is_gone(cut_bench: Bench, proxy: EngineProxy) -> None:
    proxy.cut()
    with pytest.raises(EngineUnavailable):
        cut_bench.launch("").__enter__()
    with pytest.raises(EngineUnavailable):
        cut_bench.launcher.clean(frozenset({"fake"}))


def test_cleaning_leaves_what_is_foreign(
    bench: Bench, client: DockerClient, script_image: str
) -> None:
    task = bench.task("")
    mine = labels(task, TEST_HOST)
    foreign = [
        {},
        labels(task, "another-host"),
        mine | {"org.accelmatrix.devices": "cpu"},
        {"org.accelmatrix.devices": "fake"},
    ]
    made = [client.api.create_container(script_image, labels=of)["Id"] for of in (mine, *foreign)]
    try:
        assert bench.launcher.clean(frozenset({"fake"})) == 1
        left = {container["Id"] for container in client.api.containers(all=True)}
        assert [container in left for container in made] == [False, True, True, True, True]
    finally:
        for container in made:
            with suppress(NotFound):
                client.api.remove_container(container, force=True)
