"""The matrix file: read strictly, checked, resolved into a frozen `Matrix`."""

from orchestrator.matrix.combine import Combiner
from orchestrator.matrix.file import FleetPlacement, matrix_json_schema
from orchestrator.matrix.load import (
    Combination,
    FleetUse,
    Matrix,
    load_matrix,
    matrix_source,
    override,
    resolve,
)
from orchestrator.matrix.named_cells import MatrixData, cells_document, cells_text
from orchestrator.system.plain_data import Location
from orchestrator.system.problems import Source

__all__ = [
    "Combination",
    "Combiner",
    "FleetPlacement",
    "FleetUse",
    "Location",
    "Matrix",
    "MatrixData",
    "Source",
    "cells_document",
    "cells_text",
    "load_matrix",
    "matrix_json_schema",
    "matrix_source",
    "override",
    "resolve",
]
