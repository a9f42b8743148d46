"""`images/install.py`: the build of torch that a file is meant for, and never CUDA by accident."""

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from orchestrator.system.git import ROOT

PATH = ROOT / "images/install.py"
PINNED = "torch==2.13.0"
CPU = "torch==2.13.0+cpu"
INDEX = "https://index.example/cpu"
HASH, SITE_HASH = (f"--hash=sha256:{digit * 64}" for digit in "ab")
HASHED = [
    "numpy==2.4.6 \\",
    f"    {HASH}",
    "torch==2.13.0; sys_platform == 'darwin' \\",
    f"    {HASH}",
]
ROCM_INDEX = "https://download.pytorch.org/whl/rocm7.2"


def script() -> Any:
    """The script, which lies outside all packages: Dockerfiles copy it alone."""
    spec = spec_from_file_location("install", PATH)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCRIPT = script()


class FakePip:
    """Serves versions by where it is asked to look; `configured` stands for no index option."""

    def __init__(self, **served: Sequence[str]) -> None:
        self._served: Mapping[str, Sequence[str]] = served
        self.calls: list[list[str]] = []

    def __call__(self, arguments: Sequence[str]) -> int:
        call = list(arguments)
        if "--requirement" in call:
            assert "--require-hashes" in call
            *call, path = call
            call += Path(path).read_text().splitlines()
        self.calls.append(call)
        if "--only-binary=:all:" in call:
            return 0
        source = "index" if "--index-url" in call else "configured"
        return 0 if call[-1].split(" ")[0] in self._served.get(source, ()) else 1

    @property
    def torch_requests(self) -> list[tuple[str | None, str]]:
        """Each index that was asked for torch, with the version and its hashes."""
        calls = [call for call in self.calls if "--only-binary=:all:" not in call]
        return [(call[1] if call[0] == "--index-url" else None, call[-1]) for call in calls]

    @property
    def rest(self) -> list[str]:
        """The lines of the file that the last call installs."""
        call = self.calls[-1]
        options = ["--no-deps", "--only-binary=:all:", "--require-hashes", "--requirement"]
        assert call[:4] == options
        return call[4:]


def install(path: Path, pip: FakePip, **options: Any) -> None:
    SCRIPT.install(path, pip=pip, **{"system": "linux", "torch_index_url": INDEX, **options})


def write(folder: Path, *lines: str) -> Path:
    """Requirements with their hashes beside them, of which those of torch are PyPI's."""
    path = folder / "requirements.txt"
    path.write_text("\n".join(["numpy==2.4.6", *lines, ""]))
    path.with_name("requirements.hashes.txt").write_text("\n".join([*HASHED, ""]))
    return path


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    return write(tmp_path, PINNED)


@pytest.mark.parametrize(
    ("line", "options", "served", "requests"),
    [
        (PINNED, {"installed": "2.13.0+cpu"}, {}, []),
        (PINNED, {}, {"configured": [CPU]}, [(None, CPU)]),
        (PINNED, {}, {"index": [CPU]}, [(None, CPU), (INDEX, CPU)]),
        (PINNED, {"system": "darwin"}, {}, []),
        ("# torch==1.0\ntorchvision==1.0", {}, {}, []),
        (f'{PINNED}; python_version < "3.14"', {}, {"configured": [CPU]}, [(None, CPU)]),
    ],
    ids=["installed", "local-wheel", "index", "macos", "no-torch", "marker"],
)
def test_torch_is_asked_for_where_pip_looks_and_then_of_its_index(
    tmp_path: Path,
    line: str,
    options: dict[str, str],
    served: dict[str, list[str]],
    requests: list[tuple[str | None, str]],
) -> None:
    path, pip = write(tmp_path, line), FakePip(**served)
    install(path, pip, **options)
    assert pip.torch_requests == requests
    assert pip.rest == HASHED


def test_a_file_for_rocm_takes_torch_and_its_triton_from_the_builds_index(tmp_path: Path) -> None:
    path = write(tmp_path, "# torch build: rocm7.2", PINNED, "triton-rocm==3.7.1")
    pip = FakePip(index=["torch==2.13.0+rocm7.2"])
    install(path, pip, torch_index_url=None)
    packages = ["--no-deps", "triton-rocm==3.7.1", "torch==2.13.0+rocm7.2"]
    assert pip.calls[1] == ["--index-url", ROCM_INDEX, *packages]


def test_a_site_names_the_wheels_that_it_allows_and_nothing_else_is_taken(
    requirements: Path,
) -> None:
    site = requirements.with_name("site.txt")
    site.write_text(
        f"# ours\n{CPU} {SITE_HASH}\nnumpy==2.4.6 {SITE_HASH} {HASH}\nother==1 {HASH}\n"
    )
    pip = FakePip(index=[CPU])
    install(requirements, pip, site=site)
    assert pip.torch_requests == [(None, f"{CPU} {SITE_HASH}"), (INDEX, f"{CPU} {SITE_HASH}")]
    assert pip.rest == [HASHED[0], f"    {SITE_HASH} {HASH} \\", *HASHED[1:]]


def test_without_hashes_nothing_is_installed(requirements: Path) -> None:
    requirements.with_name("requirements.hashes.txt").unlink()
    with pytest.raises(SCRIPT.InstallError, match=r"requirements\.hashes\.txt: is missing"):
        install(requirements, FakePip())


def write_wheel(folder: Path, version: str) -> None:
    """A torch of that version which holds nothing."""
    info = f"torch-{version}.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(text)},\n" for name, text in files.items())
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / f"torch-{version}-py3-none-any.whl", "w") as wheel:
        for name, text in {**files, f"{info}/RECORD": f"{record}{info}/RECORD,,\n"}.items():
            wheel.writestr(name, text)


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with nothing but pip."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=True)
    return folder


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has CUDA builds to avoid")
@pytest.mark.parametrize(
    ("versions", "taken"),
    [
        pytest.param(["2.13.0+cpu"], "2.13.0+cpu", marks=pytest.mark.nightly),
        (["2.13.0", "2.13.0+cpu", "2.13.0+cu130"], "2.13.0+cpu"),
        (["2.13.0", "2.13.0+cu130"], None),
        pytest.param([], None, marks=pytest.mark.nightly),
    ],
)
def test_real_pip_takes_the_cpu_build_or_nothing(
    versions: Sequence[str], taken: str | None, requirements: Path, environment: Path
) -> None:
    requirements.write_text(f"{PINNED}\n")
    requirements.with_name("requirements.hashes.txt").write_text("# none\n")
    wheels = requirements.parent / "wheels"
    wheels.mkdir()
    for version in versions:
        write_wheel(wheels, version)
    for installed in environment.glob("lib/*/site-packages/torch-*"):
        shutil.rmtree(installed)
    done = subprocess.run(
        [environment / "bin/python", PATH, requirements],
        env={"PIP_CONFIG_FILE": os.devnull, "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = [path.name for path in environment.glob("lib/*/site-packages/torch-*")]
    assert found == ([f"torch-{taken}.dist-info"] if taken else [])
    assert done.returncode == (0 if taken else 1), done.stderr
    assert taken or done.stderr.splitlines()[-1].startswith("install.py: torch==2.13.0+cpu")
