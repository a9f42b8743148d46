"""`images/setup.sh`, executed with stand-ins for the programs that it calls."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.system.git import ROOT

SCRIPT = ROOT / "images/setup.sh"
NOTE = """#!/bin/sh
echo "$(basename "$0") $*" >> "$CALLS"
"""
ANSWER = """case "$*" in
    *include*) echo "$HEADERS" ;;
    *stdlib*) echo /the/standard/library ;;
    *install.py*)
        echo "pip would see: $PIP_NO_CACHE_DIR $PIP_BREAK_SYSTEM_PACKAGES" >> "$CALLS"
        echo "hashes: $ACCELMATRIX_HASHES" >> "$CALLS" ;;
esac
"""


@dataclass(frozen=True)
class Base:
    """A base image's programs, which note what they are asked for."""

    folder: Path

    def execute(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Take a step, as a Dockerfile does."""
        script = self.folder / "install/setup.sh"
        script.parent.mkdir(exist_ok=True)
        script.write_text(SCRIPT.read_text())
        variables = {
            "PATH": f"{self.folder}:/usr/bin:/bin",
            "CALLS": str(self.folder / "calls"),
            "HEADERS": str(self.folder / "include"),
        }
        command = ["sh", str(script), *arguments]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)

    @property
    def calls(self) -> list[str]:
        return (self.folder / "calls").read_text().splitlines()

    @property
    def installed(self) -> list[str]:
        """The packages that apt was asked for."""
        (call,) = [call for call in self.calls if call.startswith("apt-get install")]
        return call.partition(" --no-install-recommends ")[2].split()


@pytest.fixture
def base(tmp_path: Path) -> Base:
    for name, text in {"apt-get": NOTE, "rm": NOTE, "python": NOTE + ANSWER}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return Base(tmp_path)


def test_what_is_pinned_is_installed_without_a_cache_and_compiled_before_the_folder_goes(
    base: Base,
) -> None:
    assert base.execute("python").returncode == 0
    install, environment, hashes, *_, compiled, removed = base.calls
    folder = base.folder / "install"
    assert install == f"python {folder}/install.py {folder}/requirements.txt"
    assert (environment, hashes) == ("pip would see: 1 1", "hashes: ")
    assert compiled.startswith("python -m compileall -q ")
    assert compiled.endswith(" /the/standard/library")
    assert removed == f"rm -r {folder}"


def test_a_sites_hashes_are_taken_where_they_lie_beside_the_script(base: Base) -> None:
    folder = base.folder / "install"
    folder.mkdir()
    (folder / "requirements.site.txt").touch()
    assert base.execute("python").returncode == 0
    assert f"hashes: {folder}/requirements.site.txt" in base.calls


@pytest.mark.parametrize(("program", "step"), [("apt-get", "packages"), ("python", "python")])
def test_a_step_that_fails_fails_the_build(base: Base, program: str, step: str) -> None:
    (base.folder / program).write_text("#!/bin/sh\nexit 7\n")
    assert base.execute(step).returncode == 7
