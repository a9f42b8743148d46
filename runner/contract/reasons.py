"""Reasons: why a cell was refused or failed, as a code with facts. The screen has the words."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

# fmt: off
ReasonCode = Literal[
    "after_fresh_prompts", "at_shape", "attempt_failed", "attempts_failed",
    "bf16_emulated", "browser_does_not_start", "browser_driver", "browser_ended_at_once",
    "browser_missing", "browser_not_here", "budget_spent", "build_failed", "build_log_refused",
    "burst_not_done",
    "by_catalogue", "calibration_one_part", "cannot_build", "cannot_generate", "caused_by",
    "clocks_disagree", "cold_start_died", "config_differs", "config_lacks",
    "container_refused", "contrastive_batch", "depends_on_values", "detector_package_missing",
    "device_missing", "device_precision", "device_refuses", "device_refuses_graph",
    "digest_missing", "disk_full", "docker_context_missing", "empty_fleet", "engine_attempt_failed",
    "engine_failed", "engine_ignores", "engine_lost", "engine_rootless", "engine_silent",
    "environment_produces", "experts_by_values", "failed_fast", "file_refused", "folder_refused",
    "folder_unreadable", "folders_too_deep", "forward_leaves_fp16", "generation_uncounted",
    "gradients_zero", "graph_cut_short", "graph_damaged", "graph_file_fault",
    "graph_gives_no_output", "graph_lacks_cache", "graph_names_elsewhere", "graph_no_folder",
    "graph_not_exported", "graph_refused", "graph_tokens_differ", "graph_type_differs",
    "graph_unreadable", "graph_wants_inputs", "graph_weights_outside", "growing_cache", "htp_fp16",
    "image_attempt_failed", "image_of_other_machine", "image_sizes_constant", "image_unverified",
    "imported", "input_lacks_high", "input_lacks_size", "int8_no_constant_weights",
    "int8_no_linear", "int8_no_product", "int8_package_missing", "int8_start", "job_image_refused",
    "job_limit", "job_refused", "launcher_package_missing", "loss_not_finite", "maker_unavailable",
    "maybe_rounding", "memory_limit", "memory_short", "mode_not_measured", "mode_refused",
    "model_gives_no_tensor", "mps_fallback", "no_compiler", "no_container_reaches", "no_cuda_gpu",
    "no_cuda_provider", "no_decoder_start", "no_device_for_backend", "no_dockerfile",
    "no_gradients", "no_graph", "no_graph_given", "no_host", "no_labels", "no_metal_device",
    "no_new_tokens", "no_optimizer_step", "no_polynomial", "no_python_headers", "no_reference",
    "no_reference_given", "no_runner", "no_such_gpu", "no_such_image", "no_webgpu_adapter",
    "no_webnn", "not_compared", "not_done", "not_finite", "not_generating", "not_one_of_gpus",
    "not_started", "not_verified", "nothing_left", "nothing_to_compile", "nvml_silent",
    "on_fresh_inputs", "onnx_cpu_bf16", "onnx_cpu_fp16", "onnx_cuda_bf16", "onnx_cuda_int8",
    "onnx_inference_only", "onnx_no_kernel", "onnx_no_mps", "onnx_no_openvino", "onnx_no_rocm",
    "onnx_web_inference_only", "onnx_web_missing", "openvino_cannot", "openvino_elsewhere",
    "openvino_inference_only", "openvino_no_device", "openvino_no_int8", "openvino_no_such_device",
    "openvino_precision", "other_graph", "other_system", "other_weights", "output_limit",
    "output_too_large", "outputs_differ", "outputs_differ_alike", "outputs_differ_at_worst",
    "outputs_differ_in_mean", "outputs_not_finite", "packed_weights", "padded_prompts",
    "page_browser_ended", "page_ended", "page_not_isolated", "page_port", "page_refuses_graph",
    "page_silent", "page_times_itself", "precision_not_run", "precision_refused", "predicted",
    "predicted_in_fp32", "products_differ", "provider_takes_no_node", "pull_left_nothing",
    "qnn_generation", "qnn_library", "qnn_no_device", "qnn_not_installed", "qnn_package_missing",
    "raised", "record_damaged", "reference_not_computed", "release_lacks", "runner_died",
    "runtime_elsewhere", "runtime_package_missing", "said", "scenario_refused",
    "session_without_provider", "several_such_gpus", "shapes_differ", "simulator_untimed",
    "size_no_multiple", "size_too_large", "size_too_small", "software_adapter_untimed",
    "step_differs", "stopped_after", "takes_macos_14", "tokens_missing", "tokens_shape",
    "too_few_shapes", "too_many_files", "too_many_new_tokens", "too_many_parameters",
    "too_many_threads", "too_many_tokens", "torch_cannot_train", "torch_int8", "torch_is_rocm",
    "torch_without_cuda", "torch_without_mps", "torch_without_rocm", "torchscript_no_cache",
    "training_contrastive", "training_refused", "training_without_labels", "unlikely_tokens",
    "unreadable_to_job", "untrained_without_labels", "verification_timeout", "wasm_memory_short",
    "web_no_profiler", "webgpu_bf16", "webgpu_int8", "webgpu_no_f16", "webnn_bf16", "webnn_fp16",
    "webnn_int8", "weights_differ", "weights_lack", "weights_unchanged", "weights_unloadable",
]
# fmt: on
"""Records keep them, so none is renamed."""
Facts = Mapping[str, str]  # facts by name, as text: numbers in base units, lists with commas


@dataclass(frozen=True, slots=True)
class Reason:
    """A refusal or failure of a cell; what helps against it follows from the code."""

    code: ReasonCode
    facts: Facts = field(default_factory=dict)
    """A fact that is a reason itself, such as `cause`, is its code; `cause.…` are its facts."""

    def __hash__(self) -> int:
        return hash((self.code, *self.facts.items()))

    def __str__(self) -> str:
        """The code and its facts, for logs; users read the screen's words."""
        facts = ", ".join(f"{name}={value}" for name, value in self.facts.items())
        return f"{self.code} ({facts})" if facts else self.code

    def behind(self, name: str) -> "Reason | None":
        """The reason that this fact is; None without it."""
        start = f"{name}."
        facts = {
            fact.removeprefix(start): value
            for fact, value in self.facts.items()
            if fact.startswith(start)
        }
        return reason_from(self.facts.get(name), facts)


