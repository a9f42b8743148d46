"""Formats of other benchmarks that are recognised by their content."""

from orchestrator.exchange.imports.entry import Format
from orchestrator.exchange.imports.formats.device_page import DevicePage
from orchestrator.exchange.imports.formats.legacy import LEGACY
from orchestrator.exchange.imports.formats.mlperf import MLPerf
from orchestrator.exchange.imports.formats.optimum_benchmark import OptimumBenchmark
from orchestrator.exchange.imports.formats.timm import Timm

FORMATS: tuple[Format, ...] = (DevicePage(), Timm(), OptimumBenchmark(), MLPerf(), *LEGACY)
"""The formats in the order in which they are tried."""
