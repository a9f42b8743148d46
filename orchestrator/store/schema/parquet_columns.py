"""The columns of record files: which of ours they have, which they lack, which we do not know."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.store.schema.columns import Column, text
from orchestrator.store.schema.origin import Origin
from orchestrator.store.schema.tables import ORIGIN, OTHER, RECORD
from runner.contract.record import Record

_FACTS = (
    *("image", "image_digest", "image_labels", "kernel", "libraries", "operating_system"),
    *("orchestrator_version", "python_version", "runner_version"),
)
"""The facts behind `environment_id`, sorted as it hashes them."""
_MAPS = frozenset({"image_labels", "libraries"})
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


def environment_id(columns: Iterable[str]) -> str:
    """The expression of the id, over those facts that are among the columns."""
    known = frozenset(columns)
    pairs = (f"""'"{name}": ' || {_json(name) if name in known else "'null'"}""" for name in _FACTS)
    return "sha256('{' || " + " || ', ' || ".join(pairs) + " || '}')[:16]"


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
