"""Files of other benchmarks, in a folder of a user or in none."""

import json
from pathlib import Path
from typing import Any

from orchestrator.exchange.imports.document import Document, files_in
from orchestrator.exchange.imports.entry import Format, Reading
from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.importing import ImportReport, import_files, preview_import
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from orchestrator.exchange.imports.outcome import FileOutcome, read_files
from orchestrator.store.query.ask import query

TABLE = """\
model,infer_img_size,infer_batch_size,infer_samples_per_sec,infer_step_time,param_count
tinynet_e,106,1024,75290.96,13.591,2.04
resnet50,224,256,1010.5,253.3,25.56
"""
LATER = TABLE.replace("1010.5", "2020.5")


def text_document(text: str, name: str = "results.csv") -> Document:
    return Document(Path("somewhere") / name, text.encode())


def json_document(data: Any, name: str = "results.json") -> Document:
    return text_document(json.dumps(data), name)


def read(format_: Format, document: Document) -> Reading:
    assert format_.recognises(document)
    return format_.read(document)


def only(reading: Reading) -> ImportedMeasurement:
    assert reading.faults == ()
    (found,) = reading.measurements
    return found


def write(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def verdicts_on(*paths: Path) -> tuple[FileOutcome, ...]:
    return read_files(files_in(paths), FORMATS, paths)


class Place:
    """A user's folder with sources, results and a database."""

    def __init__(self, folder: Path) -> None:
        self.sources = folder / "sources"
        self.results = folder / "results"
        self.database = folder / "results/benchmarks.duckdb"

    def verdicts(self) -> tuple[FileOutcome, ...]:
        return verdicts_on(self.sources)

    def import_files(self) -> ImportReport:
        command = "orchestrator import sources"
        return import_files(self.verdicts(), self.results, self.database, command)

    def preview_import(self) -> ImportReport:
        return preview_import(self.verdicts(), self.database)

    def files(self) -> list[Path]:
        return sorted((self.results / "imports").iterdir())

    def ask(self, sql: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = query(self.database, sql).to_pylist()
        return rows

    def table(self, name: str = "benchmark_results") -> list[dict[str, Any]]:
        return self.ask(f"SELECT * FROM {name} ORDER BY ALL")
