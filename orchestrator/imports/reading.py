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
    beside: tuple[str, ...] = ()
    """What the records rest on beside the file's content: the hash of a config, a mapping's name.
    With it, the same content is another import."""


class NotReadable(Exception):
    """The file has this format's shape, and cannot be read in it: says where and why."""
