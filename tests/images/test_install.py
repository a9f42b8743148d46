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
        self.calls.append(list(arguments))
        if "--requirement" in arguments:
            return 0
        source = "index" if "--index-url" in arguments else "configured"
        return 0 if arguments[-1] in self._served.get(source, ()) else 1

    @property
    def torch_requests(self) -> list[tuple[str | None, str]]:
        """Each index that was asked for torch, with the version."""
        calls = [call for call in self.calls if "--requirement" not in call]
        return [(call[1] if call[0] == "--index-url" else None, call[-1]) for call in calls]


def install(path: Path, pip: FakePip, **options: Any) -> None:
    SCRIPT.install(path, pip=pip, **{"system": "linux", "torch_index_url": INDEX, **options})


def write(folder: Path, *lines: str) -> Path:
    path = folder / "requirements.txt"
    path.write_text("\n".join(["numpy==2.4.6", *lines, ""]))
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
    assert pip.calls[-1] == ["--requirement", str(path)]


@pytest.mark.parametrize("installed", [None, "2.13.0", "2.13.0+cu130", "2.12.0+cpu"])
def test_cuda_is_never_asked_for(requirements: Path, installed: str | None) -> None:
    pip = FakePip(configured=[PINNED], index=[PINNED])
    with pytest.raises(SCRIPT.InstallError, match="TORCH_INDEX_URL"):
        install(requirements, pip, installed=installed)
    assert pip.torch_requests == [(None, CPU), (INDEX, CPU)]
    assert not any("--requirement" in call for call in pip.calls)


@pytest.mark.parametrize("installed", [None, "2.13.0+cpu", "2.12.0"])
def test_a_file_for_cuda_takes_what_pypi_has_and_no_local_build(
    tmp_path: Path, installed: str | None
) -> None:
    path = write(tmp_path, "# torch build: pypi", PINNED)
    pip = FakePip(configured=["torch===2.13.0"])
    install(path, pip, installed=installed)
    assert pip.torch_requests == [(None, "torch===2.13.0")]
    with pytest.raises(SCRIPT.InstallError, match="nor on PyPI"):
        install(path, FakePip())


def test_a_file_for_rocm_takes_torch_and_its_triton_from_the_builds_index(tmp_path: Path) -> None:
    path = write(tmp_path, "# torch build: rocm7.2", PINNED, "triton-rocm==3.7.1")
    pip = FakePip(index=["torch==2.13.0+rocm7.2"])
    install(path, pip, torch_index_url=None)
    packages = ["--no-deps", "triton-rocm==3.7.1", "torch==2.13.0+rocm7.2"]
    assert pip.calls[1] == ["--index-url", ROCM_INDEX, *packages]
    assert pip.calls[-1] == ["--requirement", str(path)]


def test_a_failure_of_pip_or_a_missing_file_is_an_error(
    requirements: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SCRIPT.InstallError, match=r"requirements\.txt"):
        SCRIPT.install(requirements, pip=lambda _: 1, installed="2.13.0+cpu", system="linux")
    assert SCRIPT.main([str(requirements.with_name("missing.txt"))]) == 1
    assert "missing.txt" in capsys.readouterr().err


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
        (["2.13.0+cpu"], "2.13.0+cpu"),
        (["2.13.0", "2.13.0+cpu", "2.13.0+cu130"], "2.13.0+cpu"),
        (["2.13.0", "2.13.0+cu130"], None),
        ([], None),
    ],
)
def test_real_pip_takes_the_cpu_build_or_nothing(
    versions: Sequence[str], taken: str | None, requirements: Path, environment: Path
) -> None:
    requirements.write_text(f"{PINNED}\n")
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
