"""A matrix file as users write it, right and wrong."""

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.matrix import Matrix, load_matrix
from runner.contract.errors import UsageError
from runner.contract.models import catalogue, model_sets

Write = Callable[[str], Path]
KEY, SMALL = model_sets()["key"], model_sets()["small"]
LISTED = f"({len(catalogue())} models: orchestrator models list)"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    monkeypatch.chdir(tmp_path)

    def write(text: str) -> Path:
        path = Path("matrix.yaml")
        path.write_text(text)
        return path

    return write


def problems(path: Path, *overrides: str) -> list[str]:
    with pytest.raises(UsageError) as caught:
        load_matrix(path, overrides)
    assert caught.value.exit_code == 2
    return str(caught.value).splitlines()


def test_a_scalar_is_a_list_of_one(write: Write) -> None:
    matrix = load_matrix(write("version: 1\naxes: {model: gpt2, batch_size: 8}"))
    assert matrix.axes == {"model": ("gpt2",), "batch_size": (8,)}
    assert set(matrix.models) == {"gpt2"}


def test_sets_are_written_out_and_count_a_model_once(write: Write) -> None:
    matrix = load_matrix(write("version: 1\naxes: {model: [gpt2, key, small]}"))
    assert matrix.axes["model"] == tuple(dict.fromkeys(["gpt2", *KEY, *SMALL]))


def test_an_entry_with_a_set_stands_for_its_models(write: Write) -> None:
    text = "version: 1\naxes: {model: key, precision: [fp32, bf16]}\n"
    matrix = load_matrix(write(text + "exclude: [{model: key, precision: bf16}]"))
    assert [entry["model"] for entry in matrix.exclude] == list(matrix.axes["model"])


def test_values_stand_in_the_users_file_and_all_problems_come_at_once(write: Write) -> None:
    path = write(
        "version: 1\n"
        "axes:\n"
        "  model: [bert-tiny, brt-tiny]\n"
        "  backend: gpu\n"
        "  precision: [fp32, bf16, fp17]\n"
        "  batch_size: [1, 1]\n"
        "  sequence_length: []\n"
        "  scenario: ofline\n"
        "include:\n"
        "  - {model: gtp2}\n"
        "weights: random\n"
    )
    assert problems(path) == [
        f"matrix.yaml: axes.model[1]: no model 'brt-tiny'; did you mean bert-tiny? {LISTED} "
        "(line 3)",
        "matrix.yaml: axes.backend: 'gpu' could be cuda (NVIDIA), rocm (AMD) or mps (Apple) "
        "(line 4)",
        "matrix.yaml: axes.precision[2]: 'fp17' is unknown; did you mean fp16? "
        "(fp32, bf16, fp16, int8) (line 5)",
        "matrix.yaml: axes.batch_size: 1 appears twice (line 6)",
        "matrix.yaml: axes.sequence_length: must not be empty (line 7)",
        "matrix.yaml: axes.scenario: 'ofline' is unknown; did you mean offline? "
        "(single_stream, offline, server) (line 8)",
        f"matrix.yaml: include[0].model: no model 'gtp2'; did you mean gpt2? {LISTED} (line 10)",
        "matrix.yaml: weights: unknown key; allowed are version, axes, include, exclude, backends, "
        "measure, limits, fleet (line 11)",
    ]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty"),
        ("[1]", "must be a mapping of keys to values"),
        ("axes: {model: gpt2}", "version: is required"),
        ("version: 2", "version: 2 is not 1, the only version there is"),
        ("version: 1\naxes: {batch_size: 1}", "axes.model: is required"),
        ("version: 1\naxes: {model: none.yaml}", "there is no such file"),
    ],
)
def test_what_a_file_lacks_is_told(text: str, sentence: str, write: Write) -> None:
    found = problems(write(text))
    assert len(found) == 1
    assert sentence in found[0]


@pytest.mark.parametrize(
    ("rest", "sentence"),
    [
        (", batch_size: [4, 0]}", "axes.batch_size[1]: 0 is less than 1"),
        (", precison: fp32}", "axes.precison: unknown key; did you mean precision? (line 2)"),
        ("}\nexclude: [{}]", "exclude[0]: must not be empty"),
        (
            "}\nexclude: [{mode: training}]",
            "exclude[0].mode: is not an axis of this matrix, so it excludes nothing",
        ),
        (
            "}\nbackends: {cuba: {}}",
            "backends.cuba: 'cuba' is unknown; did you mean cuda? (cpu, cuda, ",
        ),
        (
            "}\nbackends: {cpu: {axes: {backend: cpu}}}",
            "backends.cpu.axes: cannot change the backend it belongs to",
        ),
        ("}\nmeasure: {min_duration: soon}", "measure.min_duration: 'soon' is not a duration"),
        (", target_qps: [50, 50.0]}", "axes.target_qps: 50.0 appears twice"),
        (
            "}\nmeasure: {precision_target: 2}",
            "measure.precision_target: 2 is not a share above 0 and up to 1, such as 2% or 0.02",
        ),
        (
            "}\nmeasure: {rounds: 30}",
            "measure.rounds: 30 is more than iterations, 20 with profile standard",
        ),
        ("}\nlimits: {memory: lots}", "limits.memory: 'lots' is not a size"),
    ],
)
def test_each_mistake_has_its_sentence(rest: str, sentence: str, write: Write) -> None:
    found = problems(write(f"version: 1\naxes: {{model: gpt2{rest}"))
    assert len(found) == 1
    assert sentence in found[0]
    assert "fake" not in found[0]


