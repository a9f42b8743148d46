"""What graphs and references are made by: the versions that stand in their names."""

import re
from pathlib import Path

import runner
from orchestrator.checkout import ROOT
from runner.keys import Maker

PINS = ROOT / "images" / "cpu" / "requirements.txt"
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^\s;#]+)", re.MULTILINE)


def versions_of(maker: Maker, launcher: str, pins: Path = PINS) -> dict[str, str]:
    """Versions of our code, and of the libraries where the backend cpu's jobs are launched.

    Containers have what the cpu image is built from, which its fingerprint guarantees; without a
    checkout they are known by the image's version. Processes have what is installed here.
    """
    if launcher == "process":
        return maker.versions(maker.installed())
    try:
        return maker.versions(_pinned(pins.read_text("utf-8"), maker))
    except OSError:
        return maker.versions({"image": runner.__version__})


def _pinned(text: str, maker: Maker) -> dict[str, str]:
    return {name: version for name, version in _PIN.findall(text) if name in maker.libraries}
