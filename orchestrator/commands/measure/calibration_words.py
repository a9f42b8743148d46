"""The calibration of this machine on a terminal."""

from analysis.results.table import Field
from orchestrator.commands.measure.calibrate import CalibrateResult
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.tables import print_lines


def print_calibration(result: CalibrateResult, *, as_json: bool) -> None:
    """Print the spread of each runtime on each device, and where it is kept."""
    if as_json:
        print_json(
            {path: spread.model_dump(mode="json") for path, spread in result.spreads.items()}
        )
        return
    rows = [
        (*path.split("/"), spread.processes, f"{spread.cv * 100:.1f}")
        for path, spread in sorted(result.spreads.items())
    ]
    if not rows:
        print_line("No runtime was measured, so nothing is kept.")
        return
    differ = Field("differ by %", right=True)
    print_lines(("backend", "runtime", "hardware_id", "processes", differ), rows)
    print_line()
    print_line(
        f"Records of one process use this for their intervals from now on; {result.path} keeps it."
    )
    if result.was_disturbed:
        print_line(
            f"Others used up to {result.other_load * 100:.0f} % of the CPUs meanwhile, which makes"
            " processes differ by more: stop what else runs and calibrate again."
        )
