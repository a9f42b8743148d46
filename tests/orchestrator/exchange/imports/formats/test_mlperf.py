"""Summaries of MLPerf's loadgen, cut from published results."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.exchange.imports.document import Document
from orchestrator.exchange.imports.formats.mlperf import MLPerf
from orchestrator.exchange.imports.measurement import ImportedMeasurement
from runner.contract.errors import DamagedFile
from tests.orchestrator.exchange.imports.files import only, read, text_document
from tests.support.data import SAMPLES

CLEAN = "\nNo warnings encountered during test.\n\nNo errors encountered during test.\n"
OFFLINE, SERVER, SINGLE_STREAM = (
    (SAMPLES / f"mlperf-{name}.txt").read_text("utf-8")
    for name in ("offline", "server", "single-stream")
)


def found_in(text: str, path: str = "mlperf_log_summary.txt") -> ImportedMeasurement:
    return only(read(MLPerf(), Document(Path(path), text.encode())))


def test_offline_tells_samples_per_second_and_latencies() -> None:
    found = found_in(OFFLINE)
    assert (found.location, found.status, found.reason) == ("line 2", "ok", None)
    assert (found.scenario, found.mode) == ("offline", "inference")
    assert found.throughput == 18.5856
    assert (found.latency_mean_s, found.latency_p50_s) == (2954.453799716, 2965.965347259)
    assert (found.latency_min_s, found.latency_p999_s) == (107.57474479, 5769.285663572)
    assert (found.latency_median_s, found.batch_size) == (None, None)
    assert found.details["97.00 percentile latency (ns)"] == "5628167067300"
    assert found.details["samples_per_query"] == "107400"
    assert found.details["SUT name"] == "PySUT"


def test_server_with_tokens_is_generation() -> None:
    found = found_in(SERVER)
    assert (found.scenario, found.mode) == ("server", "generation")
    assert (found.throughput, found.token_throughput) == (81.68, 24593.77)
    assert found.time_to_first_token_mean_s == 0.918456323
    newer = found_in(SERVER.replace("Time to Output", "Time per Output"))
    assert newer.time_per_output_token_mean_s == found.time_per_output_token_mean_s == 0.144594078
    assert found.details["Scheduled samples per second"] == "83.90"
    assert "sample_concatenate_permutation" in found.details["notes"]
    assert found.batch_size is None


def test_an_invalid_result_is_a_failure_with_what_was_not_met() -> None:
    found = found_in(SINGLE_STREAM)
    assert (found.scenario, found.status) == ("single_stream", "failed")
    assert found.reason == (
        "loadgen: the result is INVALID\n"
        "Min duration satisfied: NO\n"
        "Min queries satisfied: NO\n"
        "Decrease the expected latency so the loadgen pre-generates more queries.\n"
        "The test exited early, before enough queries were issued."
    )
    assert (found.throughput, found.latency_mean_s, found.batch_size) == (7.72, 0.129386553, 1)
    assert found.details["Result is"] == "INVALID"
    assert "Only processed 5 queries." in found.details["notes"]


def test_errors_make_a_valid_result_a_failure() -> None:
    text = OFFLINE.replace(
        "No errors encountered during test.", "2 ERRORS encountered. See detailed log."
    )
    found = found_in(text)
    assert found.status == "failed"
    assert found.reason is not None
    assert found.reason.endswith("2 ERRORS encountered. See detailed log.")


@pytest.mark.parametrize(
    ("path", "model"),
    [
        ("results/8xMI300X/llama2-70b-99/Server/performance/run_1/summary.txt", "llama2-70b-99"),
        ("results/8xMI300X/llama2-70b/Interactive/performance/run_2/summary.txt", "llama2-70b"),
        ("results/8xMI300X/sdxl/Server/TEST01/performance/run_1/summary.txt", "sdxl"),
        ("audit/8xMI300X/sdxl/Server/TEST04-A/performance/run_1/summary.txt", "sdxl"),
        ("results/8xMI300X/sdxl/Offline/performance/run_1/summary.txt", "unknown"),
        ("home/server/mine/summary.txt", "unknown"),
        ("Server/summary.txt", "unknown"),
    ],
)
def test_only_a_submission_s_path_names_the_model(path: str, model: str) -> None:
    found = found_in(SERVER, path)
    assert found.model == model
    assert found.details.get("path.system") == (None if model == "unknown" else "8xMI300X")


def test_several_summaries_are_several_measurements() -> None:
    first, second = read(MLPerf(), text_document(OFFLINE + SERVER, "log.txt")).measurements
    assert (first.scenario, second.scenario) == ("offline", "server")
    assert first.location != second.location


def test_a_log_without_results_is_no_measurement() -> None:
    reading = read(MLPerf(), text_document(CLEAN))
    assert reading.nothing == "a log of loadgen without results, as accuracy runs leave"
    failed = CLEAN.replace(
        "No errors encountered during test.", "1 ERROR encountered. See detailed log."
    )
    told = read(MLPerf(), text_document(failed)).nothing
    assert told is not None
    assert told.endswith("though 1 ERROR encountered. See detailed log.")


@pytest.mark.parametrize(
    ("line", "other", "told"),
    [
        ("Result is : VALID\n", "", "line 2: Result is: is missing, as if the file ended"),
        ("is : VALID", "is : FINE", "line 2: Result is: 'FINE' is neither VALID nor INVALID"),
        ("Scenario : Offline", "Scenario : Burst", "line 2: Scenario: 'Burst' is not one of"),
        ("2954453799716", "soon", r"line 2: Mean latency \(ns\): 'soon' is not a number"),
        ("2954453799716", "-5", r"line 2: Mean latency \(ns\): '-5' is negative"),
    ],
)
def test_what_contradicts_the_format_is_told_with_its_place(
    line: str, other: str, told: str
) -> None:
    with pytest.raises(DamagedFile, match=told):
        MLPerf().read(text_document(OFFLINE.replace(line, other)))


@pytest.mark.parametrize(
    "text", ["", "{}", "the MLPerf Results Summary\n", "model,ms\na,1\n", '{"Scenario": "Offline"}']
)
def test_other_files_are_not_recognised(text: str) -> None:
    assert not MLPerf().recognises(text_document(text))


@given(st.data())
def test_a_summary_that_lost_or_gained_lines_is_read_or_refused(data: st.DataObject) -> None:
    lines = data.draw(st.sampled_from([OFFLINE, SERVER, SINGLE_STREAM])).splitlines()
    kept = [line for line in lines[2:] if data.draw(st.booleans())]
    extra = data.draw(st.lists(st.text(max_size=30), max_size=3))
    text = "\n".join([*lines[:2], *kept, *extra])
    try:
        reading = MLPerf().read(text_document(text))
        told = [*(found.location for found in reading.measurements), *reading.empty]
    except DamagedFile as error:
        told = [str(error)[:6]]
    assert told == ["line 2"]
