"""Marks that no device made the numbers, and what only looks like one."""

from typing import Any

import pytest

from orchestrator.imports.formats.legacy.marks import marks_in


@pytest.mark.parametrize(
    ("value", "mark"),
    [
        ({"is_simulation": True}, "/x/is_simulation: true"),
        ({"support": {"simulated": 1}}, "/x/support/simulated: 1"),
        ({"is_simulated": "yes"}, "/x/is_simulated: 'yes'"),
        ({"simulation_reason": "no GPU"}, "/x/simulation_reason: 'no GPU'"),
        ({"implementation_type": "(MOCK)"}, "/x/implementation_type: '(MOCK)'"),
        ({"cuda_init": "Success (MOCK) - no SDK"}, "/x/cuda_init: 'Success (MOCK) - no SDK'"),
        ({"type": "REAL - simulated for speed"}, "/x/type: 'REAL - simulated for speed'"),
        ({"texts": ["Simulated CUDA"]}, "/x/texts/0: 'Simulated CUDA'"),
        ({"device": "cuda:0 (mock)"}, "/x/device: 'cuda:0 (mock)'"),
        ({"stdout": "one\nCreated mock endpoint\n"}, "/x/stdout: 'Created mock endpoint'"),
        (
            {"stdout": '  "transformers_mocked": true,'},
            "/x/stdout: '\"transformers_mocked\": true,'",
        ),
        ({"a/b": "mock"}, "/x/a~1b: 'mock'"),
    ],
)
def test_marks(value: Any, mark: str) -> None:
    assert marks_in(value, "/x") == (mark,)


@pytest.mark.parametrize(
    "value",
    [
        {"is_simulated": False},
        {"is_simulated": None},
        {"mock_implementation": "false"},
        {"simulated": 0},
        {"implementation_type": "REAL"},
        {"keys": ["is_simulated", "mock_implementation"]},
        {"error": "cannot access local variable 'MagicMock'"},
        {"input": "a mock of a prompt"},
        {"stdout": "No more simulations - implementing true OpenVINO"},
        {"stdout": '    "mock_implementation": false,'},
        {"note": "this was not simulated"},
        {"note": "synthetic inputs, fake quantisation"},
    ],
)
def test_no_marks(value: Any) -> None:
    assert marks_in(value, "/x") == ()


def test_what_governs_others_alone_can_be_asked_for() -> None:
    value = {"mock": True, "results": {"simulated": True}}
    assert marks_in(value, "/", without=("results",)) == ("/mock: true",)
