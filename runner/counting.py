"""Work of a model's passes, counted without data, as polynomials in the sizes of a query, which are
fitted to counts at a few shapes and compared at another.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, product
from math import isclose, prod
from typing import Any

import torch
from sympy import Matrix
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only
from torch.utils.flop_counter import flop_registry
from transformers.cache_utils import EncoderDecoderCache
from transformers.modeling_outputs import BaseModelOutput

from runner.backends.graphs.feeds import (
    LOGITS_TO_KEEP,
    POSITIONS,
    next_position,
    position_ids,
    token_input,
)
from runner.backends.torch.model import build_without_weights
from runner.contract.artifact_keys import COUNTS, fingerprint
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, reason_of
from runner.contract.models import AxisRange, ModelSpec, sizes_of
from runner.contract.models.counted import MOST_REASON, CountedWork, Term, term_text, terms_of
from runner.contract.models.work import counts_of
from runner.contract.reasons import Reason, reason
from runner.contract.support import why_not_shape
from runner.inputs import Inputs, synthesise

_META, _CPU = torch.device("meta"), torch.device("cpu")
_INDEXED = (torch.ops.aten.index, torch.ops.aten.index_put, torch.ops.aten.index_put_)
PassCounts = dict[str, int]
"""Numbers of one shape, by the names that `runner.contract.models.work` explains."""
Fit = dict[str, dict[str, float]]
"""Factors by term, by the name of what is counted."""
_BATCH_SIZES, _OTHER_BATCH_SIZES = (1, 2), (3,)
_LENGTHS, _OTHER_LENGTHS = (8, 16, 24, 4, 2, 1), (21, 13, 5, 3, 2, 1)
_TIMES = (1, 2, 3)
"""Multiples of the default size of an image or a sound."""
_TOLERANCE = 1e-3
"""Relative difference from a count that a polynomial may have, as by a pixel at an edge."""
_VALUELESS = ("meta tensor", "Meta tensor", "data-dependent")
"""Words of torch's errors where a result depends on values, as there are none."""


class Uncountable(BenchError):
    """The work of a model follows no rule that counts at a few shapes would tell."""


def count_work(spec: ModelSpec) -> CountedWork:
    """Everything that can be counted of a model, and the reason for what cannot."""
    try:
        model = build_without_weights(spec)
        _refuse_experts(spec, model)
        parameters = sum(weight.numel() for weight in model.parameters())
        counted: Fit = {"parameters": {"": parameters}, **fit_forward(spec, model)}
    except Exception as error:  # a model may raise anything
        return _counted({}, _reason(error))
    try:
        return _counted(counted | fit_generation(spec, model))
    except Exception as error:
        return _counted(counted, reason("generation_uncounted", cause=_reason(error)))


def fit_forward(spec: ModelSpec, model: Any) -> Fit:
    return _fit(spec, partial(count_forward, spec, model))


def fit_generation(spec: ModelSpec, model: Any) -> Fit:
    """The polynomials of the parts of a generation; empty for a model that doesn't generate."""
    return _fit(spec, partial(count_generation, spec, model)) if model.can_generate() else {}


def _counted(polynomials: Fit, reason: Reason | None = None) -> CountedWork:
    return CountedWork(counted_by=fingerprint(COUNTS), polynomials=polynomials, reason=reason)


def _reason(error: Exception) -> Reason:
    """The error with the first line of its text; that it is about values comes first."""
    cause = reason_of(error)
    if cause.code == "raised":
        line = next(iter(str(error).splitlines()), "")[:MOST_REASON]
        cause = reason("raised", kind=type(error).__name__, text=line or None)
    if any(words in str(error) for words in _VALUELESS):
        return reason("depends_on_values", cause=cause)
    return cause


