from dataclasses import replace

from runner.contract.job import Limits
from runner.measure.environment import read_environment
from runner.modes.base import memory_budget_bytes

FREE = replace(read_environment(), container_memory_limit_bytes=None)
GIB = 1 << 30


def test_a_fifth_of_what_the_machine_could_give_is_left_alone() -> None:
    assert memory_budget_bytes(Limits(), FREE, 2 * GIB, 8 * GIB) == 8 * GIB


def test_the_tightest_bound_counts() -> None:
    limits = Limits(memory_bytes=5 * GIB)
    assert memory_budget_bytes(limits, FREE, 2 * GIB, 8 * GIB) == 4 * GIB
    contained = replace(FREE, container_memory_limit_bytes=GIB)
    assert memory_budget_bytes(limits, contained, 2 * GIB, 8 * GIB) == int(0.8 * GIB)
