"""Files that appear whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import IO

from runner.errors import RecordNotSaved


def save_whole(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Let `write` fill a file under another name, then give it its own.

    Raises:
        RecordNotSaved: the file system refused, e.g. because the disk is full.
    """
    unfinished = path.with_name(f".{path.name}.tmp")
    try:
        with unfinished.open("wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise RecordNotSaved(
            f"{path}: cannot be written: {error.strerror or error}",
            hint="free some space; `orchestrator run --resume last` measures what is missing",
        ) from error
