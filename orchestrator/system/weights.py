"""Folders and revisions of pretrained weights, which may be a stranger's."""

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from orchestrator.system.known_hashes import hash_once
from runner.contract.errors import DamagedFile, Unavailable
from runner.contract.files import open_plain
from runner.contract.models import ModelSpec
from runner.contract.models.catalogue import WEIGHTS_SUFFIX
from runner.contract.reasons import reason

_SIZE_BYTES = 8
_MAX_HEADER_BYTES = 16 << 20  # some 150,000 tensors
_MAX_WEIGHTS_BYTES = 256 << 30  # more than a hub takes for one file
_PART_BYTES = 1 << 20
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
    """`sha256:…` of all tensors: of their names, types, shapes and bytes, whichever file has them.

    They are read once unless a file changes, see `known_hashes`.
    """
    files = weight_files(folder)
    if not files:
        raise FileNotFoundError(2, "there are no weights in it")
    for path in files:  # also where the hash is known
        with open_model_file(folder, path.name, _MAX_WEIGHTS_BYTES):
            pass
    return hash_once(files, lambda: _hash_of_tensors(folder, [path.name for path in files]))


def count_parameters(folder: Path) -> int:
    """Floating-point numbers in the weights, from the files' headers alone."""
    return sum(_floats(folder, path.name) for path in weight_files(folder))


def _hash_of_tensors(folder: Path, names: Iterable[str]) -> str:
    lines = []
    for name in names:
        with open_model_file(folder, name, _MAX_WEIGHTS_BYTES) as file:
            tensors = _tensors(file)
            for title, tensor in sorted(tensors.items(), key=lambda item: item[1].data_offsets):
                length = tensor.data_offsets[1] - tensor.data_offsets[0]
                facts = (title, tensor.dtype, tensor.shape, _hash_of_bytes(file, length))
                lines.append(json.dumps(facts))
    return f"sha256:{hashlib.sha256(chr(10).join(sorted(lines)).encode()).hexdigest()}"


def _hash_of_bytes(file: BufferedReader, length: int) -> str:
    digest = hashlib.sha256()
    while length and (part := file.read(min(length, _PART_BYTES))):
        digest.update(part)
        length -= len(part)
    return digest.hexdigest()


def _tensors(file: BufferedReader) -> Mapping[str, _Tensor]:
    """The tensors of a file by name, which then stands at their bytes; these fill the rest of it.

    The format allows neither gaps between tensors nor bytes of two.
    """
    length = os.fstat(file.fileno()).st_size
    header = int.from_bytes(file.read(_SIZE_BYTES), "little")
    text = file.read(header) if header <= _MAX_HEADER_BYTES else b""
    try:
        entries = _HEADER.validate_json(text)
    except ValidationError as error:
        raise DamagedFile(f"is not a {WEIGHTS_SUFFIX} file") from error
    tensors = {title: entry for title, entry in entries.items() if isinstance(entry, _Tensor)}
    data, end = length - _SIZE_BYTES - header, 0
    for start, stop in sorted(tensor.data_offsets for tensor in tensors.values()):
        if not end == start <= stop:
            raise DamagedFile(f"is not a {WEIGHTS_SUFFIX} file: tensors overlap or leave gaps")
        end = stop
    if end != data:
        raise DamagedFile(f"is not whole: {data:,} bytes of {end:,} lie behind its header")
    return tensors


def _floats(folder: Path, name: str) -> int:
    """Floating-point numbers in one file, which must have room for them."""
    with open_model_file(folder, name, _MAX_WEIGHTS_BYTES) as file:
        tensors = _tensors(file).values()
    numbers = sum(math.prod(tensor.shape) for tensor in tensors if tensor.dtype.startswith(_FLOATS))
    data = max((tensor.data_offsets[1] for tensor in tensors), default=0)
    if numbers * _LEAST_BITS > data * 8:
        raise DamagedFile(f"{name} claims more numbers than its {data:,} bytes can hold")
    return numbers
