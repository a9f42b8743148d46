"""Words of reasons why a cell cannot be measured here, by the remedy."""

from collections.abc import Mapping

from runner.contract.reasons import ReasonCode

OF_LACKS: Mapping[str, Mapping[ReasonCode, str]] = {
    "": {
        "budget_spent": "the budget of {budget_s:duration} was spent",
        "empty_fleet": "no host of the fleet can measure it: the fleet is empty",
        "failed_fast": "--fail-fast ended the run at its first failure",
        "maker_unavailable": "the backend {backend} makes it, and cannot be launched:"
        " {cause:reason}[; {hint}]",
        "no_host": "no host of the fleet can measure it: {cause:semicolons}",
    },
    "Install what it lacks, e.g. libnss3, libnspr4, libexpat1 and libatomic1, or measure in the"
    " image with `--launcher docker`.": {
        "browser_does_not_start": "the browser {browser} does not start: {words}",
        "browser_driver": "the browser's driver does not start: {error}",
        "browser_ended_at_once": "the browser[ {browser}] does not start: it ended at once",
    },
    "Install it: {install_browser}; or measure in the image with `--launcher docker`.": {
        "browser_missing": "a browser is needed, which is not installed here",
        "onnx_web_missing": "ONNX Runtime Web is needed, which is not installed here",
    },
    "Install it: `pip install {package}`.": {
        "detector_package_missing": "transformers computes the loss of a detector with the package"
        " {package}, which is not installed here"
    },
    "Install it: {install_openvino}; or measure in the image with `--launcher docker`.": {
        "int8_package_missing": "int8 on openvino needs the package {package}, which is not"
        " installed here"
    },
    "[Install it: {extra:install}; or m|M]easure in the image with `--launcher docker`.": {
        "launcher_package_missing": "the process launcher needs {package}, which is not installed"
        " here"
    },
    "Install it: {install_qnn}; or measure in the image with `--launcher docker`.": {
        "qnn_not_installed": "the package onnxruntime-qnn is not installed here",
        "qnn_package_missing": "onnxruntime on qnn needs the package {package}, which is not"
        " installed here",
    },
    "Install it: {runtime:install}; or measure in the image with `--launcher docker`.": {
        "runtime_package_missing": "the runtime {runtime} needs the package {package}, which is"
        " not installed here"
    },
    "Measure in the backend's image, which has such a build: `--launcher docker`; `orchestrator"
    " doctor` tells whether this machine has the device.": {
        "torch_is_rocm": "torch {version} is a ROCm build, so it has no CUDA",
        "torch_without_cuda": "torch {version} is a build without CUDA",
        "torch_without_rocm": "torch {version} is a build without ROCm",
    },
    "Take another browser: ACCELMATRIX_BROWSER, or none for the one that {install_browser}"
    " installs.": {
        "browser_not_here": "{variable}: there is no browser {browser} here",
        "no_webnn": "this browser has no WebNN: {error}",
        "page_not_isolated": "the browser does not isolate the page, so it has neither threads nor"
        " a clock",
    },
    "Build the image with `orchestrator images build`, fetch it with `orchestrator images pull`,"
    " or measure without it: `--launcher process`.": {
        "build_failed": "[{step}]{error}",
        "build_log_refused": "{path}: the build's log cannot be written: {error}",
        "digest_missing": "{reference}: the engine holds no image with the digest {digest}",
        "disk_full": "image {image}: it takes about {needed} in {folder}, where {free} are free",
        "image_attempt_failed": "{attempt}: {error}",
        "image_unverified": "{reference}: image not verified: it was not built here, and its"
        " digest {digest} is none of the published ones that this version knows",
        "job_image_refused": "job {job}: {error}",
        "no_dockerfile": "image {image}: {folder} holds no {image}/Dockerfile",
        "no_such_image": "{reference}: there is no image of AccelMatrix by that name",
    },
    "Measure with another engine or `--launcher process`; `orchestrator doctor` tells what each"
    " backend needs.": {
        "container_refused": "the engine refuses a container for backend {backend}: {error}",
        "engine_ignores": "the engine ignores {settings}, so a job's container would not be what a"
        " benchmark needs",
    },
    "Check the driver, and that this user may open the device; `orchestrator doctor` shows what"
    " a backend lacks.": {
        "device_refuses": "backend {backend}: {error}",
        "no_cuda_gpu": "NVML finds no GPU that CUDA may see",
        "no_cuda_provider": "onnxruntime has no {provider} here, only {available}",
        "no_metal_device": "backend mps: torch {version} finds no Metal device in this macOS",
        "nvml_silent": "NVML does not answer: {error}",
        "openvino_no_device": "OpenVINO finds no device",
        "qnn_library": "the HTP's library cannot be loaded: {error}",
        "qnn_no_device": "the plugin {plugin} finds no device here",
        "session_without_provider": "ONNX Runtime made a session without {provider}, only"
        " {providers}",
    },
    "Start the container engine, then `orchestrator run --resume last`; or measure without it:"
    " `--launcher process`.": {
        "docker_context_missing": "{context} does not exist",
        "engine_attempt_failed": "{attempt}: {error}",
        "engine_failed": "{engine}: {error}",
        "engine_lost": "the container engine went away in phase {phase}",
        "engine_silent": "the container engine stopped answering during the run",
        "image_of_other_machine": "{reference}: is for {architecture}, and the engine's machine is"
        " {engine}: an emulation's times say nothing",
        "pull_left_nothing": "{reference}: the engine does not hold it after its pull",
    },
    "Let the jobs' user read the folder (`chmod -R o+rX FOLDER`), or call the orchestrator as"
    " the user who owns engine and files.": {
        "engine_rootless": "the engine is rootless, so its containers cannot write what root owns",
        "unreadable_to_job": "{path}: may not be read by the jobs' user {user}; `orchestrator"
        " doctor` says as which user jobs execute",
    },
    "Put the weights back where the plan found them, or plan anew; `weights: random` needs none.": {
        "folder_refused": "{folder}: {error}",
        "other_weights": "{folder}: holds the weights {present}, and {planned} were planned",
        "weights_unloadable": "{model}: its weights cannot be loaded: {error}",
    },
    "An export may use the whole machine's memory, whatever `limits.memory` says: export it on a"
    " larger machine. If half an hour was too short, measure again with `--set"
    " limits.cell_timeout=2h`.": {
        "graph_cut_short": "its graph could not be exported: {cause:reason}"
    },
    "Install g++ and Python's headers (python3-dev), or measure in the image, which holds both.": {
        "no_compiler": "torch_compile needs a C++ compiler: {error}",
        "no_python_headers": "torch_compile needs Python's headers, and {folder} holds no Python.h",
    },
    "Measure it with `--launcher process`.": {
        "no_container_reaches": "backend {backend}: no container can reach this device"
    },
    "Name one of the GPUs that are there in ACCELMATRIX_DEVICE, or leave it out.": {
        "no_such_gpu": "ACCELMATRIX_DEVICE: {chosen!r} is no GPU of {backend}; there are {gpus}",
        "not_one_of_gpus": "{chosen!r} is not one of the GPUs {gpus}",
        "openvino_no_such_device": "OpenVINO has no device {requested}, only {devices}",
        "several_such_gpus": "ACCELMATRIX_DEVICE: {chosen!r} is more than one GPU of {backend};"
        " there are {gpus}",
    },
    "Check it without timing: `orchestrator verify --backend webgpu`; for times, measure in a"
    " browser that reaches a GPU, or those of the software adapter itself by"
    " ACCELMATRIX_DEVICE=webgpu=software.": {
        "no_webgpu_adapter": "this browser gives no WebGPU adapter",
        "software_adapter_untimed": "the software adapter's time says nothing about a device:"
        " `orchestrator verify`",
    },
    "Measure the rest: `orchestrator run --resume last`; allow more time by `--budget`.": {
        "not_started": "not started: {cause:reason}",
        "stopped_after": "stopped after round {round}: {cause:reason}",
    },
    "Measure on a machine that has it, then bring the results here: `orchestrator merge"
    " RESULTS`.": {
        "other_system": "backend {backend} exists on {systems} alone, and this is {here}",
        "torch_without_mps": "torch {version} is a build without MPS, which only macOS on Apple"
        " silicon has",
    },
    "Make the device reachable[ ({help})], or measure on a machine that has it.": {
        "device_missing": "backend {backend} has no device here: {found}"
    },
    "End what holds the port, which `ss -ltnp` names.": {
        "page_port": "a page's server cannot have {port} of 127.0.0.1: {error}"
    },
    "Check it without timing: `orchestrator verify --backend qnn`; for times, measure on a"
    " device that has the accelerator.": {
        "simulator_untimed": "the {simulator}'s time says nothing about a device: `orchestrator"
        " verify`"
    },
}
"""The texts of codes by the remedy, a sentence; empty where that depends on the status or cause."""
