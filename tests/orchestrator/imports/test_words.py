"""Yes or no, and points in time, as words of foreign files."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from orchestrator.imports.words import moment_in, truth_from


@pytest.mark.parametrize(
    ("value", "truth"),
    [(True, True), ("True", True), (1, True), ("no", False), (0, False), (None, None)],
)
def test_yes_and_no(value: object, truth: bool | None) -> None:
    assert truth_from(value) is truth


@pytest.mark.parametrize("value", ["perhaps", 2, 1.0, [], {}])
def test_neither_yes_nor_no(value: object) -> None:
    with pytest.raises(ValueError, match="neither true nor false"):
        truth_from(value)


@pytest.mark.parametrize(
    ("text", "moment", "told"),
    [
        (" 2025-03-06T17:45:26 ", datetime(2025, 3, 6, 17, 45, 26, tzinfo=UTC), False),
        (
            "2025-03-06T17:45:26+02:00",
            datetime(2025, 3, 6, 17, 45, 26, tzinfo=timezone(timedelta(hours=2))),
            True,
        ),
    ],
)
def test_a_time_without_a_zone_is_utc(text: str, moment: datetime, told: bool) -> None:
    assert moment_in(text) == (moment, told)


def test_other_text_is_no_time() -> None:
    with pytest.raises(ValueError, match="yesterday"):
        moment_in("yesterday")
