"""The audit of all pins: what a database knows, and a database that does not answer."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tools.audit import UNAVAILABLE, main, rounds

SAFE = {"name": "a", "version": "1", "vulns": []}
HOLE = {"id": "PYSEC-1", "aliases": ["CVE-1"], "fix_versions": ["2", "3"]}
UNSAFE = {"name": "b", "version": "1", "vulns": [HOLE]}
SKIPPED = {"name": "c", "skip_reason": "not found"}


def fake_python(folder: Path, answer: str, status: int = 0) -> str:
    """A program that answers like `python -m pip_audit`, and notes what it is asked for."""
    program = folder / "python"
    program.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, sys\n"
        "asked = pathlib.Path(sys.argv[sys.argv.index('--requirement') + 1]).read_text()\n"
        f"with open({str(folder / 'asked')!r}, 'a') as file: file.write(asked)\n"
        f"print({answer!r})\n"
        "print('no route to the advisories', file=sys.stderr)\n"
        f"sys.exit({status})\n"
    )
    program.chmod(0o755)
    return str(program)


def answer(*packages: dict[str, Any]) -> str:
    return json.dumps({"dependencies": packages, "fixes": []})


@pytest.mark.parametrize(
    ("text", "status", "code", "output"),
    [
        (answer(SAFE), 0, 0, ", 0 findings (pypi)\n"),
        (answer(SAFE, UNSAFE), 1, 1, "b==1: PYSEC-1, CVE-1; fixed in 2, 3\n"),
        (answer(SAFE, SKIPPED), 0, 1, "c: not checked: not found\n"),
        (answer(SKIPPED), 0, UNAVAILABLE, "NOTHING WAS CHECKED"),
        ("", 1, UNAVAILABLE, "no route to the advisories"),
    ],
)
def test_the_exit_status_tells_whether_anything_was_checked(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    text: str,
    status: int,
    code: int,
    output: str,
) -> None:
    assert main(["--python", fake_python(tmp_path, text, status)]) == code
    captured = capsys.readouterr()
    assert output in (captured.err if code == UNAVAILABLE else captured.out)


def test_a_database_that_does_not_answer_is_asked_once(tmp_path: Path) -> None:
    main(["--python", fake_python(tmp_path, "")])
    assert len((tmp_path / "asked").read_text().splitlines()) == 1


def test_every_pin_is_asked_for_and_builds_of_torch_by_their_version() -> None:
    pins = {(name, version) for versions in rounds() for name, version in versions.items()}
    assert {"torch", "triton-rocm", "duckdb", "ruff", "openvino"} < {name for name, _ in pins}
    assert not [version for _, version in pins if "+" in version]
    assert all(len(versions) for versions in rounds())
