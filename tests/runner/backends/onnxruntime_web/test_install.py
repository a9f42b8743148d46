"""The installer of the browser: what it takes from a registry, and what it refuses."""

import base64
import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from runner.backends.onnxruntime_web.install import (
    BROWSER,
    RUNTIME,
    RUNTIME_FILES,
    InstallError,
    fetch_archive,
    install,
    locked,
)

PATHS = {
    BROWSER: "@sparticuz/chromium/-/chromium-1.0.0.tgz",
    RUNTIME: "onnxruntime-web/-/onnxruntime-web-1.0.0.tgz",
}


def archive(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def runtime_archive(without: str = "") -> bytes:
    names = [name for name in RUNTIME_FILES if name != without]
    others = {"package/dist/ort.node.js": b"no", "package/lib/ort.wasm.min.mjs": b"another folder"}
    return archive({**{f"package/dist/{name}": name.encode() for name in names}, **others})


def registry(folder: Path, contents: Mapping[str, bytes]) -> tuple[str, Path]:
    """The address of a registry with these archives, and the lock file that names them."""
    packages: dict[str, object] = {"": {"name": "test"}}
    for name, content in contents.items():
        path = folder / PATHS[name]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
        packages[f"node_modules/{name}"] = {
            "version": "1.0.0",
            "resolved": f"https://registry.npmjs.org/{PATHS[name]}",
            "integrity": f"sha512-{digest}",
        }
    lock = folder / "package-lock.json"
    lock.write_text(json.dumps({"packages": packages}), "utf-8")
    return folder.as_uri(), lock


def test_an_archive_of_the_lock_file_is_taken_and_another_is_not(tmp_path: Path) -> None:
    content = runtime_archive()
    address, lock = registry(tmp_path, {RUNTIME: content})
    package = locked(lock)[RUNTIME]
    assert fetch_archive(package, address) == content
    (tmp_path / PATHS[RUNTIME]).write_bytes(b"another")
    with pytest.raises(InstallError, match=r"its sha512 is \S+, not \S+ of the lock file"):
        fetch_archive(package, address)


@pytest.mark.parametrize(
    ("contents", "message"),
    [
        ({RUNTIME: runtime_archive(), BROWSER: b""}, "ACCELMATRIX_NPM_REGISTRY names another"),
        ({RUNTIME: runtime_archive(RUNTIME_FILES[0]), BROWSER: b""}, "holds no dist/ort.wasm"),
    ],
)
def test_what_was_there_stays_when_something_cannot_be_had(
    tmp_path: Path, contents: Mapping[str, bytes], message: str
) -> None:
    address, lock = registry(tmp_path / "registry", contents)
    (tmp_path / "registry" / PATHS[BROWSER]).unlink()
    folder = tmp_path / "share" / "browser"
    folder.mkdir(parents=True)
    (folder / "earlier").touch()
    with pytest.raises(InstallError, match=message):
        install(folder, address, lock)
    assert [path.name for path in folder.parent.iterdir()] == ["browser"]
    assert (folder / "earlier").exists()
