"""A real Ray cluster on this machine: a head and three hosts, deaths, tokens."""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.fleet.transports.ray import RayTransport
from runner.contract.errors import Unavailable
from tests.support.ray_cluster import HOSTS, Cluster, running_cluster
from tests.support.words import raises_words

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

STAND_IN = """
import sys
from orchestrator.fleet.messages import Frame, encode, read_frame
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


def test_a_host_is_one_drivers_at_a_time_and_the_other_learns_whose(
    transport: RayTransport, cluster: Cluster
) -> None:
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
def test_a_driver_without_the_token_is_refused_with_a_hint(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token" if token else "disabled")
    file = tmp_path / "token"
    if token is not None:
        file.touch(0o600)
        file.write_text(token)
    with pytest.raises(Unavailable, match="refuses this driver") as refused:
        RayTransport(cluster.address, file if token else None)
    assert "a wrong token" in str(refused.value.hint)


@pytest.mark.nightly
def test_a_host_that_dies_is_told_and_may_come_again(
    transport: RayTransport, cluster: Cluster
) -> None:
    said = cluster.folder / "said"
    said.unlink(missing_ok=True)
    conversation = transport.begin("gamma")
    cluster.kill("gamma")
    assert conversation.receive() is None
    conversation.end()
    until(said.exists)
    until(lambda: [lost.name for lost in transport.lost_hosts()] == ["gamma"])
    with raises_words(Unavailable, match="gamma: is dead"):
        transport.begin("gamma")
    cluster.start("gamma")
    until(lambda: len(transport.hosts()) == len(HOSTS))
    transport.begin("gamma").end()
