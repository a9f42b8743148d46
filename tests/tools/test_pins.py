"""The lists of hashes: those of this checkout, and every way in which one can be wrong."""

import shutil
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tools.pins.files import HashFile, faults, hash_files, locked, write
from tools.pins.published import LockError, fits

A, B, C = (f"sha256:{digit * 64}" for digit in "abc")
FILE = HashFile("images/cpu/requirements.hashes.txt", "images/cpu/requirements.txt", complete=True)
SOURCE = 'numpy==2.4.6\nhf-xet==1.8.0; platform_machine in "x86_64"\ntorch==2.13.0\n'
SOUND = f"""# A comment
numpy==2.4.6 \\
    --hash={A} \\
    --hash={B}
hf-xet==1.8.0; platform_machine in "x86_64" \\
    --hash={A}
torch==2.13.0; sys_platform == "darwin" \\
    --hash={C}
# unhashed: torch==2.13.0+cpu
"""


def wheel(name: str, digest: str) -> str:
    """One wheel in the words of pylock.toml."""
    url = f"https://index.example/{name}"
    return f'{{url = "{url}", hashes = {{sha256 = "{digest.removeprefix("sha256:")}"}}}}'


PYLOCK = f"""
[[packages]]
name = "numpy"
version = "2.4.6"
wheels = [
  {wheel("numpy-2.4.6-cp311-cp311-manylinux_2_28_x86_64.whl", B)},
  {wheel("numpy-2.4.6-cp313-cp313-macosx_14_0_arm64.whl", A)},
  {wheel("numpy-2.4.6-cp311-cp311-win_amd64.whl", C)},
]
[[packages]]
name = "hf-xet"
version = "1.8.0"
marker = "platform_machine in 'x86_64'"
wheels = [{wheel("hf_xet-1.8.0-cp37-abi3-manylinux_2_28_x86_64.whl", A)}]
[[packages]]
name = "colorama"
version = "1"
marker = "sys_platform == 'win32'"
wheels = [{wheel("colorama-1-py3-none-any.whl", A)}]
[[packages]]
name = "torch"
version = "2.13.0"
wheels = [
  {wheel("torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl", A)},
  {wheel("torch-2.13.0-cp311-cp311-macosx_14_0_arm64.whl", C)},
]
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "images/cpu"
    folder.mkdir(parents=True)
    (folder / "requirements.txt").write_text(SOURCE)
    (folder / "requirements.hashes.txt").write_text(SOUND)
    return tmp_path


def fake_uv(folder: Path, answer: str) -> str:
    """A program that answers like uv: it writes this lock, or fails without one."""
    program = folder / "uv"
    program.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        f"answer = {answer!r}\n"
        "if not answer: sys.exit('no such version')\n"
        "output = sys.argv[sys.argv.index('--output-file') + 1]\n"
        "pathlib.Path(output).write_text(answer)\n"
    )
    program.chmod(0o755)
    return str(program)


@pytest.mark.parametrize("file", hash_files(), ids=lambda file: file.path)
def test_every_list_of_this_checkout_is_what_its_source_asks_for(file: HashFile) -> None:
    assert faults(file) == []


def test_every_image_has_a_list() -> None:
    images = {path.parent.name for path in (ROOT / "images").glob("*/Dockerfile")}
    assert {f"images/{name}/requirements.hashes.txt" for name in images} < {
        file.path for file in hash_files()
    }


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("numpy==2.4.6 \\", "numpy==2.4.5 \\", "numpy==2.4.5 is not numpy==2.4.6"),
        (f" \\\n    --hash={A} \\\n    --hash={B}", "", "numpy==2.4.6 has no hash"),
        (A, "sha256:123", "is not a pin with hashes"),
        ("numpy==2.4.6", "scipy==2.4.6", "numpy is missing"),
        ("# unhashed: torch==2.13.0+cpu\n", "", "should be ['torch==2.13.0+cpu']"),
        ("# A comment", "# unhashed: numpy==2.4.6", "should be ['torch==2.13.0+cpu']"),
    ],
)
def test_a_list_that_differs_from_its_source_is_at_fault(
    checkout: Path, before: str, after: str, message: str
) -> None:
    assert before in SOUND
    (checkout / FILE.path).write_text(SOUND.replace(before, after))
    assert any(message in fault for fault in faults(FILE, checkout))


def test_a_list_is_written_with_the_hashes_of_wheels_that_we_can_install(checkout: Path) -> None:
    write(FILE, fake_uv(checkout, PYLOCK), checkout)
    text = (checkout / FILE.path).read_text()
    comments = "\n".join(line for line in text.splitlines() if line.startswith("# unhashed"))
    pins = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    assert f"# A comment\n{pins}\n{comments}\n" == SOUND
    assert faults(FILE, checkout) == []
    assert str(locked(text)["torch"].marker) == 'sys_platform == "darwin"'


def test_what_the_index_lacks_is_said_and_the_list_stays(checkout: Path) -> None:
    with pytest.raises(LockError, match="no such version"):
        write(FILE, fake_uv(checkout, ""), checkout)
    only_windows = PYLOCK.replace("manylinux_2_28_x86_64", "win_amd64")
    with pytest.raises(LockError, match=r"hf-xet==1\.8\.0: the index has no wheel"):
        write(FILE, fake_uv(checkout, only_windows), checkout)
    assert (checkout / FILE.path).read_text() == SOUND


@pytest.mark.parametrize(
    ("tags", "ours"),
    [
        ("py3-none-any", True),
        ("cp312-cp312-manylinux_2_28_aarch64", True),
        ("cp311-cp311-macosx_10_9_universal2", True),
        ("cp314-cp314-manylinux_2_28_x86_64", False),
        ("cp311-cp311-musllinux_1_2_x86_64", False),
        ("cp311-cp311-win_amd64", False),
        ("py2-none-any", False),
    ],
)
def test_wheels_of_other_machines_are_left_out(tags: str, ours: bool) -> None:
    assert fits(f"a_package-1.0-{tags}.whl") == ours


def test_locks_need_every_dependency_of_the_project(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "locks", tmp_path / "locks")
    for name in ("pyproject.toml", "requirements-dev.txt"):
        shutil.copy(ROOT / name, tmp_path)
    lock = tmp_path / "locks/orchestrator.txt"
    lock.write_text(lock.read_text().replace("duckdb==", "quackdb=="))
    (file,) = [file for file in hash_files() if file.path == "locks/orchestrator.txt"]
    assert faults(file, tmp_path) == [
        "locks/orchestrator.txt: duckdb is missing, which pyproject.toml asks for"
    ]
