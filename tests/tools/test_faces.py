"""What a package says it exports can be imported from it."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
INITS = (path for name in ("runner", "orchestrator") for path in (ROOT / name).rglob("__init__.py"))
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


def test_other_rooms_import_no_more_than_the_face_exports() -> None:
    exported = {*importlib.import_module("orchestrator.store").__all__}
    users = [
        path
        for path in (ROOT / "orchestrator").rglob("*.py")
        if not path.is_relative_to(ROOT / "orchestrator" / "store")
    ]
    imported = {name for path in users for name in _imported(path)}
    assert imported <= exported


def _imported(path: Path) -> set[str]:
    nodes = ast.walk(ast.parse(path.read_text("utf-8")))
    return {
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "orchestrator.store"
        for alias in node.names
    }
