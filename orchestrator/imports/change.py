"""What an import changes in a database."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa

from orchestrator.imports.content import Contents

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class Change:
    """Of one file's records, by cell id."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Those that an earlier version of the reader read otherwise."""
    there: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Those that the database holds of the same file, and that are no longer read from it."""

    @property
    def is_none(self) -> bool:
        """Whether the database holds these records already, and no others of the file."""
        return not (self.new or self.changed or self.gone)


def change_to(held: Contents, read: Contents) -> Change:
    """What becomes of a database that holds these rows of a file once others are read from it."""
    both = held.keys() & read.keys()
    same = {cell for cell in both if held[cell].sha == read[cell].sha}
    return Change(
        new=tuple(cell for cell in read if cell not in held),
        changed=tuple(cell for cell in read if cell in both - same),
        there=tuple(cell for cell in read if cell in same),
        gone=tuple(cell for cell in held if cell not in read),
    )


def newer(stored: Contents, held: Contents, change: Change) -> bool:
    """Whether a merge of these rows would change in the database what is to change."""
    return all(stored[cell].recorded_at > held[cell].recorded_at for cell in change.changed)


def dated(table: pa.Table, held: Contents, change: Change, now: datetime) -> pa.Table:
    """The rows with the time of their import: what did not change since keeps its own."""
    there = frozenset(change.there)

    def moment(cell: str) -> datetime:
        if cell in there:
            return held[cell].recorded_at
        return max(now, held[cell].recorded_at + _TICK) if cell in held else now

    place = table.schema.get_field_index("recorded_at")
    moments = [moment(cell) for cell in table["cell_id"].to_pylist()]
    column = pa.array(moments, table.schema.field(place).type)
    return table.set_column(place, table.schema.field(place), column)
