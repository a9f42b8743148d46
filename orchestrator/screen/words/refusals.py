"""Words of reasons why a cell cannot exist, or would not fit."""

from collections.abc import Mapping

from orchestrator.screen.words.remedies import (
    AGAIN,
    ENTRY,
    GIVE_LABELS,
    MISSING_SIZE,
    MODE,
    OTHER_PRECISION,
    OTHER_RUNTIME,
    POINT,
    SIZES,
    TENSORS,
    TORCH,
    TWO_SAMPLES,
    WRITES_TOKENS,
)
from orchestrator.screen.words.templates import ReasonWords
from runner.contract.reasons import ReasonCode

OF_REFUSALS: Mapping[ReasonCode, ReasonWords] = {
    "after_fresh_prompts": ReasonWords("generating after fresh prompts, {cause:reason}"),
    "attempt_failed": ReasonWords("{way}: {cause:reason}"),
    "attempts_failed": ReasonWords("{attempt:lines}"),
    "bf16_emulated": ReasonWords("its arithmetic has no bf16, which torch would emulate"),
    "calibration_one_part": ReasonWords(
        "ranges are found by calibration for graphs of one part alone", TORCH
    ),
    "cannot_build": ReasonWords("transformers cannot build {model}: {error}", ENTRY),
    "cannot_generate": ReasonWords("{model_class} cannot generate tokens", WRITES_TOKENS),
    "config_differs": ReasonWords(
        "{model}: its config.json says {key} {actual}, not {wanted}", ENTRY
    ),
    "config_lacks": ReasonWords("{model}: {model_type} has no {keys} in its config", ENTRY),
    "contrastive_batch": ReasonWords(
        "training {model} compares the samples of a batch with one another, and a batch of 1 has "
        "nothing to compare",
        TWO_SAMPLES,
    ),
    "depends_on_values": ReasonWords(
        "shapes or results depend on values, and it is counted without any: {cause:reason}"
    ),
    "device_precision": ReasonWords(
        "{precision} is not possible with torch on {device}: {cause:reason}", OTHER_PRECISION
    ),
    "device_refuses_graph": ReasonWords("{device} cannot take the graph: {error}", TORCH),
    "environment_produces": ReasonWords(
        "{name}: this environment produces {produced}",
        TORCH,
        hint="rebuild the image of backend cpu, or install its extra: pip install -e '.[cpu]'",
    ),
    "experts_by_values": ReasonWords(
        "{model} chooses among experts ({experts}) by values, and is counted without any"
    ),
    "file_refused": ReasonWords("{file}: {error}"),
    "forward_leaves_fp16": ReasonWords(
        "the loss of step {step} is {loss}: values of the forward pass leave the range of fp16",
        "Train in bf16, whose range is that of fp32.",
    ),
    "generation_uncounted": ReasonWords("generation: {cause:reason}"),
    "graph_damaged": ReasonWords(
        "the prepared graph {graph} is damaged: {file} has {size} bytes, {written} were written",
        AGAIN,
    ),
    "graph_file_fault": ReasonWords("the prepared graph {graph}: {file} {fault}", AGAIN),
    "graph_gives_no_output": ReasonWords(
        "the graph gives no output that could be checked", TENSORS
    ),
    "graph_lacks_cache": ReasonWords(
        "the graph of {model} has no part that extends a cache", TORCH
    ),
    "graph_names_elsewhere": ReasonWords(
        "the prepared graph {graph} names a file elsewhere", AGAIN
    ),
    "graph_no_folder": ReasonWords("the prepared graph {graph} is no folder", AGAIN),
    "graph_not_exported": ReasonWords("no prepared graph: not exported", AGAIN),
    "graph_refused": ReasonWords("the prepared graph {graph}: {error}", AGAIN),
    "graph_tokens_differ": ReasonWords(
        "generating after fresh prompts, the graph's tokens are not its likeliest", TORCH
    ),
    "graph_type_differs": ReasonWords(
        "the graph declares {declared} where the input is {given}", TORCH
    ),
    "graph_unreadable": ReasonWords("the prepared graph {graph} cannot be read: {error}", AGAIN),
    "graph_wants_inputs": ReasonWords("the graph takes {inputs}, which nothing gives", TORCH),
    "graph_weights_outside": ReasonWords(
        "the prepared graph names weights at {name!r}, outside its folder", AGAIN
    ),
    "growing_cache": ReasonWords(
        "with fixed shapes every token would be compiled anew, as the key-value cache grows"
    ),
    "htp_fp16": ReasonWords("the HTP computes in fp16 whatever floating-point graph it is given"),
    "image_sizes_constant": ReasonWords(
        "the exporter makes constants of the images' sizes, one for each sample, so neither they "
        "nor the batch can vary",
        TORCH,
    ),
    "input_lacks_high": ReasonWords("input {input} of model {model} has no `high`", ENTRY),
    "input_lacks_size": ReasonWords("input {input} of model {model} needs a {axis}", MISSING_SIZE),
    "int8_no_constant_weights": ReasonWords(
        "{graph} would not become int8: of its {products} products ({kinds}) none was quantised, "
        "as none has constant weights",
        POINT,
    ),
    "int8_no_linear": ReasonWords(
        "int8 is not possible: torch quantises linear layers, and this model has {kinds} only",
        POINT,
    ),
    "int8_no_product": ReasonWords(
        "the graph would not become int8: it has no product to quantise", POINT
    ),
    "int8_start": ReasonWords(
        "a start in int8 would time the quantising: NNCF does that as a job loads", POINT
    ),
    "memory_limit": ReasonWords(
        "killed for exceeding the memory limit[ of {limit:size}], in phase {phase}"
    ),
    "memory_short": ReasonWords(
        "needs at least {needed_bytes:gb} of memory, and {allowed_bytes:gb} may be used"
    ),
    "mode_not_measured": ReasonWords(
        "accelmatrix {version} cannot measure {mode} with {runtime} on {backend}", MODE
    ),
    "mode_refused": ReasonWords(
        "{mode} is not possible with {runtime} on {backend}: {cause:reason}", MODE
    ),
    "model_gives_no_tensor": ReasonWords(
        "the model gives no tensor that could be checked", TENSORS
    ),
    "mps_fallback": ReasonWords(
        "{variable} lets operators run on the CPU unseen",
        "Unset PYTORCH_ENABLE_MPS_FALLBACK, so that the device does all the work.",
        hint="unset {variable}",
    ),
    "no_decoder_start": ReasonWords("the config of {model} has no decoder_start_token_id", TORCH),
    "no_device_for_backend": ReasonWords(
        "the runtime {runtime} has no device for backend {backend}", OTHER_RUNTIME
    ),
    "no_gradients": ReasonWords("whole numbers have no gradients"),
    "no_graph": ReasonWords("no prepared graph: {cause:reason}", TORCH),
    "no_graph_given": ReasonWords("no prepared graph: the launcher gave none", AGAIN),
    "no_labels": ReasonWords("training needs labels, and {model} has none", GIVE_LABELS),
    "no_new_tokens": ReasonWords("generation needs new_tokens, and {cell} has none", MISSING_SIZE),
    "no_polynomial": ReasonWords(
        "the work of {model} is no polynomial of its sizes: at {shape} {count} is {number:,}, "
        "and {expected:,} follows from other shapes"
    ),
    "no_runner": ReasonWords(
        "accelmatrix {version} has no runner for {runtime} on {backend}", OTHER_RUNTIME
    ),
    "not_generating": ReasonWords(
        "generation is not possible with {model}: its task is {task}", WRITES_TOKENS
    ),
    "nothing_to_compile": ReasonWords(
        "torch.compile found nothing to compile: the model runs eagerly",
        "Measure it with `--runtime torch`: it would run eagerly.",
    ),
    "on_fresh_inputs": ReasonWords("on fresh inputs, {cause:reason}"),
    "onnx_cpu_bf16": ReasonWords(
        "ONNX Runtime's CPU provider has no bf16 kernels for matrix products"
    ),
    "onnx_cpu_fp16": ReasonWords(
        "ONNX Runtime's CPU provider computes fp16 graphs in fp32, between casts"
    ),
    "onnx_cuda_bf16": ReasonWords(
        "ONNX Runtime's CUDA provider has bf16 kernels for a part of the operators only"
    ),
    "onnx_cuda_int8": ReasonWords(
        "ONNX Runtime's CUDA provider has no kernel for dynamically quantized products"
    ),
    "onnx_inference_only": ReasonWords("ONNX Runtime executes inference graphs only"),
    "onnx_no_kernel": ReasonWords("ONNX Runtime has no kernel for the graph: {error}", TORCH),
    "onnx_no_mps": ReasonWords("it has a provider for Core ML, none for MPS"),
    "onnx_no_openvino": ReasonWords(
        "its OpenVINO provider comes in a package of its own; the runtime openvino executes the "
        "same graph"
    ),
    "onnx_no_rocm": ReasonWords(
        "its releases have no ROCm provider any more, and its provider for MIGraphX comes in a "
        "package of its own"
    ),
    "onnx_web_inference_only": ReasonWords("ONNX Runtime Web executes inference graphs only"),
    "openvino_cannot": ReasonWords("OpenVINO cannot {action}: {error}", TORCH),
    "openvino_elsewhere": ReasonWords(
        "{runtime} does not execute on {backend}, only {runtimes}; the backend openvino executes "
        "on Intel's and AMD's CPUs too",
        OTHER_RUNTIME,
    ),
    "openvino_inference_only": ReasonWords("OpenVINO executes inference graphs only"),
    "openvino_no_int8": ReasonWords(
        "OpenVINO executes no product of the int8 graph in int8", POINT
    ),
    "openvino_precision": ReasonWords(
        "OpenVINO computes in {actual} on {device} when asked for {requested}", OTHER_PRECISION
    ),
    "other_graph": ReasonWords(
        "the prepared graph {graph} is another one than was asked for", AGAIN
    ),
    "packed_weights": ReasonWords(
        "the quantised layers of torch.ao hold packed weights, which torch.compile leaves to "
        "eager mode"
    ),
    "padded_prompts": ReasonWords(
        "prepared graphs generate only after prompts without padding", TORCH
    ),
    "page_refuses_graph": ReasonWords("{backend} refuses the graph: {error}", TORCH),
    "page_times_itself": ReasonWords(
        "a page times its queries itself, so that the wait of one in line is not known"
    ),
    "precision_not_run": ReasonWords(
        "accelmatrix {version} cannot run {precision} with {runtime} on {backend} in mode {mode}",
        OTHER_PRECISION,
    ),
    "precision_refused": ReasonWords(
        "{precision} is not possible with {runtime} on {backend}: {cause:reason}", OTHER_PRECISION
    ),
    "predicted": ReasonWords("predicted: {cause:reason}"),
    "predicted_in_fp32": ReasonWords("predicted: in fp32 on the CPU it {cause:reason}"),
    "provider_takes_no_node": ReasonWords(
        "{device} takes no node of the graph: ONNX Runtime left all to the CPU",
        TORCH,
        hint="its log on stderr says what the provider lacks",
    ),
    "qnn_generation": ReasonWords(
        "generation is not possible with onnxruntime on qnn: the HTP compiles a graph for fixed "
        "sizes, and a cache grows with each token",
        MODE,
    ),
    "release_lacks": ReasonWords("this release does not support it"),
    "runtime_elsewhere": ReasonWords(
        "{runtime} does not execute on {backend}, only {runtimes}", OTHER_RUNTIME
    ),
    "scenario_refused": ReasonWords(
        "scenario {scenario} is not possible with {runtime} on {backend}: {cause:reason}",
        OTHER_PRECISION,
    ),
    "size_no_multiple": ReasonWords(
        "{model} takes {axis} of multiples of {bound}, not {size}", SIZES
    ),
    "size_too_large": ReasonWords("{model} takes {axis} of at most {bound}, not {size}", SIZES),
    "size_too_small": ReasonWords("{model} takes {axis} of at least {bound}, not {size}", SIZES),
    "takes_macos_14": ReasonWords("it takes macOS 14"),
    "too_few_shapes": ReasonWords("{model} takes too few shapes to tell how its work grows"),
    "too_many_new_tokens": ReasonWords("{model} generates at most {most} tokens, not {new}", SIZES),
    "too_many_threads": ReasonWords(
        "{requested} threads were asked for, and {available} can execute an operator here",
        "Ask for fewer `--threads`, or give the job more CPUs: `--set limits.cpus=…`.",
        hint="name no more threads than the machine and `limits.cpus` have CPUs",
    ),
    "too_many_tokens": ReasonWords(
        "{model} takes at most {most} tokens, not {tokens}[ and {of_images} of an image][ and "
        "{new} new ones]",
        SIZES,
    ),
    "torch_cannot_train": ReasonWords("torch cannot train {model_class}: {error}", MODE),
    "torch_int8": ReasonWords(
        "this release has int8 matrix products for torch on cpu and cuda only"
    ),
    "torchscript_no_cache": ReasonWords(
        "the TorchScript exporter writes no graphs that take caches", TORCH
    ),
    "training_contrastive": ReasonWords(
        "training is not possible with {model} at batch 1: it compares the samples of a batch "
        "with one another",
        TWO_SAMPLES,
    ),
    "training_refused": ReasonWords(
        "training is not possible in {precision}: {cause:reason}",
        "Train in fp32 or bf16: `--precision fp32,bf16`.",
    ),
    "training_without_labels": ReasonWords(
        "training is not possible with {model}: it has no labels to learn from", GIVE_LABELS
    ),
    "untrained_without_labels": ReasonWords(
        "{model_class} cannot be trained without labels", GIVE_LABELS
    ),
    "wasm_memory_short": ReasonWords(
        "needs at least {needed_bytes:gb} of WebAssembly's memory, which ends at "
        "{allowed_bytes:gb}",
        "Take a smaller model, batch or precision, or measure the same graph with `--backend cpu "
        "--runtime onnxruntime`.",
    ),
    "web_no_profiler": ReasonWords(
        "ONNX Runtime Web has no profiler whose times leave the page",
        "Trace it with `--runtime onnxruntime`: the same graph.",
    ),
    "webgpu_bf16": ReasonWords("shaders of WebGPU have no type for it"),
    "webgpu_int8": ReasonWords(
        "ONNX Runtime's WebGPU provider leaves every int8 product (MatMulInteger, "
        "DynamicQuantizeLinear) to the CPU (ONNX Runtime Web 1.30)"
    ),
    "webgpu_no_f16": ReasonWords(
        "webgpu refuses the graph: its adapter lacks the feature shader-f16", TORCH
    ),
    "webnn_bf16": ReasonWords("WebNN has no type for it"),
    "webnn_fp16": ReasonWords(
        "WebNN's cpu device takes fp16 graphs and computes them in fp32 (Chromium 153)"
    ),
    "webnn_int8": ReasonWords(
        "WebNN takes no MatMulInteger (ONNX Runtime Web 1.30): 'This session contains graph "
        "nodes that are assigned to the default CPU EP, but fallback to CPU EP has been "
        "explicitly disabled by the user'"
    ),
    "weights_lack": ReasonWords(
        "{model}: its weights lack {weights}[{more}], which {architecture} has", ENTRY
    ),
}
