"""The backends that each host of a fleet lacks, with the ways to them."""

from dataclasses import dataclass

from orchestrator.commands.fleet.hosts import open_fleet
from orchestrator.fleet.choice import FleetHosts
from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.questions import ask_all
from runner.contract.cell import Backend


@dataclass(frozen=True)
class HostDiagnosis:
    """One backend on one host, or a host that does not answer."""

    host: str
    backend: Backend | None
    """The backend; None for a host that says nothing."""
    reason: str
    """The things that are missing."""
    remedy: str | None
    """The way to them."""


@dataclass(frozen=True)
class FleetDiagnosis:
    """All that the hosts of a fleet lack."""

    runs: dict[str, tuple[Backend, ...]]
    """The backends that each host can measure, by the names of those that answer."""
    lacks: tuple[HostDiagnosis, ...]

    @property
    def silent(self) -> int:
        """Number of hosts that do not answer."""
        return sum(row.backend is None for row in self.lacks)


def diagnose_fleet(choice: FleetHosts, backends: tuple[Backend, ...]) -> FleetDiagnosis:
    """Ask each host what it is, and tell what it lacks of these backends.

    Raises:
        UsageError: the hosts file is wrong, or a glob fits no host.
        Unavailable: there is no host.
    """
    runs, lacks = dict[str, tuple[Backend, ...]](), list[HostDiagnosis]()
    with open_fleet(choice) as fleet:
        for transport in dict.fromkeys(fleet.transports.values()):
            names = [name for name, way in fleet.transports.items() if way is transport]
            for name, answer in ask_all(transport, names).items():
                if not isinstance(answer, HostFacts):
                    lacks.append(HostDiagnosis(name, None, str(answer), answer.hint))
                    continue
                runs[name] = tuple(one for one in backends if one not in answer.unavailable)
                lacks += [
                    HostDiagnosis(name, one, reason, answer.remedies.get(one))
                    for one in backends
                    if (reason := answer.unavailable.get(one))
                ]
    return FleetDiagnosis(runs, tuple(lacks))
