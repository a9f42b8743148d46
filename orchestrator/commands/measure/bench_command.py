"""`bench`: measures without a file."""

from dataclasses import dataclass

from orchestrator.commands.measure.measuring import Measuring
from orchestrator.commands.options.axes import BenchOptions
from orchestrator.commands.options.common import MatrixChanges


@dataclass(frozen=True, kw_only=True)
class BenchCommand(BenchOptions, MatrixChanges, Measuring):
    """Measure without a file: the options are the matrix. Lists take commas or repeat."""

    def execute(self) -> int:
        """Measure."""
        _ = self.axes  # a wrong value is refused before much is imported
        self.require_sense()
        from orchestrator.commands.measure.request import PlanRequest

        request = PlanRequest(
            self,
            overrides=self.overrides(),
            select=tuple(self.select or ()),
            limit=self.limit,
            results=self.results,
            options=self.alone(),
        )
        return self.measure(request)
