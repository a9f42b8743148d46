"""A database gives back its free space, and nothing else changes."""

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from orchestrator.store.database.connect import size_of, wal_path
from orchestrator.store.health.copies import vacuum
from orchestrator.store.query.ask import query
from orchestrator.store.schema.views import VIEWS
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from tests.orchestrator.store.conftest import Save, scalar
from tests.support.databases import done, everything, killed, refused, schema_of, script, started
from tests.support.records import RECORDED_AT, a_record

IMPORT = "from orchestrator.store.health.copies import vacuum"
VACUUM = script("print(vacuum(paths[0], 60).rewritten)", IMPORT)


@pytest.mark.slow
def test_free_space_is_given_back(roomy: Path) -> None:
    before, size = everything(roomy), size_of(roomy)
    sizes = vacuum(roomy)
    assert sizes.rewritten
    assert (sizes.bytes_before, sizes.bytes_after) == (size, size_of(roomy))
    assert size_of(roomy) < size / 2
    assert everything(roomy) == before
    assert {path.name for path in roomy.parent.iterdir()} == {
        "results",
        roomy.name,
        f"{roomy.name}.lock",
    }


@pytest.mark.slow
def test_what_was_written_anew_has_the_same_schema(roomy: Path) -> None:
    before = schema_of(roomy)
    assert vacuum(roomy).rewritten
    assert schema_of(roomy) == before
    for view in VIEWS:
        query(roomy, f"SELECT * FROM {view.name}")
    assert not vacuum(roomy).rewritten


def test_it_takes_records_as_before(roomy: Path, results: Path, save: Save) -> None:
    vacuum(roomy)
    later = RECORDED_AT + timedelta(hours=1)
    save(a_record(run_id="kept", recorded_at=later), a_record(run_id="more"))
    with Store.open(roomy) as store:
        report = store.merge([results])
    assert (report.inserted, report.replaced) == (1, 1)


def test_a_small_database_is_not_written_anew(two_runs: Path) -> None:
    inode = two_runs.stat().st_ino
    sizes = vacuum(two_runs)
    assert (sizes.rewritten, two_runs.stat().st_ino) == (False, inode)


def test_the_log_goes_into_the_file(two_runs: Path) -> None:
    held = "import duckdb, os, sys; c = duckdb.connect(sys.argv[1]);"
    held += "print('ready', flush=True); sys.stdin.readline();"
    held += "c.execute(\"UPDATE benchmark_results SET reason = 'left in the log'\"); os._exit(0)"
    done(held, two_runs)
    assert wal_path(two_runs).exists()
    vacuum(two_runs)
    assert not wal_path(two_runs).exists()
    assert scalar(two_runs, "SELECT DISTINCT reason FROM benchmark_results") == "left in the log"


def test_a_link_stays_one(roomy: Path, tmp_path: Path) -> None:
    link = tmp_path / "results" / "link.duckdb"
    link.symlink_to(roomy)
    assert vacuum(link).rewritten
    assert link.is_symlink()
    assert scalar(roomy, "SELECT count(*) FROM benchmark_results") == 2


@pytest.mark.slow
def test_a_reader_goes_on_while_it_is_written_anew(roomy: Path) -> None:
    before = everything(roomy)
    with started(VACUUM, roomy) as process:
        seen = [query(roomy, "SELECT count(*) AS n FROM benchmark_results", wait_s=30)]
        while process.poll() is None:
            seen.append(query(roomy, "SELECT count(*) AS n FROM benchmark_results", wait_s=30))
        assert process.communicate()[0] == "True\n"
    assert {answer["n"][0].as_py() for answer in seen} == {2}
    assert everything(roomy) == before


def _moments(path: Path) -> list[Callable[[], bool]]:
    unfinished = path.with_name(f".{path.name}.rewritten")
    inode, size = path.stat().st_ino, path.stat().st_size
    return [
        unfinished.exists,
        lambda: unfinished.exists() and unfinished.stat().st_size > 16_384,
        wal_path(unfinished).exists,
        lambda: path.stat().st_ino != inode,
        lambda: path.stat().st_size != size,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(5))
def test_killed_while_it_is_written_anew_it_loses_nothing(roomy: Path, moment: int) -> None:
    before = everything(roomy)
    killed(VACUUM, roomy, when=_moments(roomy)[moment])
    assert everything(roomy) == before
    vacuum(roomy)
    assert everything(roomy) == before
    assert not list(roomy.parent.glob(".*"))


@pytest.mark.slow
def test_a_full_disk_leaves_it_as_it_was(roomy: Path) -> None:
    before = everything(roomy)
    said = done(refused("vacuum(paths[0])", IMPORT), roomy)
    assert "nothing was" in said
    assert everything(roomy) == before
    assert not list(roomy.parent.glob(".*"))
    assert vacuum(roomy).rewritten


def test_without_a_database_it_says_so(database: Path) -> None:
    with pytest.raises(StoreError, match="there is no database yet"):
        vacuum(database)


def test_a_writer_is_waited_for(two_runs: Path) -> None:
    with Store.open(two_runs), pytest.raises(StoreError, match="still in use"):
        vacuum(two_runs, 0)
