"""Folders of pretrained weights on this host, checked against what was planned."""

from functools import cache
from pathlib import Path

from runner.contract.errors import Unavailable
from runner.contract.models import ModelSpec
from runner.contract.weights import revision_of, weight_files

_HINT = "plan again, or put the folder back as it was"
_Signature = tuple[tuple[str, int, int], ...]


def weights_folder(model: ModelSpec) -> Path | None:
    """The weights folder that a launch of this model must see; None if it reads none.

    Raises:
        Unavailable: the folder is gone, or holds other weights than the plan was made for.
    """
    if model.path is None:
        return None
    folder = Path(model.path)
    try:
        present = revision(folder)
    except OSError as error:
        raise Unavailable(f"{folder}: {error.strerror}", hint=_HINT) from error
    if present != model.revision:
        raise Unavailable(
            f"{folder}: holds the weights {present}, and {model.revision} were planned", hint=_HINT
        )
    return folder


def revision(folder: Path) -> str:
    """`sha256:…` of the folder's weights, read once in a process unless a file changes.

    Raises:
        OSError: a file cannot be read.
    """
    stats = ((path.name, path.stat()) for path in weight_files(folder))
    return _revision(folder, tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats))


@cache
def _revision(folder: Path, signature: _Signature) -> str:
    if not signature:
        raise FileNotFoundError(2, "there are no weights in it")
    return revision_of(folder)
