"""The exporter's libraries: what a prepared graph's name says of how it was made."""

import re
from collections.abc import Mapping
from pathlib import Path

import runner
from orchestrator.checkout import ROOT
from runner.graph import EXPORTERS
from runner.graph import exporter_versions as installed_versions

PINS = ROOT / "images" / "cpu" / "requirements.txt"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", re.MULTILINE)


def exporter_versions(launcher: str, pins: Path = PINS) -> Mapping[str, str]:
    """Versions of the libraries in the environment of the backend cpu, those that are there.

    Containers have what the cpu image is built from, which its fingerprint guarantees; without a
    checkout they are known by the image's version. Processes have what is installed here.
    """
    if launcher == "process":
        return installed_versions()
    try:
        return _pinned(pins.read_text("utf-8"))
    except OSError:
        return {"image": runner.__version__}


def _pinned(text: str) -> dict[str, str]:
    return {name: version for name, version in _PIN.findall(text) if name in EXPORTERS}
