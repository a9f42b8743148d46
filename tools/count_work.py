"""Count the work of every catalogued model: `python -m tools.count_work` writes `work.json`."""

import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from math import prod
from pathlib import Path
from typing import Any

import torch
from sympy import Matrix
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.flop_counter import flop_registry
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

import runner.contract.models
from runner.backends.graphs.feeds import next_position, position_ids, token_input
from runner.backends.torch.model import build_without_weights
from runner.contract.cell import Cell
from runner.contract.models import ModelSpec, catalogue, sizes_of
from runner.contract.models.spec import SizeName
from runner.contract.models.work import FACTOR_SIGN
from runner.inputs import Inputs, synthesise

Term = tuple[SizeName, ...]
Counts = dict[str, int]
WEIGHTS = "weights"
"""How the names of numbers that no size changes end."""

META = torch.device("meta")
CPU = torch.device("cpu")
INDEXED = (torch.ops.aten.index, torch.ops.aten.index_put, torch.ops.aten.index_put_)
FILE = Path(runner.contract.models.__file__).parent / "work.json"


class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counter of matrix products and convolutions over floating-point tensors without data.

    Integer tensors have data, since shapes may follow from them. An operation that mixes both gets
    all tensors without data.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.macs = 0
        self.activations = 0
        self._parameters = {_storage(weight): weight.numel() for weight in model.parameters()}
        self._read: set[int] = set()

    @property
    def weights(self) -> int:
        """Parameters that were read as a whole: of a table of embeddings only rows are."""
        return sum(self._parameters[storage] for storage in self._read)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        """Execute one operation, and count it."""
        packet = func._overloadpacket
        if packet not in flop_registry and func is not torch.ops.prim.device.default:
            with self:
                parts = func.decompose(*args, **(kwargs or {}))
                if parts is not NotImplemented:
                    return parts
        if packet in INDEXED:
            args = (args[0], list(chain.from_iterable(map(_indices, args[1]))), *args[2:])
        args, kwargs = _on_one_device(args, kwargs or {})
        if packet is not torch.ops.aten.embedding and not func.is_view:
            storages = {_storage(tensor) for tensor in _tensors((args, kwargs))}
            self._read |= storages & self._parameters.keys()
        out = func(*args, **kwargs)
        if packet in flop_registry:
            self.macs += flop_registry[packet](*args, **kwargs, out_val=out) // 2
            self.activations += sum(leaf.numel() for leaf in _tensors(out)[:1])
        return out


def _storage(tensor: torch.Tensor) -> int:
    """What a tensor shares with its views, and a weight with those tied to it."""
    return int(tensor.untyped_storage()._cdata)


