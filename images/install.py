"""Install a requirements file with pip, and the build of torch that the file is meant for.

On Linux, PyPI's torch brings CUDA along, which no environment gets that doesn't ask for it. Other
builds are told apart by their local version, `2.13.0+cpu`, which PyPI cannot hold: so that exact
version is asked for, first of pip as it is configured (a local wheel, a mirror), then of PyTorch's
own index. The file's line `# torch build: NAME` names the build, `cpu` if there is no such line;
`pypi` takes the one that PyPI has. Standard library only.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

INDEX_URL = "https://download.pytorch.org/whl/{build}"
PINNED_TORCH = re.compile(r"^torch==([^\s;+]+)", re.MULTILINE)
BUILD = re.compile(r"^# torch build: (\S+)$", re.MULTILINE)
ON_TORCH_INDEX = re.compile(r"^triton-rocm==[^\s;+]+", re.MULTILINE)
"""What PyPI does not have, either."""
CPU, PYPI = "cpu", "pypi"

Pip = Callable[[Sequence[str]], int]
"""Runs `pip install` with these arguments; returns its exit status."""


class InstallError(Exception):
    """pip could not install what was asked for."""


def install(
    requirements: Path,
    *,
    pip: Pip,
    torch_index_url: str | None = None,
    installed: str | None = None,
    system: str = sys.platform,
) -> None:
    """Install the file's requirements; `installed` is the version of torch that is there already.

    Raises:
        InstallError: something cannot be had. CUDA is no way out.
    """
    text = requirements.read_text("utf-8")
    pinned, named = PINNED_TORCH.search(text), BUILD.search(text)
    if pinned and system == "linux":
        build = named[1] if named else CPU
        version = pinned[1] if build == PYPI else f"{pinned[1]}+{build}"
        if version != installed:
            # Three signs: another build's wheel at hand is not the one that PyPI has.
            torch = f"torch{'===' if build == PYPI else '=='}{version}"
            index_url = torch_index_url or INDEX_URL.format(build=build)
            places = [None] if build == PYPI else [None, index_url]
            _install_torch([*ON_TORCH_INDEX.findall(text), torch], places, pip)
    if pip(["--requirement", str(requirements)]) != 0:
        raise InstallError(f"{requirements}: pip could not install it, see its output above")


def _install_torch(wanted: Sequence[str], places: Sequence[str | None], pip: Pip) -> None:
    """Install from the first of these indexes that has it; None is where pip looks by itself."""
    for index_url in places:
        # A miss where another place follows is no error yet, hence silent.
        options = ["--index-url", index_url] if index_url else ["-qqq"]
        if pip([*options, "--no-deps", *wanted]) == 0:
            return
    nor = "".join(f"nor at {index_url}" for index_url in places if index_url)
    raise InstallError(
        f"{wanted[-1]} is neither where pip looks by its configuration {nor or 'nor on PyPI'}. "
        "Name an index that serves it in TORCH_INDEX_URL, "
        "or a folder that holds its wheel in PIP_FIND_LINKS."
    )


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
    options = parser.parse_args(arguments)
    try:
        install(
            options.requirements,
            pip=run_pip,
            torch_index_url=options.torch_index_url,
            installed=installed_torch(),
        )
    except (InstallError, OSError) as error:
        sys.stderr.write(f"install.py: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
