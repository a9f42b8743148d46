"""Sentences about names that are no models or types of them: a guess, else what to do.

The types are those of the transformers that images pin: `python -m tools.model_types` lists them.
"""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any

from orchestrator.system.problems import quote
from runner.contract.errors import closest, suggest
from runner.contract.models import catalogue
from runner.contract.models.catalogue import CONFIG_FILE

MODEL_FILES = (".yaml", ".yml", ".json")
"""Endings of names of files of custom models."""
TYPES_FILE = "model_types.json"
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
    """The sentence that refuses a name; paths are relative to `base`."""
    if means_path(name):
        return _no_folder(name, base)
    if guesses := _of_class(name):
        kind = "is a class, not a model" if _CLASS.fullmatch(name) else "is a kind of model"
        published = sorted(guesses, key=lambda guess: catalogue()[guess].hub_id is None)
        *others, last = published[:_MOST_GUESSES]
        either = f"{', '.join(others)} or {last}" if others else last
        return f"{quote(name)} {kind}; did you mean {either}?"
    if _HUB_ID.fullmatch(name):
        return _no_hub_id(name)
    where = f"{len(catalogue())} models: orchestrator models list"
    if near := closest(name, known):
        return f"no model {quote(name)}; did you mean {near[0]}? ({where})"
    return f"no model {quote(name)} ({where}; of your own: ./folder, or a file .yaml or .json)"


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


def _no_folder(name: str, base: Path) -> str:
    path = base / Path(name).expanduser()
    with suppress(OSError, ValueError):
        if path.exists():
            return f"{quote(name)} is a file: name its folder, which holds {CONFIG_FILE}"
    above, slash, last = name.rstrip("/").rpartition("/")
    folders: list[str] = []
    with suppress(OSError):
        beside = (entry.name for entry in path.parent.iterdir() if entry.is_dir())
        folders += islice(beside, _MOST_NEIGHBOURS)
    near = closest(last, folders)
    guess = f"; did you mean {above}{slash}{near[0]}?" if near else ""
    return f"{quote(name)} is not a folder (looked in {path.parent.absolute()}){guess}"


def _of_class(name: str) -> list[str]:
    """Models of the catalogue that a class builds, or that have such a `model_type`."""
    if _AUTO.fullmatch(name):
        return [key for key, spec in catalogue().items() if spec.architecture == name]
    match = _CLASS.fullmatch(name)
    kind = _letters(match["kind"] if match else name)
    return [key for key, spec in catalogue().items() if _letters(spec.config["model_type"]) == kind]


def _letters(word: str) -> str:
    return re.sub(r"[-_.]", "", word).casefold()


@cache
def model_types() -> tuple[str, Sequence[str]]:
    """The version of transformers, and the types of models that it builds."""
    data = json.loads((files("orchestrator.matrix") / TYPES_FILE).read_text("utf-8"))
    return data["transformers"], data["model_types"]


def unknown_type(config: dict[str, Any]) -> str | None:
    """The fault of a configuration whose type of model transformers doesn't build."""
    version, known = model_types()
    kind = config.get("model_type")
    if not isinstance(kind, str):
        return "names no model_type"
    if kind in known:
        return None
    near = suggest(kind, known)
    return f"names model_type {quote(kind)}, which transformers {version} doesn't have{near}"
