"""Models on the platforms of browsers, by modality."""

from orchestrator.imports.formats.legacy.comparison import COMPARISON
from tests.orchestrator.imports.documents import json_document, read
from tests.orchestrator.imports.formats.legacy import samples


def test_each_model_on_each_platform_is_an_entry() -> None:
    reading = read(COMPARISON, json_document(samples.COMPARISON))
    assert reading.faults == ()
    webnn, webgpu, audio = reading.found
    assert webnn.place == "/results_by_modality/text/0/webnn"
    assert (webnn.model, webnn.backend, webnn.modality) == ("bert-base-uncased", "webnn", "text")
    assert (webnn.latency_mean_s, webnn.memory_peak_bytes) == (0.0152, None)
    assert webnn.details["time_ms"] == "15.2 (of which kind is not said, kept as the mean)"
    assert webnn.details["memory_mb"] == "35"
    assert webnn.details["test_environment.test_hardware"] == "a processor, a graphics card"
    assert (webgpu.status, webgpu.reason) == ("unsupported", "Unsupported model architecture")
    assert audio.model == "whisper-tiny"


def test_a_mark_of_a_modality_governs_its_rows_alone() -> None:
    webnn, webgpu, audio = read(COMPARISON, json_document(samples.COMPARISON)).found
    assert (webnn.marks, webgpu.marks) == ((), ())
    told = "/implementation_types/audio/webgpu: 'SIMULATED_WEBGPU_TRANSFORMERS_JS'"
    assert audio.marks == (told,)


def test_without_models_it_holds_no_measurement() -> None:
    reading = read(COMPARISON, json_document({"results_by_modality": {"text": []}}))
    assert reading.nothing == "a comparison of platforms without a model"
