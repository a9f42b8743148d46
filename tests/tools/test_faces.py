"""What a package says it exports can be imported from it."""

import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("runner", "analysis", "orchestrator")
INITS = (path for name in PACKAGES for path in (ROOT / name).rglob("__init__.py"))
FACES = sorted(
    ".".join(path.parent.relative_to(ROOT).parts)
    for path in INITS
    if "__all__" in path.read_text("utf-8")
)


def test_the_faces_are_found() -> None:
    assert {"orchestrator.store", "runner.contract.record"} <= set(FACES)


@pytest.mark.parametrize("face", FACES)
def test_every_exported_name_can_be_imported(face: str) -> None:
    module = importlib.import_module(face)
    assert not [name for name in module.__all__ if not hasattr(module, name)]
