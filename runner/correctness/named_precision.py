"""Evidence that a cell computed in the precision that it names: its weights, and its products.

Outputs alone cannot tell weights of 8 bits from honest bf16 in small models, so the reference keeps
some elements of each parameter. A session that shows its parameters must hold the same, bit by bit,
or what they are when they are rounded to the cell's precision.
"""

from collections.abc import Mapping

import numpy as np

from runner.backends.base import FloatArray, Session, ShowsProducts, ShowsWeights
from runner.backends.evidence import format_counts
from runner.contract.axes import Precision
from runner.contract.cell import Cell
from runner.contract.reasons import Reason, reason, reason_columns
from runner.contract.record.record import Columns
from runner.correctness.differences import AnyArray

_WEIGHT = "weight."  # the beginning of names in a reference; a parameter follows
_WIDER: Mapping[Precision, frozenset[str]] = {
    "fp32": frozenset({"fp64"}),
    "bf16": frozenset({"fp32", "fp64"}),
    "fp16": frozenset({"fp32", "fp64"}),
    "int8": frozenset({"bf16", "fp16", "fp32", "fp64"}),
}
"""Types in which some products of a precision may be computed: rotary positions often are in fp32,
and of int8 whatever is not quantised."""
_LEAST_SHARE = 0.5  # of products, that must have the named type


def weight_arrays(session: Session) -> dict[str, AnyArray]:
    """The session's weights as a reference keeps them."""
    return {f"{_WEIGHT}{name}": array for name, array in _weights_of(session).items()}


def take_weights(reference: dict[str, AnyArray]) -> dict[str, AnyArray]:
    """Remove the weights from a reference, by parameter."""
    names = [name for name in reference if name.startswith(_WEIGHT)]
    return {name.removeprefix(_WEIGHT): reference.pop(name) for name in names}


def judge_weights(
    precision: Precision, session: Session, reference: Mapping[str, AnyArray]
) -> Reason | None:
    """The reason why weights that both sides have contradict the precision; fp32 never does."""
    ours = _weights_of(session)
    compared = sorted(ours.keys() & reference.keys())
    others = [name for name in compared if not _is_same(precision, ours[name], reference[name])]
    if not others:
        return None
    facts = {"others": len(others), "compared": len(compared), "first": others[0]}
    return reason("weights_differ", **facts, precision=precision)


def judge_products(cell: Cell, session: Session) -> Reason | None:
    """The reason why the types of products contradict the precision that the cell names."""
    products = session.products if isinstance(session, ShowsProducts) else None
    if not products:
        return None
    named = products.get(cell.precision, 0)
    is_other = products.keys() - _WIDER[cell.precision] - {cell.precision}
    least = 1 if cell.precision == "int8" else _LEAST_SHARE * sum(products.values())
    if named >= least and not is_other:
        return None
    return reason("products_differ", precision=cell.precision, products=format_counts(products))


def with_reason(columns: Columns, contradiction: Reason | None) -> Columns:
    """The columns; wrong for this reason, if there is one and they are not wrong already."""
    if contradiction is None or columns.get("correct") is False:
        return columns
    return {**columns, "correct": False, **reason_columns("correct", contradiction)}


def _weights_of(session: Session) -> Mapping[str, FloatArray]:
    return session.weights() if isinstance(session, ShowsWeights) else {}


def _is_same(precision: Precision, ours: AnyArray, theirs: AnyArray) -> bool:
    return np.array_equal(ours, theirs) or np.array_equal(ours, round_to(precision, theirs))


def round_to(precision: Precision, values: AnyArray) -> AnyArray:
    """fp32 values as they are after rounding to the nearest of a precision, ties to even."""
    if precision == "fp16":
        with np.errstate(over="ignore"):
            return values.astype(np.float16).astype(np.float32)
    if precision != "bf16":
        return values
    bits = values.astype(np.float32).view(np.uint32)
    odd = (bits >> 16) & 1
    return ((bits + 0x7FFF + odd) & 0xFFFF0000).view(np.float32)
