"""The files of hashes: what each is made from, its text, and the faults of one by hand."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from tools.pins.published import Pin, published_pins

ROOT = Path(__file__).parents[2]
HEAD = """\
# Written by `make pins`, not by hand: sha256 of every wheel that PyPI publishes of these versions
# for Linux (x86_64, aarch64) and macOS, Python 3.11 to 3.13. Installed with --require-hashes.
"""
UNHASHED = """\
# No hash of these is here: they lie on PyTorch's own index, and PyPI publishes none. A site names
# the wheels that it allows in ACCELMATRIX_HASHES (docs/images.md); else they are taken unchecked.
"""
_MARK = "# unhashed: "
_BUILD = re.compile(r"^# torch build: (\S+)$", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}\b")
_ON_TORCH_INDEX = {"triton-rocm"}
"""Packages that PyPI does not have."""
_MACOS = 'sys_platform == "darwin"'

Pins = Mapping[str, Requirement]
"""Requirements by canonical name."""


@dataclass(frozen=True)
class HashFile:
    """One file with hashes, and where its versions come from."""

    path: str
    """The file, from the checkout's root."""
    source: str
    """The file that asks for the packages: bounds or exact versions."""
    complete: bool
    """True if the source names each package, dependencies of dependencies too."""


def hash_files(root: Path = ROOT) -> list[HashFile]:
    """Every file with hashes that the checkout should have."""
    images = sorted(path.parent.name for path in (root / "images").glob("*/requirements.txt"))
    return [
        *(
            HashFile(
                f"images/{name}/requirements.hashes.txt", f"images/{name}/requirements.txt", True
            )
            for name in images
        ),
        HashFile("locks/orchestrator.txt", "pyproject.toml", False),
        HashFile("locks/analysis.txt", "requirements-analysis.txt", False),
        HashFile("locks/dev.txt", "requirements-dev.txt", False),
        HashFile("locks/weights.txt", "requirements-weights.txt", True),
        HashFile("locks/tools.txt", "requirements-tools.txt", False),
    ]


def write(file: HashFile, uv: str, root: Path = ROOT) -> None:
    """Write a file anew from what the index publishes.

    Raises:
        LockError: the index lacks something.
    """
    local = local_builds(root, file)
    requirements = [
        str(requirement)
        for name, requirement in wanted(root, file).items()
        if name not in local or name == "torch"
    ]
    pins = published_pins(uv, requirements, _constraints(root, file), complete=file.complete)
    texts = [pin.lines() for pin in _without_local(pins, local)]
    if local:
        texts.append(UNHASHED + "\n".join(f"{_MARK}{build}" for build in local.values()))
    (root / file.path).parent.mkdir(exist_ok=True)
    (root / file.path).write_text(HEAD + "\n".join(texts) + "\n", encoding="utf-8")


def _without_local(pins: list[Pin], local: Mapping[str, str]) -> Iterator[Pin]:
    """The pins that PyPI serves: of torch, where another build is meant, macOS's wheels alone."""
    for pin in pins:
        if pin.name not in local:
            yield pin
        elif local[pin.name].endswith("+cpu"):
            macos = {name: digest for name, digest in pin.wheels.items() if "-macosx" in name}
            yield Pin(pin.name, pin.version, _MACOS, macos)


def wanted(root: Path, file: HashFile) -> Pins:
    """What the source asks for."""
    text = (root / file.source).read_text("utf-8")
    if file.source.endswith(".toml"):
        project = tomllib.loads(text)
        # setuptools builds our own package, so it is needed as its dependencies are.
        lines = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    else:
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return _by_name(lines)


def local_builds(root: Path, file: HashFile) -> Mapping[str, str]:
    """Packages of an image that PyPI has no build of for Linux, and the pin of that build."""
    if not file.source.startswith("images/"):
        return {}
    named = _BUILD.search((root / file.source).read_text("utf-8"))
    build = named[1] if named else "cpu"
    local = {}
    for name, requirement in wanted(root, file).items():
        if name == "torch" and build != "pypi":
            local[name] = f"torch{requirement.specifier}+{build}"
        elif name in _ON_TORCH_INDEX:
            local[name] = f"{name}{requirement.specifier}"
    return local


def _constraints(root: Path, file: HashFile) -> list[str]:
    """Versions of the images of this machine, which the same environment may hold."""
    if file.complete:
        return []
    pins: dict[str, str] = {}
    for image in ("cpu", "openvino", "qnn"):
        source = HashFile("", f"images/{image}/requirements.txt", True)
        pins |= {name: str(pin.specifier) for name, pin in wanted(root, source).items()}
    if file.source != "pyproject.toml":
        lock = root / "locks/orchestrator.txt"
        pins |= {name: str(pin.specifier) for name, pin in locked(lock.read_text("utf-8")).items()}
    return [f"{name}{specifier}" for name, specifier in pins.items()]


def locked(text: str) -> Pins:
    """The pins of a file with hashes."""
    lines = re.sub(r"\s*\\\n\s*", " ", text).splitlines()
    return _by_name([_HASH.sub("", line) for line in lines if line and not line.startswith("#")])


def unhashed(text: str) -> list[str]:
    """The builds that a file with hashes names as having none."""
    return [line.removeprefix(_MARK) for line in text.splitlines() if line.startswith(_MARK)]


def faults(file: HashFile, root: Path = ROOT) -> list[str]:
    """Everything that makes a file another one than its source asks for; nothing is fetched."""
    path = root / file.path
    if not path.is_file():
        return [f"{file.path}: is missing"]
    text = path.read_text("utf-8")
    try:
        pins = locked(text)
    except InvalidRequirement as error:
        line = str(error).splitlines()[1].strip()
        return [f"{file.path}: {line!r} is not a pin with hashes"]
    messages = _faults(file, text, pins, local_builds(root, file), wanted(root, file))
    return [f"{file.path}: {fault}" for fault in messages]


def _faults(
    file: HashFile, text: str, pins: Pins, local: Mapping[str, str], asked: Pins
) -> Iterator[str]:
    for line in re.sub(r"\s*\\\n\s*", " ", text).splitlines():
        if line and not line.startswith("#") and not _HASH.search(line):
            yield f"{line.split(' ')[0]} has no hash"
    if unhashed(text) != list(local.values()):
        yield f"says that {unhashed(text)} have no hash; it should be {list(local.values())}"
    for name, requirement in asked.items():
        pin = pins.get(name)
        if pin is None:
            if name not in local:
                yield f"{name} is missing, which {file.source} asks for"
        elif not _satisfies(pin, requirement):
            yield f"{pin.name}{pin.specifier} is not {requirement} of {file.source}"
    if file.complete:
        yield from (f"{name} is not in {file.source}" for name in pins if name not in asked)


def _satisfies(pin: Requirement, requirement: Requirement) -> bool:
    (specifier,) = pin.specifier
    return specifier.operator == "==" and requirement.specifier.contains(
        specifier.version, prereleases=True
    )


def _by_name(lines: list[str]) -> Pins:
    requirements = map(Requirement, lines)
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}
