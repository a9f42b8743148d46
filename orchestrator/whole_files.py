"""Text files that appear whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import StoreError


def write_whole(path: Path, text: str) -> None:
    """Write under a temporary name, sync, rename.

    Raises:
        OSError: the file system refused; nothing is left behind.
    """
    unfinished = path.with_name(f".{path.name}.tmp")
    try:
        with unfinished.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


@contextmanager
def storing(path: Path, deed: str = "written") -> Iterator[None]:
    """Say in one line what could not be read or written, e.g. because the disk is full.

    Raises:
        StoreError: the file system refused.
    """
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be {deed}: {error.strerror or error}",
            hint="mend that; `orchestrator run --resume last` measures what is missing",
        ) from error
