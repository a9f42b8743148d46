"""What differs between two measurements is named, as far as both tell it."""

from typing import Any

import pytest

from analysis.compare.circumstances import differences


def conditions(variables: dict[str, str] | None = None, **columns: Any) -> dict[str, Any]:
    return {"environment_variables": variables, **columns}


@pytest.mark.parametrize(
    ("then", "now", "named"),
    [
        (conditions(), conditions(), ()),
        (
            conditions(cpu_governor="powersave"),
            conditions(cpu_governor="performance"),
            ("CPU governor powersave, now performance",),
        ),
        (conditions(cpu_governor=None), conditions(cpu_governor="performance"), ()),
        (conditions(), conditions({"OMP_A": "1"}), ("OMP_A not set, now 1",)),
        (conditions({"OMP_A": "1"}), conditions({"OMP_A": "2"}), ("OMP_A 1, now 2",)),
        (conditions({"OMP_A": "1"}), conditions(), ("OMP_A 1, now not set",)),
    ],
)
def test_differences(then: dict[str, Any], now: dict[str, Any], named: tuple[str, ...]) -> None:
    assert differences(then, now) == named
