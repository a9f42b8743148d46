"""Record files by their columns, so that one of many alike is looked at closely."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

import duckdb

from orchestrator.store.records.validate import (
    Bystander,
    Damaged,
    Unreadable,
    look_at_columns,
    of_duckdb,
    reading_fault,
)
from orchestrator.store.schema.parquet_columns import NO_ROWS, Shape, literals

_ALIKE = """
    SELECT shape, arrow, list(file_name) FROM (
        SELECT file_name,
            sum(hash({{'name': name, 'type': type, 'repetition': repetition_type,
                'children': num_children, 'logical': logical_type,
                'converted': converted_type}})) AS shape
        FROM parquet_schema([{files}]) GROUP BY file_name
    ) LEFT JOIN (
        SELECT file_name, hash(value) AS arrow FROM parquet_kv_metadata([{files}])
        WHERE key = 'ARROW:schema'::BLOB
    ) USING (file_name)
    GROUP BY shape, arrow
"""
"""Alike for DuckDB, and for pyarrow, which leaves a schema of its own in files."""
_ALL_COLUMNS = "SELECT * FROM read_parquet({file}, hive_partitioning = false)"
_Shapes = dict[tuple[int, int | None], list[Path]]


def shapes_of(own: Bystander, files: Sequence[Path]) -> tuple[list[Shape], list[Damaged]]:
    """The files by their columns, and those that have none that could be merged."""
    found: _Shapes = defaultdict(list)
    damaged = apart(files, partial(_group, own, found))
    shapes: list[Shape] = []
    expected = _types(own, NO_ROWS)
    for group in found.values():
        shape, others = _shape(own, sorted(group), expected)
        shapes += [shape] if shape else []
        damaged += others
    return shapes, damaged


def apart(files: Sequence[Path], take: Callable[[Sequence[Path]], object]) -> list[Damaged]:
    """Take all files at once; where that fails, ever fewer, until those at fault are found.

    Raises:
        duckdb.Error: taking one failed, but not because of the file.
    """
    if not files:
        return []
    try:
        take(files)
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        if len(files) == 1:
            return [Damaged(files[0], _blamed(files[0], error))]
        middle = len(files) // 2
        return apart(files[:middle], take) + apart(files[middle:], take)
    return []


def _blamed(file: Path, error: duckdb.Error) -> str:
    reason = reading_fault(file)
    if reason is None:
        raise error
    return reason


def _group(own: Bystander, found: _Shapes, files: Sequence[Path]) -> None:
    for shape, arrow, names in own.rows(_ALIKE.format(files=literals(files))):
        found[shape, arrow] += map(Path, names)


def _shape(
    own: Bystander, files: Sequence[Path], expected: Mapping[str, str]
) -> tuple[Shape | None, list[Damaged]]:
    """Files alike as a shape, by the first one that can be read; those before it are damaged."""
    damaged: list[Damaged] = []
    for at, file in enumerate(files):
        try:
            names, wrong = _look(own, file, expected)
        except Unreadable as unreadable:
            damaged.append(Damaged(file, str(unreadable)))
            continue
        if wrong is None:
            return Shape(tuple(files[at:]), frozenset(names)), damaged
        return None, damaged + [Damaged(each, wrong) for each in files[at:]]
    return None, damaged


def _look(
    own: Bystander, file: Path, expected: Mapping[str, str]
) -> tuple[Iterable[str], str | None]:
    """The file's columns, and what is wrong with them in the eyes of either reader."""
    names, wrong = look_at_columns(file)
    if wrong is not None:
        return names, wrong
    try:
        found = _types(own, _ALL_COLUMNS.format(file=literals([file])))
    except duckdb.Error as error:
        raise Unreadable(of_duckdb(error)) from error
    if list(found) != names:
        named = sorted({*found} ^ {*names}) or "the same in another order"
        return names, f"pyarrow and DuckDB differ in what its columns are: {named}"
    other = [name for name in found.keys() & expected if found[name] != expected[name]]
    if other:
        return names, f"column {min(other)} holds {found[min(other)]}, not {expected[min(other)]}"
    return names, None


def _types(own: Bystander, query: str) -> dict[str, str]:
    """The types of a query's columns by their names, as DuckDB writes them."""
    return {row[0]: row[1] for row in own.rows(f"DESCRIBE {query}")}
