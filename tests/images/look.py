"""What a look into a built image shows."""

import json
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass

from orchestrator.images import Image
from tests.images.pins import pinned_here

LOOK = """
import importlib, importlib.metadata, importlib.util, json, os, pathlib, sys
modules, names = (json.loads(argument) for argument in sys.argv[1:])
for module in modules:
    importlib.import_module(module)

def compiled(module):
    source = getattr(module, "__file__", None) or ""
    if not source.endswith(".py") or not os.path.exists(source):
        return True
    return os.path.exists(importlib.util.cache_from_source(source))

print(json.dumps({
    "versions": {name: importlib.metadata.version(name) for name in names},
    "installed": sorted(d.metadata["Name"].lower() for d in importlib.metadata.distributions()),
    "uncompiled": [name for name, module in list(sys.modules.items()) if not compiled(module)],
    "environment": dict(os.environ),
    "home": os.path.expanduser("~"),
    "packages": sorted(p.name for p in pathlib.Path.cwd().iterdir()),
    "user": os.getuid(),
}))
"""


@dataclass(frozen=True)
class Look:
    """A container's own account, made as a job's container is: no network, a read-only root."""

    versions: dict[str, str]
    """The installed versions of what the image's requirements pin."""
    installed: list[str]
    """All distributions."""
    uncompiled: list[str]
    """Modules that would be compiled at each start."""
    environment: dict[str, str]
    """Its variables."""
    home: str
    """The user's home."""
    packages: list[str]
    """What lies in the working folder."""
    user: int
    """The user's id."""


def look(image: Image, name: str, modules: Iterable[str]) -> Look:
    """Import the modules in a container of the image and look around."""
    command = ["docker", "run", "--rm", "--network=none", "--read-only", "--tmpfs=/tmp"]
    pinned = list(pinned_here(name))
    arguments = [json.dumps(list(modules)), json.dumps(pinned)]
    done = subprocess.run(
        [*command, "--entrypoint=python", image.id, "-c", LOOK, *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Look(**json.loads(done.stdout))
