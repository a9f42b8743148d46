"""Words of reasons why a cell cannot exist, would not fit, or failed, by the remedy."""

from collections.abc import Mapping

from runner.contract.reasons import ReasonCode

OF_REFUSALS: Mapping[str, Mapping[ReasonCode, str]] = {
    "": {
        "after_fresh_prompts": "generating after fresh prompts, {cause:reason}",
        "attempt_failed": "{way}: {cause:reason}",
        "attempts_failed": "{attempt:lines}",
        "bf16_emulated": "its arithmetic has no bf16, which torch would emulate",
        "depends_on_values": "shapes or results depend on values, and it is counted without any:"
        " {cause:reason}",
        "experts_by_values": "{model} chooses among experts ({experts}) by values, and is counted"
        " without any",
        "file_refused": "{file}: {error}",
        "generation_uncounted": "generation: {cause:reason}",
        "growing_cache": "with fixed shapes every token would be compiled anew, as the key-value"
        " cache grows",
        "htp_fp16": "the HTP computes in fp16 whatever floating-point graph it is given",
        "memory_limit": "killed for exceeding the memory limit[ of {limit:memory}], in phase"
        " {phase}",
        "memory_short": "needs at least {needed_bytes:beside allowed_bytes gb} of memory, and"
        " {allowed_bytes:beside needed_bytes gb} may be used",
        "no_gradients": "whole numbers have no gradients",
        "no_polynomial": "the work of {model} is no polynomial of its sizes: at {shape} {count} is"
        " {number:,}, and {expected:,} follows from other shapes",
        "on_fresh_inputs": "on fresh inputs, {cause:reason}",
        "onnx_cpu_bf16": "ONNX Runtime's CPU provider has no bf16 kernels for matrix products",
        "onnx_cpu_fp16": "ONNX Runtime's CPU provider computes fp16 graphs in fp32, between casts",
        "onnx_cuda_bf16": "ONNX Runtime's CUDA provider has bf16 kernels for a part of the"
        " operators only",
        "onnx_cuda_int8": "ONNX Runtime's CUDA provider has no kernel for dynamically quantized"
        " products",
        "onnx_inference_only": "ONNX Runtime executes inference graphs only",
        "onnx_no_mps": "it has a provider for Core ML, none for MPS",
        "onnx_no_openvino": "its OpenVINO provider comes in a package of its own; the runtime"
        " openvino executes the same graph",
        "onnx_no_rocm": "its releases have no ROCm provider any more, and its provider for"
        " MIGraphX comes in a package of its own",
        "onnx_web_inference_only": "ONNX Runtime Web executes inference graphs only",
        "openvino_inference_only": "OpenVINO executes inference graphs only",
        "packed_weights": "the quantised layers of torch.ao hold packed weights, which"
        " torch.compile leaves to eager mode",
        "page_times_itself": "a page times its queries itself, so that the wait of one in line is"
        " not known",
        "predicted": "predicted: {cause:reason}",
        "predicted_in_fp32": "predicted: in fp32 on the CPU it {cause:reason}",
        "release_lacks": "this release does not support it",
        "takes_macos_14": "it takes macOS 14",
        "too_few_shapes": "{model} takes too few shapes to tell how its work grows",
        "torch_int8": "this release has int8 matrix products for torch on cpu and cuda only",
        "webgpu_bf16": "shaders of WebGPU have no type for it",
        "webgpu_int8": "ONNX Runtime's WebGPU provider leaves every int8 product (MatMulInteger,"
        " DynamicQuantizeLinear) to the CPU (ONNX Runtime Web 1.30)",
        "webnn_bf16": "WebNN has no type for it",
        "webnn_fp16": "WebNN's cpu device takes fp16 graphs and computes them in fp32 (Chromium"
        " 153)",
        "webnn_int8": "WebNN takes no MatMulInteger (ONNX Runtime Web 1.30): 'This session"
        " contains graph nodes that are assigned to the default CPU EP, but fallback to CPU EP has"
        " been explicitly disabled by the user'",
    },
    "Measure it with torch, which needs no graph, on a backend that has it, e.g. `--backend cpu"
    " --runtime torch`.": {
        "calibration_one_part": "ranges are found by calibration for graphs of one part alone",
        "device_refuses_graph": "{device} cannot take the graph: {error}",
        "environment_produces": "{name}: this environment produces {produced}",
        "graph_lacks_cache": "the graph of {model} has no part that extends a cache",
        "graph_tokens_differ": "generating after fresh prompts, the graph's tokens are not its"
        " likeliest",
        "graph_type_differs": "the graph declares {declared} where the input is {given}",
        "graph_wants_inputs": "the graph takes {inputs}, which nothing gives",
        "image_sizes_constant": "the exporter makes constants of the images' sizes, one for each"
        " sample, so neither they nor the batch can vary",
        "no_decoder_start": "the config of {model} has no decoder_start_token_id",
        "no_graph": "no prepared graph: {cause:reason}",
        "onnx_no_kernel": "ONNX Runtime has no kernel for the graph: {error}",
        "openvino_cannot": "OpenVINO cannot {action}: {error}",
        "padded_prompts": "prepared graphs generate only after prompts without padding",
        "page_refuses_graph": "{backend} refuses the graph: {error}",
        "provider_takes_no_node": "{device} takes no node of the graph: ONNX Runtime left all to"
        " the CPU",
        "torchscript_no_cache": "the TorchScript exporter writes no graphs that take caches",
        "webgpu_no_f16": "webgpu refuses the graph: its adapter lacks the feature shader-f16",
    },
    "Correct the model's entry or its config, or update transformers if the model is newer.": {
        "cannot_build": "transformers cannot build {model}: {error}",
        "config_differs": "{model}: its config.json says {key} {actual}, not {wanted}",
        "config_lacks": "{model}: {model_type} has no {keys} in its config",
        "input_lacks_high": "input {input} of model {model} has no `high`",
        "shapes_differ": "names or shapes differ: outputs {outputs}, reference {reference}",
        "weights_lack": "{model}: its weights lack {weights}[{more}], which {architecture} has",
    },
    "Measure its inference: `orchestrator models list` shows which models write tokens.": {
        "cannot_generate": "{model_class} cannot generate tokens",
        "not_generating": "generation is not possible with {model}: its task is {task}",
    },
    "Train it with `--batch-size 2` or a larger one.": {
        "contrastive_batch": "training {model} compares the samples of a batch with one another,"
        " and a batch of 1 has nothing to compare",
        "training_contrastive": "training is not possible with {model} at batch 1: it compares the"
        " samples of a batch with one another",
    },
    "Take another precision or runtime: docs/supported.md lists what each has.": {
        "device_precision": "{precision} is not possible with torch on {device}: {cause:reason}",
        "openvino_precision": "OpenVINO computes in {actual} on {device} when asked for"
        " {requested}",
        "precision_not_run": "accelmatrix {version} cannot run {precision} with {runtime} on"
        " {backend} in mode {mode}",
        "precision_refused": "{precision} is not possible with {runtime} on {backend}:"
        " {cause:reason}",
        "scenario_refused": "scenario {scenario} is not possible with {runtime} on {backend}:"
        " {cause:reason}",
    },
    "Train in bf16, whose range is that of fp32.": {
        "forward_leaves_fp16": "the loss of step {step} is {loss}: values of the forward pass"
        " leave the range of fp16"
    },
    "Measure it again: the graph is exported anew.": {
        "graph_damaged": "the prepared graph {graph} is damaged: {file} has {size} bytes,"
        " {written} were written",
        "graph_file_fault": "the prepared graph {graph}: {file} {fault}",
        "graph_names_elsewhere": "the prepared graph {graph} names a file elsewhere",
        "graph_no_folder": "the prepared graph {graph} is no folder",
        "graph_not_exported": "no prepared graph: not exported",
        "graph_refused": "the prepared graph {graph}: {error}",
        "graph_unreadable": "the prepared graph {graph} cannot be read: {error}",
        "graph_weights_outside": "the prepared graph names weights at {name!r}, outside its folder",
        "no_graph_given": "no prepared graph: the launcher gave none",
        "other_graph": "the prepared graph {graph} is another one than was asked for",
    },
    "Give the model's entry an architecture whose outputs are tensors.": {
        "graph_gives_no_output": "the graph gives no output that could be checked",
        "model_gives_no_tensor": "the model gives no tensor that could be checked",
    },
    "Name the size that is missing, e.g. `--sequence-length` or `--new-tokens`.": {
        "input_lacks_size": "input {input} of model {model} needs a {axis}",
        "no_new_tokens": "generation needs new_tokens, and {cell} has none",
    },
    "Take a precision with a point: `--precision fp32` or bf16.": {
        "int8_no_constant_weights": "{graph} would not become int8: of its {products} products"
        " ({kinds}) none was quantised, as none has constant weights",
        "int8_no_linear": "int8 is not possible: torch quantises linear layers, and this model has"
        " {kinds} only",
        "int8_no_product": "the graph would not become int8: it has no product to quantise",
        "int8_start": "a start in int8 would time the quantising: NNCF does that as a job loads",
        "openvino_no_int8": "OpenVINO executes no product of the int8 graph in int8",
    },
    "Measure this mode with torch, e.g. `--backend cpu --runtime torch`: docs/supported.md lists"
    " what each runtime can do.": {
        "mode_not_measured": "accelmatrix {version} cannot measure {mode} with {runtime} on"
        " {backend}",
        "mode_refused": "{mode} is not possible with {runtime} on {backend}: {cause:reason}",
        "qnn_generation": "generation is not possible with onnxruntime on qnn: the HTP compiles a"
        " graph for fixed sizes, and a cache grows with each token",
        "torch_cannot_train": "torch cannot train {model_class}: {error}",
    },
    "Unset PYTORCH_ENABLE_MPS_FALLBACK, so that the device does all the work.": {
        "mps_fallback": "{variable} lets operators run on the CPU unseen"
    },
    "Leave `--runtime` out, or name one that the backend has.": {
        "no_device_for_backend": "the runtime {runtime} has no device for backend {backend}",
        "no_runner": "accelmatrix {version} has no runner for {runtime} on {backend}",
        "openvino_elsewhere": "{runtime} does not execute on {backend}, only {runtimes}; the"
        " backend openvino executes on Intel's and AMD's CPUs too",
        "runtime_elsewhere": "{runtime} does not execute on {backend}, only {runtimes}",
    },
    "Measure its inference, or give the model's entry labels to learn from.": {
        "no_labels": "training needs labels, and {model} has none",
        "training_without_labels": "training is not possible with {model}: it has no labels to"
        " learn from",
        "untrained_without_labels": "{model_class} cannot be trained without labels",
    },
    "Measure it with `--runtime torch`: it would run eagerly.": {
        "nothing_to_compile": "torch.compile found nothing to compile: the model runs eagerly"
    },
    "Name sizes that the model takes: `orchestrator models show {model}` lists them.": {
        "size_no_multiple": "{model} takes {axis} of multiples of {bound}, not {size}",
        "size_too_large": "{model} takes {axis} of at most {bound}, not {size}",
        "size_too_small": "{model} takes {axis} of at least {bound}, not {size}",
        "too_many_new_tokens": "{model} generates at most {most} tokens, not {new}",
        "too_many_tokens": "{model} takes at most {most} tokens, not {tokens}[ and {of_images} of"
        " an image][ and {new} new ones]",
    },
    "Ask for fewer `--threads`, or give the job more CPUs: `--set limits.cpus=…`.": {
        "too_many_threads": "{requested} threads were asked for, and {available} can execute an"
        " operator here"
    },
    "Train in fp32 or bf16: `--precision fp32,bf16`.": {
        "training_refused": "training is not possible in {precision}: {cause:reason}"
    },
    "Take a smaller model, batch or precision, or measure the same graph with `--backend cpu"
    " --runtime onnxruntime`.": {
        "wasm_memory_short": "needs at least {needed_bytes:beside allowed_bytes gb} of"
        " WebAssembly's memory, which ends at {allowed_bytes:beside needed_bytes gb}"
    },
    "Trace it with `--runtime onnxruntime`: the same graph.": {
        "web_no_profiler": "ONNX Runtime Web has no profiler whose times leave the page"
    },
}
OF_FAILURES: Mapping[str, Mapping[ReasonCode, str]] = {
    "": {
        "at_shape": "at {shape}, {cause:reason}",
        "by_catalogue": "{cause:reason}, by the catalogue: {honest:reason}",
        "caused_by": "{cause:reason}, caused by {root:reason}",
        "folder_unreadable": "has a folder that nobody may look into",
        "folders_too_deep": "nests folders deeper than {most}",
        "job_limit": "the job's own limit, which follows from the cell timeout, was over in phase"
        " {phase}",
        "maybe_rounding": "the outputs differ from the fp32 reference by {difference:.2g}"
        " ({output}): rounding to {precision} may do that here, and so may a fault",
        "no_optimizer_step": "the optimizer took no step",
        "not_compared": "not compared: {cause:reason}",
        "burst_not_done": "its burst was not done after {limit_s:g} s, so it was ended",
        "not_done": "not done after {limit_s:g} s, in phase {phase}",
        "nothing_left": "the runner ended well but left nothing that can be read",
        "output_too_large": "is larger than {most_bytes:size}",
        "outputs_differ": "the outputs differ from the fp32 reference by"
        " {difference:beside allowed} ({output}), {precision} is allowed"
        " {allowed:beside difference}",
        "outputs_differ_alike": "the outputs differ from the fp32 reference by"
        " {difference:beside allowed} in a factor or an offset of all values ({output}),"
        " {precision} is allowed {allowed:beside difference}",
        "outputs_differ_at_worst": "the outputs differ from the fp32 reference by"
        " {difference:beside allowed} at the worst position ({output}), {precision} is allowed"
        " {allowed:beside difference}",
        "outputs_differ_in_mean": "the outputs differ from the fp32 reference by"
        " {difference:beside allowed} in the mean of positions ({output}), {precision} is allowed"
        " {allowed:beside difference}",
        "page_silent": "{action}: the page did not answer within {seconds:g} s",
        "raised": "{kind}[: {text}]",
        "record_damaged": "its record was damaged and lies in {file}",
        "runner_died": "the runner [died by {signal}|ended with exit status {exit_status}] in"
        " phase {phase}[, saying: {words}]",
        "said": "{text}",
        "step_differs": "in one training step the {where} differs from the fp32 reference by"
        " {difference:beside allowed}, {precision} is allowed {allowed:beside difference}",
        "tokens_missing": "generated {generated} of {requested} tokens",
        "tokens_shape": "generated tokens of shape {shape} for {samples} samples of {requested}"
        " tokens",
        "too_many_files": "has more than {most:,} files",
        "too_many_parameters": "{model} has more than {most:,} parameters, too many for"
        " {precision}",
        "unlikely_tokens": "{wrong} of {tokens} generated tokens are not the likeliest by its own"
        " logits",
    },
    "Name the precision in which it computes, or take another runtime.": {
        "products_differ": "the cell names {precision}, but its matrix products are computed in"
        " {products}"
    },
    "Load weights that were rounded to no other type, or name the precision that they have.": {
        "weights_differ": "{others} of {compared:plural parameter}, {first} first, do not hold the"
        " reference's weights in {precision}"
    },
    "Measure starts on a machine with one clock.": {
        "clocks_disagree": "processes disagree about the time here, so starts cannot be timed"
    },
    "Measure what is missing: `orchestrator run --resume last`. Its last words tell what it"
    " lacked.": {
        "cold_start_died": "a cold start [died by {signal}|ended with exit status {exit_status}];"
        " its last words on stderr: [{words}|nothing]"
    },
    "Train in fp32. If they are 0 there too, try another version of the runtime: nothing trains"
    " these layers.": {
        "gradients_zero": "the gradients of {weights} were 0 in {steps:plural step}"
    },
    "Others met this: measure it here with `orchestrator bench`.": {"imported": "{text}"},
    "The image or the environment is of another version: `orchestrator images build`.": {
        "job_refused": "the runner refused the job: {words}"
    },
    "Take a higher precision: fp32, or bf16 in the place of fp16; if fp32 does it too, look at"
    " the weights.": {
        "loss_not_finite": "the loss of step {step} is {loss}",
        "not_finite": "the outputs hold NaN or infinity, so the arithmetic cannot be trusted",
        "outputs_not_finite": "its outputs hold NaN or infinity",
    },
    "A reference may use the whole machine's memory, whatever `limits.memory` says: compute it on a"
    " larger machine. If half an hour was too short, measure again with `--set"
    " limits.cell_timeout=2h`.": {"no_reference": "no reference: {cause:reason}"},
    "Measure it without `--no-verify`.": {
        "no_reference_given": "no reference: the launcher gave none",
        "not_verified": "not verified: --no-verify",
    },
    "Allow the verification more time, `limits.cell_timeout`, or try it alone: `orchestrator"
    " verify`.": {
        "verification_timeout": "not verified: timeout, the comparison was not done after"
        " {limit_s:g} s"
    },
    "If the job really writes so much, raise `limits.output`.": {
        "output_limit": "ended in phase {phase}, since its output {cause:reason}"
    },
    "Measure it again; if the page ends each time, take a smaller batch or model.": {
        "page_browser_ended": "the page ended: {action}: the browser has ended",
        "page_ended": "the page ended: {words}",
    },
    "Measure it again: it is computed anew.": {
        "reference_not_computed": "no reference: not computed"
    },
    "Train in fp32, or with training_precision mixed.": {
        "weights_unchanged": "{weights} did not change in {steps:plural step}"
    },
}
