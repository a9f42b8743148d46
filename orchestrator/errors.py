"""What can go wrong on the host, each with its exit code."""

from runner.errors import BenchError


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
