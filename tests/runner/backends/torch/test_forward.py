"""Looking into what a model returns."""

from collections import OrderedDict

import torch

from runner.backends.torch.forward import all_tensors, device_names, float_arrays, named_tensors


def test_outputs_are_named_by_their_path() -> None:
    one = torch.ones(1)
    outputs = OrderedDict(logits=one, hidden=(one, [one]), loss=None, text="no tensor")
    assert [name for name, _ in named_tensors(outputs)] == ["logits", "hidden.0", "hidden.1.0"]
    assert len(all_tensors(outputs)) == 3
    assert [name for name, _ in named_tensors((one, one))] == ["0", "1"]


def test_only_floating_outputs_that_are_no_caches_become_arrays() -> None:
    outputs = {
        "logits": torch.tensor([1.5], dtype=torch.bfloat16),
        "ids": torch.tensor([1]),
        "past_key_values": ((torch.ones(1), torch.ones(1)),),
    }
    arrays = float_arrays(outputs)
    assert {name: array.tolist() for name, array in arrays.items()} == {"logits": [1.5]}
    assert str(arrays["logits"].dtype) == "float32"


def test_tensors_on_several_devices_are_told() -> None:
    assert device_names([torch.ones(1), torch.ones(1, device="meta")]) == {"cpu", "meta"}
    assert device_names([]) == set()
