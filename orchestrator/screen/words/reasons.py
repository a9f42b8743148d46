"""Words of reasons and of errors, with what helps against them."""

from collections.abc import Iterator, Mapping
from functools import partial

from orchestrator.screen.words.lacks import OF_LACKS
from orchestrator.screen.words.refusals import OF_REFUSALS
from orchestrator.screen.words.remedies import (
    ENGINE,
    ENTRY,
    LARGER_REFERENCE,
    NOT_FINITE,
    OF_STATUS,
    SMALLER_PAGE,
    VERIFY,
)
from orchestrator.screen.words.templates import ReasonWords, Special, fill
from runner.contract.errors import BenchError, reason_of
from runner.contract.reasons import Reason, ReasonCode

OF_FAILURES: Mapping[ReasonCode, ReasonWords] = {
    "at_shape": ReasonWords("at {shape}, {cause:reason}"),
    "by_catalogue": ReasonWords("{cause:reason}, by the catalogue: {honest:reason}"),
    "caused_by": ReasonWords("{cause:reason}, caused by {root:reason}"),
    "clocks_disagree": ReasonWords(
        "processes disagree about the time here, so starts cannot be timed",
        "Measure starts on a machine with one clock.",
    ),
    "cold_start_died": ReasonWords(
        "a cold start [died by {signal}|ended with exit status {exit_status}]; its last words on"
        " stderr: [{words}|nothing]",
        "Measure what is missing: `orchestrator run --resume last`. Its last words tell what it"
        " lacked.",
    ),
    "engine_lost": ReasonWords("the container engine went away in phase {phase}", ENGINE),
    "folder_unreadable": ReasonWords("has a folder that nobody may look into"),
    "folders_too_deep": ReasonWords("nests folders deeper than {most}"),
    "gradients_zero": ReasonWords(
        "the gradients of {weights} were 0 in {steps:plural step}",
        "Train in fp32. If they are 0 there too, try another version of the runtime: nothing "
        "trains these layers.",
    ),
    "imported": ReasonWords(
        "{text}", "Others met this: measure it here with `orchestrator bench`."
    ),
    "job_limit": ReasonWords(
        "the job's own limit, which follows from the cell timeout, was over in phase {phase}"
    ),
    "job_refused": ReasonWords(
        "the runner refused the job: {words}",
        "The image or the environment is of another version: `orchestrator images build`.",
    ),
    "loss_not_finite": ReasonWords("the loss of step {step} is {loss}", NOT_FINITE),
    "maybe_rounding": ReasonWords(
        "the outputs differ from the fp32 reference by {difference:.2g} ({output}): rounding to "
        "{precision} may do that here, and so may a fault"
    ),
    "no_optimizer_step": ReasonWords("the optimizer took no step"),
    "no_reference": ReasonWords("no reference: {cause:reason}", LARGER_REFERENCE),
    "no_reference_given": ReasonWords("no reference: the launcher gave none", VERIFY),
    "not_compared": ReasonWords("not compared: {cause:reason}"),
    "not_done": ReasonWords("not done after {limit_s:g} s, in phase {phase}"),
    "not_finite": ReasonWords(
        "the outputs hold NaN or infinity, so the arithmetic cannot be trusted", NOT_FINITE
    ),
    "not_verified": ReasonWords("not verified: --no-verify", VERIFY),
    "nothing_left": ReasonWords("the runner ended well but left nothing that can be read"),
    "output_limit": ReasonWords(
        "ended in phase {phase}, since its output {cause:reason}",
        "If the job really writes so much, raise `limits.output`.",
    ),
    "output_too_large": ReasonWords("is larger than {most_bytes:size}"),
    "outputs_differ": ReasonWords(
        "the outputs differ from the fp32 reference by {difference:.2g} ({output}), {precision} "
        "is allowed {allowed:.2g}"
    ),
    "outputs_differ_at_worst": ReasonWords(
        "the outputs differ from the fp32 reference by {difference:.2g} at the worst position "
        "({output}), {precision} is allowed {allowed:.2g}"
    ),
    "outputs_differ_in_mean": ReasonWords(
        "the outputs differ from the fp32 reference by {difference:.2g} in the mean of positions "
        "({output}), {precision} is allowed {allowed:.2g}"
    ),
    "outputs_not_finite": ReasonWords("its outputs hold NaN or infinity", NOT_FINITE),
    "page_browser_ended": ReasonWords(
        "the page ended: {action}: the browser has ended", SMALLER_PAGE
    ),
    "page_ended": ReasonWords("the page ended: {words}", SMALLER_PAGE),
    "page_silent": ReasonWords("{action}: the page did not answer within {seconds:g} s"),
    "raised": ReasonWords("{kind}[: {text}]"),
    "record_damaged": ReasonWords("its record was damaged and lies in {file}"),
    "reference_not_computed": ReasonWords(
        "no reference: not computed", "Measure it again: it is computed anew."
    ),
    "runner_died": ReasonWords(
        "the runner [died by {signal}|ended with exit status {exit_status}] in phase {phase}[, "
        "saying: {words}]"
    ),
    "said": ReasonWords("{text}"),
    "shapes_differ": ReasonWords(
        "names or shapes differ: outputs {outputs}, reference {reference}", ENTRY
    ),
    "step_differs": ReasonWords(
        "in one training step the {where} differs from the fp32 reference by {difference:.2g}, "
        "{precision} is allowed {allowed:.2g}"
    ),
    "tokens_missing": ReasonWords("generated {generated} of {requested} tokens"),
    "tokens_shape": ReasonWords(
        "generated tokens of shape {shape} for {samples} samples of {requested} tokens"
    ),
    "too_many_files": ReasonWords("has more than {most:,} files"),
    "too_many_parameters": ReasonWords(
        "{model} has more than {most:,} parameters, too many for {precision}"
    ),
    "unlikely_tokens": ReasonWords(
        "{wrong} of {tokens} generated tokens are not the likeliest by its own logits"
    ),
    "weights_unchanged": ReasonWords(
        "{weights} did not change in {steps:plural step}",
        "Train in fp32, or with training_precision mixed.",
    ),
}


