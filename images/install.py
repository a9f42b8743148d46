"""Install a requirements file with pip, without ever downloading CUDA to a CPU-only environment.

On Linux, PyPI's torch brings CUDA along. The CPU build is told apart by its local version,
`2.13.0+cpu`, which PyPI cannot hold: so that exact version is asked for, first of pip as it is
configured (a local wheel, a mirror), then of PyTorch's CPU index. Standard library only.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path

CPU_INDEX_URL = "https://download.pytorch.org/whl/cpu"
PINNED_TORCH = re.compile(r"^torch==([^\s;+]+)", re.MULTILINE)

Pip = Callable[[Sequence[str]], int]
"""Runs `pip install` with these arguments; returns its exit status."""


class InstallError(Exception):
    """pip could not install what was asked for."""


def install(
    requirements: Path,
    *,
    pip: Pip,
    torch_index_url: str = CPU_INDEX_URL,
    installed: str | None = None,
    system: str = sys.platform,
) -> None:
    """Install the file's requirements; `installed` is the version of torch that is there already.

    Raises:
        InstallError: something cannot be had. CUDA is no way out.
    """
    pinned = PINNED_TORCH.search(requirements.read_text("utf-8"))
    if pinned and system == "linux":
        _install_cpu_torch(f"{pinned[1]}+cpu", pip, torch_index_url, installed)
    if pip(["--requirement", str(requirements)]) != 0:
        raise InstallError(f"{requirements}: pip could not install it, see its output above")


def _install_cpu_torch(version: str, pip: Pip, torch_index_url: str, installed: str | None) -> None:
    if installed == version:
        return
    wanted = ["--no-deps", f"torch=={version}"]
    as_configured, from_torch_index = wanted, ["--index-url", torch_index_url, *wanted]
    # A miss of the first attempt is no error yet, hence silent.
    if pip(["-qqq", *as_configured]) == 0 or pip(from_torch_index) == 0:
        return
    raise InstallError(
        f"torch=={version}, the CPU build, is neither where pip looks by its configuration "
        f"nor at {torch_index_url}. Name an index that serves it in TORCH_INDEX_URL, "
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
        default=os.environ.get("TORCH_INDEX_URL") or CPU_INDEX_URL,
        help="where PyTorch's CPU build lies if pip's configuration does not find it "
        "(default: $TORCH_INDEX_URL, else %(default)s)",
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
