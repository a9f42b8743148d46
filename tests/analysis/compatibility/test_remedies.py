"""Every reason that the runner and the orchestrator can write has a remedy of its own."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import get_args

import duckdb
import pyarrow as pa
import pytest

from analysis.compatibility.remedies import REMEDIES, remedy_of, remedy_rule
from orchestrator.planning.memory import beyond_wasm, shortage
from orchestrator.store import RELATIONS
from runner.contract.axes import Backend, Mode, Precision, Runtime
from runner.contract.job import Limits
from runner.contract.models import catalogue
from runner.contract.record import Status
from runner.contract.support import why_not
from tests.docs.command_line import parse
from tests.support.jobs import fake_cell
from tests.support.reasons import UNKNOWN, WrittenReason, written_reasons

FOR_ANY_REASON = {"out_of_memory", "timeout", "lost"}
"""Statuses whose last remedy helps whatever the reason is."""
OF_GRAPHS = ("runner/export/", "runner/contract/artifact_keys.py")
OF_REFERENCES = ("runner/correctness/reference.py", "runner/correctness/honest.py")
OF_CORRECT = "runner/correctness/verify.py"
PASSED_ON: Mapping[tuple[str, str], Sequence[str]] = {
    ("runner/contract/weights.py", "weights_folder"): (
        "/models/mine: No such file or directory",
        "/models/mine/config.json: is a link",
    ),
    ("runner/measure/vendors/intel.py", "_counter"): (
        "/sys/class/drm/card0/hwmon/hwmon3/energy1_input: Permission denied",
    ),
    ("orchestrator/backends/machine.py", "require_stack"): (
        "backend mps exists on macOS alone, and this is Linux",
    ),
    ("orchestrator/images/build.py", "follow"): (
        "Step 4/9 : RUN pip install: The command returned a non-zero code: 1",
    ),
    ("orchestrator/images/build.py", "image_errors"): (
        "accelmatrix/cpu:0.1.0: cannot be built: no space left on device",
        "ghcr.io/somebody/cpu:0.1.0: cannot be pulled: not found",
    ),
    ("orchestrator/system/engine.py", "engine_errors"): (
        "no container engine answers at unix:///var/run/docker.sock: Connection refused",
        "accelmatrix/cpu:0.1.0: the engine went away: Connection aborted",
    ),
}
"""Reasons that hold hardly a word of the call itself, as users saw them."""


def own_words(reason: WrittenReason) -> bool:
    return len(re.sub(rf"\b{UNKNOWN}\b|\W", "", reason.text or "")) > 2


def verdicts() -> Iterator[tuple[str, str]]:
    """Every status with a reason that calls of the source write."""
    for reason in written_reasons():
        texts = (
            [str(reason.text)] if own_words(reason) else PASSED_ON[reason.module, reason.function]
        )
        for text in texts:
            if reason.module.startswith(OF_GRAPHS):
                yield "unsupported", f"no prepared graph: torch in fp32: {text}"
            elif reason.module in OF_REFERENCES:
                yield "unverified", f"no reference: {text}"
            else:
                status = "unverified" if reason.module == OF_CORRECT else reason.status
                yield status, text


def refusals() -> Iterator[tuple[str, str]]:
    """Cells that cannot exist or do not fit, refused before anything is launched."""
    cells = (
        fake_cell(model=name, backend=backend, runtime=runtime, mode=mode, precision=precision)
        for name in ("bert-micro", "gpt2-micro", "clip-micro")
        for backend, runtime, mode, precision in product(
            get_args(Backend), get_args(Runtime), get_args(Mode), get_args(Precision)
        )
    )
    larger = fake_cell(model="gpt2-micro", sequence_length=10**6)
    for cell in (*cells, larger):
        if reason := why_not(cell, catalogue()[cell.model]):
            yield "unsupported", reason
    lack = shortage(larger, catalogue()["gpt2-micro"], Limits(memory_bytes=1), None)
    yield "out_of_memory", f"predicted: {lack}"
    web = fake_cell(model="qwen2-vl-2b", backend="wasm", runtime="onnxruntime_web")
    yield "unsupported", f"predicted: {beyond_wasm(web, catalogue()['qwen2-vl-2b'])}"


_ANY = {
    "--runtime": "torch",
    "--budget": "5m",
    **dict.fromkeys(("--threads", "--sequence-length", "--new-tokens"), "8"),
}
"""A value of options that remedies name without one."""
OTHERS = (
    ("unavailable", "not started: --fail-fast ended the run at its first failure"),
    ("unavailable", "stopped after round 2: the budget of 5m was spent"),
    ("unavailable", "the HTP simulator's time says nothing about a device: `orchestrator verify`"),
    ("failed", "a cold start died by SIGSEGV; its last words on stderr: nothing"),
    ("failed", "loadgen: the result is INVALID"),
    ("wrong", "names or shapes differ: outputs a [2], reference a [3]"),
    ("unverified", "no reference: killed for exceeding the memory limit, in phase load"),
)
"""Reasons that are put together before a call takes them."""


def test_every_reason_has_a_remedy_of_its_own() -> None:
    known = {*verdicts(), *refusals(), *OTHERS}
    assert len(known) > 200
    lacking = [
        (status, reason)
        for status, reason in known
        if status not in FOR_ANY_REASON
        and not ((rule := remedy_rule(status, reason)) and rule.pattern)
    ]
    assert lacking == []


def test_every_rule_is_the_first_for_some_reason() -> None:
    used = {remedy_rule(status, reason) for status, reason in (*verdicts(), *refusals(), *OTHERS)}
    rules = {rule for rules in REMEDIES.values() for rule in rules if rule.pattern}
    assert rules - used == set()


def test_a_reason_that_nobody_foresaw_has_the_remedy_of_its_status() -> None:
    for status in {*get_args(Status), "wrong", "unverified"} - {"ok"}:
        assert remedy_of(status, "something else"), status
        assert remedy_of(status, None), status
    assert remedy_of("ok", None) is None


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        ("unsupported", "vit takes at most 8 tokens, not 9", "`orchestrator models show`"),
        ("out_of_memory", "predicted: needs at least 3 GB of memory", "limits.memory"),
        ("timeout", "not done after 60 s, in phase steady", "limits.cell_timeout"),
        ("lost", "the container engine went away in phase load", "Start the container engine"),
        ("failed", "RuntimeError: broken", "trace"),
        ("unverified", "no reference: the launcher gave none", "`--no-verify`"),
    ],
)
def test_remedies_fit_their_reasons(status: str, reason: str, words: str) -> None:
    assert words in str(remedy_of(status, reason))


def test_commands_in_remedies_exist() -> None:
    remedies = [rule.remedy for rules in REMEDIES.values() for rule in rules]
    commands = re.findall(r"`orchestrator ([^`]*)`", " ".join(remedies))
    assert commands
    for command in commands:
        parse(shlex.split(command))
    for option in re.findall(r"`(--[^`]*)`", " ".join(remedies)):
        flag, *values = shlex.split(option)
        parse(["bench", "--model", "bert-tiny", flag, *(values or filter(None, [_ANY.get(flag)]))])


def test_the_database_finds_the_same_remedies() -> None:
    (failures,) = (relation for relation in RELATIONS if relation.name == "failures")
    known = sorted({*verdicts(), *refusals(), *OTHERS})
    statuses, reasons = zip(*known, strict=True)
    sources = ["accelmatrix"] * len(known)
    rows = pa.table({"status": statuses, "reason": reasons, "source": sources})  # noqa: F841, which DuckDB reads
    remedies = duckdb.sql(f"SELECT {failures.added['remedy']} FROM rows").fetchall()
    assert [remedy for (remedy,) in remedies] == [remedy_of(*verdict) for verdict in known]
