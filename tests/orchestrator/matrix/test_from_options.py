"""A matrix from options is checked as a file is, and its errors name the option."""

from typing import Any

import pytest

from orchestrator.matrix.from_options import BenchOptions, bench_matrix
from orchestrator.planning.expand import expand
from orchestrator.planning.plan import make_plan
from runner.contract.errors import UsageError
from runner.contract.models import catalogue


def test_options_make_the_cells_that_a_file_would() -> None:
    options = BenchOptions(
        models=["bert-base-uncased"],
        backends=["cpu"],
        precisions=["fp32"],
        batch_sizes=["1,2,4", "8"],
        sequence_lengths=["128, 256"],
        iterations=20,
    )
    matrix = bench_matrix(options)
    assert len(expand(matrix).cells) == 8
    assert matrix.measure["cpu"].iterations == 20
    assert matrix.measure["cpu"].profile == "quick"


def test_modes_and_scenarios_come_from_options() -> None:
    options = BenchOptions(
        models=["gpt2"],
        modes=["inference,generation"],
        new_tokens=["8"],
        scenarios=["server"],
        target_qps=["0.5,20", "find_peak"],
        slo_ms=["25"],
    )
    assert [cell.id for cell, _ in expand(bench_matrix(options)).cells] == [
        "cpu-gpt2-fp32-b1-s128-inference-server-q0.5",
        "cpu-gpt2-fp32-b1-s128-inference-server-q20",
        "cpu-gpt2-fp32-b1-s128-inference-server-peak-slo25",
        "cpu-gpt2-fp32-b1-s128-n8-generation",
    ]


def test_images_and_sounds_have_sizes_from_options() -> None:
    options = BenchOptions(models=["gpt2"], image_sizes=["224,448"], audio_seconds=["5", "10"])
    axes = bench_matrix(options).axes
    assert (axes["image_size"], axes["audio_seconds"]) == ((224, 448), (5, 10))


def test_what_is_left_out_has_the_files_defaults() -> None:
    (entry,) = make_plan(bench_matrix(BenchOptions(models=["bert-tiny"]))).entries
    assert entry.cell.id == "cpu-bert-tiny-fp32-b1-s128-inference"


def test_a_family_and_all_name_catalogued_models() -> None:
    vision = bench_matrix(BenchOptions(families=["vision"]))
    assert set(vision.models) == {
        name for name, spec in catalogue().items() if spec.family == "vision"
    }
    assert set(bench_matrix(BenchOptions(every_model=True)).models) == set(catalogue())


def test_limits_and_measure_come_from_options() -> None:
    options = BenchOptions(models=["gpt2"], profile="audit", memory="1GiB", cell_timeout="20m")
    matrix = bench_matrix(options)
    assert matrix.measure["cpu"].profile == "audit"
    assert matrix.limits["cpu"].memory_bytes == 1 << 30
    assert matrix.limits["cpu"].cell_timeout_s == 1200


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"precisions": ["fp32,fp17"]}, "--precision: 'fp17' is not one of fp32, bf16, fp16, int8"),
        ({"backends": ["gpu"]}, "--backend: 'gpu' is not one of cpu, cuda"),
        ({"runtimes": ["tf"]}, "--runtime: 'tf' is not one of default, torch"),
        ({"modes": ["train"]}, "--mode: 'train' is not one of inference, generation"),
        ({"batch_sizes": ["1,x"]}, "--batch-sizes: 'x' is not a whole number"),
        ({"batch_sizes": ["1,,2"]}, "--batch-sizes: '' is not a whole number"),
        ({"batch_sizes": ["0"]}, "--batch-sizes: 0 is less than 1"),
        ({"batch_sizes": ["1,1"]}, "--batch-sizes: 1 stands twice"),
        ({"sequence_lengths": ["9" * 5000]}, "--sequence-lengths: '999"),
        ({"batch_sizes": ["1.5"]}, "--batch-sizes: 1.5 is not a whole number"),
        ({"image_sizes": ["big"]}, "--image-sizes: 'big' is not a whole number"),
        ({"audio_seconds": ["0.5"]}, "--audio-seconds: 0.5 is not a whole number"),
        ({"new_tokens": ["few"]}, "--new-tokens: 'few' is not a whole number"),
        ({"scenarios": ["burst"]}, "--scenario: 'burst' is not one of single_stream, offline"),
        ({"target_qps": ["1e3"]}, "--target-qps: '1e3' is not a number, nor find_peak"),
        ({"target_qps": ["-1"]}, "--target-qps: '-1' is not a number, nor find_peak"),
        ({"target_qps": ["0"]}, "--target-qps: 0 is not between 0.001 and 100,000, nor find_peak"),
        ({"slo_ms": ["find_peak"]}, "--slo-ms: 'find_peak' is not a number"),
        ({"slo_ms": ["1.2345678"]}, "--slo-ms: 1.2345678 has more than six digits"),
        ({"iterations": 0}, "--iterations: 0 is less than 1"),
        ({"profile": "quik"}, "--profile: 'quik' is not one of quick, standard, audit; did you"),
        ({"memory": "big"}, "--memory: 'big' is not a size"),
        ({"cell_timeout": "0"}, "--cell-timeout: '0' is not above 0"),
        ({"models": ["gtp2"]}, "--model: 'gtp2' is not one of"),
        ({"models": [], "families": ["sight"]}, "--family: 'sight' is not one of embedding, text"),
        ({"models": []}, "bench: name the models by exactly one of --model, --family and --all"),
        ({"every_model": True}, "bench: name the models by exactly one of"),
    ],
)
def test_errors_name_the_option(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as caught:
        bench_matrix(BenchOptions(**{"models": ["gpt2"], **options}))
    assert str(caught.value).startswith(sentence)
