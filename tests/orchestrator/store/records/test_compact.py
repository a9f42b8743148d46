"""Many files of one row become one, bit by bit the same; what is not ours to touch stays."""

import os
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.store.merge.report import MergeReport
from orchestrator.store.records.compact import Compaction, compact, compact_files
from orchestrator.store.store import Store
from runner.contract.errors import DamagedFile, StoreError
from runner.contract.record.files import drop_empty_columns, save_record
from runner.contract.record.record import Record
from tests.support.databases import FULL_DISK, after, done, everything, killed, refused, script
from tests.support.records import RECORDED_AT, a_failure, a_record
from tests.support.siblings import siblings

RUN = "20261121-120000-abcd"
SIZES = (1, 2, 4, 8, 16, 32)
COMPACT = "print(compact(paths[0], arguments[1], arguments[2:]))"
IMPORT = "from orchestrator.store.records.compact import compact"


@pytest.fixture
def records(tmp_path: Path) -> Path:
    folder = tmp_path / "records"
    folder.mkdir()
    return folder


@pytest.fixture
def saved(records: Path) -> list[Record]:
    measured = [a_record(batch_size=size) for size in SIZES]
    parts = {"first_token": [1, 2, 3], "output_token": [4]}
    generated = a_record(mode="generation", new_tokens=4, part_durations_ns=parts)
    every = [*measured, generated, a_failure("lost", "gone", batch_size=64)]
    for record in every:
        keep(record, records)
    return every


def keep(record: Record, records: Path) -> Path:
    folder = records / record.job_id
    folder.mkdir(exist_ok=True)
    return save_record(record, folder)


def ids(saved: list[Record]) -> list[str]:
    return [record.cell_id for record in saved]


@pytest.mark.slow
def test_one_file_says_what_many_did(records: Path, saved: list[Record], tmp_path: Path) -> None:
    before = merged(records, tmp_path / "before.duckdb")
    files = sorted(records.rglob("*.parquet"))
    tables = {path.stem: pq.read_table(path) for path in files}
    done = compact(records, RUN, ids(saved))
    assert done is not None
    (made,) = compact_files(records)
    assert done == Compaction(len(saved), done.bytes_before, made.stat().st_size)
    assert done.bytes_after is not None
    assert done.bytes_after < done.bytes_before / 2
    assert list(records.iterdir()) == [made]
    whole = pq.read_table(made)
    assert whole["cell_id"].to_pylist() == sorted(
        ids(saved), key=lambda name: (job(saved, name), name)
    )
    for at, cell_id in enumerate(whole["cell_id"].to_pylist()):
        row = drop_empty_columns(whole.slice(at, 1))
        assert row.equals(tables[cell_id], check_metadata=True)
    assert merged(records, tmp_path / "after.duckdb") == before


def job(saved: list[Record], cell_id: str) -> str:
    return next(record.job_id for record in saved if record.cell_id == cell_id)


def test_it_is_compressed_and_twice_changes_nothing(records: Path, saved: list[Record]) -> None:
    compact(records, RUN, ids(saved))
    (made,) = compact_files(records)
    codecs = pq.read_metadata(made).row_group(0).column(0).compression
    assert codecs == "ZSTD"
    content = made.read_bytes()
    assert compact(records, RUN, ids(saved)) is None
    assert made.read_bytes() == content


def test_a_dry_run_touches_nothing(records: Path, saved: list[Record]) -> None:
    before = sorted(records.rglob("*"))
    foreseen = compact(records, RUN, ids(saved), dry_run=True)
    assert sorted(records.rglob("*")) == before
    done = compact(records, RUN, ids(saved))
    assert foreseen is not None
    assert done is not None
    assert foreseen == Compaction(done.files, done.bytes_before, None)


def test_what_is_no_number_equals_itself(records: Path) -> None:
    record = a_record(noise_score=float("nan"))
    path = keep(record, records)
    compact(records, RUN, [record.cell_id])
    (made,) = compact_files(records)
    assert not path.exists()
    assert repr(pq.read_table(made)["noise_score"].to_pylist()) == "[nan]"


def test_a_run_that_goes_on_is_left_alone(records: Path, saved: list[Record]) -> None:
    before = sorted(records.rglob("*"))
    with pytest.raises(DamagedFile, match="2 of 10 cells have no sound record yet"):
        compact(records, RUN, [*ids(saved), "one-more", "and-another"])
    assert sorted(records.rglob("*")) == before


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"\0" * 500])
def test_a_damaged_record_is_left_alone_with_its_run(
    records: Path, saved: list[Record], content: bytes
) -> None:
    path = keep(saved[0], records)
    path.write_bytes(content)
    with pytest.raises(DamagedFile, match="1 of 8 cells"):
        compact(records, RUN, ids(saved))
    assert path.read_bytes() == content
    assert compact_files(records) == []


