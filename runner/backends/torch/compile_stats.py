"""Time, graphs and graph breaks of torch.compile, by the work that caused them."""

from collections.abc import Callable
from dataclasses import dataclass

from torch._dynamo.utils import calculate_time_spent, counters


@dataclass(frozen=True)
class Compilation:
    """The work of torch.compile so far, or between two moments."""

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
    """The counts of torch itself; its time covers whole frames, from bytecode to machine code."""
    return Compilation(
        time_s=calculate_time_spent()["total_wall_time"],
        graphs=counters["stats"]["unique_graphs"],
        breaks=sum(counters["graph_break"].values()),
    )


class CompileStats:
    """Compilations, attributed to the work that caused them."""

    def __init__(self, read: Callable[[], Compilation] = compiled_so_far) -> None:
        self._read = read
        self._last = read()
        self._by_work: dict[str, Compilation] = {}
        self._work: str | None = None

    def begin(self, work: str) -> bool:
        """Attribute further compilations to this work; True if the work is new."""
        self._settle()
        self._work = work
        new = work not in self._by_work
        self._by_work.setdefault(work, Compilation())
        return new

    def rebase(self) -> None:
        """Start from torch's present counts, since it has reset some of them."""
        self._last = self._read()

    def of(self, work: str | None) -> Compilation:
        """The compilations attributed to the work until now."""
        self._settle()
        return Compilation() if work is None else self._by_work.get(work, Compilation())

    @property
    def current(self) -> Compilation:
        """The compilations of the work that began last."""
        return self.of(self._work)

    def _settle(self) -> None:
        now = self._read()
        if self._work is not None:
            self._by_work[self._work] += now - self._last
        self._last = now
