"""Matrices for tests, written as a user's file would say them."""

from typing import Any

from orchestrator.matrix import Matrix, Source, resolve


def matrix_of(axes: dict[str, Any] | None = None, **rest: Any) -> Matrix:
    """The matrix of a file with these axes and other keys."""
    return resolve(Source("matrix.yaml", {"version": 1, "axes": axes or {}, **rest}))
