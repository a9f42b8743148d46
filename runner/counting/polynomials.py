"""Polynomials of a model's work in the sizes of a query, fitted to counts at a few shapes.

A model whose work is no such polynomial is refused: a shape that was not fitted tells.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from math import isclose, prod
from typing import Any

from sympy import Matrix

from runner.backends.torch.model import build_without_weights
from runner.contract.artifact_keys import COUNTS, fingerprint
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, reason_of
from runner.contract.models import AxisRange, ModelSpec, sizes_of
from runner.contract.models.counted import MOST_REASON, CountedWork, Term, term_text, terms_of
from runner.contract.models.work import counts_of
from runner.contract.reasons import Reason, reason
from runner.contract.support import why_not_shape
from runner.counting.passes import PassCounts, count_forward, count_generation

Fit = dict[str, dict[str, float]]
"""Factors by term, by the name of what is counted."""
_WEIGHTS = "weights"
"""The end of names of numbers that no size changes."""
_BATCH_SIZES, _OTHER_BATCH_SIZE = (1, 2), 3
_LENGTHS, _OTHER_LENGTHS = (8, 16, 24, 4, 2, 1), (21, 13, 5, 3, 2, 1)
_TIMES = (1, 2, 3)
"""Multiples of the default size of an image or a sound."""
_EXPERTS = "Experts"
"""The end of the name of transformers' modules that hold experts."""
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
        _require_all_of_it(spec, model)
        parameters = sum(weight.numel() for weight in model.parameters())
        counted: Fit = {"parameters": {"": parameters}, **fit_forward(spec, model)}
    except Exception as error:  # a model may raise anything
        return _counted({}, _reason(error))
    try:
        return _counted(counted | fit_generation(spec, model))
    except Exception as error:
        return _counted(counted, reason("generation_uncounted", cause=_reason(error)))


def fit_forward(spec: ModelSpec, model: Any) -> Fit:
    """The polynomials of a forward pass."""
    return _fit(spec, partial(count_forward, spec, model))


def fit_generation(spec: ModelSpec, model: Any) -> Fit:
    """The polynomials of the parts of a generation; empty for a model that doesn't generate."""
    return _fit(spec, partial(count_generation, spec, model)) if model.can_generate() else {}


def _require_all_of_it(spec: ModelSpec, model: Any) -> None:
    """Refuse mixtures of experts: which of them a query reads follows from values."""
    names = (type(module).__name__ for module in model.modules())
    if experts := next((name for name in names if name.endswith(_EXPERTS)), None):
        raise Uncountable(reason("experts_by_values", model=spec.name, experts=experts))


def _fit(spec: ModelSpec, count: Callable[[Cell], PassCounts]) -> Fit:
    """Fit at as many shapes as there are terms, and see that it holds at one more."""
    terms, rows, counts = terms_of(spec), Matrix(), list[PassCounts]()
    for cell in _cells(spec):
        sizes = sizes_of(spec, cell)
        row = Matrix([[prod(sizes[name] for name in term) for term in terms]])
        if rows.rows < len(terms) and rows.col_join(row).rank() > rows.rows:
            rows = rows.col_join(row)
            counts.append(count(cell))
    other = next(_other_cells(spec), None)
    if rows.rows < len(terms) or other is None:
        raise Uncountable(reason("too_few_shapes", model=spec.name))
    fitted = _solved(terms, rows, counts)
    _require_close(spec, other, count(other), fitted)
    return fitted


def _solved(terms: Sequence[Term], rows: Any, counts: Sequence[PassCounts]) -> Fit:
    kinds = [kind for kind in counts[0] if not kind.endswith(_WEIGHTS)]
    factors = rows.LUsolve(Matrix([[counted[kind] for kind in kinds] for counted in counts]))
    return {
        kind: {
            term_text(term): _number(factors[i, kinds.index(kind)])
            for i, term in enumerate(terms)
            if factors[i, kinds.index(kind)]
        }
        if kind in kinds
        else {"": number}
        for kind, number in counts[0].items()
    }


def _number(value: Any) -> float:
    return int(value) if value.is_integer else float(value)


def _require_close(spec: ModelSpec, cell: Cell, counts: PassCounts, fitted: Fit) -> None:
    expected = counts_of(spec, cell, fitted) or {}
    for name, number in counts.items():
        if not isclose(expected.get(name, 0), number, rel_tol=_TOLERANCE):
            raise Uncountable(
                reason(
                    "no_polynomial",
                    model=spec.name,
                    shape=cell.shape,
                    count=name,
                    number=number,
                    expected=expected.get(name, 0),
                )
            )


def _cells(spec: ModelSpec) -> Iterator[Cell]:
    """Cells whose shapes differ in every size of the terms."""
    lengths = _LENGTHS if spec.takes_sequence else (None,)
    media = map(_sizes_to_fit, (spec.image_size, spec.audio_seconds))
    return _allowed(spec, product(_BATCH_SIZES, lengths, *media))


def _other_cells(spec: ModelSpec) -> Iterator[Cell]:
    lengths = _OTHER_LENGTHS if spec.takes_sequence else (None,)
    media = map(_other_sizes, (spec.image_size, spec.audio_seconds))
    return _allowed(spec, product((_OTHER_BATCH_SIZE,), lengths, *media))


def _sizes_to_fit(allowed: AxisRange | None) -> Sequence[int | None]:
    if allowed is None:
        return (None,)
    steps = (_least(allowed) + allowed.multiple_of * step for step in range(len(_TIMES)))
    return [*(allowed.default * times for times in _TIMES), *steps]


def _other_sizes(allowed: AxisRange | None) -> Sequence[int | None]:
    if allowed is None:
        return (None,)
    return [allowed.default + allowed.multiple_of, allowed.default * 4, allowed.default]


def _least(allowed: AxisRange) -> int:
    """The smallest size that is allowed, a multiple of what sizes must be multiples of."""
    return -(-allowed.least // allowed.multiple_of) * allowed.multiple_of


def _allowed(spec: ModelSpec, shapes: Iterable[Sequence[Any]]) -> Iterator[Cell]:
    """Cells of those shapes that the model takes."""
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
