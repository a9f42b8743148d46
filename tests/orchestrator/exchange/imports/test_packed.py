"""Imports are packed together without any loss, and taken out again where one changes."""

from pathlib import Path

import pytest

from orchestrator.commands.database.maintain import maintain_results
from orchestrator.commands.database.retention import RetentionPolicy
from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.imports.record import (
    pack,
    packed_path,
    packed_runs,
    records_path,
    take_out,
)
from orchestrator.store.store import Store
from runner.contract.errors import DamagedFile
from tests.orchestrator.exchange.imports.files import Place, write
from tests.orchestrator.exchange.imports.formats.legacy.samples import DIRECT

EVERYTHING = "SELECT * FROM benchmark_results ORDER BY result_id"
RUNS = "SELECT run_id, command, matrix_path FROM benchmark_runs ORDER BY run_id"


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path)
    for number in range(6):
        write(place.sources / f"direct{number}.json", DIRECT | {"model": f"model-{number}"})
    place.import_files()
    return place


def rows(database: Path, question: str = EVERYTHING) -> list[dict[str, object]]:
    with Store.open_readonly(database) as store:
        return store.arrow(question).to_pylist()


def single_files(place: Place) -> list[Path]:
    return sorted(packed_path(place.results).parent.glob("import-*.parquet"))


def test_packed_records_say_the_same_and_take_a_part_of_the_room(place: Place) -> None:
    before, runs = rows(place.database), rows(place.database, RUNS)
    done = pack(place.results)
    assert done
    assert done.files == 6
    assert done.bytes_after
    assert done.bytes_after < done.bytes_before / 4
    assert single_files(place) == []
    place.database.unlink()
    merge_paths([place.results], place.database, scratch=False).require_complete()
    assert rows(place.database) == before
    assert rows(place.database, RUNS) == runs
    assert pack(place.results) is None


def test_what_is_packed_is_known_and_a_change_takes_it_out(place: Place) -> None:
    pack(place.results)
    content = packed_path(place.results).read_bytes()
    assert place.import_files().there == len(rows(place.database))
    assert packed_path(place.results).read_bytes() == content
    names = {run.run_id for run in packed_runs(packed_path(place.results))}
    write(place.sources / "direct9.json", DIRECT | {"model": "another"})
    place.import_files()
    (fresh,) = single_files(place)
    assert fresh.stem not in names
    done = pack(place.results)
    assert done
    assert {run.run_id for run in packed_runs(packed_path(place.results))} == {*names, fresh.stem}


def test_one_is_taken_out_whole_and_the_last_leaves_nothing_behind(place: Place) -> None:
    before = rows(place.database)
    pack(place.results)
    runs = [run.run_id for run in packed_runs(packed_path(place.results))]
    for number, run_id in enumerate(runs, 1):
        assert take_out(place.results, run_id) == records_path(place.results, run_id)
        assert len(packed_runs(packed_path(place.results))) == len(runs) - number
    assert not packed_path(place.results).exists()
    assert take_out(place.results, runs[0]) is None
    place.database.unlink()
    merge_paths([place.results], place.database, scratch=False).require_complete()
    assert rows(place.database) == before


def test_maintenance_packs_imports_and_drops_one_of_them(place: Place) -> None:
    dry = maintain_results(place.results, place.database, compacting=True, dry_run=True)
    assert [(one.run_id, one.compaction.bytes_after) for one in dry.compact] == [("imports", None)]
    assert len(single_files(place)) == 6
    maintain_results(place.results, place.database, compacting=True)
    runs = [run.run_id for run in packed_runs(packed_path(place.results))]
    policy = RetentionPolicy(named=[runs[0]])
    maintain_results(place.results, place.database, policy)
    assert [run.run_id for run in packed_runs(packed_path(place.results))] == runs[1:]
    assert single_files(place) == []
    left = {row["run_id"] for row in rows(place.database)}
    assert left == {*runs[1:]}


def test_a_damaged_packed_file_is_named_and_stays(place: Place) -> None:
    pack(place.results)
    packed = packed_path(place.results)
    packed.write_bytes(packed.read_bytes()[:-200])
    content = packed.read_bytes()
    write(place.sources / "direct9.json", DIRECT | {"model": "another"})
    with pytest.raises(DamagedFile, match=r"packed\.parquet: cannot be read"):
        place.import_files()
    with pytest.raises(DamagedFile, match=r"packed\.parquet: cannot be read"):
        take_out(place.results, "import-0")
    assert packed.read_bytes() == content
