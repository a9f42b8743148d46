"""A real Ray cluster on this machine: a head and three hosts, the transport, deaths, tokens."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from orchestrator.fleet.frames import Frame
from orchestrator.fleet.transports.ray import RayTransport
from orchestrator.fleet.transports.ray_daemons import living
from orchestrator.fleet.transports.ray_settings import ray_environment
from runner.contract.errors import Unavailable
from tests.support.needs import lacking
from tests.support.ports import free_port
from tests.support.ray_cluster import HOSTS, Cluster, running_cluster
from tests.support.words import raises_words

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

STAND_IN = """
import sys
from orchestrator.fleet.frames import Frame, encode, read_frame
while (frame := read_frame(sys.stdin.buffer)) is not None:
    if frame.head == b"print":
        sys.stdout.buffer.write(b"a library says hello\\n")
    elif frame.head == b"end":
        break
    else:
        sys.stdout.buffer.write(encode(frame))
    sys.stdout.flush()
open(sys.argv[1], "a").write("cleaned up\\n")
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("ray")
    (folder / "program.py").write_text(STAND_IN)
    with running_cluster(folder) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def transport(cluster: Cluster) -> Iterator[RayTransport]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ray_environment(cluster.state.token_file):
            patch.setenv(name, "")  # so that what connecting sets is taken back
        transport = cluster.transport()
        yield transport
        transport.close()


def until(condition: Callable[[], bool], limit_s: float = 60.0) -> None:
    """Wait until it holds."""
    begin = time.monotonic()
    while not condition():
        assert time.monotonic() - begin < limit_s
        time.sleep(0.05)


def test_hosts_have_the_names_and_labels_with_which_they_joined(transport: RayTransport) -> None:
    assert {host.name: host.labels for host in transport.hosts()} == {
        name: {"room": room} for name, room in HOSTS.items()
    }


def test_frames_arrive_in_order_and_whole_in_both_directions(transport: RayTransport) -> None:
    conversation = transport.begin("alpha")
    frames = [Frame(b"%d" % number, b"x" * number) for number in range(100)]
    frames.append(Frame(b"large", os.urandom(50 << 20)))
    try:
        for frame in frames:
            conversation.send(frame)
        assert [conversation.receive() for _ in frames] == frames
        conversation.send(Frame(b"end"))
        assert conversation.receive() is None
    finally:
        conversation.end()


def test_an_end_lets_the_host_program_clean_up_and_frees_the_host(
    transport: RayTransport, cluster: Cluster
) -> None:
    said = cluster.folder / "said"
    said.unlink(missing_ok=True)
    conversation = transport.begin("beta")
    conversation.end()
    assert conversation.receive() is None
    conversation.send(Frame(b"too late"))
    until(said.exists)
    transport.begin("beta").end()


def test_a_host_is_one_drivers_at_a_time_and_the_other_learns_whose(
    transport: RayTransport, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.fleet.transports.ray.BEGIN_LIMIT_S", 2.0)
    conversation = transport.begin("alpha")
    try:
        with raises_words(Unavailable, match=rf"alpha: is busy: .*pid {os.getpid()}"):
            transport.begin("alpha")
        shown = cluster.call("status", "--json")
        states = {host["name"]: host for host in json.loads(shown.stdout)}
        assert set(states) == set(HOSTS)
        assert states["alpha"]["state"] == "busy"
        assert f"pid {os.getpid()}" in states["alpha"]["busy_with"]
        assert states["gamma"]["labels"] == {"room": "lab2"}
    finally:
        conversation.end()


def test_an_unknown_host_is_refused_at_once(transport: RayTransport) -> None:
    with raises_words(Unavailable, match=r"delta: is not in the cluster.*alpha, beta, gamma"):
        transport.begin("delta")


@pytest.mark.nightly
@pytest.mark.parametrize("token", ["another-token-of-32-letters-00000", None])
def test_a_driver_or_host_without_the_token_is_refused_with_a_hint(
    cluster: Cluster, tmp_path: Path, token: str | None
) -> None:
    options: tuple[str, ...] = ("--address", cluster.address)
    if token is not None:
        file = tmp_path / "token"
        file.touch(0o600)
        file.write_text(token)
        options += ("--token-file", str(file))
        joined = cluster.call("join", cluster.address, "--token-file", str(file), "--name", "thief")
        assert joined.returncode == 2
        assert "refuses this token" in joined.stderr
    driver = cluster.call("status", *options)
    assert driver.returncode == 2
    assert "refuses this driver" in driver.stderr
    assert "hint: a wrong token" in driver.stderr


@pytest.mark.nightly
def test_a_host_that_dies_is_known_to_be_dead_and_may_come_again(
    transport: RayTransport, cluster: Cluster
) -> None:
    said = cluster.folder / "said"
    said.unlink(missing_ok=True)
    conversation = transport.begin("gamma")
    (host,) = [member for member in cluster.state.hosts() if member.name == "gamma"]
    psutil.Process(host.processes[0].pid).kill()
    until(lambda: transport.is_dead("gamma"))
    assert conversation.receive() is None
    until(said.exists)
    assert not transport.is_dead("alpha")
    assert [lost.name for lost in transport.lost_hosts()] == ["gamma"]
    with raises_words(Unavailable, match="gamma: is dead"):
        transport.begin("gamma")
    assert cluster.join("gamma", "--label", "room=lab2").returncode == 0
    again = transport.begin("gamma")
    assert not transport.is_dead("gamma")
    again.end()


@pytest.mark.nightly
def test_what_was_started_is_ended_and_another_ray_is_not(tmp_path: Path) -> None:
    """A head and a host of ours beside a Ray of the same user."""
    if find_spec("ray") is None:
        lacking("Ray, as requirements-fleet.txt has it")
    cluster = Cluster(tmp_path, f"127.0.0.1:{free_port()}")
    other = subprocess.Popen(
        [sys.executable, "-c", "import ray, sys; ray.init(num_cpus=0); print(1); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=os.environ | {"RAY_AUTH_MODE": "disabled", "RAY_ENABLE_UV_RUN_RUNTIME_ENV": "0"},
    )
    try:
        assert other.stdout is not None
        until(lambda: bool(psutil.Process(other.pid).children(recursive=True)))
        other.stdout.readline()
        others = psutil.Process(other.pid).children(recursive=True)
        port = cluster.address.rpartition(":")[2]
        assert cluster.call("up", "--port", port, "--name", "one").returncode == 0
        assert "is up already" in cluster.call("up", "--port", port).stderr
        assert cluster.join("two").returncode == 0
        assert "has joined" in cluster.join("two").stderr
        members = cluster.state.memberships()
        assert cluster.call("leave").returncode == 0
        assert cluster.call("down").returncode == 0
        assert [living(member.owner, member.processes) for member in members] == [[], []]
        assert cluster.state.memberships() == []
        assert all(process.is_running() for process in others)
        assert "no head of yours" in cluster.call("down").stderr
        assert "no host of yours" in cluster.call("leave").stderr
        assert "no head answers" in cluster.join("two").stderr
    finally:
        other.communicate()
