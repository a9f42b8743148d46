"""The columns of record files: which of ours they have, and which they lack."""

from collections.abc import Iterable, Mapping

from orchestrator.store.schema.tables import ORIGIN, OURS, RECORD, WORD_COLUMNS
from runner.contract.record.ids import MACHINE_FACTS, MEMORY_FACT, MEMORY_UNIT_BYTES

_FACTS = (
    *("image", "image_digest", "image_labels", "kernel", "libraries", "operating_system"),
    *("orchestrator_version", "python_version", "runner_version"),
)
"""The facts behind `environment_id`, sorted as it hashes them; the variables go before them."""
_VARIABLES = "environment_variables"
_MAPS = frozenset({"image_labels", "libraries", _VARIABLES})


def _json(name: str) -> str:
    """A fact as Python writes it in JSON; the keys of a map are sorted."""
    if name not in _MAPS:
        return f"coalesce(to_json({name})::VARCHAR, 'null')"
    pair = "to_json(each.key)::VARCHAR || ': ' || to_json(each.value)::VARCHAR"
    pairs = f"list_transform(list_sort(map_entries({name})), lambda each: {pair})"
    return (
        f"CASE WHEN {name} IS NULL THEN 'null'"
        f" ELSE '{{' || array_to_string({pairs}, ', ') || '}}' END"
    )


def _pair(name: str) -> str:
    return f"""'"{name}": ' || {_json(name)}"""


_IF_VARIABLES = (
    f"CASE WHEN coalesce(cardinality({_VARIABLES}), 0) > 0"
    f" THEN {_pair(_VARIABLES)} || ', ' ELSE '' END"
)
_PAIRS = " || ', ' || ".join(map(_pair, _FACTS))
ENVIRONMENT_ID = f"sha256('{{' || {_IF_VARIABLES} || {_PAIRS} || '}}')[:16]"

MEMORY_GIB = f"(({MEMORY_FACT} // {MEMORY_UNIT_BYTES // 2} + 1) // 2)"
"""The expression of a machine's memory as ids count it, in GiB; no sum of it overflows."""
_PARTITION = "device_partition"
_MACHINE = ", ".join(
    f"coalesce({MEMORY_GIB if name == MEMORY_FACT else name}::VARCHAR, 'None')"
    for name in MACHINE_FACTS
    if name != _PARTITION
)
_HARDWARE_ID = f"sha256(concat_ws(chr(10), {_MACHINE}, nullif({_PARTITION}, '')))[:16]"
FALSE_ID = f"""
    (source = '{OURS}' AND (
        hardware_id <> {_HARDWARE_ID}
        OR environment_id <> {ENVIRONMENT_ID}
        OR model_id IS NOT NULL AND model_id IS DISTINCT FROM sha256(model_spec)[:16]))
"""
"""The condition under which an id is not the hash of what it stands for."""

WORD_NAMES = frozenset(column.name for column in WORD_COLUMNS)
"""Columns that a database adds to those of its records."""
KNOWN = {column.name: column for column in (*RECORD, *ORIGIN)}
DEFAULTS: Mapping[str, str] = {
    name: column.default for name, column in KNOWN.items() if column.default is not None
}
"""Values of columns that are never null, where a file lacks them."""
NULL_IF_MISSING = KNOWN.keys() - DEFAULTS.keys()
"""Columns that are null in the rows of a file that lacks them."""

_ROW_COLUMNS = {
    "result_id": "VARCHAR",
    "filename": "VARCHAR",
    "file_row_number": "BIGINT",
    **{column.name: column.type for column in KNOWN.values()},
}
TABLE_OF_ROWS = ", ".join(f"{name} {type_}" for name, type_ in _ROW_COLUMNS.items())


def rows_query(names: Iterable[str], rows: str) -> str:
    """SELECT rows with these columns of record files under those that a merge works with.

    Those that are null are left out.
    """
    columns = frozenset(names)
    known = (
        name if name in columns else f"{DEFAULTS[name]}::{column.type} AS {name}"
        for name, column in KNOWN.items()
        if name in columns or name in DEFAULTS
    )
    return (
        "SELECT run_id || '/' || cell_id AS result_id, filename, file_row_number,"
        f" {', '.join(known)} FROM {rows}"
    )


def identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
