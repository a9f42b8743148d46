"""What a verification found: one mark a cell, its reason, and the tables made of them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.measure.verification import (
    load_verification,
    save_verification,
    verdict_table,
    verification_of,
    verify_record,
)
from orchestrator.commands.measure.verify import (
    VerifyRequest,
    require_writable,
    verification_plan,
    verify_matrix,
)
from orchestrator.planning.expand import expand
from runner.contract.errors import StoreError, UsageError
from runner.contract.models import find, model_sets
from runner.contract.models.sizes import sizes_of
from runner.contract.record.record import Record
from runner.contract.support import SUPPORTED
from runner.correctness.reference import fixed_cell
from tests.support.jobs import a_job, fake_cell
from tests.support.records import record_for
from tests.support.results import a_cell
from tests.support.runs import a_plan, a_run_folder

CPU: dict[str, Any] = {"backend": "cpu", "runtime": "torch"}
WELL: dict[str, Any] = {"status": "ok", "proof": "proven", "correct": True}


def a_record(**columns: Any) -> Record:
    cell = fake_cell(**CPU)
    return record_for(a_job([cell]), cell, **WELL | columns)


@pytest.mark.parametrize(
    ("columns", "mark", "reason"),
    [
        ({}, "ok", None),
        ({"correct": False, "correct_reason": "differs by 36 %"}, "wrong", "differs by 36 %"),
        (
            {"correct": None, "correct_reason": "no reference: nobody"},
            "unverified",
            "no reference: nobody",
        ),
        (
            {"proof": "contradicted", "evidence": {"claimed": "cuda", "inputs": "cpu"}},
            "contradicted",
            "claimed cuda, inputs cpu",
        ),
        (
            {"proof": "partial", "evidence": {"nodes": "3 of 4", "wall_s": "0.1"}},
            "partial",
            "nodes 3 of 4",
        ),
        ({"status": "failed", "reason": "RuntimeError: x"}, "failed", "RuntimeError: x"),
        (
            {"status": "out_of_memory", "reason": "needs 30 GiB", "predicted": True},
            "predicted",
            "needs 30 GiB",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_each_record_has_one_mark_and_its_reason(
    columns: dict[str, Any], mark: str, reason: str | None
) -> None:
    found = verify_record(a_record(**columns))
    assert (found.mark, found.reason) == (mark, reason)


def test_the_cells_of_a_matrix_are_verified_where_options_say(tmp_path: Path) -> None:
    matrix = tmp_path / "matrix.yaml"
    matrix.write_text(
        "version: 1\naxes: {model: [bert-micro, vit-micro], backend: [cpu], precision: [fp16]}\n"
    )
    request = VerifyRequest({"backend": ["qnn"], "model": ["bert-micro"], "mode": []}, matrix)
    planned = verification_plan(request, (), "process")
    assert planned.options.verify_only
    (cell,) = expand(planned.parsed).cells
    assert (cell[0].backend, cell[0].model, cell[0].precision) == ("qnn", "bert-micro", "fp16")


def test_a_run_is_told_whole_with_versions_and_machine(tmp_path: Path) -> None:
    cells = [fake_cell(**CPU), fake_cell(2, **CPU)]
    folder = a_run_folder(tmp_path, a_plan(cells), purpose="verify")
    job = folder.run.job(cells, folder.nowhere)
    facts = {"cpu_model": "AMD EPYC", "operating_system": "Debian 12"}
    folder.save(record_for(job, cells[0], libraries={"torch": "2.13.0"}, **WELL, **facts))
    folder.save(record_for(job, cells[1], libraries={"numpy": "2.4.6"}, **WELL, **facts))
    found = verification_of(folder, "orchestrator verify")
    assert [cell.mark for cell in found.cells] == ["ok", "ok"]
    assert found.libraries == {"torch": "2.13.0", "numpy": "2.4.6"}
    assert (found.machine, found.operating_system) == ("AMD EPYC", "Debian 12")
    assert (found.launcher, found.command) == ("process", "orchestrator verify")
    save_verification(found, tmp_path / "verified.json")
    assert load_verification(tmp_path / "verified.json") == found


def test_a_file_that_holds_no_verification_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("{}")
    for name in ("x.json", "none.json"):
        with pytest.raises(UsageError, match="holds no verification"):
            load_verification(tmp_path / name)


def test_a_place_that_takes_no_file_is_found_out_beforehand(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("no/verified.json", "file/verified.json"):
        with pytest.raises(StoreError, match=r"^--save .*: cannot be written: ") as caught:
            require_writable(tmp_path / name)
        assert caught.value.hint == "name a file in a folder that exists and can be written to"
    with pytest.raises(UsageError, match="--save /dev/null: is a stream"):
        require_writable(Path("/dev/null"))


def test_trying_a_place_leaves_it_as_it_was(tmp_path: Path) -> None:
    require_writable(tmp_path / "new.json")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "old.json").write_text("old")
    require_writable(tmp_path / "old.json")
    assert (tmp_path / "old.json").read_text() == "old"


def paths(*backends: str, **options: Any) -> set[tuple[str, str, str]]:
    axes = {"model": ["bert-tiny"], "mode": ["inference"]} | options
    cells = [cell for cell, _ in expand(verify_matrix(axes, backends)).cells]
    return {(cell.backend, cell.runtime, cell.precision) for cell in cells}


@pytest.mark.parametrize(
    ("backends", "options", "found"),
    [
        (
            ["cpu", "openvino"],
            {},
            {f"cpu {name} fp32" for name in ("torch", "torch_compile", "onnxruntime")}
            | {"openvino openvino fp32"},
        ),
        (["qnn"], {}, {"qnn onnxruntime fp16"}),
        (
            ["cpu", "openvino"],
            {"runtime": ["onnxruntime"], "precision": ["fp32", "int8"]},
            {"cpu onnxruntime fp32", "cpu onnxruntime int8"},
        ),
    ],
    ids=["every runtime", "without fp32", "named"],
)
def test_every_path_of_a_backend_is_verified_unless_some_are_named(
    backends: list[str], options: dict[str, Any], found: set[str]
) -> None:
    assert {" ".join(path) for path in paths(*backends, **options)} == found


def test_nothing_that_is_built_is_out_of_reach() -> None:
    backends = sorted({backend for backend, _, _ in SUPPORTED})
    named = ["fp32", "bf16", "fp16", "int8"]
    built = {
        (backend, runtime, precision)
        for (backend, runtime, _), precisions in SUPPORTED.items()
        for precision in precisions
    }
    assert built <= paths(*backends, precision=named)


def test_models_do_inference_and_generation_in_one_small_shape() -> None:
    cells = [cell for cell, _ in expand(verify_matrix({"model": ["gpt2"]}, ["openvino"])).cells]
    assert {cell.mode for cell in cells} == {"inference", "generation"}
    assert {(cell.batch_size, cell.sequence_length) for cell in cells} == {(2, 32)}


def test_models_that_write_nothing_are_asked_for_no_tokens() -> None:
    def pairs(*models: str, modes: Sequence[str] = ()) -> set[tuple[str, str]]:
        cells = expand(verify_matrix({"model": models, "mode": modes}, ["openvino"])).cells
        return {(cell.model, cell.mode) for cell, _ in cells}

    assert pairs("gpt2", "bert-tiny") == {
        ("gpt2", "inference"), ("gpt2", "generation"), ("bert-tiny", "inference"),
    }  # fmt: skip
    assert pairs("bert-tiny") == {("bert-tiny", "inference")}
    assert expand(verify_matrix({"model": ["bert-tiny"]}, ["openvino"])).notes == ()
    assert pairs("bert-tiny", modes=["generation"]) == {("bert-tiny", "generation")}


@pytest.mark.parametrize("name", model_sets()["micro"])
def test_what_is_executed_is_what_is_compared(name: str) -> None:
    model = find(name)
    cells = [cell for cell, _ in expand(verify_matrix({"model": [name]}, ["openvino"])).cells]
    compared = sizes_of(model, fixed_cell(a_job(cells, model)))
    assert all(sizes_of(model, cell) == compared for cell in cells)


def test_models_are_rows_paths_are_columns_reasons_stand_below_once() -> None:
    guard = "no prepared graph: a guard"
    cells = [
        a_cell(),
        a_cell("unsupported", guard, runtime="onnxruntime"),
        a_cell(model="t5-micro"),
        a_cell("unsupported", guard, model="t5-micro", runtime="onnxruntime"),
        a_cell("wrong", "differs", model="t5-micro", mode="generation"),
    ]
    table = verdict_table(cells)
    assert table.columns == ("cpu torch", "cpu onnxruntime")
    assert table.reasons == (guard, "differs")
    assert table.rows == {
        ("bert-micro", "inference"): ["ok", "unsupported [1]"],
        ("t5-micro", "inference"): ["ok", "unsupported [1]"],
        ("t5-micro", "generation"): ["wrong [2]", ""],
    }


def test_generation_by_a_model_that_writes_no_tokens_takes_no_row() -> None:
    no = "generation is not possible with bert-micro: its task is fill-mask"
    cells = [
        a_cell(),
        a_cell("unsupported", no, mode="generation"),
        a_cell("unsupported", no, mode="generation", runtime="onnxruntime"),
    ]
    table = verdict_table(cells)
    assert [mode for _, mode in table.rows] == ["inference"]
    assert table.reasons == ()
