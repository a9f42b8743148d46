"""What a memory meter reads."""

from typing import Protocol


class Gauge(Protocol):
    """A source of memory readings, in bytes."""

    @property
    def method(self) -> str:
        """Which counters are read, for the record."""
        ...

    def current_bytes(self) -> int:
        """The use now."""
        ...

    def begin(self) -> None:
        """Begin a new peak."""
        ...

    def peak_bytes(self) -> int | None:
        """The highest use since `begin` that counters know of; None where they know of none."""
        ...
