"""Each example of docs/ask.md works and answers something."""

import re
from pathlib import Path

import pytest

from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from tests.support.records import NOISY, a_failure, a_record

PAGE = Path(__file__).parents[4] / "docs" / "ask.md"
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
PYTHON = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with results as a run leaves them."""
    site = tmp_path_factory.mktemp("site")
    folder = site / "results" / "run"
    folder.mkdir(parents=True)
    for record in (
        a_record(batch_size=1),
        a_record(batch_size=8, throughput=900.0),
        a_record(batch_size=8, throughput=1200.0, precision="bf16"),
        a_record(batch_size=4, correct=False, correct_reason="beyond the tolerance"),
        a_record(batch_size=2, rounds=3, drift=0.01, drift_p_value=0.4, doubts=[NOISY]),
        a_record(mode="generation", new_tokens=32, part_durations_ns={"first_token": [20_000_000]}),
        a_record(mode="training", flops_per_iteration=10**9, bytes_per_iteration=10**7),
        a_record(mode="startup"),
        a_record(scenario="server", target_qps=50.0, achieved_qps=49.0),
        a_record(
            scenario="offline",
            offline_batches=[1],
            offline_queries=[30],
            offline_throughputs=[250.0],
            offline_latencies_s=[0.004],
            offline_memory_bytes=[10**8],
        ),
        a_failure("out_of_memory", "killed at 2 GB", batch_size=512),
    ):
        save_record(record, folder)
    with Store.open(site / "results" / "benchmarks.duckdb") as store:
        store.merge([folder])
    return site


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("sql", EXAMPLES, ids=lambda sql: " ".join(sql.split())[:40])
def test_an_example_answers(site: Path, sql: str) -> None:
    assert query(site / "results" / "benchmarks.duckdb", sql).num_rows > 0


def test_the_python_example_prints_the_run(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(site)
    (code,) = PYTHON
    exec(code, {})
    assert capsys.readouterr().out == "20261121-120000-abcd {'ok': 10, 'out_of_memory': 1}\n"
