"""Times and text in the forms that the files give them."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from orchestrator.imports.formats.legacy.values import details_of, moment_from


@pytest.mark.parametrize(
    ("value", "moment", "told"),
    [
        ("2025-03-06T17:45:26.506441", datetime(2025, 3, 6, 17, 45, 26, 506441, UTC), False),
        ("20250302_221825", datetime(2025, 3, 2, 22, 18, 25, tzinfo=UTC), False),
        (1740730873.5, datetime(2025, 2, 28, 8, 21, 13, 500000, UTC), True),
        (
            "2025-03-06T17:45:26+02:00",
            datetime(2025, 3, 6, 17, 45, 26, tzinfo=timezone(timedelta(hours=2))),
            True,
        ),
    ],
)
def test_points_in_time(value: object, moment: datetime, told: bool) -> None:
    assert moment_from(value) == (moment, told)


@pytest.mark.parametrize("value", ["yesterday", "", 12, 1e300, float("nan"), True, None, []])
def test_what_is_no_point_in_time(value: object) -> None:
    assert moment_from(value) is None


def test_long_text_is_shortened_and_says_so() -> None:
    details = details_of({"stdout": "x" * 1500, "code": 0})
    assert details["stdout"] == "x" * 1000 + " … (1500 characters)"
    assert details["code"] == "0"
