"""The backends that this machine has, for `bench --backend available`."""

from orchestrator.backends.machine import this_machine
from orchestrator.launchers.diagnosis import runnable
from orchestrator.launchers.registry import choose_launcher
from orchestrator.matrix.available import AvailableBackends
from orchestrator.screen.words.reasons import reason_text
from runner.contract.cell import Purpose


def available_backends(requested: str, purpose: Purpose) -> AvailableBackends:
    """The backends that `doctor` finds running, by the launcher that a run would choose.

    One whose device is simulated here is left out of what is timed.
    """
    launcher = choose_launcher(requested, _leave_unsaid)
    running, lacking = runnable(launcher), this_machine(purpose).unavailable
    return AvailableBackends(
        launcher,
        [backend for backend in running if backend not in lacking],
        {backend: reason_text(lacking[backend]) for backend in running if backend in lacking},
    )


def _leave_unsaid(note: str) -> None:
    """The run says what was chosen when it begins."""
