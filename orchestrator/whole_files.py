"""Files of the orchestrator, written whole or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from orchestrator.errors import StoreError
from runner import whole_files

RESUME = "mend that; `orchestrator run --resume last` measures what is missing"


def write_whole(path: Path, text: str) -> None:
    """Write a text in UTF-8.

    Raises:
        OSError: the file system refused; nothing is left behind.
    """
    whole_files.write_whole(path, lambda file: file.write(text.encode()))


@contextmanager
def storing(path: Path, deed: str = "written", hint: str = RESUME) -> Iterator[None]:
    """Say in one line what could not be read or written, e.g. because the disk is full.

    Raises:
        StoreError: the file system refused.
    """
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be {deed}: {error.strerror or error}",
            hint=hint,
        ) from error
