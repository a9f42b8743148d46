"""Install a requirements file with pip: wheels whose hash is known, and the right build of torch.

The hashes lie beside the file, in `requirements.hashes.txt`. On Linux, PyPI's torch brings CUDA
along, which no environment gets that doesn't ask for it. Other builds are told apart by their
local version, `2.13.0+cpu`, which PyPI cannot hold: so that exact version is asked for, first of
pip as it is configured (a local wheel, a mirror), then of PyTorch's own index. The file's line
`# torch build: NAME` names the build, `cpu` if there is no such line; `pypi` takes the one that
PyPI has. PyPI publishes no hash of another build: a site names the wheels that it allows in a file
of lines `name==version --hash=sha256:…`, and then nothing is taken without one. Standard library
only.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path

INDEX_URL = "https://download.pytorch.org/whl/{build}"
PINNED_TORCH = re.compile(r"^torch==([^\s;+]+)", re.MULTILINE)
BUILD = re.compile(r"^# torch build: (\S+)$", re.MULTILINE)
ON_TORCH_INDEX = re.compile(r"^triton-rocm==[^\s;+]+", re.MULTILINE)
"""What PyPI does not have, either."""
CPU, PYPI = "cpu", "pypi"
HASHES = "requirements.hashes.txt"
"""The name of the file with hashes beside the requirements."""
SITE_VARIABLE = "ACCELMATRIX_HASHES"
_PIN = re.compile(
    r"([A-Za-z0-9._-]+==[A-Za-z0-9._+!-]+)(?:\s*;[^\\]*?)?((?:\s+--hash=sha256:[0-9a-f]{64})+)"
)

Pip = Callable[[Sequence[str]], int]
"""Runs `pip install` with these arguments; returns its exit status."""
Hashes = Mapping[str, Sequence[str]]
"""The options `--hash=…` of a pin, `name==version`."""


class InstallError(Exception):
    """pip could not install what was asked for."""


def install(
    requirements: Path,
    *,
    pip: Pip,
    torch_index_url: str | None = None,
    installed: str | None = None,
    system: str = sys.platform,
    site: Path | None = None,
) -> None:
    """Install the file's requirements; `installed` is the version of torch that is there already.

    `site` holds the hashes of the wheels that this site allows: `name==version --hash=sha256:…`.

    Raises:
        InstallError: something cannot be had, or not with a hash. CUDA is no way out.
    """
    text = requirements.read_text("utf-8")
    published = requirements.with_name(HASHES)
    if not published.is_file():
        raise InstallError(f"{published}: is missing; `make pins` writes it")
    allowed = _site_hashes(site) if site else None
    pinned, named = PINNED_TORCH.search(text), BUILD.search(text)
    if pinned and system == "linux":
        build = named[1] if named else CPU
        version = pinned[1] if build == PYPI else f"{pinned[1]}+{build}"
        if version != installed:
            # Three signs: another build's wheel at hand is not the one that PyPI has.
            torch = f"torch{'===' if build == PYPI else '=='}{version}"
            wanted = [*ON_TORCH_INDEX.findall(text), torch]
            index_url = torch_index_url or INDEX_URL.format(build=build)
            if build == PYPI:
                _install_torch(wanted, [None], pip, _hashes(published.read_text("utf-8")))
            else:
                _install_torch(wanted, [None, index_url], pip, allowed)
    _install_rest(published, allowed or {}, pip)


def _site_hashes(path: Path) -> Hashes:
    lines = path.read_text("utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.startswith("#") and not _PIN.fullmatch(line.strip()):
            raise InstallError(
                f"{path}:{number}: {line.strip()!r} is not `name==version --hash=sha256:…`"
            )
    return _hashes("\n".join(lines))


def _hashes(text: str) -> Hashes:
    joined = re.sub(r"\\\n", " ", text)
    return {match[1]: match[2].split() for match in map(_PIN.match, joined.splitlines()) if match}


def _install_torch(
    wanted: Sequence[str], places: Sequence[str | None], pip: Pip, hashes: Hashes | None
) -> None:
    """Install from the first of these indexes that has it; None is where pip looks by itself.

    Without `hashes` whatever lies there is taken.
    """
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--no-deps", *wanted]
        if hashes is not None:
            lines = [f"{pin} {' '.join(_hashes_of(pin, hashes))}" for pin in wanted]
            arguments = ["--no-deps", *_hashed(Path(folder) / "torch.txt", lines)]
        for index_url in places:
            # A miss where another place follows is no error yet, hence silent.
            options = ["--index-url", index_url] if index_url else ["-qqq"]
            if pip([*options, *arguments]) == 0:
                return
    nor = "".join(f"nor at {index_url}" for index_url in places if index_url)
    raise InstallError(
        f"{wanted[-1]} is neither where pip looks by its configuration {nor or 'nor on PyPI'}"
        f"{' with a hash that is allowed' if hashes is not None else ''}. "
        "Name an index that serves it in TORCH_INDEX_URL, "
        "or a folder that holds its wheel in PIP_FIND_LINKS."
    )


def _hashes_of(pin: str, hashes: Hashes) -> Sequence[str]:
    try:
        return hashes[pin.replace("===", "==")]
    except KeyError:
        raise InstallError(
            f"{pin}: the file that {SITE_VARIABLE} names has no hash of it"
        ) from None


def _install_rest(published: Path, allowed: Hashes, pip: Pip) -> None:
    """Install all that hashes are published of; a site's own wheels of it count as well."""
    lines = _with_allowed(published.read_text("utf-8").splitlines(), allowed)
    with tempfile.TemporaryDirectory() as folder:
        arguments = _hashed(Path(folder) / "requirements.txt", lines)
        # The file names all there is, and a source archive would run code while it is built.
        if pip(["--no-deps", "--only-binary=:all:", *arguments]) != 0:
            raise InstallError(f"{published}: pip could not install it, see its output above")


def _with_allowed(lines: Iterable[str], allowed: Hashes) -> Iterator[str]:
    for line in lines:
        yield line
        if hashes := allowed.get(re.split(r"[;\s]", line, maxsplit=1)[0]):
            yield f"    {' '.join(hashes)} \\"


def _hashed(path: Path, lines: Iterable[str]) -> list[str]:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return ["--require-hashes", "--requirement", str(path)]


def run_pip(arguments: Sequence[str]) -> int:
    """Run this interpreter's `pip install`."""
    command = [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *arguments]
    return subprocess.run(command, check=False).returncode


def installed_torch() -> str | None:
    """The version of torch in this interpreter's environment."""
    try:
        return metadata.version("torch")
    except metadata.PackageNotFoundError:
        return None


def main(arguments: Sequence[str] | None = None) -> int:
    """Install the file that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("requirements", type=Path, help="a requirements file")
    parser.add_argument(
        "--torch-index-url",
        default=os.environ.get("TORCH_INDEX_URL") or None,
        help="where PyTorch's build lies if pip's configuration does not find it "
        f"(default: $TORCH_INDEX_URL, else {INDEX_URL.format(build='BUILD')})",
    )
    parser.add_argument(
        "--hashes",
        type=Path,
        default=os.environ.get(SITE_VARIABLE) or None,
        help="a file with the hashes of the wheels that this site allows, and no build of torch "
        f"without one (default: ${SITE_VARIABLE})",
    )
    options = parser.parse_args(arguments)
    try:
        install(
            options.requirements,
            pip=run_pip,
            torch_index_url=options.torch_index_url,
            installed=installed_torch(),
            site=options.hashes,
        )
    except (InstallError, OSError) as error:
        sys.stderr.write(f"install.py: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
