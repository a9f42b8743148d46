"""Names of timm's result files."""

import pytest

from orchestrator.imports.formats.timm_name import TimmName, parse_name


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        (
            "benchmark-infer-amp-nhwc-pt240-cu124-rtx4090.csv",
            TimmName("amp", "nhwc", "2.4.0", "12.4", "rtx4090", dynamo=False),
        ),
        (
            "benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv",
            TimmName("amp", "nchw", "1.12", "11.3", "rtx3090", dynamo=False),
        ),
        (
            "benchmark-infer-amp-nchw-pt1131-cu117-rtx3090.csv",
            TimmName("amp", "nchw", "1.13.1", "11.7", "rtx3090", dynamo=False),
        ),
        (
            "benchmark-infer-fp32-nchw-pt221-cpu-i9_10940x-dynamo.csv",
            TimmName("fp32", "nchw", "2.2.1", None, "i9_10940x", dynamo=True),
        ),
        (
            "benchmark-infer-amp_bf16-nchw-pt291-cu130-pro6000maxq-dynamo.csv",
            TimmName("amp_bf16", "nchw", "2.9.1", "13.0", "pro6000maxq", dynamo=True),
        ),
    ],
)
def test_takes_a_name_apart(name: str, parts: TimmName) -> None:
    assert parse_name(name) == parts


@pytest.mark.parametrize(
    "name",
    ["results.csv", "benchmark-infer-amp-nchw-pt240-cu124-rtx3090 (1).csv", "results-imagenet.csv"],
)
def test_other_names_say_nothing(name: str) -> None:
    assert parse_name(name) is None
