"""Export of tables for other programs, topic by topic: a file, or a folder of partitions."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import types

from orchestrator.store.query.answer import Answer
from orchestrator.store.query.ask import asking
from orchestrator.store.query.formats import SUFFIXES, json_values, save_answer
from orchestrator.store.schema.mode_views import GENERATION_ALL
from orchestrator.store.schema.parquet_columns import identifier
from orchestrator.system.files import (
    output_folder,
    require_free,
    require_free_folder,
    require_no_stream,
)
from runner.contract.axes import SIZE_AXES
from runner.contract.errors import UsageError

NULL = "__HIVE_DEFAULT_PARTITION__"
"""The name of a folder for null, and for an empty text."""
_ESCAPED = re.compile(r"""[\x00-\x1f"#%'*/:=?\\\x7f{\[\]^]""")
"""Characters that Hive and Spark escape; they read all others as they are."""
_FILE = re.compile(r"([^/=]+=[^/]+/)*part-\d+\.parquet")

_Key = tuple[object, ...]


def is_part(path: Path) -> bool:
    return _FILE.fullmatch(path.as_posix()) is not None


def partition_values(path: Path) -> dict[str, str | None]:
    """The columns that the folders above a part stand for, with their values as text."""
    pairs = (folder.partition("=") for folder in path.parent.parts)
    return {unquote(name): None if value == NULL else unquote(value) for name, _, value in pairs}


def require_partitions(schema: pa.Schema, by: Sequence[str]) -> None:
    for name in by:
        if name not in schema.names:
            raise UsageError.unknown(
                name,
                schema.names,
                f"--partition-by: there is no column {name!r} here",
                hint="`orchestrator query NAME --wide` shows columns; a few make good folders,"
                " e.g. backend,model",
            )
        type_ = schema.field(name).type
        if not any(fits(type_) for fits in _NAMES_FOLDERS):
            raise UsageError(
                f"--partition-by: {name} has type {type_}, which cannot name folders",
                hint="partition by text, whole numbers or dates, e.g. backend,model",
            )
    if len(set(by)) < len(by) or len(by) == len(schema):
        raise UsageError(
            f"--partition-by: {','.join(by)} leaves nothing to write, or names a column twice",
            hint="partition by a few columns, e.g. backend,model",
        )


def write_partitions(answer: Answer, by: Sequence[str], folder: Path) -> int:
    """Write rows that come sorted by these columns; returns the number of files.

    The columns are in the names of the folders alone, `backend=cpu/model=gpt2/part-0.parquet`:
    readers that find them in the files too take them for others.
    """
    files, current = 0, None
    schema = pa.schema([field for field in answer.schema if field.name not in by])
    with ExitStack() as open_file:
        writer = None
        for key, rows in _runs(answer, by):
            if writer is None or key != current:
                open_file.close()
                path = _next_file(folder.joinpath(*map(_named, by, key)))
                writer = open_file.enter_context(_writer(path, schema))
                current, files = key, files + 1
            writer.write_batch(rows.select(schema.names))
    if not files:  # readers learn all columns of a file without rows: no folder stands for them
        _writer(_next_file(folder), answer.schema).close()
    return max(files, 1)


def _runs(answer: Answer, by: Sequence[str]) -> Iterator[tuple[_Key, pa.RecordBatch]]:
    for batch in answer.batches:
        keys = list(zip(*[json_values(batch.column(name)) for name in by], strict=True))
        for key, places in groupby(range(len(keys)), keys.__getitem__):
            first, *rest = places
            yield key, batch.slice(first, len(rest) + 1)


def _named(name: str, value: object) -> str:
    parts = (name, NULL if value in (None, "") else str(value))
    return "=".join(_ESCAPED.sub(lambda match: f"%{ord(match[0]):02X}", part) for part in parts)


def _next_file(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"part-{sum(1 for _ in folder.iterdir())}.parquet"


def _writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, compression="zstd")


_NAMES_FOLDERS = (types.is_string, types.is_integer, types.is_boolean, types.is_date)


