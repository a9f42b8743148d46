"""Tables of the database with their columns; `columns.json` has those of records and runs.

`python -m tools.columns` makes that file from the frozen values and their docstrings: to load
pydantic, its models and their source takes longer than a short command itself.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from analysis.results.source import text
from runner.contract.record.ids import ENVIRONMENT_FACTS


@dataclass(frozen=True)
class SqlColumn:
    """One column of a table."""

    name: str
    type: str
    doc: str
    """Its meaning with its unit; becomes the column's comment."""
    nullable: bool = True
    """True if it may be null, which says `not known`."""
    allowed: tuple[str, ...] = ()
    """The values it may take; empty when there is no such list."""
    range: str | None = None
    """The range of its numbers by its name in `RANGES`; None: any."""
    default: str | None = None
    """Its value as SQL where a file lacks it; None: null."""
    compression: str | None = None
    """DuckDB's compression of it; None leaves the choice to DuckDB."""

    @property
    def definition(self) -> str:
        compression = f" USING COMPRESSION {self.compression}" if self.compression else ""
        return f"{self.name} {self.type}{compression}" + ("" if self.nullable else " NOT NULL")


def names(columns: Iterable[SqlColumn]) -> str:
    return ", ".join(column.name for column in columns)


COLUMNS_FILE = Path(__file__).with_name("columns.json")
_FILE: Mapping[str, Iterable[Mapping[str, Any]]] = json.loads(COLUMNS_FILE.read_text("utf-8"))


def _columns(name: str) -> tuple[SqlColumn, ...]:
    return tuple(
        SqlColumn(**{**facts, "allowed": tuple(facts.get("allowed", ()))}) for facts in _FILE[name]
    )


RECORD, ORIGIN, RUN = _columns("record"), _columns("origin"), _columns("run")


OURS = "accelmatrix"
SYNTHETIC = "synthetic"


STORE_VERSION = 20
"""Raised with every change of tables, columns or views; databases of another are refused."""

HARDWARE_FACTS = (
    "device_name",
    "device_partition",
    "cpu_model",
    "cpu_flags",
    "cpu_cores_physical",
    "cpu_cores_logical",
    "memory_total_bytes",
    "machine",
)
"""Facts that stay the same under one `hardware_id`, memory to the GiB; kernel, system and host name
may change."""

DURATIONS = ("warmup_durations_ns", "durations_ns", "part_durations_ns")
JOB = "job"
MODEL_SPEC = "model_spec"
ELSEWHERE = {*HARDWARE_FACTS, *ENVIRONMENT_FACTS, *DURATIONS, JOB, MODEL_SPEC}
"""Columns of a record that `benchmark_results` leaves to other tables."""


@dataclass(frozen=True)
class Table:
    """One table of the database."""

    name: str
    doc: str
    """The meaning of one row; becomes the table's comment."""
    columns: tuple[SqlColumn, ...]
    keyed: bool = True
    """True if the first column is a primary key. Large tables have none: an index of a million
    strings costs more than a merge that looks before it writes."""

    @property
    def create(self) -> str:
        body = ", ".join(column.definition for column in self.columns)
        key = f", PRIMARY KEY ({self.columns[0].name})" if self.keyed else ""
        return f"CREATE TABLE {self.name} ({body}{key})"

    @property
    def ddl(self) -> str:
        return "; ".join([self.create, *comments("TABLE", self.name, self.doc, self.columns)])

    @property
    def names(self) -> str:
        return names(self.columns)


def comments(kind: str, name: str, doc: str, columns: tuple[SqlColumn, ...]) -> list[str]:
    return [
        f"COMMENT ON {kind} {name} IS {text(doc)}",
        *(f"COMMENT ON COLUMN {name}.{column.name} IS {text(column.doc)}" for column in columns),
    ]


_RESULT_ID = SqlColumn("result_id", "VARCHAR", "`<run_id>/<cell_id>`: the verdict's id.", False)
_DESCRIBED = SqlColumn(
    "described",
    "BOOLEAN",
    "Whether the orchestrator described the run; else it is inferred from its records.",
    False,
)
_SEEN_AT = SqlColumn(
    "seen_at", "TIMESTAMPTZ", "When the newest record that describes it was written.", False
)
WORD_COLUMNS = (
    SqlColumn("reason", "VARCHAR", "Why it ended so, in words; null where it is `ok`."),
    SqlColumn("remedy", "VARCHAR", "What helps against that, or against outputs that are wrong."),
    SqlColumn("correct_reason", "VARCHAR", "Why `correct` is false or null, in words."),
    SqlColumn(
        "grade_reasons",
        "VARCHAR[]",
        "What speaks against the numbers, each with its remedy, the heaviest first.",
    ),
)
"""The words of a record's codes, as the version has them that merged it."""
REQUIRED = ("run_id", "job_id", "cell_id", "recorded_at", "model", "status", "proof")
"""Columns that every result has; imported ones may lack the others that our own must have."""


def _of_record(*wanted: str) -> tuple[SqlColumn, ...]:
    return tuple(column for column in RECORD if column.name in wanted)


def _relaxed(columns: tuple[SqlColumn, ...]) -> tuple[SqlColumn, ...]:
    return tuple(replace(column, nullable=column.name not in REQUIRED) for column in columns)


