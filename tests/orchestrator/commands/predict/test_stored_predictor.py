"""The folder of a predictor: written whole or not at all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.commands.predict.stored_predictor import save_predictor
from orchestrator.store.store import Store
from orchestrator.system.files import predictor_folder
from tests.support.databases import done, refused

OLD = {"a.json": "{}", "predictor.json": "old"}
NAME = "benchmarks.duckdb"
_IMPORTS = "from orchestrator.commands.predict.stored_predictor import save_predictor"
_LARGE = 'save_predictor(paths[0], {"a.json": "x" * 10**6, "predictor.json": "new"}, "0")'


class Torn(dict[str, str]):
    def items(self) -> Iterator[tuple[str, str]]:  # type: ignore[override]
        yield "a.json", "[]"
        raise KeyboardInterrupt


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    Store.open(tmp_path / NAME).close()
    save_predictor(tmp_path / NAME, OLD, "0")
    return tmp_path / NAME


def test_a_new_predictor_takes_the_place_of_the_old_one(database: Path) -> None:
    folder = save_predictor(database, {"predictor.json": "new"}, "1")
    assert folder == predictor_folder(database)
    assert content(folder) == {"predictor.json": "new"}


def test_what_was_interrupted_leaves_the_old_one(database: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        save_predictor(database, Torn(), "1")
    assert content(predictor_folder(database)) == OLD
    assert {path.name for path in database.parent.iterdir()} <= {
        NAME,
        f"{NAME}.predictor",
        f"{NAME}.lock",
    }


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_one(database: Path) -> None:
    assert "cannot be written" in done(refused(_LARGE, _IMPORTS), database)
    assert content(predictor_folder(database)) == OLD
