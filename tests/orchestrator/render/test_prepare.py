"""Prepared graphs on the screen."""

import json
from dataclasses import replace

import pytest

from orchestrator.prepare import Prepared
from orchestrator.render.prepare import print_prepared

Capture = pytest.CaptureFixture[str]
MADE = Prepared("bert-tiny", "forward", "fp32", "dynamic", "dynamic shapes", 1.5e-7, 2 << 20, 4.51)
FAILED = Prepared("qwen2-vl", "forward", "fp32", "b1", failure="dynamic shapes: a guard\nparts: no")


def test_every_graph_has_a_row_and_every_failure_one_line(capsys: Capture) -> None:
    print_prepared([MADE, FAILED, replace(FAILED, shape="b2")], as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == [
        *("model", "content", "numbers", "shape", "exported", "by", "difference", "size", "seconds")
    ]
    assert lines[1].split()[4:] == ["dynamic", "shapes", "1.5e-07", "2MiB", "4.51"]
    assert lines[2].split()[4:] == ["failed", "–", "–", "–"]
    assert lines[4:] == [
        "",
        "qwen2-vl (forward, fp32): dynamic shapes: a guard; parts: no",
        "1 of 3 graphs at hand",
    ]


def test_as_json_it_is_the_same_data(capsys: Capture) -> None:
    print_prepared([MADE, FAILED], as_json=True)
    made, failed = json.loads(capsys.readouterr().out)
    assert (made["remedy"], made["size_bytes"]) == ("dynamic shapes", 2 << 20)
    assert (failed["remedy"], failed["failure"]) == (None, "dynamic shapes: a guard\nparts: no")
