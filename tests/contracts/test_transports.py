"""The contract of transports: orders go in, frames come out, and nothing stays on the host.

A new transport is one more parameter of `host`, with a fixture that gives a `ReachedHost`.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

import runner
from orchestrator.fleet.messages import (
    Ended,
    Entered,
    FactsWanted,
    Known,
    Launched,
    Left,
    Noted,
    Recorded,
    Refused,
    Visited,
    frame_of,
)
from orchestrator.fleet.transport import HOST_MODULE, SILENCE_S, Transport
from orchestrator.fleet.transports.ray import RayTransport
from runner.contract.errors import Unavailable
from tests.support.fleet import DriverProcess, Exchange, PipeTransport, ReachedHost, an_order, soon
from tests.support.ray_cluster import HOSTS, Cluster, OneHost, running_cluster
from tests.support.slurm import Slurm, running_slurm
from tests.support.sshd import Sshd, running_sshd
from tests.support.words import raises_words
from tests.support.workplace import Workplace

CutOff = AbstractContextManager[None]
HUNG_S = 120.0
"""Seconds of a query that no test waits for."""
LARGE = """
import random, sys
from orchestrator.fleet.messages import encode
from orchestrator.fleet.messages import Ended, Left, frame_of
content = random.Random(7).randbytes(50_000_000)
sys.stdout.buffer.write(encode(frame_of(Left(path=("logs", "large.log")), content)))
sys.stdout.buffer.write(encode(frame_of(Ended())))
"""
LARGE_SHA256 = "636dae58eea805d80f72b6011d4d1e5c4f17423b43f9dcc87035d4e7bd3066d7"
STAND_IN = """
import sys
from orchestrator.fleet.messages import encode, read_frame
while (frame := read_frame(sys.stdin.buffer)) is not None:
    sys.stdout.buffer.write(encode(frame))
    sys.stdout.flush()
open(sys.argv[1], "a").write("cleaned up\\n")
"""
RAY_HOSTS = ("alpha", "gamma")
MARKS: Mapping[str, Sequence[pytest.MarkDecorator]] = {
    "pipe": (),
    "ssh": (pytest.mark.slow,),
    "ray": (pytest.mark.slow,),
    "slurm": (pytest.mark.slow, pytest.mark.engine),
}
"""Those of each transport."""


def reached_by(*kept: str) -> pytest.MarkDecorator:
    """A host by these transports; `make test-nightly` tries the others."""
    cases = [
        pytest.param(name, marks=marks if name in kept else (*marks, pytest.mark.nightly))
        for name, marks in MARKS.items()
    ]
    return pytest.mark.parametrize("host", cases, indirect=True)


BY_PIPE = reached_by("pipe")
"""Where the host's program does it all."""
BY_SSH_AND_RAY = reached_by("ssh", "ray")
"""Where the transport ends what it began: a pipe and Slurm end it as ssh does."""


@pytest.fixture(params=[pytest.param(name, marks=marks) for name, marks in MARKS.items()])
def host(request: pytest.FixtureRequest, tmp_path: Path) -> ReachedHost:
    """A host, reached by each transport."""
    return ReachedHost(request.getfixturevalue(f"by_{request.param}"), tmp_path)


@pytest.fixture
def by_pipe() -> Callable[[Path], Transport]:
    """Nothing but a pipe."""
    return PipeTransport


@pytest.fixture
def by_ssh(sshd: Sshd) -> Callable[[Path], Transport]:
    """An sshd of this machine."""
    return sshd.transport


@pytest.fixture
def by_ray(ray_cluster: Cluster) -> Iterator[Callable[[Path], Transport]]:
    """A cluster of Ray on this machine, whose host alpha is called."""
    with ExitStack() as stack:

        def reach(program: Path) -> Transport:
            address, token_file = ray_cluster.address, ray_cluster.token_file
            transport = OneHost(address, token_file, (str(program), *HOST_MODULE), "alpha")
            stack.callback(transport.close)
            return transport

        yield reach


@pytest.fixture
def by_slurm(slurm: Slurm) -> Callable[[Path], Transport]:
    """A cluster of Slurm in containers."""
    return slurm.transport