REASONS: Mapping[ReasonCode, ReasonWords] = {**OF_REFUSALS, **OF_LACKS, **OF_FAILURES}
"""The words of each code."""


def reason_text(reason: Reason) -> str:
    """The reason in words; one that this version does not know, by its code and facts."""
    words = REASONS.get(reason.code)
    return str(reason) if words is None else fill(words.text, reason.facts, behind(reason))


def behind(reason: Reason) -> Special:
    """Formats of facts that are reasons: a single one, or `name1`, `name2`… joined."""

    def single(name: str) -> str:
        cause = reason.behind(name)
        return reason_text(cause) if cause else "?"

    def several(separator: str, name: str) -> str:
        return separator.join(map(reason_text, _numbered(reason, name)))

    return {"reason": single, "lines": partial(several, "\n"), "semicolons": partial(several, "; ")}


def _numbered(reason: Reason, name: str) -> Iterator[Reason]:
    number = 1
    while cause := reason.behind(f"{name}{number}"):
        yield cause
        number += 1


def remedy_text(status: str, reason: Reason | None) -> str | None:
    """The remedy of a verdict, a sentence; None if nothing is to be done.

    Args:
        status: a status, or a verdict on what ended well.
        reason: the reason of the status, or of what is known about `correct`.
    """
    if status not in OF_STATUS:
        return None
    return (reason and _own_remedy(reason)) or OF_STATUS[status]


def _own_remedy(reason: Reason) -> str | None:
    """The remedy of the cause, which knows more, or of the reason."""
    words = REASONS.get(reason.code)
    if words is None:
        return None
    causes = (reason.behind("cause"), *_numbered(reason, "cause"), *_numbered(reason, "attempt"))
    remedies = (_own_remedy(cause) for cause in causes if cause)
    remedy = next(filter(None, remedies), words.remedy)
    return remedy and fill(remedy, reason.facts)


def error_text(error: BaseException) -> str:
    """The message of an error of ours; type and message of others."""
    return reason_text(reason_of(error))


def error_hint(error: BenchError) -> str | None:
    """The hint of an error: its own, or that of its reason."""
    words = REASONS.get(error.reason.code)
    hint = error.hint or (words and words.hint)
    return hint and fill(hint, error.reason.facts)