def _on_one_device(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
    """The arguments, all without data if any of them is; new integer tensors get data."""
    if any(tensor.device == META for tensor in _tensors((args, kwargs))):
        args, kwargs = tree_map_only(torch.Tensor, lambda t: t.to(META), (args, kwargs))
        return args, {**kwargs, "device": META} if "device" in kwargs else kwargs
    dtype = kwargs.get("dtype")
    if kwargs.get("device") == META and not (dtype and dtype.is_floating_point):
        return args, {**kwargs, "device": CPU}
    return args, kwargs


def _indices(index: torch.Tensor | None) -> Sequence[torch.Tensor | None]:
    """The indices that a mask marks, if its values are known."""
    if index is not None and index.dtype == torch.bool and index.device == CPU:
        return index.nonzero(as_tuple=True)
    return (index,)


def _tensors(values: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


@torch.no_grad()
def count(spec: ModelSpec, model: Any, cell: Cell) -> Counts:
    """The work of one query, and of the parts of a generation where the model generates."""
    arrays = synthesise(spec, cell, 0)
    inputs = {
        name: tensor.to(META) if tensor.is_floating_point() else tensor
        for name, tensor in ((n, torch.from_numpy(v)) for n, v in arrays.items())
    }
    with Counter(model) as counter:
        outputs = model(**inputs, **spec.forward)
    forward = {
        "macs": counter.macs,
        "activations": counter.activations,
        "outputs": _float_elements(outputs),
        "weights": counter.weights,
    }
    return forward | (_generation(spec, model, inputs, arrays) if model.can_generate() else {})


def _generation(spec: ModelSpec, model: Any, inputs: Mapping[str, Any], arrays: Inputs) -> Counts:
    """The work of filling a cache, of the first step after it, and how both grow with a step.

    As transformers' own `generate` calls the model: logits of the last position alone.
    """
    name = token_input(spec)
    prompt = {**inputs, "use_cache": True}
    if spec.encoder_decoder:
        prompt[name] = inputs[name][:, :1]
    elif "logits_to_keep" in inspect.signature(model.forward).parameters:
        prompt["logits_to_keep"] = 1
    with Counter(model) as prefill:
        filled = model(**prompt)
    more: dict[str, Any] = {name: inputs[name][:, :1], "use_cache": True}
    if spec.encoder_decoder:
        more["encoder_outputs"] = BaseModelOutput(
            last_hidden_state=filled.encoder_last_hidden_state
        )
    else:
        more["position_ids"] = torch.from_numpy(next_position(position_ids(spec, arrays)))
    steps, elements = [], [_cached(filled.past_key_values)]
    for _ in range(2):
        with Counter(model) as step:
            filled = model(**more, past_key_values=filled.past_key_values)
        steps.append(step)
        elements.append(_cached(filled.past_key_values))
    return {
        "prefill_macs": prefill.macs,
        "prefill_weights": prefill.weights,
        "step_macs": steps[0].macs,
        "step_weights": steps[0].weights,
        "step_growth": steps[1].macs - steps[0].macs,
        "cache": elements[0],
        "cache_growth": elements[1] - elements[0],
    }


def _cached(cache: Any) -> int:
    """Elements of all keys and values; behind an encoder also those of its output."""
    if isinstance(cache, EncoderDecoderCache):
        return _cached(cache.self_attention_cache) + _cached(cache.cross_attention_cache)
    return sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)


def _float_elements(values: object) -> int:
    return sum(leaf.numel() for leaf in _tensors(values) if leaf.is_floating_point())


def fit(spec: ModelSpec) -> dict[str, dict[str, float]]:
    """Fit polynomials to the counts at as many shapes as they have terms."""
    terms, rows, counts, model = _terms(spec), Matrix(), [], build_without_weights(spec)
    for cell in _cells(spec):
        sizes = sizes_of(spec, cell)
        row = Matrix([[prod(sizes[name] for name in term) for term in terms]])
        if rows.col_join(row).rank() > rows.rows:
            rows = rows.col_join(row)
            counts.append(count(spec, model, cell))
    kinds = [kind for kind in counts[0] if not kind.endswith(WEIGHTS)]
    factors = rows.LUsolve(Matrix([[counted[kind] for kind in kinds] for counted in counts]))
    return {
        kind: {
            FACTOR_SIGN.join(term): _number(factors[i, kinds.index(kind)])
            for i, term in enumerate(terms)
            if factors[i, kinds.index(kind)]
        }
        if kind in kinds
        else {"": number}
        for kind, number in counts[0].items()
    }


def _terms(spec: ModelSpec) -> list[Term]:
    """The batch times the sizes that a sample may depend on: attention grows with their squares."""
    lengths: list[SizeName] = []
    if spec.takes_sequence:
        lengths.append("prompt_length" if spec.image_prompt else "sequence_length")
    if spec.audio_seconds:
        lengths.append("audio_seconds")
    if spec.image_prompt == "grid":
        lengths.append("image_patches")
    terms: list[Term] = [(), *((name,) * power for name in lengths for power in (1, 2))]
    if spec.image_prompt == "anyres":
        terms.append(("image_crops",))
    elif spec.image_prompt is None and spec.image_size:
        terms += [("image_size",) * 2, ("image_size",) * 4]
    if spec.contrastive:
        terms.append(("batch_size",))
    return [("batch_size", *term) for term in terms]


def _cells(spec: ModelSpec) -> Iterator[Cell]:
    """Cells whose shapes differ in every size of the terms."""
    axes = (
        (1, 2),
        (8, 16, 24) if spec.takes_sequence else (None,),
        *(
            [allowed.default * times for times in (1, 2, 3)] if allowed else (None,)
            for allowed in (spec.image_size, spec.audio_seconds)
        ),
    )
    for batch_size, sequence_length, image_size, audio_seconds in product(*axes):
        yield Cell(
            model=spec.name,
            backend="cpu",
            runtime="torch",
            precision="fp32",
            batch_size=batch_size,
            sequence_length=sequence_length,
            image_size=image_size,
            audio_seconds=audio_seconds,
            mode="inference",
        )


def _number(value: Any) -> float:
    return int(value) if value.is_integer else float(value)


def main() -> None:
    """Count all models of the catalogue and write `work.json`."""
    counted = {name: fit(spec) for name, spec in catalogue().items()}
    FILE.write_text(json.dumps(counted, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
