"""The formats, in the order in which they are asked."""

from orchestrator.imports.formats.base import Format
from orchestrator.imports.formats.legacy import LEGACY
from orchestrator.imports.formats.mlperf import MLPerf
from orchestrator.imports.formats.optimum_benchmark import OptimumBenchmark
from orchestrator.imports.formats.timm import Timm

FORMATS: tuple[Format, ...] = (Timm(), OptimumBenchmark(), MLPerf(), *LEGACY)
