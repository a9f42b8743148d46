"""Formats of other benchmarks that are recognised by their content."""

from orchestrator.imports.formats.device_page import DevicePage
from orchestrator.imports.formats.legacy import LEGACY
from orchestrator.imports.formats.mlperf import MLPerf
from orchestrator.imports.formats.optimum_benchmark import OptimumBenchmark
from orchestrator.imports.formats.timm import Timm
from orchestrator.imports.reading import Format

FORMATS: tuple[Format, ...] = (DevicePage(), Timm(), OptimumBenchmark(), MLPerf(), *LEGACY)
"""The formats in the order in which they are tried."""
