"""A file goes when the database is seen to hold every record of it, and not otherwise."""

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from orchestrator.exchange.imports.formats import FORMATS
from orchestrator.exchange.imports.importing import remove_sources
from orchestrator.exchange.imports.outcome import FileOutcome
from tests.orchestrator.exchange.imports.files import LATER, TABLE, Place, verdicts_on, write
from tests.orchestrator.exchange.imports.formats.legacy.samples import DIRECT, MODELS
from tests.orchestrator.exchange.imports.formats.optimum import config, encoder_report

DAY_S = 86400.0


class Removal(Place):
    """A user's folder in which everything has been imported."""

    def imported(self) -> tuple[FileOutcome, ...]:
        self.import_files()
        return self.verdicts()

    def remove(
        self,
        verdicts: Sequence[FileOutcome],
        older_than_s: float | None = None,
        root: Path | None = None,
    ) -> dict[str, str | None]:
        roots = [root or self.sources]
        told = remove_sources(
            verdicts, self.database, roots=roots, formats=FORMATS, older_than_s=older_than_s
        )
        return {each.path.name: each.kept for each in told}

    def left(self) -> list[str]:
        return sorted(file.name for file in self.sources.rglob("*") if not file.is_dir())


@pytest.fixture
def place(tmp_path: Path) -> Removal:
    return a_place(tmp_path)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = a_place(tmp_path_factory.mktemp("imported"))
    place.import_files()
    return place.sources.parent


@pytest.fixture
def held(whole: Path, tmp_path: Path) -> Removal:
    return Removal(shutil.copytree(whole, tmp_path, dirs_exist_ok=True))


def a_place(folder: Path) -> Removal:
    place = Removal(folder)
    write(place.sources / "direct.json", DIRECT)
    write(place.sources / "timm.csv", TABLE)
    return place


