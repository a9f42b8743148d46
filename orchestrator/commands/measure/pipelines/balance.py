"""Work of known length, shared among as many groups as there may be, all about equally long."""

import heapq
from collections.abc import Mapping, Sequence
from typing import TypeVar

KeyT = TypeVar("KeyT")


def balanced(seconds: Sequence[float], groups: int) -> list[list[int]]:
    """The indices of the work in each group: the longest first, each to the shortest group.

    The longest group is at most 4/3 of the best possible one (Graham, "Bounds on multiprocessing
    timing anomalies", 1969). No group is empty if there is as much work as groups.
    """
    shares: list[list[int]] = [[] for _ in range(groups)]
    heap = [(0.0, 0, number) for number in range(groups)]
    for index in sorted(range(len(seconds)), key=lambda index: (-seconds[index], index)):
        total, count, number = heap[0]
        heapq.heapreplace(heap, (total + seconds[index], count + 1, number))
        shares[number].append(index)
    return [sorted(group) for group in shares]


def shared_groups(seconds: Mapping[KeyT, Sequence[float]], most: int) -> Mapping[KeyT, int]:
    """The number of groups of each key, at most `most` together and one for each work at most.

    Every key has one; each further group goes to the key whose groups are the longest.
    """
    if len(seconds) > most:
        raise ValueError(f"{len(seconds)} keys do not fit into {most} groups")
    groups = dict.fromkeys(seconds, 1)
    sums = {key: sum(work) for key, work in seconds.items()}
    for _ in range(most - len(groups)):
        growing = [key for key in groups if groups[key] < len(seconds[key])]
        if not growing:
            break
        groups[max(growing, key=lambda key: sums[key] / groups[key])] += 1
    return groups
