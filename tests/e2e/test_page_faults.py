"""An output that glibc gives back to the kernel: its doubt, and what helps, as it is printed."""

import json
import re

import pytest

from orchestrator.screen.words.doubts import remedy_of
from orchestrator.store.records.validate import read_record
from runner.contract.record.record import Record
from tests.support.workplace import Workplace

pytestmark = pytest.mark.slow

WIDE = {
    "model_type": "bert",
    "architectures": ["BertForMaskedLM"],
    "vocab_size": 60_000,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 1,
    "intermediate_size": 8,
    "max_position_embeddings": 64,
}
"""At batch 4 and 64 tokens its logits have 61 MB."""
BENCH = (
    *("bench", "--model", "./wide", "--runtime", "torch", "--batch-size", "4"),
    *("--sequence-length", "64", "--launcher", "process", "--profile", "quick", "--no-verify"),
    *("--set", "measure.warmup_max_duration=1s", "--set", "measure.min_duration=1s"),
    *("--set", "measure.max_duration=2s"),
)


def measured(user: Workplace, *options: str) -> Record:
    done = user.do(*BENCH, *options)
    assert done.returncode == 0, done.stderr
    (path,) = user.records()
    return read_record(path)


def test_page_faults_of_a_large_output_are_doubted_and_the_remedy_ends_them(
    user: Workplace,
) -> None:
    (user.folder / "wide").mkdir()
    (user.folder / "wide/config.json").write_text(json.dumps(WIDE))
    usual = measured(user)
    (doubt,) = [doubt for doubt in usual.doubts or () if doubt.code == "page_faults"]
    assert doubt.grade == "B"
    quoted = re.findall(r"`(?:export )?([^`]+)`", remedy_of(doubt))
    assert len(quoted) == 2
    user.environment |= dict(word.split("=") for word in quoted[0].split())
    kept = measured(user, *quoted[1].split())
    assert (kept.environment_variables or {}).items() >= user.environment.items()
    assert "page_faults" not in {doubt.code for doubt in kept.doubts or ()}
    assert usual.page_faults is not None
    assert kept.page_faults is not None
    assert usual.page_faults > 10 * kept.page_faults + 10