OUTPUT = "--output"
_RAW = f"""
    SELECT result_id, run_id, cell_id, model, hardware, hostname, backend, runtime, precision,
        {", ".join(SIZE_AXES)}, mode, scenario,
        measured_at, status, proof, correct, grade, source, simulated,
        warmup_durations_ns, durations_ns, part_durations_ns
    FROM {{view}}
    JOIN raw_benchmark_data USING (result_id)
"""


@dataclass(frozen=True)
class Topic:
    """A table that can be exported, as two questions."""

    quotable: str
    """Rows of the default views."""
    everything: str
    """All rows, with their marks."""


TOPICS: Mapping[str, Topic] = {
    "performance": Topic(
        "SELECT * FROM benchmark_performance", "SELECT * FROM benchmark_performance_all"
    ),
    "generation": Topic("SELECT * FROM generation_results", GENERATION_ALL),
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
class ExportOptions:
    """A topic, an output and its format."""

    topic: str | None
    """One of `TOPICS`."""
    output: Path | None
    """The file, or the folder of partitions."""
    form: str | None = None
    """One of `FORMS`; None: what the file's name says, or Parquet if it has no ending."""
    partition_by: tuple[str, ...] = ()
    """Columns after which folders are named; empty for one file."""
    everything: bool = False
    """True to take also rows that must not be quoted."""
    force: bool = False


@dataclass(frozen=True)
class ExportedTopic:
    """An export that was written."""

    topic: str
    output: Path
    rows: int
    files: int


def export_topic(database: Path, options: ExportOptions) -> ExportedTopic:
    if options.topic is None or options.output is None:
        example = options.topic or "performance"
        raise UsageError(
            "export: give a topic and `--output`, or `--bundle`",
            hint=f"`orchestrator export {example} --output {example}.parquet`, or"
            " `orchestrator export --bundle results.zip`",
        )
    topic, output = TOPICS[options.topic], options.output
    sql = topic.everything if options.everything else topic.quotable
    rows = 0

    def counted(answer: Answer) -> Answer:
        def batches() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in answer.batches:
                rows += batch.num_rows
                yield batch

        return replace(answer, batches=batches())

    files = 1
    if options.partition_by:
        files = _export_folder(database, sql, options, output, counted)
    else:
        form = form_for(output, options.form)
        require_free(OUTPUT, output, force=options.force, database=database)
        with asking(database, sql, timeout_s=None) as answer:
            save_answer(counted(answer), form, output)
    return ExportedTopic(options.topic, output, rows, files)


def form_for(output: Path, form: str | None) -> str:
    """The format that was asked for, or else the one of the file's name; Parquet if it has none."""
    ending = output.suffix.lower()
    named = SUFFIXES.get(ending)
    if form is not None and named not in {None, form}:
        raise UsageError(
            f"{OUTPUT} {output}: ends as {named} does, and `--format` is {form}",
            hint="leave one of the two out",
        )
    if form is None and ending and named not in FORMS:
        raise UsageError(
            f"{OUTPUT} {output}: {ending!r} is not one of {', '.join(ENDINGS)}",
            hint=f"name one of these, or say `--format {'|'.join(FORMS)}`",
        )
    return form or named or "parquet"


def _export_folder(
    database: Path,
    sql: str,
    options: ExportOptions,
    output: Path,
    counted: Callable[[Answer], Answer],
) -> int:
    by = options.partition_by
    if options.form not in {None, "parquet"}:
        raise UsageError(
            f"--partition-by: folders hold Parquet, not {options.form}",
            hint="leave one of the two options out",
        )
    require_no_stream(OUTPUT, output)
    require_free_folder(OUTPUT, output, force=options.force, is_export=is_part)
    with asking(database, f"SELECT * FROM ({sql}) LIMIT 0") as answer:
        require_partitions(answer.schema, by)
    in_order = f"SELECT * FROM ({sql}) ORDER BY {', '.join(map(identifier, by))}"
    with asking(database, in_order, timeout_s=None) as answer, output_folder(output) as folder:
        return write_partitions(counted(answer), by, folder)
