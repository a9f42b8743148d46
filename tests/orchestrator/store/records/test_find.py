"""An id that is a path leads nobody elsewhere: its record is not taken."""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.store.records.find import ID_COLUMNS, id_fault, is_path
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.support.records import a_record

PATHS = ("", ".", "..", "/", "/tmp/x", "../../x", "a/../b", "a/./b", "a/..", "a//b", "a/")
IDS = ("20261121-120000-abcd", "odd/run \N{SNOWMAN}", "..a", "a..b", ".hidden", "a.b/c.d", "...")


@pytest.mark.parametrize("value", PATHS + IDS)
def test_both_ways_to_ask_agree(value: str) -> None:
    row = dict.fromkeys(ID_COLUMNS, "sound") | {"job_id": value}
    ((found,),) = duckdb.execute(
        f"SELECT {is_path('value')} FROM (SELECT ? AS value)", [value]
    ).fetchall()
    assert found is (value in PATHS)
    assert id_fault(row) == (f"job_id: {value!r} is a path, and no id" if found else None)


def test_what_is_unknown_is_no_path() -> None:
    assert id_fault({"run_id": None}) is None
    assert duckdb.execute(f"SELECT {is_path('NULL::VARCHAR')}").fetchall() == [(None,)]


def test_such_a_record_is_left_out(tmp_path: Path) -> None:
    sound = save_record(a_record(batch_size=2), tmp_path)
    table = pq.read_table(sound)
    for column in ID_COLUMNS:
        at = table.column_names.index(column)
        foreign = table.set_column(at, table.schema.field(at), pa.array(["../../x"]))
        pq.write_table(foreign, tmp_path / f"foreign-{column}.parquet")
        foreign = foreign.append_column("source", pa.array(["somebody"]))
        pq.write_table(foreign, tmp_path / f"foreign-{column}-of-others.parquet")
    with Store.open(tmp_path / "benchmarks.duckdb") as store:
        report = store.merge([tmp_path])
    assert report.inserted == 1
    assert {file.path.name: file.reason for file in report.damaged} == {
        f"foreign-{column}{whose}.parquet": f"{column}: '../../x' is a path, and no id"
        for column in ID_COLUMNS
        for whose in ("", "-of-others")
    }
