"""What torch.compile did, told apart by whose work made it do so."""

from collections.abc import Callable
from dataclasses import dataclass

from torch._dynamo.utils import calculate_time_spent, counters


@dataclass(frozen=True)
class Compilation:
    """What torch.compile has done so far, or between two moments."""

    time_s: float = 0.0
    graphs: int = 0
    breaks: int = 0
    """Places at which Python had to go on between two graphs."""

    def __add__(self, other: "Compilation") -> "Compilation":
        return Compilation(
            self.time_s + other.time_s, self.graphs + other.graphs, self.breaks + other.breaks
        )

    def __sub__(self, other: "Compilation") -> "Compilation":
        return Compilation(
            self.time_s - other.time_s, self.graphs - other.graphs, self.breaks - other.breaks
        )


def compiled_so_far() -> Compilation:
    """By torch's own books: of time it counts whole frames, from their bytecode to machine code."""
    return Compilation(
        time_s=calculate_time_spent()["total_wall_time"],
        graphs=counters["stats"]["unique_graphs"],
        breaks=sum(counters["graph_break"].values()),
    )


class Ledger:
    """Which work made torch compile how much."""

    def __init__(self, read: Callable[[], Compilation] = compiled_so_far) -> None:
        self._read = read
        self._last = read()
        self._by_work: dict[str, Compilation] = {}
        self._work: str | None = None

    def begin(self, work: str) -> bool:
        """From now on what is compiled is this work's; whether the work is new."""
        self._settle()
        self._work = work
        new = work not in self._by_work
        self._by_work.setdefault(work, Compilation())
        return new

    def rebase(self) -> None:
        """Torch has cleared some of its books: what they say now was counted already."""
        self._last = self._read()

    def of(self, work: str | None) -> Compilation:
        """What was compiled for it until now."""
        self._settle()
        return Compilation() if work is None else self._by_work.get(work, Compilation())

    @property
    def current(self) -> Compilation:
        """What was compiled until now for the work that began last."""
        return self.of(self._work)

    def _settle(self) -> None:
        now = self._read()
        if self._work is not None:
            self._by_work[self._work] += now - self._last
        self._last = now
