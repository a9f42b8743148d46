"""Words of reasons why a cell cannot be measured here."""

from collections.abc import Mapping

from orchestrator.screen.words.remedies import (
    ADAPTER,
    ANOTHER_GPU,
    BROWSER_LACKS,
    BUILD_IMAGE,
    COMPILER,
    CUDA_IMAGE,
    DRIVER,
    ENGINE,
    INSTALL_BROWSER,
    ONE_GPU,
    OPENVINO_DEVICES,
    OTHER_BROWSER,
    OTHER_ENGINE,
    PLAN_AGAIN,
    PUT_BACK,
    READABLE,
    REST,
    STACK,
)
from orchestrator.screen.words.templates import ReasonWords
from runner.contract.reasons import ReasonCode

OF_LACKS: Mapping[ReasonCode, ReasonWords] = {
    "baseline_ended": ReasonWords("the baseline's launch ended [as {status}|early]"),
    "browser_does_not_start": ReasonWords(
        "the browser {browser} does not start: {words}", BROWSER_LACKS, hint=INSTALL_BROWSER
    ),
    "browser_driver": ReasonWords(
        "the browser's driver does not start: {error}", BROWSER_LACKS, hint=INSTALL_BROWSER
    ),
    "browser_ended_at_once": ReasonWords(
        "the browser[ {browser}] does not start: it ended at once",
        BROWSER_LACKS,
        hint=INSTALL_BROWSER,
    ),
    "browser_missing": ReasonWords(
        "a browser is needed, which is not installed here", STACK, hint=INSTALL_BROWSER
    ),
    "browser_not_here": ReasonWords(
        "{variable}: there is no browser {browser} here", OTHER_BROWSER, hint=INSTALL_BROWSER
    ),
    "budget_spent": ReasonWords("the budget of {budget_s:duration} was spent"),
    "build_failed": ReasonWords("[{step}]{error}", BUILD_IMAGE),
    "build_log_refused": ReasonWords(
        "{path}: the build's log cannot be written: {error}", BUILD_IMAGE
    ),
    "compared_ended": ReasonWords("the launch compared with it ended [as {status}|early]"),
    "container_refused": ReasonWords(
        "the engine refuses a container for backend {backend}: {error}",
        OTHER_ENGINE,
        hint="`orchestrator doctor` tells what each backend needs",
    ),
    "detector_package_missing": ReasonWords(
        "transformers computes the loss of a detector with the package {package}, which is not "
        "installed here",
        STACK,
        hint="install it: pip install {package}",
    ),
    "device_refuses": ReasonWords(
        "backend {backend}: {error}",
        DRIVER,
        hint="check the driver, and that this user may open the device's nodes",
    ),
    "digest_missing": ReasonWords(
        "{reference}: the engine holds no image with the digest {digest}", BUILD_IMAGE
    ),
    "disk_full": ReasonWords(
        "image {image}: it takes about {needed} in {folder}, where {free} are free",
        BUILD_IMAGE,
        hint="`orchestrator images prune` removes old images of AccelMatrix",
    ),
    "docker_context_missing": ReasonWords(
        "{context} does not exist",
        ENGINE,
        hint=(
            "`docker context use default` selects the default one; else start the engine or set "
            "DOCKER_HOST or DOCKER_CONTEXT; `--launcher process` needs no engine"
        ),
    ),
    "empty_fleet": ReasonWords("no host of the fleet can measure it: the fleet is empty"),
    "engine_attempt_failed": ReasonWords("{attempt}: {error}", ENGINE),
    "engine_failed": ReasonWords(
        "{engine}: {error}",
        ENGINE,
        hint=(
            "start the engine or set DOCKER_HOST or DOCKER_CONTEXT; `--launcher process` needs "
            "no engine"
        ),
    ),
    "engine_ignores": ReasonWords(
        "the engine ignores {settings}, so a job's container would not be what a benchmark needs",
        OTHER_ENGINE,
        hint="use another engine, or `--launcher process`",
    ),
    "engine_rootless": ReasonWords(
        "the engine is rootless, so its containers cannot write what root owns",
        READABLE,
        hint="call it as the user who started the engine, or use an engine of root's",
    ),
    "engine_silent": ReasonWords(
        "the container engine stopped answering during the run",
        ENGINE,
        hint="start it again, then `orchestrator run --resume last`",
    ),
    "failed_fast": ReasonWords("--fail-fast ended the run at its first failure"),
    "folder_refused": ReasonWords("{folder}: {error}", PUT_BACK, hint=PLAN_AGAIN),
    "graph_cut_short": ReasonWords(
        "its graph could not be exported: {cause:reason}",
        "Give the export more memory or time (`limits.memory`, `limits.cell_timeout`), then "
        "`orchestrator run --resume last`.",
    ),
    "image_attempt_failed": ReasonWords("{attempt}: {error}", BUILD_IMAGE),
    "image_of_other_machine": ReasonWords(
        "{reference}: is for {architecture}, and the engine's machine is {engine}: an "
        "emulation's times say nothing",
        ENGINE,
        hint="use an image of several platforms, or build one here",
    ),
    "image_unverified": ReasonWords(
        "{reference}: image not verified: it was not built here, and its digest {digest} is none "
        "of the published ones that this version knows",
        BUILD_IMAGE,
        hint=(
            "`orchestrator images build` makes one; `--image BACKEND={reference}` measures with "
            "this one, and its records say so"
        ),
    ),
    "int8_package_missing": ReasonWords(
        "int8 on openvino needs the package {package}, which is not installed here",
        STACK,
        hint="install the backend's extra: pip install -e '.[openvino]'",
    ),
    "job_image_refused": ReasonWords(
        "job {job}: {error}", BUILD_IMAGE, hint="`orchestrator images build {backend}` makes it"
    ),
    "launcher_package_missing": ReasonWords(
        "the process launcher needs {package}, which is not installed here", STACK
    ),
    "maker_unavailable": ReasonWords(
        "the backend {backend} makes it, and cannot be launched: {cause:reason}[; {hint}]"
    ),
    "no_compiler": ReasonWords(
        "torch_compile needs a C++ compiler: {error}",
        COMPILER,
        hint="install g++, which AccelMatrix's images hold",
    ),
    "no_container_reaches": ReasonWords(
        "backend {backend}: no container can reach this device",
        "Measure it with `--launcher process`.",
        hint="run it with --launcher process",
    ),
    "no_cuda_gpu": ReasonWords(
        "NVML finds no GPU that CUDA may see", DRIVER, hint="check CUDA_VISIBLE_DEVICES"
    ),
    "no_cuda_provider": ReasonWords(
        "onnxruntime has no {provider} here, only {available}",
        DRIVER,
        hint="install onnxruntime-gpu in place of onnxruntime: both fill the same folder",
    ),
    "no_dockerfile": ReasonWords(
        "image {image}: {folder} holds no {image}/Dockerfile",
        BUILD_IMAGE,
        hint="install AccelMatrix anew, or name an image by `--image BACKEND=LARGER_REFERENCE`",
    ),
    "no_host": ReasonWords("no host of the fleet can measure it: {cause:semicolons}"),
    "no_metal_device": ReasonWords(
        "backend mps: torch {version} finds no Metal device in this macOS",
        DRIVER,
        hint="it takes an Apple GPU and macOS 14 or newer; virtual machines show none",
    ),
    "no_python_headers": ReasonWords(
        "torch_compile needs Python's headers, and {folder} holds no Python.h",
        COMPILER,
        hint="install the package that brings them, such as python3-dev",
    ),
    "no_such_gpu": ReasonWords(
        "ACCELMATRIX_DEVICE: {chosen!r} is no GPU of {backend}; there are {gpus}",
        ANOTHER_GPU,
        hint=ONE_GPU,
    ),
    "no_such_image": ReasonWords(
        "{reference}: there is no image of AccelMatrix by that name",
        BUILD_IMAGE,
        hint="ours carry the label {label}",
    ),
    "no_webgpu_adapter": ReasonWords(
        "this browser gives no WebGPU adapter",
        ADAPTER,
        hint="ACCELMATRIX_DEVICE=webgpu=software takes its software adapter",
    ),
    "no_webnn": ReasonWords(
        "this browser has no WebNN: {error}", OTHER_BROWSER, hint="take another browser"
    ),
    "not_one_of_gpus": ReasonWords(
        "{chosen!r} is not one of the GPUs {gpus}",
        ANOTHER_GPU,
        hint="name one by its index or UUID in ACCELMATRIX_DEVICE",
    ),
    "not_started": ReasonWords("not started: {cause:reason}", REST),
    "nvml_silent": ReasonWords("NVML does not answer: {error}", DRIVER, hint="check the driver"),
    "onnx_web_missing": ReasonWords(
        "ONNX Runtime Web is needed, which is not installed here", STACK, hint=INSTALL_BROWSER
    ),
    "openvino_no_device": ReasonWords("OpenVINO finds no device", DRIVER, hint=OPENVINO_DEVICES),
    "openvino_no_such_device": ReasonWords(
        "OpenVINO has no device {requested}, only {devices}", ANOTHER_GPU, hint=OPENVINO_DEVICES
    ),
    "other_system": ReasonWords(
        "backend {backend} exists on {systems} alone, and this is {here}",
        "Measure on such a machine, then bring the results here: `orchestrator merge`.",
        hint="run it on a machine with {systems}",
    ),
    "other_weights": ReasonWords(
        "{folder}: holds the weights {present}, and {planned} were planned",
        PUT_BACK,
        hint=PLAN_AGAIN,
    ),
    "page_not_isolated": ReasonWords(
        "the browser does not isolate the page, so it has neither threads nor a clock",
        OTHER_BROWSER,
        hint="take another browser: ACCELMATRIX_BROWSER",
    ),
    "page_port": ReasonWords(
        "a page's server cannot have {port} of 127.0.0.1: {error}",
        "End what holds the port, which `ss -ltnp` names.",
        hint="`ss -ltnp` names what holds it",
    ),
    "pull_left_nothing": ReasonWords(
        "{reference}: the engine does not hold it after its pull", ENGINE
    ),
    "qnn_library": ReasonWords(
        "the HTP's library cannot be loaded: {error}",
        DRIVER,
        hint="install what it misses, e.g. the system package libatomic1",
    ),
    "qnn_no_device": ReasonWords("the plugin {plugin} finds no device here", DRIVER),
    "qnn_not_installed": ReasonWords("the package onnxruntime-qnn is not installed here", STACK),
    "qnn_package_missing": ReasonWords(
        "onnxruntime on qnn needs the package {package}, which is not installed here",
        STACK,
        hint="install the backend's stack: {install_qnn}",
    ),
    "runtime_package_missing": ReasonWords(
        "the runtime {runtime} needs the package {package}, which is not installed here",
        STACK,
        hint="install the backend's stack, e.g. {install_cpu}",
    ),
    "session_without_provider": ReasonWords(
        "ONNX Runtime made a session without {provider}, only {providers}",
        DRIVER,
        hint="its log on stderr says why the provider could not be made",
    ),
    "several_such_gpus": ReasonWords(
        "ACCELMATRIX_DEVICE: {chosen!r} is more than one GPU of {backend}; there are {gpus}",
        ANOTHER_GPU,
        hint=ONE_GPU,
    ),
    "simulator_untimed": ReasonWords(
        "the {simulator}'s time says nothing about a device: `orchestrator verify`",
        "Check it without timing: `orchestrator verify --backend qnn`; for times, measure on a "
        "device that has the accelerator.",
        hint="on {machine} there is the simulator alone; verify shows what it computes",
    ),
    "software_adapter_untimed": ReasonWords(
        "the software adapter's time says nothing about a device: `orchestrator verify`",
        ADAPTER,
        hint="this browser has no other; ACCELMATRIX_DEVICE=webgpu=software times it",
    ),
    "stopped_after": ReasonWords("stopped after round {round}: {cause:reason}", REST),
    "torch_is_rocm": ReasonWords(
        "torch {version} is a ROCm build, so it has no CUDA", STACK, hint=CUDA_IMAGE
    ),
    "torch_without_cuda": ReasonWords(
        "torch {version} is a build without CUDA", STACK, hint=CUDA_IMAGE
    ),
    "torch_without_mps": ReasonWords(
        "torch {version} is a build without MPS, which only macOS on Apple silicon has", STACK
    ),
    "torch_without_rocm": ReasonWords(
        "torch {version} is a build without ROCm",
        STACK,
        hint="use the image rocm, or install the requirements of images/rocm",
    ),
    "unreadable_to_job": ReasonWords(
        "{path}: may not be read by the jobs' user {user}; `orchestrator doctor` says as which "
        "user jobs execute",
        READABLE,
        hint="`chmod -R o+rX {root}`, or call the orchestrator as another user",
    ),
    "weights_unloadable": ReasonWords(
        "{model}: its weights cannot be loaded: {error}",
        PUT_BACK,
        hint="name a folder with `path`; hubs are asked only where HF_HUB_OFFLINE=0 is set",
    ),
}
