"""Scripts that check models, one by one or in a collection."""

import copy

import pytest

from orchestrator.imports.formats.legacy.checks import (
    CHECK_CONTENT_FORMAT,
    CHECK_FORMAT,
    CHECK_LIST_FORMAT,
    CHECK_REPORT_FORMAT,
    CHECKS_BY_SCRIPT_FORMAT,
)
from runner.contract.errors import DamagedFile
from tests.orchestrator.imports.documents import json_document, only, read
from tests.orchestrator.imports.formats.legacy import samples


def test_a_script_that_tells_of_no_platform_stands_for_itself() -> None:
    found = only(read(CHECK_FORMAT, json_document(samples.CHECK)))
    assert (found.location, found.model, found.backend) == ("/", "hf_llama", None)
    assert found.status == "failed"
    assert found.reason == "SyntaxError: unterminated string literal (detected at line 1538)"
    assert found.details["elapsed_time"] == "0.19"


def test_a_script_that_ended_well() -> None:
    value = {**samples.CHECK, "return_code": 0, "stdout": "(MOCK) Created mock tokenizer"}
    found = only(read(CHECK_FORMAT, json_document(value)))
    assert (found.status, found.simulated) == ("ok", True)


def test_platforms_of_a_script_that_failed_are_failed() -> None:
    run = {"test_file": "test_hf_t5.py", "return_code": 1, "stderr": "killed"}
    value = {**run, "json_result": {"cpu_init": "Success (REAL)", "apple": "not available"}}
    cpu, apple = read(CHECK_FORMAT, json_document(value)).measurements
    assert (cpu.status, cpu.reason) == ("failed", "killed")
    assert (apple.status, apple.reason) == ("unavailable", "apple: not available")


def test_an_error_in_the_scripts_json() -> None:
    value = {
        "test_file": "test_hf_whisper.py",
        "return_code": 0,
        "json_result": {
            "test_error": "no local variable",
            "traceback": "Traceback ...\nNameError: x",
        },
    }
    found = only(read(CHECK_FORMAT, json_document(value)))
    assert (found.status, found.reason) == ("failed", "no local variable: NameError: x")


def test_a_report_names_its_model() -> None:
    value = copy.deepcopy(samples.REPORT)
    del value["results"]["metadata"]
    found, *_ = read(CHECK_REPORT_FORMAT, json_document(value)).measurements
    assert found.model == "hf_wav2vec2"
    assert found.details["run.metadata.execution_time"] == "2.43"


def test_a_collection_of_runs() -> None:
    found = read(CHECK_LIST_FORMAT, json_document(samples.CHECKS)).measurements
    assert [item.model for item in found] == ["/tmp/wav2vec2_test_model"] * 5 + ["hf_llama"]
    assert found[0].location == "/skill_tests/test_hf_wav2vec2.py/json_result/cpu_init"
    assert found[-1].location == "/skill_tests/test_hf_llama.py"


def test_a_collection_of_reports() -> None:
    cpu, cuda, bert = read(CHECK_LIST_FORMAT, json_document(samples.COLLECTION)).measurements
    assert (cpu.model, cpu.backend, cpu.status) == ("hf_t5", "cpu", "failed")
    assert cpu.reason == "cpu_tests: Error: cannot access local variable 'sys'"
    assert (cuda.backend, cuda.status, cuda.simulated) == ("cuda", "ok", True)
    assert (bert.model, bert.backend, bert.status) == ("hf_bert", None, "ok")


def test_a_run_with_an_unknown_word_is_told_and_leaves_the_others() -> None:
    runs = {**samples.CHECKS["skill_tests"], "odd.py": {"status": "glorious"}}
    reading = read(CHECK_LIST_FORMAT, json_document({**samples.CHECKS, "skill_tests": runs}))
    assert len(reading.measurements) == 6
    assert reading.faults == ("/skill_tests/odd.py/status: 'glorious' is no status that is known",)


def test_no_checks() -> None:
    reading = read(CHECK_LIST_FORMAT, json_document({**samples.CHECKS, "skill_tests": {}}))
    assert reading.nothing == "a run that found no check to do"


def test_a_check_s_own_json_is_read_without_its_report() -> None:
    found = {
        one.backend: one
        for one in read(CHECK_CONTENT_FORMAT, json_document(samples.CONTENT)).measurements
    }
    assert {name: one.status for name, one in found.items()} == {
        "cpu": "ok",
        "cuda": "unavailable",
        "qualcomm": "failed",
        "openvino": "ok",
    }
    assert {one.model for one in found.values()} == {"bert-base-uncased"}
    assert found["qualcomm"].marks == ("/status/qualcomm_handler: 'Success (MOCK)'",)
    assert found["cpu"].marks == ()


def test_checks_by_script_are_named_by_it() -> None:
    found = read(CHECKS_BY_SCRIPT_FORMAT, json_document(samples.BY_SCRIPT)).measurements
    assert {(one.model, one.backend, one.status) for one in found} == {
        ("hf_bert", "cpu", "ok"),
        ("hf_bert", "openvino", "failed"),
        ("hf_bert", "apple", "unavailable"),
        ("default_lm", None, "failed"),
    }


def test_bare_statuses_without_a_model_are_not_readable() -> None:
    bare = {"init": "Success", "cpu_init": "Success", "cuda_tests": "CUDA not available"}
    with pytest.raises(DamagedFile, match="/cpu_init: it names no model"):
        read(CHECK_CONTENT_FORMAT, json_document(bare))


def test_a_mark_beside_the_metadata_of_a_report_governs_all_platforms() -> None:
    found = read(
        CHECK_REPORT_FORMAT, json_document({**samples.REPORT, "simulation_mode": True})
    ).measurements
    assert all("/simulation_mode: true" in one.marks for one in found)
