"""The matrix file: read strictly, checked, resolved into a frozen `Matrix`."""

from orchestrator.matrix.combine import Combiner
from orchestrator.matrix.file import matrix_json_schema
from orchestrator.matrix.load import Combination, Matrix, load_matrix, override, resolve
from orchestrator.system.plain_data import Location
from orchestrator.system.yaml_file import Source

__all__ = [
    "Combination",
    "Combiner",
    "Location",
    "Matrix",
    "Source",
    "load_matrix",
    "matrix_json_schema",
    "override",
    "resolve",
]
