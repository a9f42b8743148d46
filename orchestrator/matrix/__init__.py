"""The matrix file: read strictly, checked, resolved into a frozen `Matrix`."""

from orchestrator.matrix.combine import Combiner
from orchestrator.matrix.file import AXES, Axis, matrix_json_schema
from orchestrator.matrix.load import Combination, Matrix, load_matrix, resolve
from orchestrator.matrix.values import FIND_PEAK
from orchestrator.system.yaml_file import Location, Source

__all__ = [
    "AXES",
    "FIND_PEAK",
    "Axis",
    "Combination",
    "Combiner",
    "Location",
    "Matrix",
    "Source",
    "load_matrix",
    "matrix_json_schema",
    "resolve",
]
