"""Hints name the command that fits how AccelMatrix was installed."""

import pytest

from runner.contract.errors import how_to_install


@pytest.mark.parametrize(
    ("extra", "in_checkout", "command"),
    [
        ("cpu", True, "`make cpu`"),
        ("analysis", True, "`make install`"),
        ("cpu", False, "`pip install 'accelmatrix[cpu]'`"),
        (
            "browser",
            False,
            "`pip install 'accelmatrix[browser]'`, then"
            " `python -m runner.backends.onnxruntime_web.install`",
        ),
    ],
)
def test_a_checkout_has_make_and_a_wheel_pip(extra: str, in_checkout: bool, command: str) -> None:
    assert how_to_install(extra, in_checkout=in_checkout) == command
