"""Sentences about what is no model: a guess first, else what to do about it."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

from orchestrator.system.problems import quote
from runner.contract.errors import closest
from runner.contract.models import catalogue
from runner.contract.models.catalogue import CONFIG_FILE

MODEL_FILES = (".yaml", ".yml", ".json")
"""Endings of names of files of custom models."""
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")
_CLASS = re.compile(
    r"(?P<kind>[A-Z][A-Za-z0-9]*?)(For[A-Z]\w*|(LMHead|DoubleHeads|Encoder|PreTrained)?Model|Config)"
)
"""A class of transformers: an architecture, and what it is for."""
_AUTO = re.compile(r"AutoModel(For[A-Z]\w*)?")
_MOST_GUESSES = 3
_MOST_NEIGHBOURS = 1000


def means_path(name: str) -> bool:
    """True for a name that can only mean a folder or a file: `./mine`, `../mine`, `/mine`, `.`."""
    return name in (".", "..") or name.startswith(("./", "../", "/", "~/")) or name.endswith("/")


def is_folder(base: Path, name: str) -> bool:
    """True if a name means a folder that exists, seen from another."""
    try:
        return (base / Path(name).expanduser()).is_dir()
    except (OSError, ValueError, RuntimeError):
        return False


def unknown_model(name: str, known: Sequence[str], base: Path) -> str:
    """The sentence that refuses a name which is no model.

    Args:
        name: the name.
        known: every name that is one.
        base: the folder that paths are relative to.
    """
    if means_path(name):
        return _no_folder(name, base)
    if guesses := _of_class(name):
        kind = "is a class, not a model" if _CLASS.fullmatch(name) else "is a kind of model"
        return f"{quote(name)} {kind}; did you mean {_either(guesses)}?"
    if _HUB_ID.fullmatch(name):
        return _no_hub_id(name)
    if near := closest(name, known):
        return f"no model {quote(name)}; did you mean {near[0]}? ({_where()})"
    return f"no model {quote(name)} ({_where()}; of your own: ./folder, or a file .yaml or .json)"


def _no_hub_id(name: str) -> str:
    """The guess is by the part behind the owner, who may have hundreds of models."""
    folder = name.rpartition("/")[2]
    bare = {id_.rpartition("/")[2]: id_ for spec in catalogue().values() if (id_ := spec.hub_id)}
    near = closest(folder, bare)
    guess = f"; did you mean {bare[near[0]]}? If not:" if near else " in the catalogue, and"
    return (
        f"no model {quote(name)}{guess} nothing is downloaded here: get it "
        f"by `hf download {name} --local-dir {folder}`, then name ./{folder}"
    )


def _where() -> str:
    return f"{len(catalogue())} models: orchestrator models list"


def _no_folder(name: str, base: Path) -> str:
    path = base / Path(name).expanduser()
    if _exists(path):
        return f"{quote(name)} is a file: name its folder, which holds {CONFIG_FILE}"
    above, slash, last = name.rstrip("/").rpartition("/")
    near = closest(last, _neighbours(path.parent))
    guess = f"; did you mean {above}{slash}{near[0]}?" if near else ""
    return f"{quote(name)} is not a folder (looked in {path.parent.absolute()}){guess}"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _neighbours(folder: Path) -> list[str]:
    try:
        entries = (path.name for path in folder.iterdir() if path.is_dir())
        return list(islice(entries, _MOST_NEIGHBOURS))
    except OSError:
        return []


def _of_class(name: str) -> list[str]:
    """Models of the catalogue that a class builds, or that have such a `model_type`."""
    if _AUTO.fullmatch(name):
        return [key for key, spec in catalogue().items() if spec.architecture == name]
    match = _CLASS.fullmatch(name)
    kind = _letters(match["kind"] if match else name)
    return [key for key, spec in catalogue().items() if _letters(spec.config["model_type"]) == kind]


def _letters(word: str) -> str:
    return re.sub(r"[-_.]", "", word).casefold()


def _either(names: Iterable[str]) -> str:
    published = sorted(names, key=lambda name: catalogue()[name].hub_id is None)
    *others, last = published[:_MOST_GUESSES]
    return f"{', '.join(others)} or {last}" if others else last
