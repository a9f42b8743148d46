"""What would measure here today, as far as it can be told without a container engine."""

import socket
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import runner
from orchestrator.checkout import ROOT
from orchestrator.devices import DEVICES
from orchestrator.images.image import SOURCE_LABEL
from orchestrator.images.source import find_source
from orchestrator.store import Installed

_IMAGES: Mapping[str, str | None] = {name: device.image for name, device in DEVICES.items()}


def this_installation(checkout: Path = ROOT) -> Installed:
    """This host with this AccelMatrix; a checkout tells whether its images are of its files."""

    @cache
    def source(image: str) -> str | None:
        found = find_source(checkout, image)
        return found.fingerprint() if found else None

    def is_outdated(backend: str, labels: Mapping[str, str]) -> bool:
        image, built_of = _IMAGES.get(backend), labels.get(SOURCE_LABEL)
        return bool(image and built_of and source(image) not in {None, built_of})

    return Installed(socket.gethostname(), runner.__version__, is_outdated)
