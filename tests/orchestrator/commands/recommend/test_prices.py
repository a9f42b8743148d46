"""Files of prices: what they say, and what is refused with its place and value."""

from pathlib import Path

import pytest

from orchestrator.commands.recommend.prices import read_prices
from runner.contract.errors import MatrixError


def write(folder: Path, text: str) -> Path:
    path = folder / "prices.yaml"
    path.write_text(text, "utf-8")
    return path


def test_a_device_has_its_own_price_before_that_of_its_backend(tmp_path: Path) -> None:
    text = "currency: EUR\nhardware: {Example GPU: {per_hour: 3}}\nbackends: {cuda: {per_hour: 1}}"
    read = read_prices(write(tmp_path, text))
    assert read.currency == "EUR"
    assert read.per_hour(["example gpu", "host"], "cuda") == 3
    assert read.per_hour(["Other GPU"], "cuda") == 1
    assert read.per_hour(["Other GPU"], "cpu") is None
    (unused,) = read.unused(["Example GPUs"])
    assert "'Example GPU' is none of the devices here; did you mean Example GPUs?" in unused


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "prices.yaml: is empty"),
        ("backends: {cpu: {per_hour: 1}}", "currency: is required"),
        ("currency: EUR", "holds no price"),
        ("currency: 3\nbackends: {cpu: {per_hour: 1}}", "currency: 3 is not text"),
        ("currency: EUR\nbackends: {cpu: {per_hour: -1}}", "per_hour: -1 is not above 0"),
        ("currency: EUR\nbackends: {cpu: {per_hour: .inf}}", "inf is not a finite number"),
        ("currency: EUR\nbackends: {cpu: {perhour: 1}}", "did you mean per_hour?"),
        ("currency: EUR\nbackends: {cpu: 1}", "backends.cpu: must be a mapping"),
        ("currency: EUR\nbackends: {tpu: {per_hour: 1}}", "'tpu' is not 'cpu'"),
        ("currency: EUR\nhardwares: {}", "did you mean hardware?"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(MatrixError) as refused:
        read_prices(write(tmp_path, text))
    assert complaint in str(refused.value)
    assert "prices.yaml" in str(refused.value)
