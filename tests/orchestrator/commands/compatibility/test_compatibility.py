"""Compatibility and families of a small database; ratios are checked by hand in SQL."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.compatibility.command import CompatibilityReport, report_compatibility
from orchestrator.commands.results.selection import SelectionRequest
from orchestrator.store.store import Store
from runner.contract.errors import NothingToDo
from runner.contract.record.record import Record
from tests.support.databases import write_records
from tests.support.records import a_failure, a_record

OPENVINO = {"backend": "openvino", "runtime": "openvino"}
QNN = {"backend": "qnn", "runtime": "onnxruntime"}
MIB = 1 << 20


def took(milliseconds: float, **changes: Any) -> Record:
    return a_record(latency_median_s=milliseconds / 1000, **changes)


def records() -> list[Record]:
    untimed = dict.fromkeys(("latency_median_s", "throughput", "steady_time_s"))
    return [
        took(8, memory_peak_bytes=200 * MIB),
        took(4, runtime="onnxruntime", memory_peak_bytes=200 * MIB),
        took(6, runtime="onnxruntime", precision="int8", memory_peak_bytes=100 * MIB),
        took(6, precision="int8", memory_peak_bytes=100 * MIB),
        took(16, batch_size=4),
        took(1, **OPENVINO),
        a_failure(
            "out_of_memory", "killed for exceeding the memory limit", batch_size=4, **OPENVINO
        ),
        a_record(precision="fp16", purpose="verify", **untimed, **QNN),
        a_failure("unavailable", "the HTP simulator's time says nothing about a device", **QNN),
        took(5, model="gpt2", family="text_generation"),
        a_failure("unsupported", "gpt2 takes at most 8 tokens, not 9", model="gpt2", **OPENVINO),
    ]


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compatibility")
    return write_records(folder, records())


def report(database: Path, **filters: Any) -> CompatibilityReport:
    return report_compatibility(SelectionRequest(database, filters=filters))  # type: ignore[arg-type]


def levels(database: Path) -> dict[tuple[str, str], str]:
    return {(one.model, one.backend): one.level for one in report(database).ratings}


def test_each_model_has_a_level_on_each_backend(database: Path) -> None:
    assert levels(database) == {
        ("bert-tiny", "cpu"): "Medium",
        ("bert-tiny", "openvino"): "Low",
        ("bert-tiny", "qnn"): "verified only",
        ("gpt2", "cpu"): "High",
        ("gpt2", "openvino"): "N/A",
        ("gpt2", "qnn"): "not measured",
    }


def test_shares_are_those_that_sql_gives(database: Path) -> None:
    with Store.open_readonly(database) as store:
        (row,) = store.arrow(
            "SELECT max(throughput) FILTER (backend = 'cpu') / max(throughput) AS share"
            " FROM latest_results WHERE model = 'bert-tiny' AND batch_size = 1"
        ).to_pylist()
    by_backend = {one.backend: one for one in report(database, model="bert-tiny").ratings}
    assert row["share"] == pytest.approx(0.25, rel=0.01)
    assert by_backend["cpu"].share == pytest.approx(row["share"])
    assert (by_backend["cpu"].cells, by_backend["cpu"].compared) == (2, 1)
    assert by_backend["openvino"].obstacle is not None
    assert by_backend["openvino"].obstacle.verdict == "out_of_memory"


def test_families_have_ratios_with_the_cells_they_rest_on(database: Path) -> None:
    report = report_compatibility(SelectionRequest(database), by_family=True)
    families = {one.family: one for one in report.families or ()}
    with Store.open_readonly(database) as store:
        (row,) = store.arrow(
            "SELECT avg(memory_mb) FILTER (precision = 'int8' AND runtime = 'torch')"
            " / avg(memory_mb) FILTER (precision = 'fp32' AND runtime = 'torch') AS int8"
            " FROM latest_results WHERE model = 'bert-tiny' AND batch_size = 1"
            " AND backend = 'cpu'"
        ).to_pylist()
    bert, gpt2 = families["embedding"], families["text_generation"]
    assert (bert.models, bert.backend, bert.largest_batch) == (1, "openvino", 4)
    assert bert.speedup is not None
    assert (bert.speedup.value, bert.speedup.cells) == (pytest.approx(4.0, rel=0.01), 1)
    assert bert.int8_memory is not None
    assert bert.int8_memory.value == pytest.approx(row["int8"]) == pytest.approx(0.5)
    assert bert.scaling is not None
    assert (bert.scaling.value, bert.scaling.cells) == (pytest.approx(0.5, rel=0.01), 1)
    assert (gpt2.backend, gpt2.speedup, gpt2.int8_memory, gpt2.scaling) == ("cpu", None, None, None)


def test_where_nothing_fits_a_command_helps(database: Path) -> None:
    with pytest.raises(NothingToDo) as error:
        report_compatibility(SelectionRequest(database, filters={"model": "bert-micro"}))
    assert "orchestrator bench" in str(error.value.hint)
