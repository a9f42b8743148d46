"""Jobs get physical cores of one NUMA node, whatever the machine and what they may use of it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from runner.contract.axes import Backend
from runner.contract.host import choose_cpus, place_job, read_topology
from runner.contract.job import Limits
from tests.support.jobs import a_job, fake_cell
from tests.support.machines import Cores, a_sys_folder, cores

PLAIN = [cores(0, 4)]
SMT = [cores(0, 4, siblings_at=4)]
ADJACENT = [[(0, 1), (2, 3)]]
SOCKETS = [cores(0, 4, siblings_at=8), cores(4, 4, siblings_at=8)]
HYBRID = [[(0, 1), (2, 3), (4,), (5,), (6,), (7,)]]
SPEEDS = {**dict.fromkeys(range(2), 1024), 2: 1000, 3: 1000, **dict.fromkeys(range(4, 8), 600)}
VM = [cores(0, 1)]


@pytest.mark.parametrize(
    ("nodes", "capacities", "allowed", "count", "chosen"),
    [
        (PLAIN, None, range(4), None, (0, 1, 2, 3)),
        (PLAIN, None, range(4), 2, (2, 3)),
        (PLAIN, None, {1, 3}, None, (1, 3)),
        (SMT, None, range(8), None, (0, 1, 2, 3)),
        (SMT, None, range(8), 3, (1, 2, 3)),
        (SMT, None, range(8), 5, (0, 1, 2, 3, 7)),
        (ADJACENT, None, range(4), None, (0, 2)),
        (SOCKETS, None, range(16), None, (4, 5, 6, 7)),
        (SOCKETS, None, {*range(4), 4, 5}, None, (0, 1, 2, 3)),
        (SOCKETS, None, range(16), 5, (3, 4, 5, 6, 7)),
        (SOCKETS, None, range(16), 9, (*range(8), 15)),
        (HYBRID, SPEEDS, range(8), None, (0, 2)),
        (HYBRID, SPEEDS, range(8), 3, (0, 2, 7)),
        (VM, None, {0}, None, (0,)),
        ([], None, {0, 1}, None, (0, 1)),
        ([], None, (), None, ()),
    ],
)
def test_the_cpus_of_a_job(
    nodes: Sequence[Cores],
    capacities: Mapping[int, int] | None,
    allowed: Sequence[int],
    count: int | None,
    chosen: tuple[int, ...],
    tmp_path: Path,
) -> None:
    topology = read_topology(a_sys_folder(tmp_path, nodes, capacities) / "devices" / "system")
    assert choose_cpus(topology, allowed, count) == chosen
    if chosen:  # a container's launcher chooses first, the runner among what it is given
        assert choose_cpus(topology, chosen, count) == chosen


@pytest.mark.parametrize(
    ("backend", "threads", "cpus", "placed"),
    [
        ("cpu", None, None, (0, 1, 2, 3)),
        ("cpu", 2, None, (2, 3)),
        ("cpu", 2, 3, (2, 3)),
        ("cpu", 3, 2, (2, 3)),
        ("openvino", None, 1, (3,)),
        ("cuda", None, None, None),
        ("cuda", 1, None, (3,)),
    ],
)
def test_a_job_of_an_accelerator_is_pinned_if_it_asks_for_that(
    backend: Backend,
    threads: int | None,
    cpus: int | None,
    placed: tuple[int, ...] | None,
    tmp_path: Path,
) -> None:
    topology = read_topology(a_sys_folder(tmp_path, PLAIN) / "devices" / "system")
    job = a_job([fake_cell(backend=backend, threads=threads)], limits=Limits(cpus=cpus))
    assert place_job(job, topology, range(4)) == placed
