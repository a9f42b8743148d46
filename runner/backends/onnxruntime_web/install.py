"""Install the browser and ONNX Runtime Web: `python install.py`, standard library and brotli only.

The versions stand in `package-lock.json` beside this file, in npm's own format, with the hash of
each archive, which is compared before it is unpacked. `ACCELMATRIX_NPM_REGISTRY` names a mirror.
"""

import argparse
import base64
import gzip
import hashlib
import io
import json
import os
import shutil
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

NPM_REGISTRY = "https://registry.npmjs.org"
REGISTRY_VARIABLE = "ACCELMATRIX_NPM_REGISTRY"
LOCK = Path(__file__).with_name("package-lock.json")
FOLDER = Path(sys.prefix, "share", "accelmatrix", "browser")
VERSIONS_FILE = "versions.json"
BROWSER, RUNTIME = "@sparticuz/chromium", "onnxruntime-web"
RUNTIME_FILES = (
    "ort.wasm.min.mjs",
    "ort-wasm-simd-threaded.mjs",
    "ort-wasm-simd-threaded.wasm",
    "ort.webgpu.min.mjs",
    "ort-wasm-simd-threaded.asyncify.mjs",
    "ort-wasm-simd-threaded.asyncify.wasm",
)
"""One bundle executes on the CPU, the other one by WebGPU and WebNN; each has its own WASM."""
_TIMEOUT_S = 60


class InstallError(Exception):
    """Something could not be had, or is not what the lock file names."""


@dataclass(frozen=True)
class Archive:
    """One locked package."""

    version: str
    path: str
    """Behind the registry's address."""
    integrity: str
    """`sha512-…` in base64, as npm writes it."""


def locked(lock: Path = LOCK) -> Mapping[str, Archive]:
    packages = json.loads(lock.read_text("utf-8"))["packages"]
    archives = {}
    for path_within, facts in packages.items():
        if name := path_within.removeprefix("node_modules/"):
            path = facts["resolved"].removeprefix(NPM_REGISTRY)
            archives[name] = Archive(facts["version"], path, facts["integrity"])
    return archives


def install(folder: Path, registry: str, lock: Path = LOCK) -> None:
    """Fetch, compare and unpack; the folder is there whole or as it was before."""
    archives = locked(lock)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        whole = Path(temporary, folder.name)
        unpack_runtime(fetch_archive(archives[RUNTIME], registry), whole / "onnxruntime-web")
        unpack_browser(fetch_archive(archives[BROWSER], registry), whole / "chromium")
        versions = {name: archive.version for name, archive in archives.items()}
        (whole / VERSIONS_FILE).write_text(json.dumps(versions, indent=1) + "\n", "utf-8")
        if folder.exists():
            shutil.rmtree(folder)
        whole.rename(folder)


def fetch_archive(archive: Archive, registry: str) -> bytes:
    url = f"{registry.rstrip('/')}{archive.path}"
    try:
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:  # noqa: S310
            content: bytes = answer.read()
    except (OSError, ValueError) as error:
        raise InstallError(f"{url}: {error}; {REGISTRY_VARIABLE} names another registry") from error
    algorithm, _, expected = archive.integrity.partition("-")
    actual = base64.b64encode(hashlib.new(algorithm, content).digest()).decode()
    if actual != expected:
        raise InstallError(f"{url}: its {algorithm} is {actual}, not {expected} of the lock file")
    return content


def unpack_runtime(content: bytes, folder: Path) -> None:
    folder.mkdir(parents=True)
    files = dict(_members(gzip.decompress(content), "package/dist"))
    for name in RUNTIME_FILES:
        if name not in files:
            raise InstallError(f"{RUNTIME}: holds no dist/{name}")
        (folder / name).write_bytes(files[name])


def unpack_browser(content: bytes, folder: Path) -> None:
    import brotli

    folder.mkdir(parents=True)
    files = dict(_members(gzip.decompress(content), "package/bin"))
    browser = folder / "chromium"
    browser.write_bytes(brotli.decompress(files["chromium.br"]))
    browser.chmod(0o755)
    for name, library in _members(brotli.decompress(files["swiftshader.tar.br"])):
        (folder / name).write_bytes(library)


def _members(archive: bytes, folder: str = ".") -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        for member in tar:
            path = PurePosixPath(member.name)
            file = tar.extractfile(member) if member.isfile() else None
            if file is not None and str(path.parent) == folder:
                yield path.name, file.read()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="where to (default: %(default)s)"
    )
    parser.add_argument(
        "--registry",
        default=os.environ.get(REGISTRY_VARIABLE) or NPM_REGISTRY,
        help=f"the npm registry (default: ${REGISTRY_VARIABLE}, else {NPM_REGISTRY})",
    )
    options = parser.parse_args()
    try:
        install(options.folder, options.registry)
    except (InstallError, OSError) as error:
        sys.stderr.write(f"install.py: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
