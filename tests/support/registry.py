"""A registry on loopback."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.support.needs import lacking

PATIENCE_S = 20.0
REGISTRY_CONFIG = """
version: 0.1
log: {{level: error, accesslog: {{disabled: true}}}}
storage: {{filesystem: {{rootdirectory: {folder}}}}}
http: {{addr: "127.0.0.1:{port}"}}
"""


@contextmanager
def running_registry(folder: Path) -> Iterator[str]:
    """The address of a registry; without the binary a failure in CI, a skip elsewhere."""
    binary = shutil.which("docker-registry")
    if binary is None:
        lacking("docker-registry is not installed (Debian package docker-registry)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "config.yml"
    config.write_text(REGISTRY_CONFIG.format(folder=folder / "data", port=port))
    with subprocess.Popen([binary, "serve", str(config)], stderr=subprocess.DEVNULL) as process:
        try:
            _await_port(port)
            yield f"127.0.0.1:{port}/trial"
        finally:
            process.terminate()


def _await_port(port: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return
