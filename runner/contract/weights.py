"""Folders and revisions of pretrained weights, for host and container alike."""

import hashlib
import math
import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from pydantic import BaseModel, NonNegativeInt, TypeAdapter, ValidationError

from runner.contract.errors import Unavailable
from runner.contract.files import file_sha256
from runner.contract.models import ModelSpec

CONFIG_FILE = "config.json"
WEIGHTS_SUFFIX = ".safetensors"
"""The one format that is read: it holds numbers alone, where pickles hold code."""
WEIGHTS_VARIABLE = "ACCELMATRIX_WEIGHTS"
"""Names the folder that the launcher shows; processes that this one starts see it too."""
_HEADER_BYTES = 8
_MAX_HEADER_BYTES = 100 << 20
_PLAN_HINT = "plan again, or put the folder back as it was"
_FLOATS = ("F", "BF")


class _Tensor(BaseModel):
    """One tensor's entry in a file's header, as far as it matters here."""

    dtype: str
    shape: tuple[NonNegativeInt, ...]


_HEADER = TypeAdapter(dict[str, _Tensor | dict[str, str]])
"""Tensors by name, and the file's metadata beside them."""


def show_folder(folder: Path) -> None:
    """From now on the weights of this process' model lie there."""
    os.environ[WEIGHTS_VARIABLE] = str(folder)


def folder_of(model: ModelSpec) -> Path | None:
    """The folder of the model's weights for this process; None if they come from a hub."""
    if model.path is None:
        return None
    return Path(os.environ.get(WEIGHTS_VARIABLE) or model.path)


def weight_files(folder: Path) -> list[Path]:
    """The files that hold weights, by name."""
    return sorted(folder.glob(f"*{WEIGHTS_SUFFIX}"))


def weights_folder(model: ModelSpec) -> Path | None:
    """The folder that a launch of this model must see; None if it reads none.

    Raises:
        Unavailable: the folder is gone, or holds other weights than the plan was made for.
    """
    if model.path is None:
        return None
    folder = Path(model.path)
    try:
        present = revision_of(folder)
    except OSError as error:
        raise Unavailable(f"{folder}: {error.strerror}", hint=_PLAN_HINT) from error
    if present != model.revision:
        raise Unavailable(
            f"{folder}: holds the weights {present}, and {model.revision} were planned",
            hint=_PLAN_HINT,
        )
    return folder


def revision_of(folder: Path) -> str:
    """`sha256:…` of the weights: of their file, or of the hashes of several.

    They are read once in a process unless a file changes.

    Raises:
        OSError: there is no file of weights, or one cannot be read.
    """
    stats = ((path.name, path.stat()) for path in weight_files(folder))
    return _revision(folder, tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats))


def count_parameters(folder: Path) -> int:
    """Floating-point numbers in the weights, from the files' headers alone.

    Raises:
        OSError: a file cannot be read.
        ValueError: a file is not what its name says.
    """
    tensors = (tensor for path in weight_files(folder) for tensor in _header(path))
    return sum(math.prod(tensor.shape) for tensor in tensors if tensor.dtype.startswith(_FLOATS))


@cache
def _revision(folder: Path, signature: tuple[tuple[str, int, int], ...]) -> str:
    if not signature:
        raise FileNotFoundError(2, "there are no weights in it")
    hashes = {path.name: file_sha256(path) for path in weight_files(folder)}
    if len(hashes) == 1:
        return f"sha256:{next(iter(hashes.values()))}"
    lines = "".join(f"{digest}  {name}\n" for name, digest in hashes.items())
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"


def _header(path: Path) -> Iterator[_Tensor]:
    with path.open("rb") as file:
        size = int.from_bytes(file.read(_HEADER_BYTES), "little")
        text = file.read(min(size, _MAX_HEADER_BYTES))
    try:
        entries = _HEADER.validate_json(text).values()
    except ValidationError as error:
        raise ValueError(f"{path.name} is not a {WEIGHTS_SUFFIX} file") from error
    return (entry for entry in entries if isinstance(entry, _Tensor))
