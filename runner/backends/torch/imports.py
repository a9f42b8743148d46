"""Import of what all models of transformers share, without reading their folder twice."""

import gc
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import transformers
from transformers.utils import import_utils

_SHARED = "transformers.modeling_utils"


def import_models() -> None:
    """Import what all models share, and set it aside for the collection of garbage.

    `transformers` and `transformers.models` both look through the 2,500 files of the folder
    `models` for the names that they define. The first keeps what it found, under another spelling
    of the path; here the second takes that, which saves a quarter of a second.
    """
    if _SHARED in sys.modules:
        return
    folder = Path(transformers.__file__).parent / "models"
    read = import_utils.create_import_structure_from_path
    names, package = read(folder), folder / "__init__.py"
    import_utils.create_import_structure_from_path = cache(
        lambda path: names if Path(path) == package else read(path)
    )
    try:
        import_module(_SHARED)
    finally:
        import_utils.create_import_structure_from_path = read
    gc.freeze()  # imports leave many objects