@pytest.mark.parametrize("imports", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_what_the_database_holds_is_deleted(held: Removal, imports: int) -> None:
    for _ in range(imports - 1):
        held.import_files()
    assert held.remove(held.verdicts()) == {"direct.json": None, "timm.csv": None}
    assert held.left() == []
    assert len(held.table()) == 4


def test_every_name_of_a_content_goes(held: Removal) -> None:
    write(held.sources / "second.json", DIRECT)
    verdicts = held.verdicts()
    assert [each.kind for each in verdicts] == ["records", "same content", "records"]
    assert set(held.remove(verdicts).values()) == {None}


def test_files_without_records_and_with_entries_that_were_left_out_stay(place: Removal) -> None:
    write(place.sources / "models.json", MODELS)
    write(place.sources / "notes.md", "nothing")
    write(place.sources / "cut.json", "{")
    write(place.sources / "timm.csv", TABLE + "slow,224,1,fast,1,1\n")
    kept = place.remove(place.imported())
    reason = "none of its content is in the database"
    assert {kept[name] for name in ("models.json", "notes.md", "cut.json")} == {reason}
    assert kept["timm.csv"] == "1 of its entries could not be read, and are in no database"
    assert place.left() == ["cut.json", "models.json", "notes.md", "timm.csv"]


def test_young_files_stay(held: Removal) -> None:
    future, old = held.sources / "direct.json", held.sources / "timm.csv"
    for file, days in ((future, 1), (old, -31)):
        os.utime(file, (time.time(), time.time() + days * DAY_S))
    kept = held.remove(held.verdicts(), older_than_s=30 * DAY_S)
    assert kept == {"direct.json": "it was changed within the last 30 days", "timm.csv": None}


def test_a_file_that_changed_since_stays(held: Removal) -> None:
    verdicts = held.verdicts()
    write(held.sources / "timm.csv", LATER)
    assert held.remove(verdicts)["timm.csv"] == "it has changed since it was imported"
    assert held.left() == ["timm.csv"]


def test_a_file_whose_neighbour_changed_since_stays(place: Removal) -> None:
    folder = place.sources / "optimum"
    write(folder / "benchmark_report.json", encoder_report())
    write(folder / "benchmark_config.json", config())
    verdicts = place.imported()
    write(folder / "benchmark_config.json", config(backend={"model": "another"}))
    kept = place.remove(verdicts)["benchmark_report.json"]
    assert kept == "what lies beside it has changed since it was imported"


def test_a_database_that_holds_less_keeps_the_file(held: Removal, whole: Path) -> None:
    verdicts = held.verdicts()
    for damage, count in (
        ("DELETE FROM benchmark_results WHERE model = 'resnet50'", 1),
        ("UPDATE benchmark_results SET throughput = 1 WHERE model = 'resnet50'", 1),
        ("UPDATE benchmark_results SET simulated = true WHERE model = 'resnet50'", 1),
        ("UPDATE benchmark_results SET source_sha256 = 'x' WHERE model = 'resnet50'", 1),
        ("DELETE FROM benchmark_results", 0),
    ):
        shutil.copy(whole / "results/benchmarks.duckdb", held.database)
        alter(held.database, damage)
        kept = held.remove([each for each in verdicts if each.path.name == "timm.csv"])
        assert kept == {"timm.csv": f"the database holds {count} of its 2 records as they are"}, (
            damage
        )
        assert "timm.csv" in held.left()


def test_raw_durations_are_verified_too(held: Removal, whole: Path) -> None:
    verdicts = held.verdicts()
    for damage in (
        "DELETE FROM raw_benchmark_data",
        "UPDATE raw_benchmark_data SET durations_ns = [1, 2]",
    ):
        shutil.copy(whole / "results/benchmarks.duckdb", held.database)
        alter(held.database, damage)
        kept = held.remove([each for each in verdicts if each.path.name == "direct.json"])
        assert kept == {"direct.json": "the database holds 1 of its 2 records as they are"}, damage
    assert set(held.remove(verdicts).values()) == {None, *kept.values()}


def test_a_database_that_holds_more_of_a_file_keeps_it(held: Removal) -> None:
    verdicts = held.verdicts()
    alter(
        held.database,
        "INSERT INTO benchmark_results BY NAME SELECT * REPLACE (cell_id || 'x' AS cell_id)"
        " FROM benchmark_results WHERE model = 'resnet50'",
    )
    kept = held.remove(verdicts)["timm.csv"]
    assert kept == "the database holds records of it that are not in it"


def test_without_a_database_nothing_goes(place: Removal) -> None:
    kept = place.remove(verdicts_on(place.sources))
    assert set(kept.values()) == {"the database holds 0 of its 2 records as they are"}
    assert not place.database.exists()


def test_links_are_never_followed(held: Removal, tmp_path: Path) -> None:
    outside = write(tmp_path / "outside/other.csv", LATER)
    link = held.sources / "link.csv"
    link.symlink_to(outside)
    (held.sources / "way-out").symlink_to(outside.parent)
    held.import_files()
    kept = held.remove(held.verdicts())
    assert kept["link.csv"] == "none of its content is in the database"
    assert "other.csv" not in kept
    named = held.remove(verdicts_on(link, held.sources))
    assert named["link.csv"] == f"{link} is a link, and links are not followed to delete"
    assert outside.exists()
    assert link.is_symlink()


def test_files_of_a_folder_that_was_named_by_a_link_stay(held: Removal, tmp_path: Path) -> None:
    named = tmp_path / "named"
    named.symlink_to(held.sources)
    kept = held.remove(verdicts_on(named), root=named)
    assert set(kept.values()) == {f"{named} is a link, and links are not followed to delete"}
    assert held.left() == ["direct.json", "timm.csv"]


def test_a_file_that_is_gone_already_is_told(held: Removal) -> None:
    verdicts = held.verdicts()
    (held.sources / "timm.csv").unlink()
    kept = held.remove(verdicts)["timm.csv"]
    assert kept == "cannot be looked at: No such file or directory"


def test_what_would_go_is_told_without_deleting(place: Removal) -> None:
    write(place.sources / "models.json", MODELS)
    verdicts = verdicts_on(place.sources)
    told = remove_sources(verdicts, None, roots=[place.sources], formats=FORMATS)
    assert {each.path.name: each.kept for each in told} == {
        "direct.json": None,
        "models.json": "none of its content is in the database",
        "timm.csv": None,
    }
    assert len(place.left()) == 3


def alter(database: Path, sql: str) -> None:
    with duckdb.connect(database) as connection:
        connection.execute(sql)
