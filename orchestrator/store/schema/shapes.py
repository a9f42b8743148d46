"""The columns of record files: which of ours they have, which they lack, which we do not know."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.store.schema.columns import Column, text
from orchestrator.store.schema.older_records import MODEL, environment_id
from orchestrator.store.schema.origin import Origin
from orchestrator.store.schema.tables import ORIGIN, OTHER, RECORD
from runner.record import Record

DEFAULTS: Mapping[str, str] = {
    name: text(info.default) if isinstance(info.default, str) else str(info.default).lower()
    for value in (Record, Origin)
    for name, info in value.model_fields.items()
    if isinstance(info.default, str | bool)
}
"""What stands for columns that a file lacks, since no older runner knew them."""
KNOWN = {column.name: column for column in (*RECORD, *ORIGIN)}

NO_ROWS = (
    "SELECT NULL::VARCHAR AS result_id, NULL::VARCHAR AS filename,"
    " NULL::BIGINT AS file_row_number, "
    + ", ".join(f"NULL::{each.type} AS {each.name}" for each in (*KNOWN.values(), OTHER))
    + " WHERE false"
)
"""The columns of `Shape.query` without a row."""


@dataclass(frozen=True)
class Shape:
    """Files with the same columns."""

    files: tuple[Path, ...]
    columns: frozenset[str]

    @property
    def query(self) -> str:
        """All their rows, under the columns that a merge works with."""
        known = ", ".join(map(self._value, KNOWN.values()))
        return (
            f"SELECT run_id || '/' || cell_id AS result_id, filename, file_row_number, {known},"
            f" {self._other} FROM read_parquet([{literals(self.files)}], filename = true,"
            " file_row_number = true, hive_partitioning = false)"
        )

    def _value(self, column: Column) -> str:
        name = column.name
        if name in self._derived:
            return f"{self._derived[name]} AS {name}"
        if name not in self.columns:
            return f"{DEFAULTS.get(name, 'NULL')}::{column.type} AS {name}"
        return name

    @property
    def _derived(self) -> Mapping[str, str]:
        """What older runners did not write, by column; what others measured is left alone."""
        if "source" in self.columns:
            return {}
        model = MODEL if "job" in self.columns and "model_spec" not in self.columns else {}
        if "environment_id" in self.columns:
            return model
        return {**model, "environment_id": environment_id(self.columns)}

    @property
    def _other(self) -> str:
        """A bundle brings its own, with what another database did not know."""
        unknown = sorted(self.columns - KNOWN.keys() - {OTHER.name})
        fields = ", ".join(f"{text(name)}: {identifier(name)}" for name in unknown)
        value = f"to_json({{{fields}}})::VARCHAR" if unknown else "NULL::VARCHAR"
        if OTHER.name not in self.columns:
            return f"{value} AS {OTHER.name}"
        if not unknown:
            return OTHER.name
        both = f"json_merge_patch(coalesce({OTHER.name}, '{{}}'), {value})::VARCHAR"
        return f"{both} AS {OTHER.name}"


def literals(files: Sequence[Path]) -> str:
    """The files as SQL literals, each as a pattern that matches it alone."""
    return ", ".join(text(pattern(file)) for file in files)


def pattern(path: Path) -> str:
    """The path as a pattern that matches it alone."""
    return "".join(f"[{letter}]" if letter in "[*?" else letter for letter in str(path))


def identifier(name: str) -> str:
    """A name as SQL quotes it."""
    return '"' + name.replace('"', '""') + '"'
