"""The axes of a matrix, a row each: what a cell consists of, and what every command calls it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

Backend = Literal[
    "cpu", "cuda", "rocm", "mps", "openvino", "qnn", "webnn", "webgpu", "wasm", "fake"
]
Runtime = Literal["torch", "torch_compile", "onnxruntime", "openvino", "onnxruntime_web", "fake"]
Precision = Literal["fp32", "bf16", "fp16", "int8"]
Mode = Literal["inference", "generation", "training", "startup"]
Scenario = Literal["single_stream", "offline", "server"]
TrainingPrecision = Literal["mixed", "pure"]

RUNTIMES: Mapping[Backend, tuple[Runtime, ...]] = {
    "cpu": ("torch", "torch_compile", "onnxruntime"),
    "cuda": ("torch", "torch_compile", "onnxruntime"),
    "rocm": ("torch", "torch_compile", "onnxruntime"),
    "mps": ("torch", "torch_compile"),
    "openvino": ("openvino", "onnxruntime"),
    "qnn": ("onnxruntime",),
    "webnn": ("onnxruntime_web",),
    "webgpu": ("onnxruntime_web",),
    "wasm": ("onnxruntime_web",),
    "fake": ("fake",),
}
"""The runtimes that can execute on a backend at all; the first is its default."""
IN_CHILDREN: frozenset[Runtime] = frozenset({"onnxruntime_web"})
"""Runtimes that execute in processes which the runner's starts, and not in its own."""

_Path = Literal["model", "backend", "runtime", "precision"]
_Size = Literal["batch_size", "sequence_length", "image_size", "audio_seconds", "new_tokens"]
_Work = Literal["mode", "scenario", "target_qps", "slo_ms", "threads", "workers"]
AxisName = Literal[_Path, _Size, _Work, "training_precision"]
_AxisKind = Literal["model", "choice", "size", "rate", "milliseconds", "count"]
"""`size`, `count`: whole numbers; `rate`: a number or `find_peak`; `milliseconds`: a number."""

FIND_PEAK: Literal["find_peak"] = "find_peak"
"""The word that stands for the highest rate that meets `slo_ms`."""

_Request = Mapping[AxisName, Any]
"""The value that a combination of the matrix asks for on each axis."""


