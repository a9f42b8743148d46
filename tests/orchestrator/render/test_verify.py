"""A verification on the screen: models × paths, and why."""

import json
from datetime import date

import pytest

from orchestrator.render.verify import print_verified
from orchestrator.verification import Verified, VerifiedCell

Capture = pytest.CaptureFixture[str]


def a_cell(model: str, runtime: str, mark: str, reason: str | None = None) -> VerifiedCell:
    values = {
        "cell_id": f"{runtime}-{model}",
        "model": model,
        "backend": "cpu",
        "runtime": runtime,
        "precision": "fp32",
        "mode": "inference",
        "mark": mark,
        "reason": reason,
    }
    return VerifiedCell.model_validate(values)


FOUND = Verified(
    verified_on=date(2026, 11, 21),
    command="orchestrator verify",
    version="0.1.0",
    git_commit=None,
    launcher="process",
    machine="AMD EPYC",
    operating_system="Debian 12",
    libraries={},
    cells=(
        a_cell("bert-micro", "torch", "ok"),
        a_cell("bert-micro", "onnxruntime", "ok"),
        a_cell("qwen2-vl-micro", "torch", "ok"),
        a_cell("qwen2-vl-micro", "onnxruntime", "unsupported", "no prepared graph: a guard"),
    ),
)


def test_the_table_shows_every_model_on_every_path_and_the_reasons(capsys: Capture) -> None:
    print_verified(FOUND, as_json=False)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["model", "mode", "cpu", "torch", "cpu", "onnxruntime"]
    assert lines[1] == ["bert-micro", "inference", "ok", "ok"]
    assert lines[2] == ["qwen2-vl-micro", "inference", "ok", "unsupported", "[1]"]
    assert " ".join(lines[4]) == "[1] no prepared graph: a guard"
    assert " ".join(lines[5]) == "4 cells: 3 ok, 1 unsupported"
    assert lines[6][:3] == ["ok:", "works", "on"]


def test_as_json_it_is_what_is_saved(capsys: Capture) -> None:
    print_verified(FOUND, as_json=True)
    assert Verified.model_validate(json.loads(capsys.readouterr().out)) == FOUND
