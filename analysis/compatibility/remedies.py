"""Remedies: what to do about the reason of a verdict, by status and a pattern of the reason."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.results.row import ResultRow


@dataclass(frozen=True)
class RemedyRule:
    """One remedy, and the reasons that it is for."""

    pattern: str
    """A regular expression that DuckDB understands too; empty for any reason."""
    remedy: str
    """A sentence; commands stand in backticks."""


_TORCH = (
    "Measure it with torch, which needs no graph, on a backend that has it, e.g."
    " `--backend cpu --runtime torch`."
)
_STACK = (
    "Install the backend's packages, e.g. `make cpu`, `make openvino` or `make browser`, or measure"
    " in its image with `--launcher docker`."
)
_DRIVER = (
    "Check the driver, and that this user may open the device; `orchestrator doctor` shows what a"
    " backend lacks."
)
_ANOTHER_GPU = "Name one of the GPUs that are there in ACCELMATRIX_DEVICE, or leave it out."
_IMAGE = (
    "Build the image with `orchestrator images build`, fetch it with `orchestrator images pull`,"
    " or measure without it: `--launcher process`."
)
_ENGINE = (
    "Start the container engine, then `orchestrator run --resume last`; or measure without it:"
    " `--launcher process`."
)
_RESUME = "Measure what is missing: `orchestrator run --resume last`."
_SIZES = "Name sizes that the model takes: `orchestrator models show` lists them."
_WEIGHTS = (
    "Put the weights back where the plan found them, or plan anew; `weights: random` needs none."
)
_ENTRY = "Correct the model's entry or its config, or update transformers if the model is newer."
_LOG = (
    "Read the trace beside its record, which the column `log` of `orchestrator query failures`"
    " names."
)
_MEMORY = (
    "Take a smaller batch, fewer tokens or a lower precision, or allow more memory:"
    " `--set limits.memory=…`."
)
_TIME = "Allow more time: `--set limits.cell_timeout=…`; or take a smaller batch or fewer tokens."
_ARITHMETIC = (
    "Do not quote its times. Take a higher precision or another runtime, and try again with"
    " `orchestrator verify`."
)
_NOT_FINITE = (
    "Take a higher precision: fp32, or bf16 in the place of fp16; if fp32 does it too, look at the"
    " weights."
)
_REFERENCE = "Give the reference more memory or time: `limits.memory`, `limits.cell_timeout`."

REMEDIES: Mapping[str, Sequence[RemedyRule]] = {
    "unsupported": (
        RemedyRule(
            "^generation is not possible with .*: its task is|cannot generate tokens",
            "Measure its inference: `orchestrator models list` shows which models write tokens.",
        ),
        RemedyRule(
            "no labels to learn from|training needs labels|cannot be trained without labels",
            "Measure its inference, or give the model's entry labels to learn from.",
        ),
        RemedyRule(
            "compares the samples of a batch", "Train it with `--batch-size 2` or a larger one."
        ),
        RemedyRule(
            "^training is not possible in ", "Train in fp32 or bf16: `--precision fp32,bf16`."
        ),
        RemedyRule("leave the range of fp16", "Train in bf16, whose range is that of fp32."),
        RemedyRule(
            "^(generation|training|startup) is not possible with"
            "|cannot measure .* with|^torch cannot train",
            "Measure this mode with torch, e.g. `--backend cpu --runtime torch`: docs/supported.md"
            " lists what each runtime can do.",
        ),
        RemedyRule(
            "does not execute on|has no runner for|^the runtime .* has no device for backend",
            "Leave `--runtime` out, or name one that the backend has.",
        ),
        RemedyRule(
            "torch quantises linear layers|would not become int8|executes no product of the int8"
            "|a start in int8",
            "Take a precision with a point: `--precision fp32` or bf16.",
        ),
        RemedyRule(
            " is not possible with|cannot run .* with|^OpenVINO computes in",
            "Take another precision or runtime: docs/supported.md lists what each has.",
        ),
        RemedyRule(
            " takes [A-Za-z_]+ of |takes at most|generates at most",
            _SIZES,
        ),
        RemedyRule(
            "^input .* needs a|^generation needs new_tokens",
            "Name the size that is missing, e.g. `--sequence-length` or `--new-tokens`.",
        ),
        RemedyRule(
            "threads were asked for",
            "Ask for fewer `--threads`, or give the job more CPUs: `--set limits.cpus=…`.",
        ),
        RemedyRule(
            "lets operators run on the CPU unseen",
            "Unset PYTORCH_ENABLE_MPS_FALLBACK, so that the device does all the work.",
        ),
        RemedyRule(
            "found nothing to compile", "Measure it with `--runtime torch`: it would run eagerly."
        ),
        RemedyRule(
            "^no prepared graph: (the launcher gave none|not (exported|computed))"
            "|^the prepared graph .* (is damaged|cannot be read|is no folder|is another one"
            "|names a file elsewhere)|^the prepared graph (names weights at|[^ ]*: )",
            "Measure it again: the graph is exported anew.",
        ),
        RemedyRule("^no prepared graph: ", _TORCH),
        RemedyRule(
            "^ONNX Runtime has no kernel|cannot take the graph|takes no node of the graph"
            "|^OpenVINO cannot|has no part that extends a cache|which nothing gives"
            "|^the graph declares|prompts without padding|writes no graphs that take caches"
            "|makes constants of the images' sizes|graphs of one part alone"
            "|has no decoder_start_token_id|refuses the graph: ",
            _TORCH,
        ),
        RemedyRule(
            "gives no output that could be checked|gives no tensor that could be checked",
            "Give the model's entry an architecture whose outputs are tensors.",
        ),
        RemedyRule(
            "transformers cannot build|in its config$|its config.json says|its weights lack"
            "|has no `high`",
            _ENTRY,
        ),
        RemedyRule(
            "of WebAssembly's memory",
            "Take a smaller model, batch or precision, or measure the same graph with"
            " `--backend cpu --runtime onnxruntime`.",
        ),
        RemedyRule(
            "has no profiler whose times", "Trace it with `--runtime onnxruntime`: the same graph."
        ),
        RemedyRule("", "docs/supported.md lists what this release can measure."),
    ),
    "unavailable": (
        RemedyRule(
            "^the software adapter|gives no WebGPU adapter",
            "Check it without timing: `orchestrator verify --backend webgpu`; for times, measure in"
            " a browser that reaches a GPU, or those of the software adapter itself by"
            " ACCELMATRIX_DEVICE=webgpu=software.",
        ),
        RemedyRule(
            "there is no browser|has no WebNN|does not isolate the page",
            "Take another browser: ACCELMATRIX_BROWSER, or none for that of `make browser`.",
        ),
        RemedyRule(
            "a page's server cannot have",
            "End what holds the port, which `ss -ltnp` names.",
        ),
        RemedyRule(
            "^the browser.* does not start",
            "Install what it lacks, e.g. libnss3, libnspr4, libexpat1 and libatomic1, or measure in"
            " the image with `--launcher docker`.",
        ),
        RemedyRule(
            "time says nothing about a device",
            "Check it without timing: `orchestrator verify --backend qnn`; for times, measure on a"
            " device that has the accelerator.",
        ),
        RemedyRule(
            "exists on .* alone, and this is",
            "Measure on such a machine, then bring the results here: `orchestrator merge`.",
        ),
        RemedyRule("no container can reach this device", "Measure it with `--launcher process`."),
        RemedyRule(
            "^(not started|stopped after round)",
            "Measure the rest: `orchestrator run --resume last`; allow more time by `--budget`.",
        ),
        RemedyRule(
            "needs a C\\+\\+ compiler|needs Python's headers",
            "Install g++ and Python's headers (python3-dev), or measure in the image, which holds"
            " both.",
        ),
        RemedyRule(
            "which is not installed here|package .* is not installed|cannot be used: "
            "|is built without|built for the CPU|has no CUDAExecutionProvider"
            "|^torch [^ ]+ is ",
            _STACK,
        ),
        RemedyRule("GPUs? of|is not one of the GPUs|has no device .*, only", _ANOTHER_GPU),
        RemedyRule(
            "^backend [A-Za-z]+: |^NVML (does not answer|finds no GPU)|finds no device"
            "|made a session without|library cannot be loaded|^onnxruntime has no",
            _DRIVER,
        ),
        RemedyRule(
            "may not be read by the jobs' user|the engine is rootless",
            "Let the jobs' user read the folder (`chmod -R o+rX FOLDER`), or call the orchestrator"
            " as the user who owns engine and files.",
        ),
        RemedyRule(
            "^the engine (ignores|refuses)",
            "Measure with another engine or `--launcher process`; `orchestrator doctor` tells what"
            " each backend needs.",
        ),
        RemedyRule(
            "^image |image (of AccelMatrix|not verified|with the digest)|^job [^ ]+: "
            "|build's log"
            "|cannot be (built|pulled|pushed): |^Step [0-9]|free disk",
            _IMAGE,
        ),
        RemedyRule(
            "engine|docker context|DOCKER_HOST|leftover containers|exit status is unknown", _ENGINE
        ),
        RemedyRule(
            "^its graph could not be exported",
            "Give the export more memory or time (`limits.memory`, `limits.cell_timeout`), then"
            " `orchestrator run --resume last`.",
        ),
        RemedyRule("holds the weights|its weights cannot be loaded|^/|^[.~]", _WEIGHTS),
        RemedyRule(
            "energy|RAPL|hwmon|GPUs, so the one at work|which of them works is known|powercap|drm",
            "Measure on the machine itself, by a user who may read its counters, with one GPU"
            " visible.",
        ),
        RemedyRule("", "`orchestrator doctor` shows what the backend lacks here."),
    ),
    "out_of_memory": (RemedyRule("", _MEMORY),),
    "timeout": (RemedyRule("", _TIME),),
    "lost": (
        RemedyRule("engine went away", _ENGINE),
        RemedyRule("", f"{_RESUME} If it dies again, its log in the run's `logs/` tells why."),
    ),
    "failed": (
        RemedyRule(
            "^the runner refused the job",
            "The image or the environment is of another version: `orchestrator images build`.",
        ),
        RemedyRule(
            "^ended in phase .*, since its output",
            "If the job really writes so much, raise `limits.output`.",
        ),
        RemedyRule("NaN or infinity|^the loss of step", _NOT_FINITE),
        RemedyRule("did not change in", "Train in fp32, or with training_precision mixed."),
        RemedyRule(
            "the gradients of .* were 0 in",
            "Train in fp32. If they are 0 there too, try another version of the runtime: nothing"
            " trains these layers.",
        ),
        RemedyRule(
            "^the page ended",
            "Measure it again; if the page ends each time, take a smaller batch or model.",
        ),
        RemedyRule(
            "processes disagree about the time", "Measure starts on a machine with one clock."
        ),
        RemedyRule("^a cold start ", f"{_RESUME} Its last words tell what it lacked."),
        RemedyRule("^generated ", _LOG),
        RemedyRule("^loadgen: ", "By MLPerf's rules its numbers do not count: measure it here."),
        RemedyRule("", _LOG),
    ),
    "contradicted": (
        RemedyRule("", "Make the device visible: `orchestrator doctor` shows what it lacks."),
    ),
    "unproven": (RemedyRule("", "Measure with a runtime that shows where its work is done."),),
    "partial": (
        RemedyRule(
            "",
            "The device lacks operators of the graph, or waits for the CPU: a larger batch or"
            " another runtime may give it all the work.",
        ),
    ),
    "wrong": (
        RemedyRule("names or shapes differ", _ENTRY),
        RemedyRule("", _ARITHMETIC),
    ),
    "unverified": (
        RemedyRule("the launcher gave none", "Measure it without `--no-verify`."),
        RemedyRule("^no reference: not computed", "Measure it again: it is computed anew."),
        RemedyRule("^no reference: .*(NaN or infinity)", _NOT_FINITE),
        RemedyRule("^no reference: ", _REFERENCE),
        RemedyRule(
            "",
            "Its outputs are compared at a shape of their own, which failed: try that alone with"
            " `orchestrator verify`.",
        ),
    ),
}
"""The remedies by status, the first whose pattern occurs in the reason.

Beside the statuses there are verdicts on results that ended well; the reasons of `wrong` and
`unverified` are those of `correct`."""

FOREIGN_REMEDY = "Others met this: measure it here with `orchestrator bench`."
"""The remedy of whatever imported files say."""


def remedy_rule(status: str, reason: str | None) -> RemedyRule | None:
    """The rule for this verdict; None for a status that needs no remedy."""
    for rule in REMEDIES.get(status, ()):
        if re.search(rule.pattern, reason or ""):
            return rule
    return None


def remedy_of(status: str, reason: str | None) -> str | None:
    """The remedy of this verdict, a sentence; None if nothing is to be done.

    Args:
        status: a status, or a verdict on what ended well.
        reason: the reason of the status, or of what is known about `correct`.
    """
    rule = remedy_rule(status, reason)
    return rule.remedy if rule else None


def remedy_for(row: ResultRow) -> str | None:
    """The remedy of a result that is not sound; None if nothing is to be done."""
    if row.status != "ok":
        return remedy_of(row.status, row.reason)
    if row.correct or row.correct_reason is None:
        return None
    return remedy_of("unverified" if row.correct is None else "wrong", row.correct_reason)