def test_a_million_combinations_are_the_most(write: Write) -> None:
    sizes = f"[{', '.join(map(str, range(1, 1002)))}]"
    text = f"version: 1\naxes: {{model: gpt2, batch_size: {sizes}, sequence_length: {sizes}}}"
    message = "axes: 1,002,001 combinations are more than 1,000,000: narrow sequence_length (1,001"
    assert message in problems(write(text))[0]


def test_absurd_numbers_of_combinations_are_counted_without_making_them(write: Write) -> None:
    sizes = f"[{', '.join(map(str, range(1, 5001)))}]"
    axes = ", ".join(f"{axis}: {sizes}" for axis in ("batch_size", "sequence_length", "new_tokens"))
    text = f"version: 1\naxes: {{model: gpt2, {axes}}}"
    assert "125,000,000,000 combinations are more than" in problems(write(text))[0]


def test_a_thousand_mistakes_do_not_flood_the_terminal(write: Write) -> None:
    axes = ", ".join(f"x{number}: 1" for number in range(1000))
    found = problems(write(f"version: 1\naxes: {{model: gpt2, {axes}}}"))
    assert len(found) == 21
    assert found[-1] == "… and 980 more"


def test_measure_and_limits_are_resolved_for_each_backend(write: Write) -> None:
    matrix = load_matrix(
        write(
            "version: 1\n"
            "axes: {model: gpt2, backend: [cpu, cuda]}\n"
            "measure: {profile: quick, iterations: 7, max_duration: 1m}\n"
            "limits: {memory: 8GiB, cell_timeout: 20m}\n"
            "backends:\n"
            "  cuda:\n"
            "    measure: {warmup_iterations: 30, warmup_max_duration: 500ms, rounds: 3,\n"
            "      heat_duration: 1m,\n"
            "      precision_target: 1.5%}\n"
            "    limits: {memory: 512MB, cpus: 2, pids: 100}\n"
        )
    )
    cpu, cuda = matrix.measure["cpu"], matrix.measure["cuda"]
    assert (cpu.profile, cpu.iterations, cpu.min_s, cpu.max_s) == ("quick", 7, 3, 60)
    assert (cpu.precision_target, cpu.rounds) == (0.05, 1)
    assert (cuda.iterations, cuda.warmup_iterations, cuda.warmup_max_s) == (7, 30, 0.5)
    assert (cuda.precision_target, cuda.rounds) == (0.015, 3)
    assert (cpu.heat_s, cuda.heat_s) == (None, 60)
    assert (matrix.limits["cpu"].memory_bytes, matrix.limits["cpu"].cpus) == (8 << 30, None)
    assert (matrix.limits["cuda"].memory_bytes, matrix.limits["cuda"].cpus) == (512_000_000, 2)
    assert (matrix.limits["cuda"].cell_timeout_s, matrix.limits["cuda"].pids) == (1200, 100)


def test_a_backends_lists_replace_the_matrix_lists(write: Write) -> None:
    text = "version: 1\naxes: {model: gpt2, backend: [cpu, cuda], batch_size: [1, 2]}\n"
    matrix = load_matrix(write(text + "backends: {cuda: {axes: {batch_size: 64}}}"))
    assert [lists["batch_size"] for lists in matrix.products()] == [(1, 2), (64,)]
    assert [lists["backend"] for lists in matrix.products()] == [("cpu",), ("cuda",)]


def test_a_matrix_survives_json(write: Write) -> None:
    axes = "{model: key, batch_size: [1, 2], target_qps: [5, 0.5, find_peak], slo_ms: 20}"
    matrix = load_matrix(write(f"version: 1\naxes: {axes}"))
    assert matrix.axes["batch_size"] == (1, 2)
    assert Matrix.model_validate_json(matrix.model_dump_json()) == matrix


@pytest.mark.parametrize(
    ("override", "axis", "values"),
    [
        ("axes.batch_size=1,8", "batch_size", (1, 8)),
        ("axes.model=gpt2,key", "model", tuple(dict.fromkeys(["gpt2", *KEY]))),
        ("axes.target_qps=50,0.5,find_peak", "target_qps", (50.0, 0.5, "find_peak")),
    ],
)
def test_set_changes_axes(
    override: str, axis: str, values: tuple[object, ...], write: Write
) -> None:
    matrix = load_matrix(write("version: 1\naxes: {model: bert-tiny}"), [override])
    assert dict(matrix.axes)[axis] == values  # type: ignore[index]


def test_set_reaches_every_table_and_the_later_one_wins(write: Write) -> None:
    matrix = load_matrix(
        write("version: 1\naxes: {model: bert-tiny}"),
        ["measure.profile=quick", "backends.cpu.axes.batch_size=2,4", "measure.profile=audit"],
    )
    assert matrix.measure["cpu"].profile == "audit"
    assert matrix.products() == [{"model": ("bert-tiny",), "batch_size": (2, 4)}]


@pytest.mark.parametrize(
    ("override", "sentence"),
    [
        ("axes.batch_size=1,x", "--set axes.batch_size=1,x: 'x' is not a whole number"),
        ("axes.batchsize=1", "--set axes.batchsize=1: unknown key; did you mean batch_size?"),
        ("=1", "--set =1: is not path=value"),
        ("version.x=1", "--set version.x=1: x lies in something that is not a mapping"),
        ("axes.mode=[a", "--set axes.mode=[a: line "),
    ],
)
def test_errors_in_set_name_the_option(override: str, sentence: str, write: Write) -> None:
    found = problems(write("version: 1\naxes: {model: bert-tiny}"), override)
    assert found[0].startswith(sentence)


def test_set_leaves_other_places_in_the_file(write: Write) -> None:
    found = problems(write("version: 1\naxes: {model: x1}\n"), "axes.batch_size=x")
    assert found[0].startswith("--set axes.batch_size=x: ")
    assert found[1].startswith("matrix.yaml: axes.model: ")
