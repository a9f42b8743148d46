"""What is taken out of the database for other programs, topic by topic."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from orchestrator.errors import MatrixError
from orchestrator.outputs import new_folder, require_free, require_free_folder
from orchestrator.pipes import require_no_stream
from orchestrator.store.reading.partitions import is_part, require_partitions, write_partitions
from orchestrator.store.reading.query import Answer, asking
from orchestrator.store.reading.written import SUFFIXES, save_answer
from orchestrator.store.schema.shapes import identifier

OUTPUT = "--output"
_RAW = """
    SELECT result_id, run_id, cell_id, model, hardware, hostname, backend, runtime, precision,
        batch_size, sequence_length, image_size, audio_seconds, new_tokens, mode, scenario,
        measured_at, status, proof, correct, grade, source, simulated,
        warmup_durations_ns, durations_ns, part_durations_ns, other
    FROM {view}
    JOIN raw_benchmark_data USING (result_id)
    JOIN (SELECT result_id, other FROM benchmark_results) USING (result_id)
"""


@dataclass(frozen=True)
class Topic:
    """One thing that can be taken out."""

    quotable: str
    """Rows of the default views."""
    everything: str
    """All rows, with their marks."""


TOPICS: Mapping[str, Topic] = {
    "performance": Topic(
        "SELECT * FROM benchmark_performance", "SELECT * FROM benchmark_performance_all"
    ),
    "hardware": Topic(
        "SELECT * FROM hardware_info SEMI JOIN benchmark_performance USING (hardware_id)",
        "SELECT * FROM hardware_info",
    ),
    "compatibility": Topic("SELECT * FROM compatibility", "SELECT * FROM compatibility_all"),
    "raw": Topic(
        _RAW.format(view="benchmark_performance"), _RAW.format(view="benchmark_performance_all")
    ),
}


FORMS = ("csv", "json", "parquet")
ENDINGS = tuple(ending for ending, form in SUFFIXES.items() if form in FORMS)


@dataclass(frozen=True)
class Wanted:
    """What shall be taken out, and how."""

    topic: str | None
    """One of `TOPICS`."""
    output: Path | None
    """The file, or the folder of partitions."""
    form: str | None = None
    """One of `FORMS`; None: what the file's name says, or Parquet if it has no ending."""
    partition_by: tuple[str, ...] = ()
    """Columns after which folders are named; empty for one file."""
    everything: bool = False
    """Whether rows are taken that must not be quoted."""
    force: bool = False
    """Whether an earlier output may be replaced."""


@dataclass(frozen=True)
class Exported:
    """What an export wrote."""

    topic: str
    path: Path
    rows: int
    files: int


def export(database: Path, wanted: Wanted) -> Exported:
    """Write a topic's rows into a file, or a folder of partitions, whole or not at all.

    Raises:
        MatrixError: something is not named, or does not go together; or the output exists.
        StoreError: the database cannot be read, or the output not written.
    """
    if wanted.topic is None or wanted.output is None:
        raise MatrixError(
            "export: wants a topic and `--output`, or `--bundle`",
            hint="`orchestrator export performance --output performance.parquet`, or"
            " `orchestrator export --bundle results.zip`",
        )
    topic = TOPICS[wanted.topic]
    sql = topic.everything if wanted.everything else topic.quotable
    tally = _Tally()
    if wanted.partition_by:
        files = _export_folder(database, sql, wanted, wanted.output, tally)
    else:
        files = _export_file(database, sql, wanted, wanted.output, tally)
    return Exported(wanted.topic, wanted.output, tally.rows, files)


@dataclass
class _Tally:
    """Counts rows as they pass."""

    rows: int = 0

    def passing(self, answer: Answer) -> Answer:
        """The same answer."""
        return Answer(answer.schema, self._counted(answer))

    def _counted(self, answer: Answer) -> Iterator[pa.RecordBatch]:
        for batch in answer.batches:
            self.rows += batch.num_rows
            yield batch


def _export_file(database: Path, sql: str, wanted: Wanted, output: Path, tally: _Tally) -> int:
    form = form_for(output, wanted.form)
    require_free(OUTPUT, output, force=wanted.force, database=database)
    with asking(database, sql) as answer:
        save_answer(tally.passing(answer), form, output)
    return 1


def form_for(output: Path, form: str | None) -> str:
    """The format that was asked for, or else the one of the file's name; Parquet if it has none.

    Raises:
        MatrixError: the name says another one, or one that nobody knows.
    """
    ending = output.suffix.lower()
    told = SUFFIXES.get(ending)
    if form is not None and told not in {None, form}:
        raise MatrixError(
            f"{OUTPUT} {output}: ends as {told} does, and `--format` is {form}",
            hint="leave one of the two out",
        )
    if form is None and ending and told not in FORMS:
        raise MatrixError(
            f"{OUTPUT} {output}: {ending!r} is not one of {', '.join(ENDINGS)}",
            hint=f"name one of these, or say `--format {'|'.join(FORMS)}`",
        )
    return form or told or "parquet"


def _export_folder(database: Path, sql: str, wanted: Wanted, output: Path, tally: _Tally) -> int:
    by = wanted.partition_by
    if wanted.form not in {None, "parquet"}:
        raise MatrixError(
            f"--partition-by: folders hold Parquet, not {wanted.form}",
            hint="leave one of the two options out",
        )
    require_no_stream(OUTPUT, output)
    require_free_folder(OUTPUT, output, force=wanted.force, ours=is_part)
    with asking(database, f"SELECT * FROM ({sql}) LIMIT 0") as answer:
        require_partitions(answer.schema, by)
    in_order = f"SELECT * FROM ({sql}) ORDER BY {', '.join(map(identifier, by))}"
    with asking(database, in_order) as answer, new_folder(output) as folder:
        return write_partitions(tally.passing(answer), by, folder)
