"""`bench --backend available`: the machine's backends, each with lists of its own."""

from typing import Any

import pytest

from orchestrator.commands.options.axes import BenchOptions
from orchestrator.commands.options.bench_matrix import bench_matrix
from orchestrator.matrix.available import AvailableBackends
from orchestrator.planning.expand import expand
from runner.contract.errors import BenchError, NothingToDo, UsageError

HERE = AvailableBackends(
    "process", ["cpu", "cuda", "openvino"], {"qnn": "its time says nothing about a device"}
)
CHOSEN = "available by the process launcher: "
LEFT_OUT = "left out is qnn: its time says nothing about a device"


def matrix_of(axes: dict[str, str], *overrides: str, here: AvailableBackends = HERE) -> Any:
    """The matrix of bert-tiny and these options on everything that is available."""
    named = {"model": ["bert-tiny"], "backend": ["available"]}
    more = {axis: [text] for axis, text in axes.items()}
    return bench_matrix(BenchOptions.of_axes({**named, **more}), overrides, lambda: here)


def lists_of(matrix: Any) -> list[str]:
    axes = ("backend", "runtime", "precision", "batch_size")
    return [
        " ".join(",".join(map(str, lists[axis])) for axis in axes if axis in lists)
        for lists in matrix.products()
    ]


@pytest.mark.parametrize(
    ("axes", "overrides", "lists"),
    [
        ({}, (), ["cpu fp32,int8 1,8", "cuda fp32,bf16,fp16 1,8,32", "openvino fp32,int8 1,8"]),
        (
            {"precision": "fp16", "batch_size": "4"},
            ("backends.cuda.axes.batch_size=64",),
            ["cpu fp16 4", "cuda fp16 64", "openvino fp16 4"],
        ),
        ({"mode": "training"}, (), ["cpu fp32 1,8", "cuda fp32,bf16,fp16 1,8,32"]),
        ({"precision": "fp32"}, ("axes.backend=cuda",), ["cuda fp32"]),
    ],
)
def test_each_backend_has_its_own_lists_where_none_are_named(
    axes: dict[str, str], overrides: tuple[str, ...], lists: list[str]
) -> None:
    assert lists_of(matrix_of(axes, *overrides)) == lists


def test_every_default_is_a_cell_that_can_run() -> None:
    assert [reason for _, reason in expand(matrix_of({})).cells] == [None] * 17


def test_the_choice_is_told() -> None:
    assert matrix_of({}).notes == (f"{CHOSEN}cpu, cuda, openvino", LEFT_OUT)
    assert matrix_of({"runtime": "openvino"}).notes == (
        f"{CHOSEN}openvino",
        LEFT_OUT,
        "left out is cpu: it has no inference by runtime openvino",
        "left out is cuda: it has no inference by runtime openvino",
    )


@pytest.mark.parametrize(
    ("axes", "overrides", "error", "sentence"),
    [
        (
            {"backend": "cpu,available"},
            (),
            UsageError,
            "--backend: 'available' stands for every backend of this machine, so nothing is named ",
        ),
        (
            {"runtime": "onnxruntime_web"},
            (),
            NothingToDo,
            "--backend available: no backend can be measured by the process launcher: qnn: its ",
        ),
        ({}, ("axes.batch_size=0",), UsageError, "--set axes.batch_size=0: 0 is less than 1"),
    ],
)
def test_what_cannot_be_is_refused(
    axes: dict[str, str], overrides: tuple[str, ...], error: type[BenchError], sentence: str
) -> None:
    with pytest.raises(error) as caught:
        matrix_of(axes, *overrides)
    assert str(caught.value).startswith(sentence)


def test_a_machine_without_any_backend_has_nothing_to_do() -> None:
    with pytest.raises(NothingToDo, match="by the docker launcher: none runs here") as caught:
        matrix_of({}, here=AvailableBackends("docker", [], {}))
    assert "orchestrator doctor" in str(caught.value.hint)
