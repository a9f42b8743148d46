"""optimum-benchmark's reports, with their config inside, beside them, or missing."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.entry import Reading
from orchestrator.exchange.imports.formats.optimum_benchmark import OptimumBenchmark
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from runner.contract.errors import DamagedFile
from tests.orchestrator.exchange.imports.cases import Case, check_case, promise, read_cases
from tests.orchestrator.exchange.imports.files import json_document, only, read
from tests.orchestrator.exchange.imports.formats.optimum import config, encoder_report
from tests.support.data import sample

RUNS = sample("optimum-benchmark")


@pytest.mark.parametrize("case", read_cases("optimum-benchmark"), ids=promise)
def test_a_report_becomes_its_record(case: Case) -> None:
    check_case(case, [OptimumBenchmark()], RUNS)


@pytest.mark.parametrize(
    ("gpu", "device_ids", "name"),
    [
        (["NVIDIA A100", "NVIDIA A100"], "0,1", "NVIDIA A100"),
        (["NVIDIA A100", "NVIDIA T4"], "0,1", None),
        (["NVIDIA A100", "NVIDIA T4"], "7", None),
        (["NVIDIA A100", "NVIDIA T4"], 1, "NVIDIA T4"),
        ("NVIDIA A100", None, "NVIDIA A100"),
        (None, "0", None),
    ],
)
def test_the_device_is_named_where_it_is_certain(
    gpu: Any, device_ids: Any, name: str | None
) -> None:
    backend = {"device": "cuda", "device_ids": device_ids}
    run = {"config": config(backend, environment={"gpu": gpu}), "report": encoder_report()}
    assert only(read(OptimumBenchmark(), json_document(run))).device_name == name


def folder_of(folder: Path, **files: Any) -> Path:
    for name, data in files.items():
        (folder / f"{name}.json").write_text(json.dumps(data))
    return folder


def read_file(path: Path) -> Reading:
    return read(OptimumBenchmark(), Document.read(path))


def test_the_config_may_lie_beside_the_report(tmp_path: Path) -> None:
    folder_of(tmp_path, benchmark_report=encoder_report(), benchmark_config=config())
    found = only(read_file(tmp_path / "benchmark_report.json"))
    assert (found.location, found.model) == ("/forward", "BAAI/bge-base-en-v1.5")
    assert len(found.details["config_sha256"]) == 64
    told = read_file(tmp_path / "benchmark_config.json")
    assert told.nothing == "the config of a run of optimum-benchmark"


def test_the_same_report_is_not_read_from_two_files(tmp_path: Path) -> None:
    both = {"config": config(), "report": encoder_report()}
    folder_of(
        tmp_path, benchmark_report=encoder_report(), benchmark_config=config(), benchmark=both
    )
    told = read_file(tmp_path / "benchmark_report.json")
    assert told.nothing == "the report that benchmark.json beside it holds as well"
    assert only(read_file(tmp_path / "benchmark.json")).throughput == 5.648934083819028


def test_another_report_beside_it_hides_nothing(tmp_path: Path) -> None:
    both = {"config": config(), "report": {"load": {"latency": {"unit": "s", "mean": 2.0}}}}
    folder_of(
        tmp_path, benchmark_report=encoder_report(), benchmark_config=config(), benchmark=both
    )
    assert only(read_file(tmp_path / "benchmark_report.json")).location == "/forward"


def test_a_report_without_its_config_names_no_model(tmp_path: Path) -> None:
    folder_of(tmp_path, benchmark_report=encoder_report())
    with pytest.raises(
        DamagedFile, match=r"names no model: its benchmark_config\.json.* is not beside it"
    ):
        read_file(tmp_path / "benchmark_report.json")


def test_a_published_failure_beside_its_config_is_a_failure(tmp_path: Path) -> None:
    trace = "Traceback (most recent call last):\n  File x\ntorch.OutOfMemoryError: out of memory\n"
    folder_of(tmp_path, benchmark_report={"traceback": trace}, benchmark_config=config())
    assert only(read_file(tmp_path / "benchmark_report.json")).status == "out_of_memory"


@pytest.mark.parametrize(
    "data",
    [
        {},
        [],
        {"error": "out of memory"},
        {"forward": {"latency": 5}},
        {"latency": {"mean": 5}, "throughput": 3},
        {"backend": "cuda", "model": "bert"},
        {"report": {}, "config": {}},
    ],
)
def test_other_files_are_not_recognised(data: Any) -> None:
    assert not OptimumBenchmark().recognises(json_document(data))


def paths_in(data: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(data, dict):
        return [path]
    return [path, *(found for key in data for found in paths_in(data[key], (*path, key)))]


TOP: dict[str, Any] = {
    "config": RUNS["decoder"]["config"],
    "report": RUNS["decoder"]["report"] | RUNS["encoder"]["report"],
}


@given(
    st.sampled_from(paths_in(TOP)[1:]),
    st.one_of(
        st.none(),
        st.booleans(),
        st.floats(),
        st.text(max_size=5),
        st.lists(st.floats(), max_size=2),
        st.just({}),
    ),
)
def test_any_value_may_be_missing_or_odd(path: tuple[str, ...], value: Any) -> None:
    data = copy.deepcopy(TOP)
    at = data
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    document = json_document(data)
    if not OptimumBenchmark().recognises(document):
        assert len(path) <= 3
        return
    found: tuple[ImportedMeasurement, ...] = ()
    told = ""
    try:
        found = OptimumBenchmark().read(document).measurements
    except DamagedFile as error:
        told = str(error)
    assert {one.mode for one in found} <= {"generation", "inference", None}
    assert found or told or path == ("report",)