def _refuse_experts(spec: ModelSpec, model: Any) -> None:
    """Refuse mixtures of experts: which of them a query reads follows from values."""
    names = (type(module).__name__ for module in model.modules())
    if experts := next((name for name in names if name.endswith("Experts")), None):
        raise Uncountable(reason("experts_by_values", model=spec.name, experts=experts))


def _fit(spec: ModelSpec, count: Callable[[Cell], PassCounts]) -> Fit:
    """Fit at as many shapes as there are terms, and see that it holds at one more."""
    terms, rows, counts = terms_of(spec), Matrix(), list[PassCounts]()
    for cell in _cells(spec, _BATCH_SIZES, _LENGTHS, _sizes_to_fit):
        sizes = sizes_of(spec, cell)
        row = Matrix([[prod(sizes[name] for name in term) for term in terms]])
        if rows.rows < len(terms) and rows.col_join(row).rank() > rows.rows:
            rows = rows.col_join(row)
            counts.append(count(cell))
    other = next(_cells(spec, _OTHER_BATCH_SIZES, _OTHER_LENGTHS, _other_sizes), None)
    if rows.rows < len(terms) or other is None:
        raise Uncountable(reason("too_few_shapes", model=spec.name))
    fitted = _solved(terms, rows, counts)
    expected = counts_of(spec, other, fitted) or {}
    for name, number in count(other).items():
        fit = expected.get(name, 0)
        if not isclose(fit, number, rel_tol=_TOLERANCE):
            facts = {"model": spec.name, "shape": other.shape, "count": name}
            raise Uncountable(reason("no_polynomial", **facts, number=number, expected=fit))
    return fitted


def _solved(terms: Sequence[Term], rows: Any, counts: Sequence[PassCounts]) -> Fit:
    kinds = [kind for kind in counts[0] if not kind.endswith("weights")]  # no size changes those
    factors = rows.LUsolve(Matrix([[counted[kind] for kind in kinds] for counted in counts]))
    fitted: Fit = {kind: {"": number} for kind, number in counts[0].items()}
    for column, kind in enumerate(kinds):
        values = {term_text(term): factors[row, column] for row, term in enumerate(terms)}
        fitted[kind] = {
            term: int(value) if value.is_integer else float(value)
            for term, value in values.items()
            if value
        }
    return fitted


