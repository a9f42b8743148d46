"""A file that says itself that its numbers are made up is taken at its word."""

import pytest

from orchestrator.imports.marks import marks_in


@pytest.mark.parametrize(
    ("value", "marks"),
    [
        ({"is_simulated": True}, ("/is_simulated: true",)),
        ({"runs": [{"simulated": "yes"}, {}]}, ("/runs/0/simulated: yes",)),
        ({"is_simulation": 1}, ("/is_simulation: 1",)),
        ({"mock": "True"}, ("/mock: True",)),
        ({"implementation_type": "MOCK_WEBNN"}, ("/implementation_type: MOCK_WEBNN",)),
        ({"status": "Success (MOCK)"}, ("/status: Success (MOCK)",)),
        ({"device": "cuda (simulated)"}, ("/device: cuda (simulated)",)),
        ({"a": {"simulation_mode": True}, "b": {"mocked": True}}, None),
    ],
)
def test_finds_marks_with_their_places(value: object, marks: tuple[str, ...] | None) -> None:
    expected = ("/a/simulation_mode: true", "/b/mocked: true") if marks is None else marks
    assert marks_in(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        {"is_simulated": False, "simulated": "false", "mock": None, "is_mock": 0},
        {"implementation_type": "REAL"},
        {"model": "mockingjay", "note": "hammock simulation of traffic"},
        ["model", 1.5],
    ],
)
def test_leaves_the_rest_alone(value: object) -> None:
    assert marks_in(value) == ()