def reason(code: ReasonCode, /, **facts: object) -> Reason:
    """The reason of these facts, of which some may be reasons; one that is None is left out."""
    texts: dict[str, str] = {}
    for name, value in facts.items():
        if isinstance(value, Reason):
            texts |= facts_behind(name, value)
        elif value is not None:
            texts[name] = str(value)
    return Reason(code, texts)


def facts_behind(name: str, reason: Reason) -> dict[str, str]:
    """A reason as the facts of another, under this name."""
    return {name: reason.code, **{f"{name}.{fact}": text for fact, text in reason.facts.items()}}


def reason_from(code: str | None, facts: Facts | None) -> Reason | None:
    """The reason of a record's columns, whose code another version may have given."""
    return None if code is None else Reason(cast("ReasonCode", code), facts or {})


def reason_columns(column: str, reason: Reason | None) -> dict[str, Any]:
    """The columns of a record, `<column>_code` and `<column>_facts`, that keep this reason."""
    code, facts = (None, None) if reason is None else (reason.code, dict(reason.facts))
    return {f"{column}_code": code, f"{column}_facts": facts}


def write_reason(reason: Reason) -> str:
    return json.dumps(asdict(reason))


def parse_reason(text: str) -> Reason:
    """The reason that a file holds; the text itself where it holds none."""
    try:
        content = json.loads(text)
        facts = {name: str(fact) for name, fact in content["facts"].items()}
        return Reason(cast("ReasonCode", str(content["code"])), facts)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return reason("said", text=text.strip())
