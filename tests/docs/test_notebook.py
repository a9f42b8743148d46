"""The notebook: its cells are executed one after the other, as a reader does."""

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT

_SET = ("measure.min_duration=0s", "measure.max_duration=1s")
BRIEFLY = ", ".join(['"bench"', *(f'"--set={one}"' for one in _SET)])
"""Cells of a noisy machine would be measured for half a minute."""
NOTEBOOK = ROOT / "docs/examples/throughput.ipynb"


def code_cells() -> list[str]:
    cells = json.loads(NOTEBOOK.read_text("utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


@pytest.mark.slow
@pytest.mark.nightly
def test_every_cell_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    display = ModuleType("IPython.display")
    display.SVG = Path  # type: ignore[attr-defined]  # what a kernel shows
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no-engine.sock")  # processes are faster
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    names: dict[str, Any] = {}
    for code in code_cells():
        exec(code.replace('"bench"', BRIEFLY), names)
    assert [*names["frame"]["batch_size"]] == [1, 2, 4, 8]
    assert (names["frame"]["throughput"] > 0).all()
    assert (tmp_path / "batches.svg").read_text("utf-8").startswith("<svg")
