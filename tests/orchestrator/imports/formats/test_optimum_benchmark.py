"""optimum-benchmark's reports, with their config inside, beside them, or missing."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.imports.document import Document
from orchestrator.imports.formats.optimum_benchmark import OptimumBenchmark
from orchestrator.imports.measurement import ImportedMeasurement
from orchestrator.imports.reading import Reading
from runner.contract.errors import DamagedFile
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.optimum import (
    Tree,
    config,
    encoder_report,
    generation_config,
    generation_report,
    latency,
    target,
)


def whole(report: Tree, config_: Tree | None = None) -> Reading:
    """The reading of a `benchmark.json`."""
    data = {"config": config() if config_ is None else config_, "report": report}
    return read(OptimumBenchmark(), json_document(data, "benchmark.json"))


def folder_of(folder: Path, **files: Any) -> Path:
    for name, data in files.items():
        (folder / f"{name}.json").write_text(json.dumps(data))
    return folder


def read_file(path: Path) -> Reading:
    return read(OptimumBenchmark(), Document.read(path))


def test_an_encoder_s_forward_is_one_measurement() -> None:
    found = only(whole(encoder_report()))
    assert (found.location, found.status, found.mode) == ("/report/forward", "ok", "inference")
    assert (found.throughput, found.iterations) == (5.648934083819028, 3)
    assert (found.load_time_s, found.first_latency_s) == (15.5, 12.25)
    assert (found.latency_median_s, found.latency_p50_s, found.latency_p99_s) == (
        11.477741526905447,
        11.477741526905447,
        11.5,
    )
    assert found.durations_ns == (11477741527, 11500000000, 11250000000)
    assert found.memory_peak_bytes == 1449189376
    assert found.memory_allocator_peak_bytes is None


def test_energy_is_joules_of_one_call() -> None:
    found = only(whole(encoder_report()))
    assert found.energy_joules == 3.6
    assert found.energy_per_sample_joules == pytest.approx(3.6 / 64)
    assert found.details["energy_joules"] == "of one call, as codecarbon estimates it"
    assert found.details["report.forward.energy.cpu"] == "5e-07"


def test_the_population_s_deviation_is_not_the_sample_s() -> None:
    found = only(whole(encoder_report()))
    assert found.latency_stddev_s is None
    assert found.details["report.forward.latency.stdev"] == "0.125"


def test_the_config_tells_model_and_surroundings() -> None:
    found = only(whole(encoder_report()))
    assert (found.model, found.task) == ("BAAI/bge-base-en-v1.5", "feature-extraction")
    assert (found.backend, found.runtime, found.precision) == ("cpu", "torch", "fp32")
    assert (found.batch_size, found.sequence_length, found.warmup_iterations) == (64, 128, 10)
    assert found.device_name == found.cpu_model == "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz"
    assert (found.cpu_cores_logical, found.memory_total_bytes) == (8, 33164890112)
    assert found.libraries == {
        "torch": "2.4.1",
        "optimum-benchmark": "0.5.0.dev0",
        "transformers": "4.45.2",
    }
    assert found.details["config.backend.model_type"] == "bert"
    assert "config.backend.model" not in found.details


def test_a_decoder_s_targets_are_one_measurement() -> None:
    found = only(whole(generation_report(), generation_config()))
    assert (found.location, found.mode) == ("/report/decode", "generation")
    assert found.latency_mean_s is None
    assert found.time_to_first_token_mean_s == 0.031875
    assert found.time_per_output_token_mean_s == 0.02325
    assert found.part_durations_ns["first_token"] == (32500000, 31250000)
    assert set(found.part_durations_ns) == {"first_token", "decode", "per_token"}
    assert "report.per_token.latency.values" not in found.details
    assert (found.decode_throughput, found.token_throughput) == (43.089241533217766, None)
    assert found.throughput is None
    assert found.memory_device_peak_bytes == 8118075392
    assert found.memory_allocator_peak_bytes == 6813987840
    assert found.details["report.prefill.throughput.value"] == "30.8"
    assert found.details["report.decode.memory.max_global_vram"] == "9045.409792"


def test_a_generate_target_tells_the_whole_query() -> None:
    report = generation_report() | {
        "first_generate": target(latency=latency(2.5)),
        "generate": target(
            latency=latency(1.5, 1.75), throughput={"unit": "samples/s", "value": 42.0}
        ),
    }
    found = only(whole(report, generation_config()))
    assert found.location == "/report/generate"
    assert (found.latency_mean_s, found.first_latency_s) == (1.625, 2.5)
    assert found.durations_ns == (1500000000, 1750000000)
    assert found.throughput is None
    assert found.details["report.generate.throughput.value"] == "42.0"


def test_the_config_of_an_accelerator() -> None:
    found = only(whole(generation_report(), generation_config()))
    assert (found.backend, found.runtime) == ("cuda", "torch_compile")
    assert (found.new_tokens, found.sequence_length, found.batch_size) == (64, 64, 1)
    assert found.precision is None
    assert found.device_name == "NVIDIA DGX Display"


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
    found = only(whole(encoder_report(), config(backend, environment={"gpu": gpu})))
    assert found.device_name == name


def test_training_keeps_the_throughput_that_means_something_else_in_its_details() -> None:
    step = target(latency=latency(0.5, 0.25), throughput={"unit": "samples/s", "value": 700.0})
    report = {"overall": step, "warmup": step, "train": copy.deepcopy(step)}
    scenario = {
        "name": "training",
        "input_shapes": None,
        "training_arguments": {"per_device_train_batch_size": 2},
        "dataset_shapes": {"sequence_length": 16},
        "warmup_runs": None,
        "warmup_steps": 40,
    }
    found = only(whole(report, config(scenario=scenario)))
    assert (found.location, found.mode) == ("/report/train", "training")
    assert (found.batch_size, found.sequence_length, found.warmup_iterations) == (2, 16, 40)
    assert (found.latency_mean_s, found.throughput) == (0.375, None)
    assert found.details["report.train.throughput.value"] == "700.0"


def test_energy_star_times_a_whole_data_set() -> None:
    found = only(whole(encoder_report(), config(scenario={"name": "energy_star"})))
    assert (found.steady_time_s, found.latency_mean_s, found.durations_ns) == (
        sum((11.477741526905447, 11.5, 11.25)),
        None,
        None,
    )
    assert found.details["energy_joules"].startswith("of the whole data set")


def test_a_measurement_that_no_column_takes_is_kept() -> None:
    energy = {"unit": "kWh", "cpu": 5e-7, "ram": 1e-7, "gpu": 0, "total": 1e-6}
    report = {"prefill": target(energy=energy), "decode": target(energy=energy)}
    found = only(whole(report, config(scenario={"name": "energy_star"})))
    assert (found.status, found.energy_joules) == ("ok", None)
    assert found.details["report.prefill.energy.total"] == "1e-06"


def test_images_are_not_called_samples() -> None:
    call = target(latency=latency(3.0), throughput={"unit": "images/s", "value": 0.33})
    found = only(whole({"first_call": target(latency=latency(4.0)), "call": call}))
    assert (found.mode, found.latency_mean_s, found.first_latency_s) == ("inference", 3.0, 4.0)
    assert (found.throughput, found.details["report.call.throughput.value"]) == (None, "0.33")


def test_an_unknown_target_is_kept_without_a_mode() -> None:
    found = only(
        whole(encoder_report() | {"forward": None, "encode": target(latency=latency(2.0))})
    )
    assert (found.location, found.mode, found.latency_mean_s) == ("/report/encode", None, 2.0)


def test_a_load_alone_is_a_measurement() -> None:
    found = only(whole({"load": target(latency=latency(2.0))}))
    assert (found.location, found.mode, found.load_time_s) == ("/report/load", None, 2.0)
    assert found.latency_mean_s is None


def test_nothing_tracked_is_no_measurement() -> None:
    silent = target(latency={"unit": "s", "mean": None, "values": []})
    reading = whole({"load": target(), "forward": silent})
    assert reading.nothing == "a report of optimum-benchmark in which nothing was tracked"


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
    both = {"config": config(), "report": {"load": target(latency=latency(2.0))}}
    folder_of(
        tmp_path, benchmark_report=encoder_report(), benchmark_config=config(), benchmark=both
    )
    assert only(read_file(tmp_path / "benchmark_report.json")).location == "/forward"


def test_a_report_without_its_config_names_no_model(tmp_path: Path) -> None:
    folder_of(tmp_path, benchmark_report=encoder_report())
    with pytest.raises(DamagedFile, match=r"names no model: .* which is not beside it"):
        read_file(tmp_path / "benchmark_report.json")


def test_a_published_failure_is_a_failure(tmp_path: Path) -> None:
    trace = "Traceback (most recent call last):\n  File x\ntorch.OutOfMemoryError: out of memory\n"
    found = only(whole({"traceback": trace}))
    assert (found.status, found.reason) == (
        "out_of_memory",
        "torch.OutOfMemoryError: out of memory",
    )
    folder_of(tmp_path, benchmark_report={"traceback": trace}, benchmark_config=config())
    assert only(read_file(tmp_path / "benchmark_report.json")).status == "out_of_memory"


def test_a_mark_makes_it_simulated() -> None:
    found = only(whole(encoder_report(), config() | {"simulated": True}))
    assert (found.simulated, found.marks) == (True, ("/config/simulated: true",))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"mean": "fast"}, "/report/forward: report.forward.latency.mean: 'fast' is not a number"),
        ({"mean": -1.0}, "report.forward.latency.mean: -1.0 is negative"),
        ({"values": [1.0, "x"]}, "report.forward.latency.values: 'x' is not a number"),
        ({"unit": "parsec"}, "its unit 'parsec' is not one of s, ms"),
    ],
)
def test_broken_values_are_told_with_their_place(change: Tree, told: str) -> None:
    report = encoder_report()
    report["forward"]["latency"] |= change
    with pytest.raises(DamagedFile, match=told):
        whole(report)


def test_a_kind_that_is_no_table_is_a_fault() -> None:
    report = encoder_report()
    report["forward"]["latency"] = 11.3
    with pytest.raises(DamagedFile, match=r"report.forward.latency: 11.3 is not a table"):
        whole(report)


def test_the_stated_unit_counts() -> None:
    report = encoder_report()
    report["forward"]["latency"] |= {"unit": "ms", "mean": 12.5}
    assert only(whole(report)).latency_mean_s == 0.0125


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
    """The paths of all values in a tree."""
    if not isinstance(data, dict):
        return [path]
    return [path, *(found for key in data for found in paths_in(data[key], (*path, key)))]


TOP: Tree = {"config": generation_config(), "report": generation_report() | encoder_report()}


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
