"""The errors of AccelMatrix: each knows its exit code and what to do next."""

from typing import ClassVar


class BenchError(Exception):
    """An error that a user can act on."""

    exit_code: ClassVar[int] = 70

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


class JobError(BenchError):
    """The job file cannot be read or is not valid."""

    exit_code = 2


class UnknownModel(BenchError):
    """A name that the catalogue does not hold."""

    exit_code = 2


class Unsupported(BenchError):
    """This combination cannot exist: the cell ends with status `unsupported`."""

    exit_code = 2


class Unavailable(BenchError):
    """It could exist, but not on this machine: the cell ends with status `unavailable`."""

    exit_code = 2


class RecordError(BenchError):
    """A record file is damaged, foreign or from another schema."""

    exit_code = 6


class RecordNotSaved(BenchError):
    """A record could not be written, e.g. because the disk is full."""

    exit_code = 6


class MatrixError(BenchError):
    """The matrix or an option is wrong; the message names file, path, value and what is allowed."""

    exit_code = 2


class NothingToDo(BenchError):
    """The plan holds no cell that could run."""

    exit_code = 3


class EngineUnavailable(BenchError):
    """No container engine answers, or it went away."""

    exit_code = 4


class ImageError(BenchError):
    """An image is missing, or could not be built, pulled or pushed."""

    exit_code = 5


class StoreError(BenchError):
    """The database or the results folder cannot be read or written, or has another schema."""

    exit_code = 6
