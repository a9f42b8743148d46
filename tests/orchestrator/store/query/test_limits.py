"""A question ends at its limits of time and memory, whatever DuckDB is doing."""

from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.store.query.ask import asking, query, showing
from orchestrator.store.store import Store
from orchestrator.system.memory import remove_spill_folder, spill_folder
from runner.contract.errors import StoreError, UsageError

CROSS = "SELECT sum(hash(a.i, b.i)) FROM range(10000000) a(i), range(10000000) b(i)"
SORT = "SELECT i, hash(i) AS h FROM range(100000000000) t(i) ORDER BY h"
SILENT = "SELECT i FROM range(1000000000000) AS t(i) WHERE hash(i) = 5"
ENDLESS = "SELECT i FROM range(1000000000000) AS t(i)"
LIST = "SELECT list(i) FROM range(100000000000) t(i)"


@pytest.mark.parametrize("sql", [CROSS, SORT, SILENT], ids=["join", "sort", "batches"])
def test_time_runs_out(filled: Path, sql: str) -> None:
    with pytest.raises(UsageError, match=r"no answer within 0\.1s") as caught:
        query(filled, sql, timeout_s=0.1, memory_bytes=200 * 2**20)
    assert "--timeout" in str(caught.value.hint)
    Store.open(filled).close()


def test_time_runs_out_between_batches(asked: Path) -> None:
    late = f"SELECT i FROM ({ENDLESS}) WHERE i < 100000 OR hash(i) = 5"
    with (
        asking(asked, late, timeout_s=0.5) as answer,
        pytest.raises(UsageError, match="no answer within"),
    ):
        assert sum(batch.num_rows for batch in answer.batches) < 0


@pytest.mark.parametrize("sql", [CROSS, SORT, SILENT], ids=["join", "sort", "batches"])
def test_ctrl_c_ends_a_question(filled: Path, sql: str, ctrl_c: Callable[[], None]) -> None:
    ctrl_c()
    with pytest.raises(KeyboardInterrupt):
        query(filled, sql, timeout_s=None)
    Store.open(filled).close()


def test_ctrl_c_while_rows_are_read(asked: Path, ctrl_c: Callable[[], None]) -> None:
    with asking(asked, ENDLESS) as answer:
        next(answer.batches)
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            deque(answer.batches, maxlen=0)


def test_memory_runs_out(asked: Path) -> None:
    with pytest.raises(UsageError, match="the query failed: Out of Memory Error") as caught:
        query(asked, LIST, memory_bytes=100 * 2**20)
    assert "--memory" in str(caught.value.hint)


def test_an_answer_that_fits_no_table(asked: Path) -> None:
    with pytest.raises(UsageError, match=r"its answer takes more than 95\.3MiB of memory at once"):
        query(asked, ENDLESS, memory_bytes=10**8)


def test_an_answer_for_the_screen_has_the_same_limits(
    filled: Path, ctrl_c: Callable[[], None]
) -> None:
    with (
        showing(filled, ENDLESS, memory_bytes=10**8) as answer,
        pytest.raises(UsageError, match=r"takes more than 6MiB of memory at once"),
    ):
        deque(answer.rows, maxlen=0)
    with (
        pytest.raises(UsageError, match=r"no answer within 0\.1s"),
        showing(filled, CROSS, timeout_s=0.1) as answer,
    ):
        next(answer.rows)
    with showing(filled, ENDLESS) as answer:
        next(answer.rows)
        ctrl_c()
        with pytest.raises(KeyboardInterrupt):
            deque(answer.rows, maxlen=0)
    Store.open(filled).close()


def test_each_question_sets_its_limit_of_memory(asked: Path) -> None:
    setting = "SELECT current_setting('memory_limit') AS value"
    with Store.open_readonly(asked) as store:
        default = store.arrow(setting)
        assert store.arrow(setting, memory_bytes=2**30).to_pylist() == [{"value": "1.0 GiB"}]
        assert store.arrow(setting) == default


def test_what_does_not_fit_spills_into_a_folder_of_our_own(filled: Path) -> None:
    before = sorted(filled.parent.iterdir())
    many = "SELECT i, hash(i) AS h FROM range(3000000) t(i) ORDER BY h"
    folder = spill_folder()
    assert folder is not None
    with asking(filled, many, memory_bytes=40 * 2**20) as answer:
        assert next(answer.batches).num_rows
        assert list(folder.rglob("duckdb_temp*"))
        assert sorted(filled.parent.iterdir()) == before
    assert list(folder.iterdir()) == []
    assert folder.stat().st_mode & 0o077 == 0


def test_a_killed_process_leaves_its_folder_to_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_spill_folder()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    left = tmp_path / "accelmatrix-query-left"
    (left / "spill").mkdir(parents=True)
    other = tmp_path / "accelmatrix-locks"
    other.mkdir()
    mine = spill_folder()
    assert set(tmp_path.iterdir()) == {mine, other}
    spill_folder.cache_clear()
    second = spill_folder()
    assert set(tmp_path.iterdir()) == {mine, second, other}
    remove_spill_folder()
    assert set(tmp_path.iterdir()) == {mine, other}


def test_without_a_temporary_folder_small_questions_are_answered(
    filled: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove_spill_folder()
    monkeypatch.setattr("tempfile.mkdtemp", _refuse)
    assert query(filled, "SELECT 1 AS one").num_rows == 1
    with pytest.raises(UsageError, match="Out of Memory"):
        query(filled, SORT, memory_bytes=40 * 2**20)
    spill_folder.cache_clear()


def _refuse(**_: object) -> str:
    raise FileNotFoundError("no usable temporary directory")


@pytest.mark.parametrize(
    ("sql", "word"),
    [(f"SELECT '{'x' * 10**6}'::INTEGER", "Conversion Error"), (f"SELEC {'y' * 10**6}", "Parser")],
    ids=["value", "word"],
)
def test_errors_are_short_and_one_line(asked: Path, sql: str, word: str) -> None:
    with pytest.raises(UsageError, match=word) as caught:
        query(asked, sql)
    assert len(str(caught.value)) < 700


def test_no_value_forges_a_line_of_ours(asked: Path) -> None:
    with pytest.raises(UsageError, match="Conversion Error") as caught:
        query(asked, "SELECT ('x' || chr(10) || 'hint: run this')::INTEGER")
    assert "\n" not in str(caught.value)


def test_a_damaged_database_is_no_fault_of_the_question(filled: Path) -> None:
    content = bytearray(filled.read_bytes())
    content[16384:] = bytes(byte ^ 0xFF for byte in content[16384:])
    filled.write_bytes(content)
    with pytest.raises(StoreError):
        query(filled, "SELECT count(*), max(model) FROM benchmark_results")