@dataclass(frozen=True)
class Axis:
    """One axis: a field of `Cell`, a key of the matrix, an option of `bench`, a column of views."""

    name: AxisName  # the field and the key, e.g. `batch_size`
    kind: _AxisKind
    doc: str  # the meaning of one value, as the matrix' schema says it
    list_doc: str  # the meaning of a list of values, and the default
    help: str  # help of that option
    metavar: str | None = None  # the option's value in help, if its type does not say enough
    default: str | float | None = None  # where none is named; None if it follows from the model
    unnamed: str | None = None  # the words of help for it, if it is not the default itself
    choices: tuple[str, ...] = ()
    heading: str | None = None  # of its column in tables of results, if the name is too long
    phrase: str = "{}"  # the words for a value; `axis_words` knows the singular
    letter: str | None = None  # the letter of a size in a cell's id, e.g. `b`
    size_help: str | None = None  # help of its option of `models show`, if it has one
    of_model: bool = False  # True if models without this size ignore it
    applies: Callable[[_Request], bool] | None = None  # None: all have it, or those of `of_model`
    otherwise: str | int | None = None  # the value of cells that do not have the axis
    merges: str | None = None  # the reason why combinations that differ here can be one cell
    needs: str | None = None  # for a cell to have the axis; None if nothing is reported

    @property
    def option(self) -> str:
        """The option that lists its values, in every command, e.g. `--batch-size`."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def synonyms(self) -> tuple[str, ...]:
        """The key in the other number, which every command takes for it, e.g. `batch_sizes`."""
        singular = (self.name.removesuffix("s"),) if self.name.endswith("s") else ()
        return (*singular, f"{self.name}s")

    @property
    def full_help(self) -> str:
        """Help of the option of `bench`, its default included."""
        return self._with_default(self.help)

    @property
    def full_size_help(self) -> str:
        """The same of the option of `models show`."""
        return self._with_default(self.size_help or "")

    def _with_default(self, text: str) -> str:
        default = self.default if self.unnamed is None else self.unnamed
        shown = f"{default:g}" if isinstance(default, float) else default
        return text if shown is None else f"{text}  [default: {shown}]"


def _scenario(request: _Request) -> str:
    return str(request["scenario"]) if request["mode"] == "inference" else "single_stream"


def _is_server(request: _Request) -> bool:
    return _scenario(request) == "server"


AXES: tuple[Axis, ...] = (
    Axis(
        "model",
        "model",
        doc="Name of a model, or of a model set for all models in it.",
        list_doc="Names of models or of model sets, hub ids, folders with a config.json "
        "(./folder), or files of custom models (.yaml, .yml, .json).",
        help="Models, sets, hub ids, ./folders, or files of custom models.",
    ),
    Axis(
        "backend",
        "choice",
        doc="The hardware path.",
        list_doc="Hardware paths; cpu if not named.",
        help="Hardware paths.",
        unnamed="cpu, or the only one that has the runtime",
        default="cpu",
        choices=get_args(Backend),
    ),
    Axis(
        "runtime",
        "choice",
        doc="The software that executes the graph; `default` is the backend's own choice.",
        list_doc="The software that executes the graph; `default` is the backend's own choice.",
        help="Runtimes.",
        unnamed="the backend's own",
        default="default",
        choices=("default", *get_args(Runtime)),
    ),
    Axis(
        "precision",
        "choice",
        doc="Number format of weights and arithmetic.",
        list_doc="Number formats of weights and arithmetic; fp32 if not named.",
        help="Number formats.",
        default="fp32",
        choices=get_args(Precision),
    ),
    Axis(
        "batch_size",
        "size",
        heading="batch",
        phrase="batch {}",
        doc="Samples in one query.",
        list_doc="Samples in one query; 1 if not named.",
        help="Samples in a query, e.g. 1,2,4.",
        default=1,
        letter="b",
        size_help="Samples in one query.",
        applies=lambda request: _scenario(request) != "offline",
        otherwise=1,
        merges="offline finds its own batch_size",
    ),
    Axis(
        "sequence_length",
        "size",
        heading="tokens",
        phrase="{} tokens",
        doc="Tokens in one sample, those of the prompt.",
        list_doc="Tokens in one sample, those of the prompt; 128, or all it takes if less, "
        "if not named.",
        help="Tokens in a sample, e.g. 128,256.",
        default=128,
        letter="s",
        size_help="Tokens in one sample.",
        of_model=True,
        merges="it takes no sequence_length",
    ),
    Axis(
        "image_size",
        "size",
        heading="pixels",
        phrase="{} pixels",
        doc="Height and width of an image, pixels.",
        list_doc="Height and width of an image, pixels; the model's own if not named; "
        "not if it is fixed.",
        help="Pixels of an image's side, e.g. 224,448.",
        unnamed="the model's own",
        letter="i",
        size_help="Height and width, pixels.",
        of_model=True,
        merges="it takes no image_size",
        needs="a model for images of several sizes",
    ),
    Axis(
        "audio_seconds",
        "size",
        heading="seconds",
        phrase="{} s of sound",
        doc="Seconds of sound in one sample.",
        list_doc="Seconds of sound in one sample; the model's own if not named; "
        "not where it is fixed.",
        help="Seconds of sound in a sample, e.g. 5,10.",
        unnamed="the model's own",
        letter="a",
        size_help="Seconds.",
        of_model=True,
        merges="it takes no audio_seconds",
        needs="a model for sounds of any length",
    ),
    Axis(
        "new_tokens",
        "size",
        heading="new tokens",
        phrase="{} new tokens",
        doc="Tokens to generate for each sample.",
        list_doc="Tokens to generate for each sample; 32 if not named; mode generation alone.",
        help="Tokens to generate, e.g. 32,128; --mode generation alone.",
        default=32,
        letter="n",
        size_help="Tokens to generate.",
        applies=lambda request: request["mode"] == "generation",
        merges="only generation has new_tokens",
        needs="mode generation",
    ),
    Axis(
        "mode",
        "choice",
        doc="What is measured.",
        list_doc="What is measured; inference if not named.",
        help="What is measured.",
        default="inference",
        choices=get_args(Mode),
    ),
    Axis(
        "scenario",
        "choice",
        doc="How queries arrive.",
        list_doc="How queries arrive; single_stream if not named; the others are for mode "
        "inference alone.",
        help="single_stream, offline or server.",
        default="single_stream",
        choices=get_args(Scenario),
        applies=lambda request: request["mode"] == "inference",
        otherwise="single_stream",
        merges="only inference has a scenario",
        needs="mode inference",
    ),
    Axis(
        "target_qps",
        "rate",
        heading="offered q/s",
        phrase="{:g} queries/s",
        doc="Queries per second that scenario server offers, or find_peak.",
        list_doc="Queries per second that scenario server offers; find_peak, the highest, "
        "if not named.",
        help="Queries per second of scenario server.",
        metavar="QPS",
        default=FIND_PEAK,
        applies=_is_server,
        merges="only the scenario server has a target_qps",
        needs="scenario server",
    ),
    Axis(
        "slo_ms",
        "milliseconds",
        heading="slo ms",
        phrase="slo {:g} ms",
        doc="Milliseconds that 99 % of queries must meet at the rate sought.",
        list_doc="Milliseconds that 99 % of queries must meet at the rate sought; "
        "100 if not named.",
        help="What 99 % of queries must meet at the peak sought.",
        metavar="MS",
        default=100.0,
        applies=lambda request: _is_server(request) and request["target_qps"] == FIND_PEAK,
        merges="only a rate that is sought has an slo_ms",
        needs=f"scenario server and target_qps {FIND_PEAK}",
    ),
    Axis(
        "threads",
        "count",
        phrase="{} threads",
        doc="Threads of one operator, each on a CPU of its own.",
        list_doc="Threads of one operator; the physical cores of one NUMA node if not named.",
        help="Threads of one operator, e.g. 1,2,4.",
        unnamed="the physical cores of one NUMA node",
        letter="t",
    ),
    Axis(
        "workers",
        "count",
        phrase="{} workers",
        doc="Processes that load at once in mode startup.",
        list_doc="Processes that load at once in mode startup; as many as there are threads if not "
        "named.",
        help="Processes that load at once; --mode startup alone.",
        unnamed="as many as threads",
        letter="w",
        applies=lambda request: request["mode"] == "startup",
        merges="only startup has workers",
        needs="mode startup",
    ),
    Axis(
        "training_precision",
        "choice",
        heading="trained in",
        doc="Parameters in training: mixed keeps them in fp32, pure in the cell's bf16.",
        list_doc="Parameters in training in bf16: mixed, in fp32, if not named; or pure, in bf16.",
        help="mixed or pure; --mode training --precision bf16 alone.",
        default="mixed",
        choices=get_args(TrainingPrecision),
        applies=lambda request: request["mode"] == "training" and request["precision"] == "bf16",
        merges="only training in bf16 has a training_precision",
        needs="mode training in precision bf16",
    ),
)
AXIS_NAMES: tuple[AxisName, ...] = tuple(axis.name for axis in AXES)
"""The axes in their order, which is that of a cell's fields."""
SIZE_AXES: tuple[AxisName, ...] = tuple(axis.name for axis in AXES if axis.kind == "size")
NUMBER_AXES: tuple[AxisName, ...] = tuple(
    axis.name for axis in AXES if axis.kind not in ("model", "choice")
)
ARRIVAL_AXES: tuple[AxisName, ...] = ("scenario", "target_qps", "slo_ms")
QUESTION_AXES: tuple[AxisName, ...] = (
    *("mode", "scenario", "batch_size", "sequence_length", "image_size", "audio_seconds"),
    *("new_tokens", "target_qps", "slo_ms", "workers"),
)
"""The axes on which cells that are compared agree: the work, and none of what does it."""
COUNT_AXES: tuple[AxisName, ...] = tuple(axis.name for axis in AXES if axis.kind == "count")
"""Numbers of those that work; absent from an id where the machine decides."""
SIZE_LETTERS: tuple[tuple[str, AxisName], ...] = tuple(
    (axis.letter, axis.name) for axis in AXES if axis.letter is not None
)
"""The letters of sizes and counts in a cell's id."""