RUNS = Table(
    "benchmark_runs",
    "One invocation of `orchestrator run`, or one imported file.",
    (*RUN, _DESCRIBED),
)
RESULTS = Table(
    "benchmark_results",
    "The verdict on one cell of one run: the newest record of it.",
    (
        _RESULT_ID,
        *_relaxed(tuple(column for column in RECORD if column.name not in ELSEWHERE)),
        *WORD_COLUMNS,
        *ORIGIN,
    ),
    keyed=False,
)
HARDWARE = Table(
    "hardware_info",
    "A machine with its device; `benchmark_results.hardware_id` points here.",
    (*_of_record("hardware_id"), *_of_record(*HARDWARE_FACTS), _SEEN_AT),
)
ENVIRONMENTS = Table(
    "environments",
    "The software between machine and model; `benchmark_results.environment_id` points here.",
    (*_of_record("environment_id"), *_relaxed(_of_record(*ENVIRONMENT_FACTS)), _SEEN_AT),
)
MODELS = Table(
    "models",
    "A model with its configuration; `benchmark_results.model_id` points here.",
    (
        *_of_record("model_id"),
        *_relaxed(_of_record("model", "family", "task", "modality", MODEL_SPEC)),
        _SEEN_AT,
    ),
)
ARTEFACTS = Table(
    "artefacts",
    "A file that results depend on: a prepared graph, an image, or pretrained weights.",
    (
        SqlColumn("digest", "VARCHAR", "`sha256:…` or a hub's commit.", False),
        SqlColumn("kind", "VARCHAR", "What it is.", False, ("graph", "image", "weights")),
        SqlColumn("name", "VARCHAR", "Its name: a graph's folder, an image's tag, a model's name."),
        SqlColumn("facts", "VARCHAR", "What is known of it, as a JSON object."),
        _SEEN_AT,
    ),
)
RAW = Table(
    "raw_benchmark_data",
    "The raw durations behind one result; `result_id` points to `benchmark_results`.",
    (_RESULT_ID, *_of_record(*DURATIONS)),
    keyed=False,
)
JOBS = Table(
    "replay_jobs",
    "What `orchestrator replay` runs again; `result_id` points to `benchmark_results`.",
    # One job is much like the next, which only this compression sees.
    tuple(replace(column, compression="zstd") for column in (_RESULT_ID, *_of_record(JOB))),
    keyed=False,
)
ACCEPTED = Table(
    "accepted_changes",
    "A known step: `regress` judges later results of the cell by the level that begins here.",
    (
        _RESULT_ID,
        *_of_record("run_id", "cell_id"),
        SqlColumn("because", "VARCHAR", "The reason that was given for the step.", False),
        SqlColumn("accepted_at", "TIMESTAMPTZ", "When it was accepted, UTC.", False),
        SqlColumn(
            "accepted_by", "VARCHAR", "The user on this computer who did; null if it knows none."
        ),
    ),
)
VERSION = Table(
    "schema_version",
    "What kind of database this is: one row.",
    (
        SqlColumn("version", "BIGINT", "Version of tables and columns.", False),
        SqlColumn("scratch", "BOOLEAN", "Whether fake and synthetic rows are welcome.", False),
        SqlColumn("created_at", "TIMESTAMPTZ", "When the database was created, UTC.", False),
        SqlColumn("created_by", "VARCHAR", "Version of AccelMatrix that created it.", False),
        SqlColumn(
            "predictor_sha256",
            "VARCHAR",
            "SHA-256 of the predictor that was trained on it, in hex; null if none was.",
        ),
    ),
)
QUARANTINE = Table(
    "quarantine",
    "A row that `orchestrator database check --fix` took out of its table, whole.",
    (
        SqlColumn("result_id", "VARCHAR", "The result that it was, or was of; null for a run."),
        SqlColumn("run_id", "VARCHAR", "The run that it was, or was of.", False),
        SqlColumn("table_name", "VARCHAR", "The table it stood in.", False),
        SqlColumn("reason", "VARCHAR", "What was wrong with it.", False),
        SqlColumn("quarantined_at", "TIMESTAMPTZ", "When it was taken out, UTC.", False),
        SqlColumn(
            "recorded_at",
            "TIMESTAMPTZ",
            "When the record was written; null for rows of other tables than results.",
        ),
        SqlColumn(
            "content",
            "VARCHAR",
            "The row as a JSON object, a result with its raw durations, job and acceptance.",
            False,
        ),
    ),
    keyed=False,
)


def records_sql(
    names: Iterable[str],
    results: str = RESULTS.name,
    beside: Sequence[Table] = (HARDWARE, ENVIRONMENTS, MODELS, RAW, JOBS),
) -> str:
    """The question for columns of records, as far as results and the tables beside have them."""
    homes = {column.name: table.name for table in beside for column in table.columns}
    homes |= {column.name: "r" for column in RESULTS.columns}
    columns = ", ".join(f"{homes[name]}.{name}" for name in names if name in homes)
    joins = (f"LEFT JOIN {table.name} USING ({table.columns[0].name})" for table in beside)
    return f"SELECT {columns} FROM {results} r {' '.join(joins)}"


TABLES = (
    *(RUNS, RESULTS, HARDWARE, ENVIRONMENTS, MODELS, ARTEFACTS, RAW, JOBS),
    *(ACCEPTED, QUARANTINE, VERSION),
)
KEPT_HERE = frozenset({ACCEPTED, QUARANTINE})
"""Tables with what the owner of a database decided: they go into no other database."""