def _cells(
    spec: ModelSpec,
    batch_sizes: Sequence[int],
    lengths: Sequence[int],
    media: Callable[[AxisRange], Sequence[int]],
) -> Iterator[Cell]:
    """Cells of those sizes that the model takes; `media` gives those of an image or a sound."""
    ranges = (spec.image_size, spec.audio_seconds)
    sizes = [(None,) if allowed is None else media(allowed) for allowed in ranges]
    shapes = product(batch_sizes, lengths if spec.takes_sequence else (None,), *sizes)
    for batch_size, sequence_length, image_size, audio_seconds in shapes:
        cell = Cell(
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
        if why_not_shape(cell, spec) is None:
            yield cell


def _sizes_to_fit(allowed: AxisRange) -> Sequence[int]:
    step = allowed.multiple_of
    least = -(-allowed.least // step) * step
    fewest = (least + step * number for number in range(len(_TIMES)))
    return [*(allowed.default * times for times in _TIMES), *fewest]


def _other_sizes(allowed: AxisRange) -> Sequence[int]:
    return [allowed.default + allowed.multiple_of, allowed.default * 4, allowed.default]


class _WorkCounter(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts products and convolutions of floating-point tensors without data; integers have data,
    since shapes may follow from them.
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
        packet = func._overloadpacket
        if packet not in flop_registry and func is not torch.ops.prim.device.default:
            with self:
                parts = func.decompose(*args, **(kwargs or {}))
                if parts is not NotImplemented:
                    return parts
        if packet in _INDEXED:
            args = (args[0], list(chain.from_iterable(map(_indices, args[1]))), *args[2:])
        args, kwargs = _on_one_device(args, kwargs or {})
        if packet is not torch.ops.aten.embedding and not func.is_view:
            storages = {_storage(tensor) for tensor in _tensors_in((args, kwargs))}
            self._read |= storages & self._parameters.keys()
        out = func(*args, **kwargs)
        if packet in flop_registry:
            self.macs += flop_registry[packet](*args, **kwargs, out_val=out) // 2
            self.activations += sum(leaf.numel() for leaf in _tensors_in(out)[:1])
        return out


def _tensors_in(values: object) -> list[torch.Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)]


def _storage(tensor: torch.Tensor) -> int:
    """The memory that a tensor shares with its views, and a weight with those tied to it."""
    return int(tensor.untyped_storage()._cdata)


def _on_one_device(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, Any]:
    """The arguments, all without data if any of them is; new integer tensors get data."""
    if any(tensor.device == _META for tensor in _tensors_in((args, kwargs))):
        args, kwargs = tree_map_only(torch.Tensor, lambda t: t.to(_META), (args, kwargs))
        return args, {**kwargs, "device": _META} if "device" in kwargs else kwargs
    dtype = kwargs.get("dtype")
    if kwargs.get("device") == _META and not (dtype and dtype.is_floating_point):
        return args, {**kwargs, "device": _CPU}
    return args, kwargs


def _indices(index: torch.Tensor | None) -> Sequence[torch.Tensor | None]:
    """The indices that a mask marks, if its values are known."""
    if index is not None and index.dtype == torch.bool and index.device == _CPU:
        return index.nonzero(as_tuple=True)
    return (index,)


@torch.no_grad()
def count_forward(spec: ModelSpec, model: Any, cell: Cell) -> PassCounts:
    inputs = _without_data(synthesise(spec, cell, 0))
    with _WorkCounter(model) as counter:
        outputs = model(**inputs, **spec.forward)
    return {
        "macs": counter.macs,
        "activations": counter.activations,
        "outputs": sum(t.numel() for t in _tensors_in(outputs) if t.is_floating_point()),
        "weights": counter.weights,
    }


@torch.no_grad()
def count_generation(spec: ModelSpec, model: Any, cell: Cell) -> PassCounts:
    """The work of filling a cache, of the first step after it, and how both grow with a step."""
    arrays = synthesise(spec, cell, 0)
    inputs, name = _without_data(arrays), token_input(spec)
    arguments = inspect.signature(model.forward).parameters
    prompt = {**inputs, "use_cache": True}
    if spec.encoder_decoder:
        prompt[name] = inputs[name][:, :1]
    elif LOGITS_TO_KEEP in arguments:
        prompt[LOGITS_TO_KEEP] = 1
    with _WorkCounter(model) as prefill:
        filled = model(**prompt)
    more: dict[str, Any] = {name: inputs[name][:, :1], "use_cache": True}
    if spec.encoder_decoder:
        state = filled.encoder_last_hidden_state
        more["encoder_outputs"] = BaseModelOutput(last_hidden_state=state)
    elif POSITIONS in arguments:
        more[POSITIONS] = torch.from_numpy(next_position(position_ids(spec, arrays)))
    steps, elements = [], [_cached(filled.past_key_values)]
    for _ in range(2):
        with _WorkCounter(model) as step:
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


def _without_data(arrays: Inputs) -> Mapping[str, torch.Tensor]:
    """The inputs; those that are whole numbers keep their data, since shapes may follow from it."""
    tensors = {name: torch.from_numpy(array) for name, array in arrays.items()}
    return {n: t.to(_META) if t.is_floating_point() else t for n, t in tensors.items()}


def _cached(cache: Any) -> int:
    """Elements of all keys and values; behind an encoder also those of its output."""
    if isinstance(cache, EncoderDecoderCache):
        return _cached(cache.self_attention_cache) + _cached(cache.cross_attention_cache)
    return sum(layer.keys.numel() + layer.values.numel() for layer in cache.layers)
