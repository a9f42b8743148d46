"""A matrix that names cells one by one, for `run` to measure exactly these."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.matrix.model_names import Names, known_names
from orchestrator.matrix.values import BACKENDS
from orchestrator.system.problems import Source
from runner.contract.axes import AXIS_NAMES
from runner.contract.cell import Cell
from runner.contract.models import catalogue

_TABLES = ("measure", "limits")
_WORD = re.compile(r"[^\W\d_][\w-]*")
_NOT_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
MatrixData = dict[str, Any]


def cells_document(cells: Sequence[Cell], source: Source, folder: Path | None) -> MatrixData:
    """The document of a matrix with these cells alone, measured and limited as `source` has it.

    It lies in `folder`, from which it names folders and files; without one, from the root.
    """
    references = _References(known_names(source)[0], source.folder, folder)
    entries = [_entry(cell, references.word(cell.model)) for cell in cells]
    used = {cell.backend for cell in cells}
    tables: Mapping[str, MatrixData] = source.data.get("backends") or {}
    kept = {name: _kept(table) for name, table in tables.items() if name in used}
    backends = {name: table for name, table in kept.items() if table}
    if files := references.files(cell.model for cell in cells):
        taken = {"cpu", "fake", *used}
        unused = next(name for name in reversed(BACKENDS) if name not in taken)
        backends[unused] = {"axes": {"model": files}}
    rest = {"backends": backends} if backends else {}
    return {"version": 1, "include": entries, **_kept(source.data), **rest}


def _kept(table: MatrixData) -> MatrixData:
    """The tables that cells keep, but for the lists of their axes."""
    return {name: table[name] for name in _TABLES if table.get(name)}


def cells_text(document: MatrixData, comment: str) -> str:
    lines = [f"# {comment}", f"version: {document['version']}", "include:"]
    lines += [f"  - {_flow(entry)}" for entry in document["include"]]
    lines += [f"{name}: {_flow(document[name])}" for name in _TABLES if name in document]
    backends = document.get("backends", {})
    for name, table in backends.items():
        if "axes" in table:
            lines.append(f"# No cell is of {name}: its list brings the models of a file.")
    lines += [f"backends: {_flow(backends)}"] if backends else []
    return "\n".join(lines) + "\n"


def _flow(value: object) -> str:
    """The value in YAML's flow style: JSON, but for keys and words that need no quotes."""
    if isinstance(value, dict):
        parts = (f"{key}: {_flow(part)}" for key, part in value.items())
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_flow, value))}]"
    if isinstance(value, str) and _WORD.fullmatch(value) and value.lower() not in _NOT_WORDS:
        return value
    return json.dumps(value, ensure_ascii=False)


def _entry(cell: Cell, model: str) -> MatrixData:
    values = {name: getattr(cell, name) for name in AXIS_NAMES} | {"model": model}
    if cell.scenario == "single_stream":
        del values["scenario"]
    return {name: value for name, value in values.items() if value is not None}


class _References:
    """The words by which a matrix in another folder names the same models."""

    def __init__(self, names: Names, folder: Path, new_folder: Path | None) -> None:
        known = catalogue()
        self._groups = {
            model: (word, len(models))
            for word, models in names.groups.items()
            for model in models
            if model not in known
        }
        self._folder, self._new_folder = folder, new_folder

    def word(self, model: str) -> str:
        word, models = self._groups.get(model, (model, 0))
        return self._moved(word) if models == 1 else model

    def files(self, models: Iterable[str]) -> list[str]:
        """The files that bring several of these models, for a backend that makes no cell."""
        brought = (self._groups.get(model, ("", 0)) for model in models)
        return list(dict.fromkeys(self._moved(word) for word, count in brought if count > 1))

    def _moved(self, word: str) -> str:
        path = (self._folder / Path(word).expanduser()).resolve()
        if self._new_folder is None:
            return str(path)
        if self._new_folder.resolve() == self._folder.resolve():
            return word
        moved = os.path.relpath(path, self._new_folder.resolve())
        return moved if moved.startswith("..") else f"./{moved}"
