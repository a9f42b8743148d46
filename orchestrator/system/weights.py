"""Folders and revisions of pretrained weights, which may be a stranger's."""

import hashlib
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from io import BufferedReader
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from runner.contract.errors import DamagedFile, Unavailable
from runner.contract.files import open_plain
from runner.contract.models import ModelSpec
from runner.contract.models.catalogue import WEIGHTS_SUFFIX
from runner.contract.reasons import reason

_SIZE_BYTES = 8
_MAX_HEADER_BYTES = 16 << 20  # some 150,000 tensors
_MAX_WEIGHTS_BYTES = 256 << 30  # more than a hub takes for one file
_LEAST_BITS = 4  # bits of the smallest floating-point number
_FLOATS = ("F", "BF")


_Count = Annotated[int, Field(ge=0, le=_MAX_WEIGHTS_BYTES)]


class _Tensor(BaseModel):
    """One tensor's entry in a file's header, as far as it matters here."""

    model_config = ConfigDict(strict=True, defer_build=True)

    dtype: str
    shape: Annotated[list[_Count], Field(max_length=64)]
    data_offsets: tuple[_Count, _Count]
    """First byte behind the header, and one past the last."""


_HEADER = TypeAdapter(dict[str, _Tensor | dict[str, str]], config=ConfigDict(defer_build=True))
"""Tensors by name, and the file's metadata beside them."""


def weight_files(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"*{WEIGHTS_SUFFIX}"))


def repository_of(folder: Path) -> Path:
    """The folder that a model's folder belongs to: itself, or its repository in a hub's cache.

    Hugging Face's cache keeps `models--<owner>--<name>/snapshots/<commit>/config.json` as a link
    into `models--<owner>--<name>/blobs`.
    """
    real = folder.resolve()
    repository = real.parent.parent
    cached = real.parent.name == "snapshots" and repository.name.startswith("models--")
    return repository if cached else real


@contextmanager
def open_model_file(folder: Path, name: str, most_bytes: int) -> Iterator[BufferedReader]:
    """Open a plain file of a model's folder; links are followed inside the folder or repository."""
    try:
        with open_plain(_own_path(folder, name), most_bytes, is_named=True) as file:
            yield file
    except DamagedFile as damaged:
        raise DamagedFile(f"{name} {damaged}") from None


def _own_path(folder: Path, name: str) -> Path:
    path = folder / name
    if not path.is_symlink():
        return path
    try:
        target = path.resolve(strict=True)
    except FileNotFoundError:
        raise DamagedFile("is a link to a file that is missing") from None
    except RuntimeError:
        raise DamagedFile("is a link that leads in a circle") from None
    root = repository_of(folder)
    if not target.is_relative_to(root):
        raise DamagedFile(f"is a link that leads out of {root}: put a copy in its place")
    return target


def weights_folder(model: ModelSpec) -> Path | None:
    """The folder that a launch of this model must see, with the planned weights; None if none."""
    if model.path is None:
        return None
    folder = Path(model.path)
    try:
        present = revision_of(folder)
    except OSError as error:
        raise Unavailable(reason("folder_refused", folder=folder, error=error.strerror)) from error
    except DamagedFile as damaged:
        raise Unavailable(reason("folder_refused", folder=folder, error=damaged)) from damaged
    if present != model.revision:
        raise Unavailable(
            reason("other_weights", folder=folder, present=present, planned=model.revision)
        )
    return folder


def revision_of(folder: Path) -> str:
    """`sha256:…` of the weights: of their file, or of the hashes of several.

    They are read once in a process unless a file changes.
    """
    stats = ((path.name, path.stat()) for path in weight_files(folder))
    return _revision(folder, tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats))


def count_parameters(folder: Path) -> int:
    """Floating-point numbers in the weights, from the files' headers alone."""
    return sum(_floats(folder, path.name) for path in weight_files(folder))


@cache
def _revision(folder: Path, signature: tuple[tuple[str, int, int], ...]) -> str:
    if not signature:
        raise FileNotFoundError(2, "there are no weights in it")
    hashes: dict[str, str] = {}
    for name, _, _ in signature:
        with open_model_file(folder, name, _MAX_WEIGHTS_BYTES) as file:
            hashes[name] = hashlib.file_digest(file, "sha256").hexdigest()
    if len(hashes) == 1:
        return f"sha256:{next(iter(hashes.values()))}"
    lines = "".join(f"{digest}  {name}\n" for name, digest in hashes.items())
    return f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"


def _floats(folder: Path, name: str) -> int:
    """Floating-point numbers in one file; its header must fit its length."""
    with open_model_file(folder, name, _MAX_WEIGHTS_BYTES) as file:
        length = os.fstat(file.fileno()).st_size
        header = int.from_bytes(file.read(_SIZE_BYTES), "little")
        text = file.read(header) if header <= _MAX_HEADER_BYTES else b""
    try:
        entries = _HEADER.validate_json(text).values()
    except ValidationError as error:
        raise DamagedFile(f"{name} is not a {WEIGHTS_SUFFIX} file") from error
    tensors = [entry for entry in entries if isinstance(entry, _Tensor)]
    data = length - _SIZE_BYTES - header
    end = max((tensor.data_offsets[1] for tensor in tensors), default=0)
    if end != data:
        raise DamagedFile(f"{name} is not whole: {data:,} bytes of {end:,} lie behind its header")
    numbers = sum(math.prod(tensor.shape) for tensor in tensors if tensor.dtype.startswith(_FLOATS))
    if numbers * _LEAST_BITS > data * 8:
        raise DamagedFile(f"{name} claims more numbers than its {data:,} bytes can hold")
    return numbers
