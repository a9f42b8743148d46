"""What a format makes of a file."""

from dataclasses import dataclass

from orchestrator.imports.found import Found


@dataclass(frozen=True)
class Reading:
    """The file's content."""

    found: tuple[Found, ...] = ()
    nothing: str | None = None
    """What the file is, if it holds no measurement: `a list of models`, `settings of a run`."""
    faults: tuple[str, ...] = ()
    """Entries that could not be read while others could, each with its place and why."""
    empty: tuple[str, ...] = ()
    """Places of entries that name what would be measured and hold no measured value."""


class NotReadable(Exception):
    """The file has this format's shape, and cannot be read in it: says where and why."""
