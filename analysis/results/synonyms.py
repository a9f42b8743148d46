"""Words for axes and their values: those of sentences, of users and of other tools."""

from collections.abc import Mapping

from runner.contract.axes import AXES, RUNTIMES, Axis, AxisName

AVAILABLE = "available"
"""The word by which `bench` takes every backend of the machine; no cell has it."""
_EVERY = ("all", "any", "every", "auto")
_KEYS: Mapping[str, Axis] = {word: axis for axis in AXES for word in (axis.name, *axis.synonyms)}
_VALUES: Mapping[AxisName, Mapping[str, str]] = {
    "backend": {
        "amd": "rocm",
        "apple": "mps",
        "hexagon": "qnn",
        "hip": "rocm",
        "host": "cpu",
        "htp": "qnn",
        "metal": "mps",
        "nvidia": "cuda",
        "ov": "openvino",
        "x86": "cpu",
    },
    "runtime": {
        "compile": "torch_compile",
        "compiled": "torch_compile",
        "eager": "torch",
        "inductor": "torch_compile",
        "onnx": "onnxruntime",
        "onnx_runtime": "onnxruntime",
        "ort": "onnxruntime",
        "ort_web": "onnxruntime_web",
        "ov": "openvino",
        "pytorch": "torch",
        "pytorch_compile": "torch_compile",
    },
    "precision": {
        "8bit": "int8",
        "8_bit": "int8",
        "bfloat16": "bf16",
        "f16": "fp16",
        "f32": "fp32",
        "float": "fp32",
        "float16": "fp16",
        "float32": "fp32",
        "half": "fp16",
        "i8": "int8",
        "q8": "int8",
    },
    "mode": {
        "cold_start": "startup",
        "decode": "generation",
        "finetune": "training",
        "generate": "generation",
        "infer": "inference",
        "start_up": "startup",
        "train": "training",
    },
    "scenario": {"singlestream": "single_stream"},
}
"""Values by the words that other tools have for them."""
_PHRASES: Mapping[str, str] = {axis.name: axis.phrase for axis in AXES}
_PRODUCTS: Mapping[str, str] = {
    "torch": "PyTorch",
    "torch_compile": "torch.compile",
    "onnxruntime": "ONNX Runtime",
    "onnxruntime_web": "ONNX Runtime Web",
}
"""The software that is a runtime and no backend, as it calls itself."""
_GPUS = "cuda (NVIDIA), rocm (AMD) or mps (Apple)"


def axis_of(word: str) -> Axis | None:
    """The axis of this key, in singular or plural, with `-` or `_`."""
    return _KEYS.get(word.replace("-", "_"))


def axis_called(name: AxisName) -> Axis:
    return _KEYS[name]


def axis_words(name: str, value: object) -> str:
    """An axis' value in a sentence: `batch 8`, `1 thread`; for any other name the value alone."""
    phrase = _PHRASES.get(name, "{}")
    words = phrase.format(value)
    return words.removesuffix("s") if value == 1 and phrase.startswith("{} ") else words


def meaning(axis: Axis, word: str) -> str:
    """The value of this axis that a word stands for, or the word itself."""
    if word in axis.choices:
        return word
    plain = _plain(word)
    return plain if plain in axis.choices else _VALUES.get(axis.name, {}).get(plain, word)


def counsel(axis: Axis, word: str, *, in_file: bool = False) -> str | None:
    """The sentence that says where a word belongs which is none of this axis' values."""
    plain = _plain(word)
    if axis.name == "backend" and plain == AVAILABLE:
        reason = ": a file names its backends, so that its cells are the same on every machine"
        return f"{word!r} is a word of `orchestrator bench` alone{reason if in_file else ''}"
    if axis.name == "backend" and plain in _EVERY:
        return (
            f"{word!r} is no backend; `orchestrator bench --backend {AVAILABLE}` takes those here"
        )
    if axis.name == "backend" and plain == "gpu":
        return f"{word!r} could be {_GPUS}"
    if axis.name == "backend":
        runtime = _VALUES["runtime"].get(plain, plain)
        backend = next((name for name, known in RUNTIMES.items() if runtime in known), None)
        if runtime in _PRODUCTS and backend:
            pairs = (("backend", backend), ("runtime", runtime))
            return f"{_PRODUCTS[runtime]} is {_written(pairs, in_file=in_file)}"
    path = _VALUES["backend"].get(plain, plain)
    if axis.name == "runtime" and path in RUNTIMES and path not in axis.choices:
        return f"{word} is {_written((('backend', path),), in_file=in_file)}"
    return None


def _written(pairs: tuple[tuple[str, str], ...], *, in_file: bool) -> str:
    if in_file:
        return " with ".join(f"{axis}: {value}" for axis, value in pairs)
    return " ".join(f"--{axis} {value}" for axis, value in pairs)


def _plain(word: str) -> str:
    return word.strip().lower().replace("-", "_").replace(".", "_").replace(" ", "_")
