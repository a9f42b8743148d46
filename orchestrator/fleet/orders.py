"""Orders that hosts have: the unit, the conversation about it, and what has arrived of it."""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from queue import Queue

from orchestrator.fleet.arrivals import OrderArrivals
from orchestrator.fleet.dispatch import Unit
from orchestrator.fleet.farewell import end_later
from orchestrator.fleet.frames import Frame
from orchestrator.fleet.messages import Declined, Order, Shared, frame_of
from orchestrator.fleet.presence import Reach
from orchestrator.fleet.shared_artifacts import keep_artifact, known_artifacts, wanted_artifacts
from orchestrator.fleet.talk import Heard, Talk
from orchestrator.fleet.units import sub_plan
from orchestrator.images.source import runner_digest
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from orchestrator.running.run_file import RunFile, run_file_text
from runner.contract.cell import Backend, Cell


@dataclass(frozen=True)
class UnitWork:
    """Cells of one run that one host measures."""

    unit: Unit
    folder: RunFolder
    """The run's folder."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class StandingOrder:
    """An order that a host has."""

    id: str
    host: str
    work: UnitWork
    talk: Talk
    arrivals: OrderArrivals
    declined: dict[Backend, Declined] = field(default_factory=dict)
    """The backends that the host turned out not to have."""


@dataclass(frozen=True)
class OrderTerms:
    """The conditions of an order."""

    budget_s: float | None
    """Seconds that are left of the run's budget; None without one."""
    whole_budget_s: float | None
    """The budget."""
    fail_fast: bool


def chosen_digests(images: Mapping[Backend, str]) -> dict[Backend, str]:
    """The digests of images that the user chose by digest: no host may have another one."""
    named = {backend: reference.partition("@")[2] for backend, reference in images.items()}
    return {backend: digest for backend, digest in named.items() if digest}


class OrderBook:
    """Gives orders, and knows each host's conversation, graphs and references."""

    def __init__(self, heard: "Queue[Heard]") -> None:
        """A book.

        Args:
            heard: takes what hosts say.
        """
        self._heard = heard
        self._sent: dict[str, set[Shared]] = {}
        self._idle: dict[str, Talk] = {}

    def give(
        self, host: str, reach: Reach, work: UnitWork, observer: Observer, terms: OrderTerms
    ) -> StandingOrder:
        """Give a host its work, in a conversation that was kept for it or in a new one."""
        folder = work.folder
        order = Order(
            id=f"{folder.run.run_id}-{secrets.token_hex(4)}",
            host=host,
            transport=reach.transport.name,
            version=folder.run.orchestrator_version,
            sources=runner_digest(),
            hardware=reach.facts.class_id,
            digests=chosen_digests(folder.run.options.images),
            budget_s=terms.budget_s,
            whole_budget_s=terms.whole_budget_s,
            fail_fast=terms.fail_fast,
        )
        plan = sub_plan(folder.run.plan, work.cells)
        run = folder.run.model_copy(update={"plan": plan, "matrix": None, "database": None})
        talk = self._idle.pop(host, None) or Talk(
            lambda: reach.transport.begin(host), host, self._heard
        )
        talk.give(order.id, self._frames(order, run, work))
        return StandingOrder(
            order.id, host, work, talk, OrderArrivals(folder, work.cells, observer)
        )

    def keep(self, standing: StandingOrder) -> None:
        """Keep the conversation of an order that has ended, for the host's next one.

        A host program that goes on need not be started again, which costs a job half a second.
        """
        self._idle[standing.host] = standing.talk

    def release(self) -> None:
        """End the conversations that were kept: those hosts are for others."""
        while self._idle:
            end_later(self._idle.popitem()[1])

    def take(self, standing: StandingOrder, shared: Shared, content: bytes) -> None:
        """Keep a graph or reference that the host has made, for all others.

        Raises:
            StoreError: the results folder takes no more files.
        """
        folder = standing.work.folder
        wanted = wanted_artifacts(folder.run, standing.work.cells)
        keep_artifact(folder.path.parent, shared, content, wanted)
        self._sent.setdefault(standing.host, set()).add(shared)

    def _frames(self, order: Order, run: RunFile, work: UnitWork) -> Iterator[Frame]:
        """Yield artefacts that the host lacks, one in memory at a time, and then the order."""
        sent = self._sent.setdefault(order.host, set())
        results = work.folder.path.parent
        for shared, content in known_artifacts(results, run, work.cells, without=sent):
            yield frame_of(shared, content)
            sent.add(shared)
        yield frame_of(order, run_file_text(run).encode())
