"""The names of graphs and references: what was made, and by which libraries and code of ours.

A name changes with anything that decides what lies under it, and with nothing else: not with the
model's name or folder. So whatever is found under the right name may be used without a further
question.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

from runner import __version__
from runner.contract.axes import Precision
from runner.contract.errors import BenchError
from runner.contract.files import hash_files
from runner.contract.graph import EXPORTERS, GraphKind, NumberFormat, ReferenceKind
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason

PACKAGE = Path(__file__).parents[1]
RUNNER = "runner"
Versions = Mapping[str, str]
"""Libraries and code that made something, with versions; our code's is a hash over its files."""

_NEUTRAL = (
    *("runner.measure", "runner.process", "runner.backends.base", "runner.contract.artifact_keys"),
    *("runner.contract.axes", "runner.contract.cell", "runner.contract.errors"),
    *("runner.contract.files", "runner.contract.job", "runner.contract.record"),
    *("runner.contract.rounds", "runner.contract.support"),
)
"""Modules and packages that producers import and that change nothing in what they make: the look
of jobs, records, errors and files."""
_IMPORT = re.compile(rf"^\s*from ({RUNNER}\b[\w.]*) import (\([^)]*\)|[^\n]*)", re.MULTILINE)
_NAME = re.compile(r"\w+")


@dataclass(frozen=True)
class Producer:
    """The libraries and code that decide, beside the job, what a graph or a reference holds."""

    libraries: tuple[str, ...]  # distributions
    modules: tuple[str, ...]  # our own modules that begin to make it, with what they import
    neutral: tuple[str, ...] = ()  # imported modules that change nothing in it, beside `_NEUTRAL`

    def installed(self) -> dict[str, str]:
        """Versions of the installed libraries, without a local part such as torch's `+cpu`."""
        versions = {}
        for name in self.libraries:
            with suppress(metadata.PackageNotFoundError):
                versions[name] = metadata.version(name).partition("+")[0]
        return versions

    def versions(self, libraries: Versions) -> dict[str, str]:
        return {**libraries, RUNNER: fingerprint(self)}


GRAPHS = Producer(
    libraries=EXPORTERS,
    modules=("runner.export.graphs", "runner.export.forward", "runner.export.generation"),
)
REFERENCES = Producer(
    libraries=("numpy", "torch", "transformers"),
    modules=("runner.correctness.reference", "runner.backends.torch.backend"),
    # Nothing is watched while they are made, from no graph.
    neutral=(
        "runner.backends.evidence",
        "runner.backends.graphs.session",
        "runner.backends.torch.evidence",
        "runner.contract.graph",
        "runner.correctness.compare_outputs",
    ),
)
COUNTS = Producer(libraries=(), modules=("runner.counting",))
"""Counts follow from the architecture, whichever version of a library builds it."""


HONEST_DIFFERENCE, HONEST_FAILURE = "honest_difference.", "honest_failure."
"""Beginnings of names in a reference: a precision follows, and an output, or nothing more where
the reason is kept why there is no difference."""


def tells_of(names: Iterable[str], precision: Precision) -> bool:
    """True if a reference with these names tells how much a precision's own rounding differs."""
    starts = (f"{HONEST_DIFFERENCE}{precision}.", f"{HONEST_FAILURE}{precision}")
    return precision == "fp32" or any(name.startswith(starts) for name in names)


def graph_key(
    model: ModelSpec, content: GraphKind, numbers: NumberFormat, seed: int, made_by: Versions
) -> str:
    """The name of the folder that holds a model's graph."""
    return _key(model, (content, numbers), seed, made_by)


def reference_key(model: ModelSpec, content: ReferenceKind, seed: int, made_by: Versions) -> str:
    """The name, without suffix, of the file of a model's outputs, and tokens or gradients."""
    return _key(model, (content,), seed, made_by)


def counts_key(model: ModelSpec) -> str:
    """The name, without suffix, of the file with a model's counted work."""
    return _key(model, ("counts",), 0, COUNTS.versions({}))


def is_made_by(name: str, made_by: Versions) -> bool:
    """True if the name is one of what these make, of whichever model and seed."""
    return re.search(f"-{re.escape(_format(made_by))}-[0-9a-f]{{16}}$", name) is not None


def check_key(name: str, producer: Producer, key: Callable[[Versions], str]) -> None:
    """Insist that the name is one that `key` gives to what is made in this environment."""
    # A host without a checkout knows an image by its version alone.
    known = (producer.installed(), {"image": __version__})
    names = [key(producer.versions(libraries)) for libraries in known]
    if name not in names:
        raise BenchError(reason("environment_produces", name=name, produced=names[0]))


@cache
def fingerprint(producer: Producer, package: Path = PACKAGE) -> str:
    """Eight hex digits over the names and contents of the files, as they are at the first call."""
    files = sorted(sources(producer, package).values())
    return hash_files({path.relative_to(package).as_posix(): path for path in files})[:8]


def sources(producer: Producer, package: Path = PACKAGE) -> dict[str, Path]:
    """The files of the producer's modules and of what they import of ours, read, not imported."""
    files: dict[str, Path] = {}
    ignored = (*_NEUTRAL, *producer.neutral)
    left = list(producer.modules)
    while left:
        module = left.pop()
        stem = package.joinpath(*module.split(".")[1:])
        own = (file for file in (stem.with_suffix(".py"), stem / "__init__.py") if file.is_file())
        path = None if stem == package else next(own, None)
        if path is None or module in files or _is_within(module, ignored):
            continue
        files[module] = path
        for parent, names in _IMPORT.findall(path.read_text("utf-8")):
            left += [parent, *(f"{parent}.{name}" for name in _NAME.findall(names))]
    return files


def _is_within(module: str, packages: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in packages)


def _key(model: ModelSpec, kinds: tuple[str, ...], seed: int, made_by: Versions) -> str:
    identity = f"{(*kinds, seed, sorted(made_by.items()))}\n{model.content}"
    digest = hashlib.sha256(identity.encode()).hexdigest()[:16]
    return "-".join((model.family, *kinds, _format(made_by), digest))


def _format(made_by: Versions) -> str:
    return "-".join(f"{name}{version}" for name, version in sorted(made_by.items()))
