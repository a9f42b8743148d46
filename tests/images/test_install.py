import base64
import hashlib
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.images.script import PATH, InstallError, install, main

PINNED = "torch==2.13.0"
CPU = "torch==2.13.0+cpu"
INDEX = "https://index.example/cpu"


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
    def asked_torch(self) -> list[str]:
        """What torch was asked for, in order."""
        return [call[-1] for call in self.calls if "--requirement" not in call]


@pytest.fixture
def requirements(tmp_path: Path) -> Path:
    path = tmp_path / "requirements.txt"
    path.write_text(f"numpy==2.4.6\n{PINNED}\n")
    return path


def test_an_installed_cpu_build_is_kept(requirements: Path) -> None:
    pip = FakePip()
    install(requirements, pip=pip, installed="2.13.0+cpu", system="linux")
    assert pip.calls == [["--requirement", str(requirements)]]


def test_a_local_wheel_or_mirror_is_taken_without_asking_the_index(requirements: Path) -> None:
    pip = FakePip(configured=[CPU])
    install(requirements, pip=pip, torch_index_url=INDEX, system="linux")
    assert pip.asked_torch == [CPU]
    assert not any(INDEX in call for call in pip.calls)


def test_otherwise_torch_comes_from_its_index(requirements: Path) -> None:
    pip = FakePip(index=[CPU])
    install(requirements, pip=pip, torch_index_url=INDEX, system="linux")
    assert pip.calls[1][:2] == ["--index-url", INDEX]
    assert pip.calls[-1] == ["--requirement", str(requirements)]


@pytest.mark.parametrize("installed", [None, "2.13.0", "2.13.0+cu130", "2.12.0+cpu"])
def test_cuda_is_never_asked_for(requirements: Path, installed: str | None) -> None:
    pip = FakePip(configured=[PINNED], index=[PINNED])
    with pytest.raises(InstallError, match="TORCH_INDEX_URL"):
        install(requirements, pip=pip, installed=installed, system="linux")
    assert pip.asked_torch == [CPU, CPU]
    assert not any("--requirement" in call for call in pip.calls)


def test_macos_has_no_cuda_to_avoid(requirements: Path) -> None:
    pip = FakePip()
    install(requirements, pip=pip, system="darwin")
    assert pip.calls == [["--requirement", str(requirements)]]


@pytest.mark.parametrize("installed", [None, "2.13.0+cpu", "2.12.0"])
def test_a_file_for_cuda_takes_what_pypi_has_and_no_local_build(
    tmp_path: Path, installed: str | None
) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(f"# torch build: pypi\n{PINNED}\n")
    pip = FakePip(configured=["torch===2.13.0"])
    install(path, pip=pip, torch_index_url=INDEX, installed=installed, system="linux")
    assert pip.asked_torch == ["torch===2.13.0"]
    assert not any(INDEX in call for call in pip.calls)
    with pytest.raises(InstallError, match="nor on PyPI"):
        install(path, pip=FakePip(), torch_index_url=INDEX, system="linux")


def test_a_file_for_rocm_takes_torch_and_its_triton_from_the_builds_index(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text(f"# torch build: rocm7.2\n{PINNED}\ntriton-rocm==3.7.1\n")
    pip = FakePip(index=["torch==2.13.0+rocm7.2"])
    install(path, pip=pip, system="linux")
    url = "https://download.pytorch.org/whl/rocm7.2"
    packages = ["--no-deps", "triton-rocm==3.7.1", "torch==2.13.0+rocm7.2"]
    assert pip.calls[1] == ["--index-url", url, *packages]
    assert pip.calls[-1] == ["--requirement", str(path)]


def test_requirements_without_torch_are_just_installed(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text("# torch==1.0\ntorchvision==1.0\n")
    pip = FakePip()
    install(path, pip=pip, system="linux")
    assert pip.calls == [["--requirement", str(path)]]


def test_a_marker_is_no_part_of_the_version(tmp_path: Path) -> None:
    path = tmp_path / "requirements.txt"
    path.write_text('torch==2.13.0; python_version < "3.14"\n')
    pip = FakePip(configured=[CPU])
    install(path, pip=pip, system="linux")
    assert pip.asked_torch == [CPU]


def test_a_failure_of_pip_is_an_error(requirements: Path) -> None:
    with pytest.raises(InstallError, match=r"requirements\.txt"):
        install(requirements, pip=lambda _: 1, installed="2.13.0+cpu", system="linux")


def test_a_missing_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "missing.txt")]) == 1
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
