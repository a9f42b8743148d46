"""The names of graphs and references: what was made, and by which libraries and code of ours.

A name changes with anything that decides what lies under it. So whatever is found under the right
name may be used without a further question.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from runner import __version__
from runner.contract.errors import BenchError
from runner.contract.files import hash_files
from runner.contract.graph import EXPORTERS, GraphKind, NumberFormat
from runner.contract.models import ModelSpec

PACKAGE = Path(__file__).parents[1]
RUNNER = "runner"
"""What our own code is called among those that made something."""
_MODEL_AND_INPUTS = (
    "contract/models/*.py",
    "inputs/*.py",
    "contract/weights.py",
    "backends/torch/model.py",
    "backends/torch/forward.py",
    "backends/torch/weights.py",
)

Versions = Mapping[str, str]
"""What something was made by, each with its version; our code's is a hash over its files."""


@dataclass(frozen=True)
class Maker:
    """What decides, beside the job, what a graph or a reference holds."""

    libraries: tuple[str, ...]
    """Distributions."""
    sources: tuple[str, ...]
    """Patterns of our own files, in the folder of this package."""

    def installed(self) -> dict[str, str]:
        """Versions of the libraries that are installed here.

        Without a local part such as torch's `+cpu`: it makes nothing else.
        """
        found = {}
        for name in self.libraries:
            with suppress(metadata.PackageNotFoundError):
                found[name] = metadata.version(name).partition("+")[0]
        return found

    def versions(self, libraries: Versions) -> dict[str, str]:
        """Those of the libraries, and that of our own code."""
        return {**libraries, RUNNER: fingerprint(self.sources)}


GRAPHS = Maker(
    libraries=EXPORTERS,
    sources=(
        *_MODEL_AND_INPUTS,
        "export/*.py",
        "contract/graph.py",
        "correctness/*.py",
        "backends/torch/device.py",
        "backends/graphs/*.py",
        "backends/onnxruntime/qnn/*.py",
    ),
)
REFERENCES = Maker(
    libraries=("numpy", "torch", "transformers"),
    sources=(
        *_MODEL_AND_INPUTS,
        "correctness/reference.py",
        "backends/torch/backend.py",
        "backends/torch/device.py",
        "backends/torch/generation.py",
    ),
)


def graph_key(
    model: ModelSpec, content: GraphKind, numbers: NumberFormat, seed: int, made_by: Versions
) -> str:
    """The name of the folder that holds a model's graph."""
    return _key(model, (content, numbers), seed, made_by)


def reference_key(model: ModelSpec, content: GraphKind, seed: int, made_by: Versions) -> str:
    """The name, without suffix, of the file that holds a model's outputs, and tokens if asked."""
    return _key(model, (content,), seed, made_by)


def is_made_by(name: str, made_by: Versions) -> bool:
    """Whether the name is one of what these make, of whichever model and seed."""
    return re.search(f"-{re.escape(_told(made_by))}-[0-9a-f]{{16}}$", name) is not None


def check_key(name: str, maker: Maker, key: Callable[[Versions], str]) -> None:
    """The name must be one that `key` gives to what is made in this environment.

    Raises:
        BenchError: it is another one.
    """
    # A host without a checkout knows an image by its version alone.
    known = (maker.installed(), {"image": __version__})
    names = [key(maker.versions(libraries)) for libraries in known]
    if name not in names:
        raise BenchError(
            f"{name}: this environment would make {names[0]}",
            hint="rebuild the image of backend cpu, or install its extra: pip install -e '.[cpu]'",
        )


@cache
def fingerprint(sources: tuple[str, ...], package: Path = PACKAGE) -> str:
    """Eight hex digits over the names and contents of the files, as they are at the first call."""
    return hash_files(package, [path.relative_to(package) for path in files(sources, package)])[:8]


def files(sources: tuple[str, ...], package: Path = PACKAGE) -> list[Path]:
    """The files of these patterns, each once, in order."""
    return sorted({path for pattern in sources for path in package.glob(pattern)})


def _key(model: ModelSpec, what: tuple[str, ...], seed: int, made_by: Versions) -> str:
    identity = f"{(*what, seed, sorted(made_by.items()))}\n{model.model_dump_json()}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return "-".join((model.name, *what, _told(made_by), digest))


def _told(made_by: Versions) -> str:
    return "-".join(f"{name}{version}" for name, version in sorted(made_by.items()))
