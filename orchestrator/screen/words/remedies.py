"""Remedies that several reasons share, and those of a status whose reason has none."""

from collections.abc import Mapping

ADAPTER = (
    "Check it without timing: `orchestrator verify --backend webgpu`; for times, measure in a "
    "browser that reaches a GPU, or those of the software adapter itself by "
    "ACCELMATRIX_DEVICE=webgpu=software."
)
AGAIN = "Measure it again: the graph is exported anew."
ANOTHER_GPU = "Name one of the GPUs that are there in ACCELMATRIX_DEVICE, or leave it out."
BROWSER_LACKS = (
    "Install what it lacks, e.g. libnss3, libnspr4, libexpat1 and libatomic1, or measure in the "
    "image with `--launcher docker`."
)
COMPILER = (
    "Install g++ and Python's headers (python3-dev), or measure in the image, which holds both."
)
CUDA_IMAGE = "use the image cuda, or install the requirements of images/cuda"
DRIVER = (
    "Check the driver, and that this user may open the device; `orchestrator doctor` shows what "
    "a backend lacks."
)
ENGINE = (
    "Start the container engine, then `orchestrator run --resume last`; or measure without it: "
    "`--launcher process`."
)
ENTRY = "Correct the model's entry or its config, or update transformers if the model is newer."
BUILD_IMAGE = (
    "Build the image with `orchestrator images build`, fetch it with `orchestrator images pull`, "
    "or measure without it: `--launcher process`."
)
INSTALL_BROWSER = "{install_browser} installs one; or start a container engine"
GIVE_LABELS = "Measure its inference, or give the model's entry labels to learn from."
MISSING_SIZE = "Name the size that is missing, e.g. `--sequence-length` or `--new-tokens`."
MODE = (
    "Measure this mode with torch, e.g. `--backend cpu --runtime torch`: docs/supported.md lists "
    "what each runtime can do."
)
NOT_FINITE = (
    "Take a higher precision: fp32, or bf16 in the place of fp16; if fp32 does it too, look at "
    "the weights."
)
ONE_GPU = "name one by its index or UUID, such as ACCELMATRIX_DEVICE={backend}=0"
OPENVINO_DEVICES = (
    "ACCELMATRIX_DEVICE names one of those, or AUTO; a GPU needs Intel's OpenCL driver and "
    "/dev/dri, an NPU its driver and /dev/accel, both also inside the image"
)
OTHER_BROWSER = "Take another browser: ACCELMATRIX_BROWSER, or none for that of `make browser`."
OTHER_ENGINE = (
    "Measure with another engine or `--launcher process`; `orchestrator doctor` tells what each "
    "backend needs."
)
OTHER_PRECISION = "Take another precision or runtime: docs/supported.md lists what each has."
OTHER_RUNTIME = "Leave `--runtime` out, or name one that the backend has."
SMALLER_PAGE = "Measure it again; if the page ends each time, take a smaller batch or model."
PLAN_AGAIN = "plan again, or put the folder back as it was"
POINT = "Take a precision with a point: `--precision fp32` or bf16."
READABLE = (
    "Let the jobs' user read the folder (`chmod -R o+rX FOLDER`), or call the orchestrator as "
    "the user who owns engine and files."
)
LARGER_REFERENCE = "Give the reference more memory or time: `limits.memory`, `limits.cell_timeout`."
REST = "Measure the rest: `orchestrator run --resume last`; allow more time by `--budget`."
SIZES = "Name sizes that the model takes: `orchestrator models show` lists them."
STACK = (
    "Install the backend's packages, e.g. `make cpu`, `make openvino` or `make browser`, or "
    "measure in its image with `--launcher docker`."
)
TENSORS = "Give the model's entry an architecture whose outputs are tensors."
TORCH = (
    "Measure it with torch, which needs no graph, on a backend that has it, e.g. `--backend cpu "
    "--runtime torch`."
)
TWO_SAMPLES = "Train it with `--batch-size 2` or a larger one."
VERIFY = "Measure it without `--no-verify`."
PUT_BACK = (
    "Put the weights back where the plan found them, or plan anew; `weights: random` needs none."
)
WRITES_TOKENS = "Measure its inference: `orchestrator models list` shows which models write tokens."
MEMORY = (
    "Take a smaller batch, fewer tokens or a lower precision, or allow more memory:"
    " `--set limits.memory=…`."
)
TIME = "Allow more time: `--set limits.cell_timeout=…`; or take a smaller batch or fewer tokens."
RESUME = "Measure what is missing: `orchestrator run --resume last`."
LOG = (
    "Read the trace beside its record, which the column `log` of `orchestrator query"
    " failures` names."
)
ARITHMETIC = (
    "Do not quote its times. Take a higher precision or another runtime, and try again"
    " with `orchestrator verify`."
)

MEASURE_HERE = "Others met this: measure it here with `orchestrator bench`."
"""The remedy of whatever imported files say."""

OF_STATUS: Mapping[str, str] = {
    "unsupported": "docs/supported.md lists what this release can measure.",
    "unavailable": "`orchestrator doctor` shows what the backend lacks here.",
    "out_of_memory": MEMORY,
    "timeout": TIME,
    "lost": f"{RESUME} If it dies again, its log in the run's `logs/` tells why.",
    "failed": LOG,
    "contradicted": "Make the device visible: `orchestrator doctor` shows what it lacks.",
    "unproven": "Measure with a runtime that shows where its work is done.",
    "partial": (
        "The device lacks operators of the graph, or waits for the CPU: a larger batch or another"
        " runtime may give it all the work."
    ),
    "wrong": ARITHMETIC,
    "unverified": (
        "Its outputs are compared at a shape of their own, which failed: try that alone with"
        " `orchestrator verify`."
    ),
}
"""The remedy of a status, or of a verdict on what ended well, whose reason has none of its own."""
