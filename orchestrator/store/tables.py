"""The tables: what a record's and a run's fields become."""

from dataclasses import dataclass

from orchestrator.store.columns import Column, columns_of, names, text
from orchestrator.store.run import Run
from runner.record import Record

STORE_VERSION = 4
"""Raised with every change of tables or columns:

- 1 (2026-11-21): the first tables.
- 2 (2026-11-21): record schema 2; raw durations of parts, replay_jobs, views by mode.
- 3 (2026-11-21): record schema 3.
- 4 (2026-11-21): record schema 4.
"""

HARDWARE_FACTS = (
    "device_name",
    "cpu_model",
    "cpu_flags",
    "cpu_cores_physical",
    "cpu_cores_logical",
    "memory_total_bytes",
    "machine",
)
"""What stays the same under one `hardware_id`; kernel, system and host name may change under it."""

DURATIONS = ("warmup_durations_ns", "durations_ns", "part_durations_ns")
JOB = "job"
ELSEWHERE = {*HARDWARE_FACTS, *DURATIONS, JOB}
"""Columns of a record that `benchmark_results` leaves to other tables."""


@dataclass(frozen=True)
class Table:
    """One table of the database."""

    name: str
    doc: str
    """What one row is; becomes the table's comment."""
    columns: tuple[Column, ...]
    """The first one is the primary key."""

    @property
    def ddl(self) -> str:
        """The statements that create and describe the table."""
        body = ", ".join(column.definition for column in self.columns)
        key = self.columns[0].name
        create = f"CREATE TABLE {self.name} ({body}, PRIMARY KEY ({key}))"
        return "; ".join([create, *comments("TABLE", self.name, self.doc, self.columns)])

    @property
    def names(self) -> str:
        """Its columns' names as a list for SQL."""
        return names(self.columns)


def comments(kind: str, name: str, doc: str, columns: tuple[Column, ...]) -> list[str]:
    """The statements that write the documentation into the database itself."""
    return [
        f"COMMENT ON {kind} {name} IS {text(doc)}",
        *(f"COMMENT ON COLUMN {name}.{each.name} IS {text(each.doc)}" for each in columns),
    ]


RECORD = columns_of(Record)
_RESULT_ID = Column("result_id", "VARCHAR", "`<run_id>/<cell_id>`: the verdict's id.", False)
_DESCRIBED = Column(
    "described",
    "BOOLEAN",
    "Whether the orchestrator described the run; else it is inferred from its records.",
    False,
)
_SEEN_AT = Column(
    "seen_at", "TIMESTAMPTZ", "When the newest record that describes it was written.", False
)


def _of_record(*wanted: str) -> tuple[Column, ...]:
    return tuple(column for column in RECORD if column.name in wanted)


RUNS = Table(
    "benchmark_runs",
    "One invocation of `orchestrator run`.",
    (*columns_of(Run), _DESCRIBED),
)
RESULTS = Table(
    "benchmark_results",
    "The verdict on one cell of one run: the newest record of it.",
    (
        _RESULT_ID,
        *(column for column in RECORD if column.name not in ELSEWHERE),
    ),
)
HARDWARE = Table(
    "hardware_info",
    "A machine with its device; `benchmark_results.hardware_id` points here.",
    (*_of_record("hardware_id"), *_of_record(*HARDWARE_FACTS), _SEEN_AT),
)
RAW = Table(
    "raw_benchmark_data",
    "The raw durations behind one result; `result_id` points to `benchmark_results`.",
    (_RESULT_ID, *_of_record(*DURATIONS)),
)
JOBS = Table(
    "replay_jobs",
    "What `orchestrator replay` runs again; `result_id` points to `benchmark_results`.",
    (_RESULT_ID, *_of_record(JOB)),
)
VERSION = Table(
    "schema_version",
    "What kind of database this is: one row.",
    (
        Column("version", "BIGINT", "Version of tables and columns.", False),
        Column("scratch", "BOOLEAN", "Whether rows of the fake backend are welcome.", False),
        Column("created_at", "TIMESTAMPTZ", "When the database was created, UTC.", False),
        Column("created_by", "VARCHAR", "Version of AccelMatrix that created it.", False),
    ),
)
TABLES = (RUNS, RESULTS, HARDWARE, RAW, JOBS, VERSION)
