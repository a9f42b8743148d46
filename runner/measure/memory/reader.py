"""Protocol of the sources that a memory meter reads."""

from typing import Protocol


class MemoryReader(Protocol):
    """A source of memory readings, in bytes."""

    @property
    def method(self) -> str:
        """Names of the counters that are read, for the record."""
        ...

    @property
    def is_slow(self) -> bool:
        """True if a reading takes milliseconds: none is taken beside timed iterations then."""
        ...

    @property
    def gap(self) -> str | None:
        """The part that readings lack, so that they are not the whole; None for nothing."""
        ...

    def current_bytes(self) -> int:
        """The use now."""
        ...

    def begin(self) -> None:
        """Begin a new peak."""
        ...

    def peak_bytes(self) -> int | None:
        """The highest use since `begin` that counters report; None if they report none."""
        ...
