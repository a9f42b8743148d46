"""Agreement of outputs with a reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial import distance

from runner.correctness.compare_outputs import (
    CLOSE,
    FLOORS,
    HONEST,
    HTP,
    MARGIN,
    MEASURED_MARGIN,
    METHODS,
    UNMEASURED,
    allowed_differences,
    compare_outputs,
    method_of,
    tolerance_of,
)
from runner.correctness.differences import (
    Difference,
    relative_difference,
    sums_of,
    worst_difference,
)
from tests.support.jobs import fake_cell
from tests.support.words import reason_words

numbers = st.floats(-1e6, 1e6, allow_subnormal=False, width=32)
vectors = arrays(np.float32, st.integers(1, 50), elements=numbers)
LOGITS = np.linspace(-1, 1, 24, dtype=np.float32).reshape(2, 3, 4)
INT8 = METHODS["int8"]
NNCF = "NNCF 3.4.0, post-training, int8"
INT8_METHODS = ("dynamic, per channel", "QDQ: uint8", NNCF, "unheard of")
SIZE = float(np.sqrt(np.mean(LOGITS**2)))
ERRORS = SIZE * np.where(np.arange(6) % 2, 1, -1).astype(np.float32).reshape(2, 3, 1)
"""Errors as large as logits, in no direction more than in another."""
NOISE = np.where(np.arange(24) % 2, 1, -1).astype(np.float32).reshape(2, 3, 4)


@given(arrays(np.float32, 8, elements=numbers), arrays(np.float32, 8, elements=numbers))
def test_cosine_is_scipys(ours: np.ndarray, theirs: np.ndarray) -> None:
    if np.linalg.norm(ours) > 1e-3 and np.linalg.norm(theirs) > 1e-3:
        expected = 1 - distance.cosine(ours.astype(float), theirs.astype(float))
        assert sums_of(ours, theirs).cosine == pytest.approx(expected, abs=1e-6)


@given(vectors, st.floats(1e-6, 0.5))
def test_a_uniform_error_is_its_share(values: np.ndarray, share: float) -> None:
    exact = values.astype(np.float64)
    if np.linalg.norm(exact) > 1e-3:
        assert relative_difference(exact * (1 + share), exact) == pytest.approx(share, rel=1e-3)


def test_nothing_but_zeros_agrees_with_zeros_alone() -> None:
    zeros = np.zeros(3, np.float32)
    assert (relative_difference(zeros, zeros), sums_of(zeros, zeros).cosine) == (0, 1)
    assert relative_difference(zeros + 1, zeros) == float("inf")
    assert sums_of(zeros + 1, zeros).cosine == 0


@pytest.mark.parametrize(
    ("error", "precisions"),
    [(1e-3, {"fp16", "bf16", "int8"}), (0.02, {"bf16", "int8"}), (0.15, {"int8"})],
)
def test_each_precision_has_its_own_tolerance(error: float, precisions: set[str]) -> None:
    ours = {"logits": LOGITS * (1 + error * NOISE)}
    correct = {
        precision
        for precision in FLOORS
        if compare_outputs(ours, {"logits": LOGITS}, None, precision)["correct"]
    }
    assert correct == precisions


def test_the_mean_of_few_rows_may_be_what_chance_gives_also_by_the_catalogue() -> None:
    many = {"logits": np.ones((40, 4), np.float32)}
    few, enough = (allowed_differences(one, "bf16")["logits"] for one in ({"logits": LOGITS}, many))
    assert few.mean == pytest.approx(MARGIN * HONEST["bf16"].relative / 6**0.5)
    assert few.shared == few.mean
    assert enough.mean == pytest.approx(MARGIN * HONEST["bf16"].mean)


def test_a_model_is_allowed_three_times_its_own_honest_difference() -> None:
    honest = Difference(0.1, 0.2, 0.05, 0.03)
    assert tolerance_of("int8", honest) == Difference(*(MARGIN * value for value in honest))
    assert tolerance_of("int8", Difference(0.0, 0.0, 0.0, 0.0)) == FLOORS["int8"]
    assert tolerance_of("int8", None).relative == MARGIN * HONEST["int8"].relative
    ours = {"logits": LOGITS * (1 + 0.02 * NOISE)}
    exact = Difference(1e-4, 1e-4, 1e-4, 1e-4)
    assert not compare_outputs(ours, {"logits": LOGITS}, None, "int8", {"logits": exact})["correct"]


def test_an_error_at_one_position_or_in_one_direction_is_found_where_the_whole_looks_fine() -> None:
    reference = np.random.default_rng(0).standard_normal((2, 500, 8)).astype(np.float32)
    honest = Difference(0.05, 0.1, 0.01, 0.005)
    local = reference.copy()
    local[1, 3] *= -1
    one_feature = reference + np.float32(0.1) * np.eye(8, dtype=np.float32)[0]
    lifted, stretched = reference + np.float32(0.025), reference * np.float32(1.02)
    errors = {"row": local, "mean": one_feature, "shared": lifted}
    for kind, ours in [*errors.items(), ("shared", stretched)]:
        result = compare_outputs({"x": ours}, {"x": reference}, None, "int8", {"x": honest})
        assert result["difference_relative"] < result["tolerance"]
        assert result["correct"] is False
        assert result["difference_where"] == f"{kind} of x"
        assert result["tolerance_share"] > 1
    assert "by 0.02 in a factor or an offset of all values (x)" in reason_words(result, "correct")


def test_each_output_has_its_own_tolerance_and_the_columns_are_of_the_one_that_decides() -> None:
    reference = {"a": LOGITS, "b": LOGITS, "second.b": LOGITS}
    honest = {"a": Difference(0.1, 0.2, 0.1, 0.1), "b": Difference(0.01, 0.02, 0.01, 0.01)}
    ours = reference | {"a": LOGITS * (1 + 0.2 * NOISE)}
    result = compare_outputs(ours, reference, None, "int8", honest)
    assert (result["correct"], result["tolerance"]) == (True, pytest.approx(0.3))
    assert result["difference_relative"] == pytest.approx(0.2)
    ours = reference | {"second.b": LOGITS * (1 + 0.2 * NOISE)}
    result = compare_outputs(ours, reference, None, "int8", honest)
    assert (result["correct"], result["tolerance"]) == (False, pytest.approx(0.03))


@pytest.mark.parametrize(
    ("method", "ratios"),
    [
        (None, (1, 1, 1, 1)),
        ("torch.ao dynamic (onednn): 7 linear layers", INT8[r"torch\.ao dynamic"]),
        ("NNCF 3.4.0, post-training, preset mixed", INT8["NNCF .*post-training"]),
        ("NNCF 3.4.0, weights alone, int8_asym", INT8["NNCF .*weights alone"]),
        ("a way that nobody has measured", worst_difference(INT8.values())),
    ],
)
def test_a_way_to_int8_is_allowed_its_own_differences(
    method: str | None, ratios: tuple[float, float, float, float]
) -> None:
    honest = Difference(0.1, 0.2, 0.05, 0.02)
    margins = [max(MARGIN, MEASURED_MARGIN * ratio) for ratio in ratios]
    allowed = [margin * value for margin, value in zip(margins, honest, strict=True)]
    assert tolerance_of("int8", honest, method) == pytest.approx(allowed)
    assert tolerance_of("fp32", honest, method) == tolerance_of("fp32", honest)


def test_bf16_is_allowed_what_was_measured_on_processors_and_more_elsewhere() -> None:
    honest = Difference(0.01, 0.02, 0.005, 0.004)
    cells = [fake_cell(backend=name, precision="bf16") for name in ("cpu", "openvino", "mps")]
    methods = [method_of(cell, {}) for cell in cells]
    assert methods == [None, None, UNMEASURED]
    close, _, far = (tolerance_of("bf16", honest, method) for method in methods)
    assert close == pytest.approx([a * b for a, b in zip(CLOSE["bf16"], honest, strict=True)])
    assert far == pytest.approx([MARGIN * value for value in honest])


@pytest.mark.parametrize("method", [None, *INT8_METHODS])
def test_no_arithmetic_is_so_coarse_that_a_dead_model_passes(method: str | None) -> None:
    for outputs in (0 * LOGITS, LOGITS[::-1]):
        result = compare_outputs({"x": outputs}, {"x": LOGITS}, None, "int8", method=method)
        assert result["correct"] is False


def test_what_rounding_and_a_fault_could_both_do_is_not_told() -> None:
    found = [
        compare_outputs({"x": LOGITS + share * ERRORS}, {"x": LOGITS}, None, "int8", method=NNCF)
        for share in (0.5, 0.7, 0.95)
    ]
    assert [result["correct"] for result in found] == [True, None, False]
    assert "and so may a fault" in str(reason_words(found[1], "correct"))


def test_an_output_that_cannot_be_told_counts_beside_one_that_is_nearer_to_its_tolerance() -> None:
    honest = {"a": Difference(*[0.1] * 4), "b": Difference(*[0.01] * 4)}
    outputs = {"a": LOGITS + 0.7 * ERRORS, "b": LOGITS + 0.074 * ERRORS}
    reference = {"a": LOGITS, "b": LOGITS}
    result = compare_outputs(outputs, reference, None, "int8", honest, NNCF)
    assert (result["correct"], result["difference_where"][-1]) == (None, "b")
    assert "0.7 (a)" in reason_words(result, "correct")


def test_the_htp_is_allowed_its_own_differences_in_fp16() -> None:
    honest = Difference(0.01, 0.02, 0.005, 0.005)
    cells = [fake_cell(backend=backend, precision="fp16") for backend in ("qnn", "cuda")]
    methods = [method_of(cell, {}) for cell in cells]
    assert methods == [HTP, UNMEASURED]
    htp, torchs = (tolerance_of("fp16", honest, method) for method in methods)
    assert torchs.relative == pytest.approx(MARGIN * honest.relative)
    most = MEASURED_MARGIN * METHODS["fp16"][HTP].relative
    assert htp.relative == pytest.approx(most * honest.relative)
    assert method_of(cells[0], {"quantization": "QDQ: uint8"}) == "QDQ: uint8"


def test_the_worst_output_decides_and_the_reason_names_both_figures() -> None:
    reference = {"a": LOGITS, "b": LOGITS}
    result = compare_outputs({"a": LOGITS, "b": -LOGITS}, reference, None, "bf16")
    assert result["correct"] is False
    assert result["cosine_similarity"] == pytest.approx(-1)
    assert result["difference_max_abs"] == pytest.approx(2)
    assert result["difference_relative"] == pytest.approx(2)
    assert "differ from the fp32 reference by" in reason_words(result, "correct")
    assert "(b), bf16 is allowed" in reason_words(result, "correct")


@pytest.mark.parametrize("name", ["a", "b"])
def test_nan_in_any_output_is_never_correct(name: str) -> None:
    fine = {"a": LOGITS, "b": LOGITS}
    result = compare_outputs(fine | {name: LOGITS * np.nan}, fine, None, "int8")
    assert result["correct"] is False
    assert np.isnan(result["difference_relative"])


@pytest.mark.parametrize(
    "theirs", [{"other": LOGITS}, {"logits": LOGITS[:1]}, {}, {"logits": LOGITS, "more": LOGITS}]
)
def test_outputs_of_other_names_or_shapes_are_wrong(theirs: dict[str, np.ndarray]) -> None:
    result = compare_outputs({"logits": LOGITS}, theirs, None, "fp32")
    assert result["correct"] is False
    assert "names or shapes differ: outputs {'logits': [2, 3, 4]}" in reason_words(
        result, "correct"
    )