@pytest.fixture(scope="module")
def slurm(engine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    """A cluster with one host; this machine's `srun` is the cluster's."""
    folder = tmp_path_factory.mktemp("slurm")
    files = tmp_path_factory.getbasetemp()
    with running_slurm(folder, files) as running, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        yield running


@pytest.fixture(scope="module")
def ray_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A head and two hosts; the program that `ray` starts there answers what it hears."""
    folder = tmp_path_factory.mktemp("ray")
    (folder / "program.py").write_text(STAND_IN)
    with running_cluster(folder, hosts=RAY_HOSTS) as running:
        yield running


@pytest.fixture(scope="module")
def ray(ray_cluster: Cluster) -> Iterator[RayTransport]:
    """The transport of all hosts of the cluster."""
    transport = ray_cluster.transport()
    yield transport
    transport.close()


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    """An sshd on loopback, with keys of its own."""
    with running_sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize(
    "cluster", ["ssh", pytest.param("slurm", marks=(pytest.mark.engine, pytest.mark.nightly))]
)
def test_a_run_by_a_hosts_file_has_a_verdict_of_each_cell(
    request: pytest.FixtureRequest, tmp_path: Path, cluster: str
) -> None:
    running: Sshd | Slurm = request.getfixturevalue({"ssh": "sshd"}.get(cluster, cluster))
    host = ReachedHost(running.transport, tmp_path)
    host.transport()
    entry = running.entry(host.program).model_dump(mode="json", exclude_defaults=True)
    (tmp_path / "hosts.yaml").write_text(yaml.safe_dump({"version": 1, "hosts": [entry]}))
    user = Workplace(tmp_path, "process")
    user.write_matrix()
    done = user.run("--fleet", "--hosts-file", "hosts.yaml")
    assert done.returncode == 0, done.stderr
    user.check("ok")
    assert_nothing_left(host)


@pytest.mark.slow
@pytest.mark.parametrize("wrong", ["unknown host key", "no identity"])
def test_ssh_takes_no_key_that_nobody_named(sshd: Sshd, tmp_path: Path, wrong: str) -> None:
    (tmp_path / "empty").touch(mode=0o600)
    changes = {
        "unknown host key": ({"known_hosts": str(tmp_path / "empty")}, "verification failed"),
        "no identity": ({"identity": str(tmp_path / "empty")}, "Permission denied"),
    }
    change, fault = changes[wrong]
    (end,) = Exchange(sshd.transport(Path("/bin/true"), **change), frame_of(FactsWanted())).rest()
    assert fault in str(end.fault)


@pytest.mark.slow
def test_an_order_goes_in_and_its_records_come_out(host: ReachedHost, tmp_path: Path) -> None:
    run, order = an_order(tmp_path / "driver")
    *said, _ = Exchange(host.transport(), order).rest()
    kinds = [type(heard.message) for heard in said if not isinstance(heard.message, Noted)]
    assert kinds[0] is Launched
    assert kinds[-1] is Ended
    records = [heard.body for heard in said if isinstance(heard.message, Recorded)]
    rows = _rows(tmp_path, records)
    assert sorted(str(row["cell_id"]) for row in rows) == sorted(
        entry.cell.id for entry in run.plan.entries
    )
    assert {row["status"] for row in rows} == {"ok"}
    assert kinds.index(Left) > max(n for n, kind in enumerate(kinds) if kind is Recorded)
    assert host.is_quiet()
    assert [path.name for path in host.orders.iterdir()] == []


@BY_PIPE
@pytest.mark.slow
def test_one_program_executes_order_after_order(host: ReachedHost, tmp_path: Path) -> None:
    exchange, programs = Exchange(host.transport()), list[set[int]]()
    for name in ("order-1", "order-2"):
        run, order = an_order(tmp_path / name, id=name)
        exchange.talk.give(name, [order])
        records = [exchange.until(Recorded).body for _ in run.plan.entries]
        exchange.until(Ended)
        ids = {row["cell_id"] for row in _rows(tmp_path, records)}
        assert ids == {entry.cell.id for entry in run.plan.entries}
        programs.append({one.pid for one in host.processes()})
    assert programs[0] == programs[1]
    assert [path.name for path in host.orders.iterdir()] == []
    exchange.talk.end()
    assert host.is_quiet()


def _rows(folder: Path, records: Sequence[bytes]) -> list[dict[str, object]]:
    path = folder / "record.parquet"
    rows = list[dict[str, object]]()
    for content in records:
        path.write_bytes(content)
        rows += pq.read_table(path).to_pylist()
    return rows


@BY_PIPE
@pytest.mark.slow
def test_a_host_tells_what_it_is(host: ReachedHost) -> None:
    exchange = Exchange(host.transport(), frame_of(FactsWanted()))
    known = exchange.until(Known).message
    exchange.talk.end()
    assert isinstance(known, Known)
    assert known.facts.version == runner.__version__
    assert known.facts.description
    assert host.is_quiet()


@BY_PIPE
@pytest.mark.slow
def test_another_version_is_refused(host: ReachedHost, tmp_path: Path) -> None:
    _, order = an_order(tmp_path / "driver", version="0.0.1")
    refused = Exchange(host.transport(), order).until(Refused).message
    assert isinstance(refused, Refused)
    assert refused.reason == f"a has accelmatrix {runner.__version__}, the driver 0.0.1"
    assert refused.hint == "install the same version on both"


@BY_PIPE
@pytest.mark.slow
def test_a_cancelled_order_ends_with_its_job(host: ReachedHost, tmp_path: Path) -> None:
    exchange = begun(host, tmp_path)
    exchange.talk.cancel()
    assert not [one for one in exchange.rest() if isinstance(one.message, Ended | Visited)]
    assert_nothing_left(host)


@BY_SSH_AND_RAY
@pytest.mark.slow
def test_a_conversation_that_is_ended_ends_the_order(host: ReachedHost, tmp_path: Path) -> None:
    begun(host, tmp_path).talk.end()
    assert_nothing_left(host)


@BY_SSH_AND_RAY
@pytest.mark.slow
def test_nothing_runs_on_once_the_driver_was_killed(host: ReachedHost, tmp_path: Path) -> None:
    _, order = an_order(tmp_path / "driver", HUNG_S)
    driver = DriverProcess(host.transport(), order)
    assert soon(lambda: bool(list(host.orders.glob("order-*/jobs/*.json"))))
    driver.kill()
    assert_nothing_left(host)


@pytest.mark.nightly
@BY_PIPE
def test_an_order_without_beats_is_ended(host: ReachedHost, tmp_path: Path) -> None:
    _, order = an_order(tmp_path / "driver", HUNG_S)
    said = Exchange(host.transport(), order, beat_s=HUNG_S).rest()
    assert not [one for one in said if isinstance(one.message, Ended)]
    assert_nothing_left(host)


@pytest.mark.slow
@BY_PIPE
def test_a_dead_host_ends_the_conversation_and_serves_the_next_one(
    host: ReachedHost, tmp_path: Path
) -> None:
    exchange = begun(host, tmp_path)
    (program,) = (one for one in host.processes() if one.cmdline()[-2:] == ["fleet", "execute"])
    program.kill()
    assert not [one for one in exchange.rest() if isinstance(one.message, Ended)]
    _, order = an_order(tmp_path / "again", id="order-2")
    assert isinstance(Exchange(host.transport(), order).rest()[-2].message, Ended)
    assert_nothing_left(host)


@pytest.mark.representatives(3)
@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("import sys; sys.exit('no module named orchestrator')", "no module named orchestrator"),
        ("print('Welcome to a login node')", "no frame: 'Welcome to a login node"),
        ("import sys; sys.stdout.buffer.write(b'AMX1')", "the stream ended within a frame"),
    ],
    ids=["stderr alone", "a banner", "cut off"],
)
def test_what_is_no_frame_is_a_fault(host: ReachedHost, script: str, fault: str) -> None:
    (end,) = Exchange(host.transport(script)).rest()
    assert end.fault is not None
    assert fault in end.fault


@BY_PIPE
def test_large_files_come_back_byte_for_byte(host: ReachedHost) -> None:
    large = Exchange(host.transport(LARGE)).until(Left)
    assert len(large.body) == 50_000_000
    assert hashlib.sha256(large.body).hexdigest() == LARGE_SHA256


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.nightly
def test_a_host_of_slurm_that_is_cut_off_ends_its_order(slurm: Slurm, tmp_path: Path) -> None:
    ends_on_both_sides(ReachedHost(slurm.transport, tmp_path), slurm.cut_off)


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("host", ["ssh", "ray"], indirect=True)
def test_a_host_that_is_cut_off_ends_its_order(host: ReachedHost) -> None:
    ends_on_both_sides(host, host.cut_off)


@pytest.mark.slow
def test_hosts_have_the_names_and_labels_with_which_they_joined(ray: RayTransport) -> None:
    assert {host.name: host.labels for host in ray.hosts()} == {
        name: {"room": HOSTS[name]} for name in RAY_HOSTS
    }


@pytest.mark.slow
def test_a_host_is_one_drivers_at_a_time_and_the_other_learns_whose(
    ray: RayTransport, ray_cluster: Cluster
) -> None:
    conversation = ray.begin("alpha")
    try:
        with raises_words(Unavailable, match=rf"alpha: is busy: .*pid {os.getpid()}"):
            ray.begin("alpha")
        shown = ray_cluster.call("status", "--json")
        states = {host["name"]: host for host in json.loads(shown.stdout)}
        assert set(states) == set(RAY_HOSTS)
        assert states["alpha"]["state"] == "busy"
        assert f"pid {os.getpid()}" in states["alpha"]["busy_with"]
        assert states["gamma"]["labels"] == {"room": "lab2"}
    finally:
        conversation.end()


@pytest.mark.slow
def test_an_unknown_host_is_refused_at_once(ray: RayTransport) -> None:
    with raises_words(Unavailable, match=r"delta: is not in the cluster.*alpha, gamma"):
        ray.begin("delta")


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("token", ["another-token-of-32-letters-00000", None])
def test_a_driver_without_the_token_is_refused_with_a_hint(
    ray_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, token: str | None
) -> None:
    monkeypatch.setenv("RAY_AUTH_MODE", "token" if token else "disabled")
    file = tmp_path / "token"
    if token is not None:
        file.touch(0o600)
        file.write_text(token)
    with pytest.raises(Unavailable, match="refuses this driver") as refused:
        RayTransport(ray_cluster.address, file if token else None)
    assert "a wrong token" in str(refused.value.hint)


@pytest.mark.slow
@pytest.mark.nightly
def test_a_host_that_dies_is_told_and_may_come_again(
    ray: RayTransport, ray_cluster: Cluster
) -> None:
    said = ray_cluster.folder / "said"
    said.unlink(missing_ok=True)
    conversation = ray.begin("gamma")
    ray_cluster.kill("gamma")
    assert conversation.receive() is None
    conversation.end()
    assert soon(said.exists)
    assert soon(lambda: [lost.name for lost in ray.lost_hosts()] == ["gamma"])
    with raises_words(Unavailable, match="gamma: is dead"):
        ray.begin("gamma")
    ray_cluster.start("gamma")
    assert soon(lambda: len(ray.hosts()) == len(RAY_HOSTS))
    ray.begin("gamma").end()


def ends_on_both_sides(host: ReachedHost, cut_off: Callable[[], CutOff]) -> None:
    """Cut the network off in a cell: the host ends its order, and the driver hears nothing."""
    exchange = begun(host, host.folder)
    with cut_off():
        assert_nothing_left(host)
        assert soon(lambda: exchange.talk.is_silent(SILENCE_S, None))
    assert not [one for one in exchange.rest() if isinstance(one.message, Ended)]


def begun(host: ReachedHost, folder: Path) -> Exchange:
    """An order whose first cell has begun and will not end by itself."""
    _, order = an_order(folder / "driver", HUNG_S)
    exchange = Exchange(host.transport(), order)
    while True:
        entered = exchange.until(Entered).message
        if isinstance(entered, Entered) and entered.cell_id:
            return exchange


def assert_nothing_left(host: ReachedHost) -> None:
    assert host.is_quiet()
    assert [path.name for path in host.orders.glob("order-*")] == []
