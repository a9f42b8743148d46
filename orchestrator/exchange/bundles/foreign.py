"""Databases of others: a child process with limits writes a bundle of one, which is then checked.

A file that makes DuckDB crash, fill the memory or never end costs the child.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from psutil import virtual_memory

from orchestrator.exchange.bundles.check import Bundle, open_bundle
from orchestrator.exchange.bundles.write import write_rows
from orchestrator.store.database.connect import QUESTION_MEMORY_SHARE
from orchestrator.store.query.foreign import foreign_rows
from orchestrator.system.files import translate_os_errors
from orchestrator.system.memory import limited_growth
from orchestrator.system.plain_data import parse_json
from orchestrator.system.text import escape_control_line, format_duration
from runner.contract.errors import BenchError, DamagedFile, StoreError
from runner.contract.files import STREAM_BYTES, open_plain, read_plain_text
from runner.contract.processes import python_environment

READING_S = 600.0
"""Time to read a database of others."""
_MAGIC_AT, _MAGIC = 8, b"DUCK"
_LEAST_OUTPUT_BYTES = 1 << 30
_GROWTH = 4
"""Most bytes of the bundle by those of the database, above that least."""
_SPACE_SHARE = 0.5
_OWN_BYTES = 512 << 20
"""Memory for all that DuckDB does not count."""
_LETTERS = 600
_CHILD = f"import sys; from {__name__} import write_as_child; sys.exit(write_as_child())"
_BUNDLE, _MESSAGE, _SPILL = "records.zip", "message", "spill"
_HINT = "ask its owner for a bundle: `orchestrator export --bundle FILE`"


def is_database(path: Path) -> bool:
    """True if this is a DuckDB file by its content. A user may name a link."""
    if not path.is_file():
        return False
    with translate_os_errors(path, "cannot be read", _HINT):
        try:
            with open_plain(path.resolve(), STREAM_BYTES, is_named=True) as file:
                return file.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC
        except DamagedFile:
            return False


@contextmanager
def open_database(path: Path, timeout_s: float = READING_S) -> Iterator[Bundle]:
    """A database of others as a checked bundle; `merge_bundle` merges it."""
    with ExitStack() as closing:
        with translate_os_errors(path, "cannot be unpacked into the temporary folder", _HINT):
            folder = Path(closing.enter_context(tempfile.TemporaryDirectory()))
        _read(path, folder, timeout_s)
        bundle = closing.enter_context(open_bundle(folder / _BUNDLE))
        yield replace(bundle, path=path)


def _read(path: Path, folder: Path, timeout_s: float) -> None:
    """Have a child write the bundle into the folder."""
    command = [sys.executable, "-P", "-c", _CHILD, str(path), str(folder), str(timeout_s)]
    with (folder / _MESSAGE).open("wb") as message:
        try:
            child = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=message,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                env={**python_environment(), "TMPDIR": str(folder)},
                timeout=timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            reason = f"{path}: cannot be read within {format_duration(timeout_s)}"
            raise StoreError(reason, hint=_HINT) from error
    if child.returncode != 0:
        raise _failure(path, folder / _MESSAGE, child.returncode)


def _failure(path: Path, file: Path, status: int) -> StoreError:
    """The error that the child told of; a child that was killed tells of none."""
    try:
        error = parse_json(read_plain_text(file))
        message, hint = (
            escape_control_line(str(error[key]))[:_LETTERS] for key in ("message", "hint")
        )
        return StoreError(message, hint=hint)
    except (ValueError, KeyError, TypeError, OSError, DamagedFile):
        end = f"signal {-status}" if status < 0 else f"exit status {status}"
        return StoreError(
            f"{path}: damaged, or too large to be read within its limits: the process that read it"
            f" ended with {end}",
            hint=_HINT,
        )


def write_as_child() -> int:
    """Write the bundle of the database that the arguments name; returns the exit status."""
    path, folder, timeout_s = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    memory_bytes = int(virtual_memory().total * QUESTION_MEMORY_SHARE)
    _limit(path, folder, timeout_s)
    try:
        with (
            limited_growth(2 * memory_bytes + _OWN_BYTES),
            foreign_rows(path, memory_bytes, folder / _SPILL) as rows,
        ):
            write_rows(rows, folder / _BUNDLE)
    except Exception as error:  # whatever it is, the parent tells it
        hint = error.hint if isinstance(error, BenchError) else None
        message = str(error) if isinstance(error, BenchError) else f"{path}: damaged: {error}"
        sys.stdout.write(json.dumps({"message": message, "hint": hint or _HINT}))
        return 1
    return 0


def _limit(path: Path, folder: Path, timeout_s: float) -> None:
    most_bytes = max(_LEAST_OUTPUT_BYTES, _GROWTH * path.stat().st_size)
    free = int(_SPACE_SHARE * shutil.disk_usage(folder).free)
    for kind, limit in (
        (resource.RLIMIT_FSIZE, min(most_bytes, free)),
        (resource.RLIMIT_CPU, int(timeout_s * (os.cpu_count() or 1)) + 1),
        (resource.RLIMIT_CORE, 0),
    ):
        _, hard = resource.getrlimit(kind)
        most = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (most, most))
