"""Marks that no device made the numbers, and what only looks like one."""

from typing import Any

import pytest

from orchestrator.exchange.imports.simulation_marks import marks_in, marks_in_name


@pytest.mark.parametrize(
    ("value", "mark"),
    [
        ({"is_simulation": True}, "/x/is_simulation: true"),
        ({"isSimulated": True}, "/x/isSimulated: true"),
        ({"simulationMode": "full"}, "/x/simulationMode: 'full'"),
        ({"support": {"simulated": 1}}, "/x/support/simulated: 1"),
        ({"is_simulated": "yes"}, "/x/is_simulated: 'yes'"),
        ({"simulation_reason": "no GPU"}, "/x/simulation_reason: 'no GPU'"),
        ({"implementation_type": "(MOCK)"}, "/x/implementation_type: '(MOCK)'"),
        ({"cuda_init": "Success (MOCK) - no SDK"}, "/x/cuda_init: 'Success (MOCK) - no SDK'"),
        ({"type": "REAL - simulated for speed"}, "/x/type: 'REAL - simulated for speed'"),
        ({"implementation": "SIMULATED_WEBGPU"}, "/x/implementation: 'SIMULATED_WEBGPU'"),
        ({"types": {"webnn": "MOCK_WEBNN"}}, "/x/types/webnn: 'MOCK_WEBNN'"),
        ({"simulated_hardware": ["webgpu"]}, "/x/simulated_hardware/0: 'webgpu'"),
        ({"runs": [{"simulated": "yes"}, {}]}, "/x/runs/0/simulated: 'yes'"),
        ({"device": "cuda:0 (mock)"}, "/x/device: 'cuda:0 (mock)'"),
        ({"device": "Android Emulator"}, "/x/device: 'Android Emulator'"),
        ({"stdout": "one\nCreated mock endpoint\n"}, "/x/stdout: 'Created mock endpoint'"),
        (
            {"stdout": '  "transformers_mocked": true,'},
            "/x/stdout: '\"transformers_mocked\": true,'",
        ),
        ({"a/b": "mock"}, "/x/a~1b: 'mock'"),
        ({"is_real": False}, "/x/is_real: false"),
        ({"real_hardware": "no"}, "/x/real_hardware: 'no'"),
        ({"isRealImplementation": False}, "/x/isRealImplementation: false"),
        ({"fake": True}, "/x/fake: true"),
        ({"predicted": 1}, "/x/predicted: 1"),
        ({"using_mocks": True}, "/x/using_mocks: true"),
        ({"simulation": {"enabled": True}}, "/x/simulation/enabled: true"),
        ({"simulated": {"webgpu": "yes", "cuda": "no"}}, "/x/simulated/webgpu: 'yes'"),
        ({"not_simulated": False}, "/x/not_simulated: false"),
        ({"platform": "webgpu_simulated"}, "/x/platform: 'webgpu_simulated'"),
        ({"endpoint_type": "MagicMock"}, "/x/endpoint_type: 'MagicMock'"),
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
        {"simulated_hardware": [], "mock_models": [None, ""]},
        {"simulation": {"enabled": False, "seconds": 3}},
        {"not_simulated": True, "no_mock_fallback": "true"},
        {"implementation": "REAL_NOT_SIMULATED", "kind": "non_simulated"},
        {"implementation": "NO_SIMULATION", "stdout": "USE_MOCK=0"},
        {"keys": ["is_simulated", "mock_implementation"]},
        {"error": "cannot access local variable 'MagicMock'"},
        {"model": "mockingjay"},
        {"input": "a mock of a prompt"},
        {"stdout": "No more simulations - implementing true OpenVINO"},
        {"stdout": '    "mock_implementation": false,'},
        {"note": "this was not simulated"},
        {"note": "synthetic inputs, fake quantisation"},
        {"is_real": True, "real_time_factor": 0, "is_real_time": False},
        {"estimated_flops": 5, "predicted_class": 1, "fake_quantize": True, "dummy_input": True},
        ["model", 1.5],
        5,
    ],
)
def test_no_marks(value: Any) -> None:
    assert marks_in(value, "/x") == ()


def test_places_begin_at_the_top() -> None:
    assert marks_in({"a": {"mock": True}}) == ("/a/mock: true",)
    assert marks_in({"a": {"mock": True}}, "/") == ("/a/mock: true",)
    assert marks_in({"mock": "yes"}, "line 2") == ("line 2/mock: 'yes'",)


def test_what_governs_others_alone_can_be_asked_for() -> None:
    value = {"mock": True, "results": {"simulated": True}}
    assert marks_in(value, "/", without=("results",)) == ("/mock: true",)


@pytest.mark.parametrize(
    "name", ["results_simulated.json", "bert-MOCK-cuda.csv", "simulatedResults.json", "mock.json"]
)
def test_a_file_s_name_can_be_a_mark(name: str) -> None:
    assert marks_in_name(name) == (f"file name: {name!r}",)


@pytest.mark.parametrize("name", ["bert.json", "mockingjay.json", "not_simulated.json"])
def test_other_names_are_none(name: str) -> None:
    assert marks_in_name(name) == ()
