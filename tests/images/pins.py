"""The exact versions that an image's requirements ask for."""

from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from orchestrator.system.git import ROOT


def pins(path: Path) -> dict[str, Requirement]:
    """The requirements of a file by name."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    requirements = [Requirement(line) for line in lines]
    return {canonicalize_name(requirement.name): requirement for requirement in requirements}


def pinned_here(image: str) -> dict[str, Requirement]:
    """Those of an image that concern a machine like this one."""
    return {
        name: requirement
        for name, requirement in pins(ROOT / "images" / image / "requirements.txt").items()
        if requirement.marker is None or requirement.marker.evaluate()
    }
