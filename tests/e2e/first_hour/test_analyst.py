"""An analyst who is given a colleague's results: three commands to the answer, and no SQL.

The question: which runtime and precision is fastest for this model, on what machine, how far can
that be trusted, and how long does generated text take?
"""

import json
import re
from pathlib import Path

import pytest

from orchestrator.exchange.bundles.write import write_bundle
from orchestrator.screen.words.records import record_words
from orchestrator.store.store import Store
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from tests.support.records import a_record
from tests.support.workplace import Workplace

STYLE = re.compile(r"\x1b\[\d*m")
ELSEWHERE = {"hostname": "vm", "cpu_model": "Their CPU", "device_name": "Their CPU"}
QUICK = {"run_id": "20261120-100000-0001", "launcher": "docker", "grade": "B", **ELSEWHERE}


def their_records() -> list[Record]:
    """Two runtimes and a generation, on a machine that is called as the analyst's own is."""
    return [
        a_record(**QUICK, latency_median_s=0.009),
        a_record(
            **QUICK | {"grade": "D"},
            latency_median_s=0.004,
            precision="int8",
            difference_relative=0.048,
        ),
        a_record(**QUICK, latency_median_s=0.003, backend="openvino", runtime="openvino"),
        a_record(
            **QUICK,
            model="gpt2",
            family="text_generation",
            mode="generation",
            new_tokens=32,
            time_to_first_token_median_s=0.02,
            time_per_output_token_median_s=0.005,
        ),
    ]


@pytest.fixture
def analyst(tmp_path: Path) -> Workplace:
    """An analyst's folder, with results of the same cell on a machine of the same name."""
    (tmp_path / "results").mkdir()
    save_record(a_record(hostname="vm", latency_median_s=0.02), tmp_path / "results")
    return Workplace(tmp_path, "process")


def given(folder: Path, name: str) -> None:
    """Write what the colleague sends."""
    records = folder / "colleague"
    records.mkdir()
    for record in their_records():
        save_record(record, records)
    database = folder / "theirs.duckdb"
    with Store.open(database) as store:
        store.merge([records], words=record_words)
    if name.endswith(".zip"):
        write_bundle(database, (), folder / name, force=False)


@pytest.mark.parametrize(
    "name", ["theirs.zip", pytest.param("theirs.duckdb", marks=pytest.mark.slow)]
)
def test_three_commands_answer_without_sql_the_fastest_first(analyst: Workplace, name: str) -> None:
    given(analyst.folder, name)

    merged = analyst.do("merge", "results", name)
    assert merged.returncode == 0, merged.stderr
    assert "4 records from vm" in merged.stdout or "5 records from vm" in merged.stdout
    assert "into results/benchmarks.duckdb" in merged.stdout
    assert "orchestrator query latest_results" in merged.stdout

    shown = json.loads(analyst.do("query", "latest_results", "--json").stdout)
    encoder = [row for row in shown if row["model"] == "bert-tiny"]
    assert len({row["host"] for row in encoder}) == 2, "two machines called vm are two"
    fastest, *_ = [row for row in encoder if row["hardware"] == "Their CPU" and row["grade"] != "D"]
    assert (fastest["runtime"], fastest["launcher"], fastest["grade"]) == (
        *("openvino", "docker"),
        "B",
    )
    (int8,) = (row for row in encoder if row["precision"] == "int8")
    assert (int8["grade"], int8["off"]) == ("D", 0.048)

    done = analyst.do("query", "generation_results")
    heads, row, *_ = (line.split() for line in done.stdout.splitlines())
    values = dict(zip(heads, row, strict=False))
    assert values["time_to_first_token_median_ms"] == "20"
    assert values["time_per_output_token_median_ms"] == "5"
    assert {"token_throughput", "memory_mb", "off"} <= {*heads}

    screen = analyst.show(80, "query", "latest_results").stdout
    lines = STYLE.sub("", screen).splitlines()
    assert all(len(line) <= 80 for line in lines)
    assert lines[0].split()[:4] == ["model", "runtime", "precision", "batch_size"]
    assert lines[2].split()[:2] == ["bert-tiny", "openvino"]
    assert "--wide" in lines[-1]
