"""A matrix from options is checked as a file is, and its errors name the option."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.commands.measure.plan import report_plan
from orchestrator.commands.measure.request import PlanRequest
from orchestrator.commands.options.axes import BenchOptions
from orchestrator.commands.options.bench_matrix import bench_matrix
from orchestrator.planning.expand import expand
from orchestrator.planning.plan import make_plan
from orchestrator.running.options import RunOptions
from runner.contract.errors import UsageError
from runner.contract.models import catalogue


def options(**axes: str) -> BenchOptions:
    return BenchOptions.of_axes({axis: [text] for axis, text in axes.items()})


def test_options_make_the_cells_that_a_file_would() -> None:
    asked = BenchOptions.of_axes(
        {
            "model": ["bert-base-uncased"],
            "backend": ["cpu"],
            "precision": ["fp32"],
            "batch_size": ["1,2,4", "8"],
            "sequence_length": ["128, 256"],
        },
        iterations=20,
    )
    matrix = bench_matrix(asked)
    assert len(expand(matrix).cells) == 8
    assert matrix.measure["cpu"].iterations == 20
    assert matrix.measure["cpu"].profile == "quick"


@pytest.mark.parametrize(
    ("models", "groups"),
    [
        ("bert-tiny", []),
        ("bert-tiny,vit-tiny", []),
        ("bert-tiny,bert-base-uncased", [{"bert-tiny", "bert-base-uncased"}]),
        ("bert-tiny,vit-tiny,bert-base-uncased", [{"bert-tiny", "bert-base-uncased"}]),
    ],
)
def test_models_of_one_question_are_compared_side_by_side(
    models: str, groups: list[set[str]], tmp_path: Path
) -> None:
    asked = options(model=models, batch_size="1,2")
    request = PlanRequest(asked, results=tmp_path, options=RunOptions(launcher="process"))
    plan = report_plan(request).plan
    names = {entry.cell.job_id: entry.cell.model for entry in plan.entries}
    assert [{names[job] for job in group.jobs} for group in plan.groups] == groups
    apart = replace(request, overrides=("measure.side_by_side=false",))
    assert report_plan(apart).plan.groups == ()


def test_modes_and_scenarios_come_from_options() -> None:
    asked = options(
        model="gpt2",
        mode="inference,generation",
        new_tokens="8",
        scenario="server",
        target_qps="0.5,20,find_peak",
        slo_ms="25",
    )
    assert [cell.id for cell, _ in expand(bench_matrix(asked)).cells] == [
        "cpu-gpt2-fp32-b1-s128-inference-server-q0.5",
        "cpu-gpt2-fp32-b1-s128-inference-server-q20",
        "cpu-gpt2-fp32-b1-s128-inference-server-peak-slo25",
        "cpu-gpt2-fp32-b1-s128-n8-generation",
    ]


def test_a_modality_names_every_model_whose_samples_hold_it() -> None:
    """CLAP compares texts with sounds, so that its family is none of sounds alone."""
    models = bench_matrix(BenchOptions(modality=["audio"])).axes["model"]
    assert {"clap-htsat-unfused", "wav2vec2-micro"} <= {*models}
    assert "bert-tiny" not in models
    with pytest.raises(UsageError, match="--modality: 'sound' is not one of"):
        bench_matrix(BenchOptions(modality=["sound"]))
    with pytest.raises(UsageError, match="--modality names models by itself"):
        bench_matrix(BenchOptions.of_axes({"model": ["gpt2"]}, modality=["audio"]))


def test_what_is_left_out_has_the_files_defaults() -> None:
    (entry,) = make_plan(bench_matrix(options(model="bert-tiny"))).entries
    assert entry.cell.id == "cpu-bert-tiny-fp32-b1-s128-inference"


@pytest.mark.parametrize(
    ("axes", "overrides", "paths", "note"),
    [
        ({"runtime": "openvino"}, (), ["openvino"], "openvino on openvino"),
        (
            {"runtime": "torch,openvino,onnxruntime"},
            (),
            ["cpu", "cpu-onnxruntime", "openvino"],
            "torch and onnxruntime on cpu, openvino on openvino",
        ),
        ({"runtime": "onnxruntime_web"}, (), ["cpu-onnxruntime_web"], None),
        ({"runtime": "openvino", "backend": "cpu"}, (), ["cpu-openvino"], None),
        ({"runtime": "openvino"}, ["axes.backend=cpu"], ["cpu-openvino"], None),
    ],
)
def test_runtimes_find_the_backend_that_has_them(
    axes: dict[str, str], overrides: list[str], paths: list[str], note: str | None
) -> None:
    """A backend that is named, whichever it is, is never replaced."""
    matrix = bench_matrix(options(model="gpt2", **axes), overrides)
    cells = [cell.id.partition("-gpt2")[0] for cell, _ in expand(matrix).cells]
    assert cells == paths
    assert matrix.notes == ((f"no --backend is named: {note}",) if note else ())


def test_a_family_and_all_name_catalogued_models() -> None:
    vision = bench_matrix(BenchOptions(family=["vision"]))
    writers = bench_matrix(BenchOptions(family=["text generation"])).models.values()
    assert {spec.family for spec in writers} == {"text_generation"}
    assert set(vision.models) == {
        name for name, spec in catalogue().items() if spec.family == "vision"
    }
    assert set(bench_matrix(BenchOptions(all_=True)).models) == set(catalogue())


def test_limits_and_measure_come_from_options() -> None:
    asked = replace(options(model="gpt2"), profile="audit", memory="1GiB", cell_timeout="20m")
    rounds = bench_matrix(replace(options(model="gpt2"), rounds=5)).measure["cpu"]
    assert (rounds.rounds, rounds.most_rounds, rounds.profile) == (5, 5, "quick")
    matrix = bench_matrix(asked)
    assert matrix.measure["cpu"].profile == "audit"
    assert matrix.limits["cpu"].memory_bytes == 1 << 30
    assert matrix.limits["cpu"].cell_timeout_s == 1200


@pytest.mark.parametrize(
    ("axis", "text", "sentence"),
    [
        (
            "precision",
            "fp32,fp17",
            "--precision: 'fp17' is unknown; did you mean fp16? (fp32, bf16, fp16, int8)",
        ),
        ("runtime", "tf", "--runtime: 'tf' is not one of default, torch"),
        ("batch_size", "1,x", "--batch-size: 'x' is not a whole number"),
        ("batch_size", "0", "--batch-size: 0 is less than 1"),
        ("batch_size", "1,1", "--batch-size: 1 appears twice"),
        ("target_qps", "1e3", "--target-qps: '1e3' is not a number, nor find_peak"),
        ("model", "gtp2", "--model: no model 'gtp2'; did you mean gpt2? (41 models:"),
    ],
)
def test_errors_name_the_option_of_an_axis(axis: str, text: str, sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        bench_matrix(options(**{"model": "gpt2", axis: text}))
    assert str(caught.value).startswith(sentence)


_ONE_OF_THREE = "bench: name the models by exactly one of --model, --family, --modality and --all"


@pytest.mark.parametrize(
    ("model", "changes", "sentence"),
    [
        ("gpt2", {"iterations": 0}, "--iterations: 0 is less than 1"),
        ("gpt2", {"memory": "big"}, "--memory: 'big' is not a size"),
        ("gpt2", {"cell_timeout": "0"}, "--cell-timeout: '0' is not above 0"),
        (None, {}, _ONE_OF_THREE),
    ],
)
def test_errors_name_the_option(model: str | None, changes: dict[str, Any], sentence: str) -> None:
    named = options(model=model) if model else BenchOptions()
    with pytest.raises(UsageError) as caught:
        bench_matrix(replace(named, **changes))
    assert str(caught.value).startswith(sentence)
