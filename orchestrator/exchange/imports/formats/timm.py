"""timm's results: what `benchmark.py` of pytorch-image-models writes as CSV or JSON.

`step_time` is milliseconds for one batch, the mean of all steps; `param_count` is millions.
"""

import re
from collections.abc import Iterator
from typing import Any, Literal

from orchestrator.exchange.imports.document import Document, TableRow, rows_of
from orchestrator.exchange.imports.entry import FileEntry, Reading, gather
from orchestrator.exchange.imports.measurement import is_null
from orchestrator.exchange.imports.simulation_marks import marks_in

_NAME = re.compile(
    r"benchmark-(?:infer|train)-(?P<precision>[a-z0-9_]+)-(?P<layout>nchw|nhwc)"
    r"-pt(?P<torch>\d{3,4})-(?:cu(?P<cuda>\d{3})|cpu)-(?P<device>[A-Za-z0-9_.]+)"
    r"(?P<dynamo>-dynamo)?\.(?:csv|json)"
)

_Part = Literal["infer", "train"]
_PARTS: dict[_Part, str] = {"infer": "inference", "train": "training"}
_TIMINGS = ("samples_per_sec", "step_time")
_SIZES = ("gmacs", "macts", "batch_size", "img_size")
_COLUMNS = {
    "throughput": "samples_per_sec",
    "latency_mean_s": "step_time",
    "batch_size": "batch_size",
    "image_size": "img_size",
}


class Timm:
    """The format of pytorch-image-models' benchmark script."""

    name = "timm"
    source = "pytorch-image-models"

    def recognises(self, document: Document) -> bool:
        names = _names(document)
        return "model" in names and any(
            f"{part}_{column}" in names for part in _PARTS for column in (*_TIMINGS, *_SIZES)
        )

    def read(self, document: Document) -> Reading:
        names, name = _names(document), _NAME.fullmatch(document.path.name)
        parts: list[_Part] = [
            part for part in _PARTS if any(f"{part}_{timing}" in names for timing in _TIMINGS)
        ]
        if not parts and "error" not in names:
            return Reading(nothing="sizes of models, without a timing")
        entries = (entry for row in _rows(document) for entry in _entries(row, parts, name))
        return gather(entries, "a table of models without rows")


def _names(document: Document) -> frozenset[str]:
    rows = _json_rows(document)
    return frozenset(
        document.first_line() if rows is None else (name for row in rows for name in row)
    )


def _json_rows(document: Document) -> list[dict[str, Any]] | None:
    rows = [document.json] if isinstance(document.json, dict) else document.json
    whole = isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows)
    return rows if whole else None


def _rows(document: Document) -> Iterator[TableRow]:
    rows = _json_rows(document)
    if rows is None:
        yield from rows_of(document)
    for position, cells in enumerate(rows or ()):
        yield TableRow(f"/{position}" if isinstance(document.json, list) else "/", cells)


def _entries(row: TableRow, parts: list[_Part], name: re.Match[str] | None) -> Iterator[FileEntry]:
    if row.fault:
        yield FileEntry(row.location, row.fault)
        return
    filled = [
        part
        for part in parts
        if any(not is_null(row.cells.get(f"{part}_{timing}")) for timing in _TIMINGS)
    ]
    error = row.cells.get("error")
    failed = not is_null(error)
    several = len(filled) + failed > 1
    for part in filled:
        others = tuple(f"{other}_" for other in filled if other != part)
        entry = _entry(row, f"{row.location}, {part}" if several else row.location, name, others)
        entry.set(status="ok", mode=_PARTS[part])
        for column, ending in _COLUMNS.items():
            column_name, unit = f"{part}_{ending}", "ms" if ending == "step_time" else None
            entry.number(column, column_name, row.cells.get(column_name), unit)
        yield entry
    if failed or not filled:
        entry = _entry(row, f"{row.location}, error" if several else row.location, name, ())
        entry.set(status="ok")
        if failed:
            entry.fail(str(error))
        yield entry


def _entry(
    row: TableRow, location: str, name: re.Match[str] | None, others: tuple[str, ...]
) -> FileEntry:
    entry = FileEntry(location)
    entry.mark(*marks_in(row.cells, row.location.rstrip("/")))
    entry.set(family="vision", modality="image")
    entry.text("model", "model", row.cells.get("model"))
    entry.number("parameters", "param_count", row.cells.get("param_count"), "million")
    if name is not None:
        _host(entry, name)
    for column, value in row.cells.items():
        if not column.startswith(others):
            entry.detail(column, value)
    return entry


def _host(entry: FileEntry, name: re.Match[str]) -> None:
    """Set what the name of the file says; `amp` is torch's mixed precision with fp16."""
    torch, cuda, device = name["torch"], name["cuda"], name["device"]
    # pt113 is PyTorch 1.13, pt240 is 2.4.0, as the commits that added the files say.
    parts = ("1", torch[1:3], torch[3:]) if torch[0] == "1" else (torch[0], torch[1:-1], torch[-1])
    libraries = {"torch": ".".join(filter(None, parts))}
    if cuda:
        libraries["cuda"] = f"{cuda[:2]}.{cuda[2]}"
    entry.set(
        precision=name["precision"],
        runtime="torch_compile" if name["dynamo"] else "torch",
        backend="cuda" if cuda else "cpu",
        device_name=device,
        cpu_model=None if cuda else device,
        libraries=libraries,
    )
    entry.detail("file_name.layout", name["layout"])
    entry.setting("layout", name["layout"])