def test_a_damaged_compact_file_is_left_alone(records: Path, saved: list[Record]) -> None:
    compact(records, RUN, ids(saved))
    (made,) = compact_files(records)
    made.write_bytes(made.read_bytes()[:-100])
    kept = keep(saved[0], records)
    with pytest.raises(DamagedFile, match="truncated or not a Parquet file"):
        compact(records, RUN, ids(saved))
    assert kept.exists()


def test_what_is_unfinished_or_no_record_of_this_run_stays(
    records: Path, saved: list[Record]
) -> None:
    folder = records / saved[0].job_id
    strangers = [
        folder / ".unfinished.parquet.tmp",
        folder / "unfinished.tmp",
        folder / "a-trace.json",
        save_record(a_record(run_id="another", batch_size=128), folder),
        folder / "another-name.parquet",
    ]
    for path in strangers[:3]:
        path.write_text("")
    strangers[4].write_bytes(strangers[3].read_bytes())
    two = pa.concat_tables([pq.read_table(strangers[3])] * 2)
    pq.write_table(two, folder / "two-rows.parquet")
    compact(records, RUN, ids(saved))
    left = {path for path in records.rglob("*") if path.is_file()}
    assert left == {*strangers, folder / "two-rows.parquet", *compact_files(records)}


@pytest.mark.slow
def test_a_file_of_its_own_outweighs_the_compact_one(records: Path, saved: list[Record]) -> None:
    compact(records, RUN, ids(saved))
    later = saved[0].model_copy(update={"recorded_at": RECORDED_AT + timedelta(hours=1)})
    keep(later, records)
    done = compact(records, RUN, ids(saved))
    assert done is not None
    assert done.files == 1
    (made,) = compact_files(records)
    whole = pq.read_table(made)
    assert len(whole) == len(saved)
    when = dict(zip(whole["cell_id"].to_pylist(), whole["recorded_at"].to_pylist(), strict=True))
    assert when[later.cell_id] == later.recorded_at


@pytest.mark.slow
def test_a_full_disk_leaves_every_file(records: Path, saved: list[Record]) -> None:
    before = sorted(records.rglob("*"))
    small = FULL_DISK.replace("65536", "4096")
    said = done(refused(COMPACT, IMPORT, small), records, RUN, *ids(saved))
    assert "cannot be compacted: File too large | nothing was lost" in said
    assert sorted(records.rglob("*")) == before


@pytest.mark.slow
def test_a_file_system_that_refuses_is_told(records: Path, saved: list[Record]) -> None:
    compact(records, RUN, ids(saved))
    (made,) = compact_files(records)
    made.with_name(f".{made.name}.tmp").mkdir()
    keep(saved[0], records)
    with pytest.raises(StoreError, match="cannot be compacted: Is a directory"):
        compact(records, RUN, ids(saved))
    assert keep(saved[0], records).exists()


def moments(records: Path, saved: list[Record]) -> list[Callable[[], bool]]:
    """When to kill: as the new file is begun, is there, as the first and the last old ones go."""
    return [
        lambda: any(records.glob(".compact-*")),
        lambda: bool(compact_files(records)),
        lambda: loose(records) < len(saved),
        lambda: loose(records) < 3,
        after(0.02),
        after(0.05),
    ]


def loose(records: Path) -> int:
    return sum(len(names) for folder, _, names in os.walk(records) if folder != str(records))


@pytest.mark.slow
@pytest.mark.parametrize("moment", siblings(range(6), keep=[2]))
def test_killed_at_any_moment_it_loses_nothing(
    records: Path, saved: list[Record], tmp_path: Path, moment: int
) -> None:
    before = merged(records, tmp_path / "before.duckdb")
    when = moments(records, saved)[moment]
    killed(script(COMPACT, IMPORT), records, RUN, *ids(saved), when=when)
    assert merged(records, tmp_path / "killed.duckdb") == before
    compact(records, RUN, ids(saved))
    assert [path.name for path in records.iterdir()] == [compact_files(records)[0].name]
    assert merged(records, tmp_path / "after.duckdb") == before


def merged(records: Path, database: Path) -> dict[str, list[tuple[object, ...]]]:
    """What a new database holds of these records: one verdict a cell."""
    with Store.open(database) as store:
        report = store.merge([records])
        assert report == MergeReport(inserted=report.inserted, unchanged=report.unchanged)
    found = everything(database)
    assert len(found["benchmark_results"]) == report.inserted
    del found["schema_version"]
    return found
