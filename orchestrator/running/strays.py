"""Parquet files below a run's records that are the record of none of its cells."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from orchestrator.store import Damaged, compact_files, files_below

_NAMED = 1_000
"""Strays that are named; a job may leave any number of them."""


def find_strays(records: Path, files: Iterable[Path]) -> Iterator[Damaged]:
    """Those that are neither among these files nor compact, nested ones included.

    Nothing opens, moves or merges them.
    """
    known = {*files, *compact_files(records)}
    strays = (path for path in files_below(records) if path not in known)
    return (
        Damaged(path, "is the record of no planned cell; it was left where it is")
        for path in islice(strays, _NAMED)
    )
