"""The columns of record files: which of ours they have, which they lack, which we do not know."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis.results.source import text
from orchestrator.store.schema.columns import ORIGIN, RECORD, SqlColumn
from orchestrator.store.schema.older_records import (
    ENERGY_VALUES,
    FORMER_STAGES,
    MACHINE_VALUES,
    OLDER_VALUES,
    STOOD_FOR,
    hardware_id_sql,
)
from orchestrator.store.schema.tables import OTHER, OURS, WORD_COLUMNS

_FACTS = (
    *("image", "image_digest", "image_labels", "kernel", "libraries", "operating_system"),
    *("orchestrator_version", "python_version", "runner_version"),
)
"""The facts behind `environment_id`, sorted as it hashes them; the variables go before them."""
_VARIABLES = "environment_variables"
_MAPS = frozenset({"image_labels", "libraries", _VARIABLES})
_MODEL = "CASE WHEN json_valid(job) THEN json_extract(job, '$.model')::VARCHAR END"

MODEL: Mapping[str, str] = {
    "model_spec": _MODEL,
    "model_id": f"sha256({_MODEL})[:16]",
    "job": f"""
        CASE WHEN ({_MODEL}) IS NULL THEN job
        ELSE json_merge_patch(job, '{{"model": null}}')::VARCHAR END
    """,
}
"""Expressions over `job`, which held the model as well."""


def environment_id_sql(columns: Iterable[str]) -> str:
    """The expression of the id, over those facts that are among the columns."""
    known = frozenset(columns)
    pairs = (f"""'"{name}": ' || {_json(name) if name in known else "'null'"}""" for name in _FACTS)
    variables = "''"
    if _VARIABLES in known:
        pair = f"""'"{_VARIABLES}": ' || {_json(_VARIABLES)} || ', '"""
        variables = f"CASE WHEN coalesce(cardinality({_VARIABLES}), 0) > 0 THEN {pair} ELSE '' END"
    return f"sha256('{{' || {variables} || " + " || ', ' || ".join(pairs) + " || '}')[:16]"


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


FALSE_ID = f"""
    (source = '{OURS}' AND (
        hardware_id <> {hardware_id_sql()}
        OR environment_id <> {environment_id_sql((_VARIABLES, *_FACTS))}
        OR model_id IS NOT NULL AND model_id IS DISTINCT FROM sha256(model_spec)[:16]))
"""
"""The condition under which an id is not the hash of what it stands for."""

_BY_US = {OTHER.name, *(column.name for column in WORD_COLUMNS)}
"""Columns that a database adds to those of its records."""
KNOWN = {column.name: column for column in (*RECORD, *ORIGIN)}
DEFAULTS: Mapping[str, str] = {
    name: column.default for name, column in KNOWN.items() if column.default is not None
}
"""Values of columns that a file lacks, since no older runner knew them."""
NULL_IF_MISSING = (
    KNOWN.keys() - DEFAULTS.keys() - STOOD_FOR.keys() - {*MODEL, "environment_id", "source"}
)
"""Columns that are null in the rows of a file that lacks them."""

_ROW_COLUMNS = {
    "result_id": "VARCHAR",
    "filename": "VARCHAR",
    "file_row_number": "BIGINT",
    **{column.name: column.type for column in (*KNOWN.values(), OTHER)},
}
"""The columns of `ParquetColumns.query` with their types."""
TABLE_OF_ROWS = ", ".join(f"{name} {type_}" for name, type_ in _ROW_COLUMNS.items())
"""These columns as `CREATE TABLE` wants them: in a third of the time that `NO_ROWS` takes."""
NO_ROWS = (
    "SELECT "
    + ", ".join(f"NULL::{type_} AS {name}" for name, type_ in _ROW_COLUMNS.items())
    + " WHERE false"
)
"""The same as a question that no row answers."""


_CHANGED = frozenset(OLDER_VALUES) | FORMER_STAGES | {"device_uuid", "hardware_id"}
_VALUES = {**OLDER_VALUES, **MACHINE_VALUES}
"""Expressions of what may have meant something else when it was recorded."""
_TODAYS_VALUES = {
    **{name: MACHINE_VALUES[name] for name in ("device_name", "hardware_id")},
    **ENERGY_VALUES,
}
"""Those that concern records of this schema as well."""


@dataclass(frozen=True)
class ParquetColumns:
    """The columns of some record files, which are read under those that a merge works with."""

    names: frozenset[str]
    older: bool = True
    """False if no record has a schema in which columns meant something else."""

    def query(self, rows: str) -> str:
        """SELECT the rows of a relation that adds `filename` and `file_row_number` to them."""
        known = ", ".join(map(self._value, KNOWN.values()))
        whole = (
            "SELECT run_id || '/' || cell_id AS result_id, filename, file_row_number,"
            f" {known}, {self._other} FROM {rows}"
        )
        if not self.names & _CHANGED:
            return whole
        values = _VALUES if self.older else _TODAYS_VALUES
        replaced = ", ".join(f"{value} AS {name}" for name, value in values.items())
        return f"SELECT * REPLACE ({replaced}) FROM ({whole})"

    def _value(self, column: SqlColumn) -> str:
        name = column.name
        if name in self._derived:
            return f"{self._derived[name]} AS {name}"
        if name not in self.names and STOOD_FOR.get(name) in self.names:
            return f"{STOOD_FOR[name]}::{column.type} AS {name}"
        if name not in self.names:
            return f"{DEFAULTS.get(name, 'NULL')}::{column.type} AS {name}"
        return name

    @property
    def _derived(self) -> Mapping[str, str]:
        """Expressions for what older runners did not write; imported records stay as they are."""
        if "source" in self.names:
            return {}
        model = MODEL if "job" in self.names and "model_spec" not in self.names else {}
        if "environment_id" in self.names:
            return model
        return {**model, "environment_id": environment_id_sql(self.names)}

    @property
    def _other(self) -> str:
        """Unknown columns as JSON, over those that a bundle's `other` has from another database."""
        unknown = sorted(self.names - KNOWN.keys() - FORMER_STAGES - _BY_US)
        fields = ", ".join(f"{text(name)}: {identifier(name)}" for name in unknown)
        value = f"to_json({{{fields}}})::VARCHAR" if unknown else "NULL::VARCHAR"
        if OTHER.name not in self.names:
            return f"{value} AS {OTHER.name}"
        if not unknown:
            return OTHER.name
        return f"""
            CASE WHEN json_valid(coalesce({OTHER.name}, '{{}}'))
            THEN json_merge_patch(coalesce({OTHER.name}, '{{}}'), {value})::VARCHAR
            ELSE {OTHER.name} END AS {OTHER.name}
        """


NO_JSON_OBJECT = f"""
    CASE WHEN json_valid({OTHER.name}) THEN json_type({OTHER.name}) <> 'OBJECT'
    ELSE {OTHER.name} IS NOT NULL END
"""
"""The condition under which `other` is none."""


def is_json_object(value: object) -> bool:
    """True for text that holds one, and for None: there may be none."""
    if value is None:
        return True
    try:
        return isinstance(json.loads(str(value)), dict)
    except ValueError:
        return False


def identifier(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'
