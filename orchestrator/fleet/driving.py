"""Runs under way on many hosts: orders go out, records come in, what is lost is tried again."""

import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, Queue
from threading import Thread
from typing import Any

from orchestrator.fleet.arrivals import OrderArrivals
from orchestrator.fleet.dispatch import Assignment, Dispatcher, GivenUp, Unit
from orchestrator.fleet.host import HostFacts
from orchestrator.fleet.journal import HostJournal
from orchestrator.fleet.messages import Ended, Order, Refused, Shared, frame_of
from orchestrator.fleet.observing import FleetObserver
from orchestrator.fleet.shared_references import keep_reference, known_references
from orchestrator.fleet.talk import SILENCE_S, Heard, Talk
from orchestrator.fleet.transport import Transport
from orchestrator.fleet.units import sub_plan
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import FAILURES, RunOutcome, outcome_of
from orchestrator.running.own_verdicts import save_skips, save_verdicts
from orchestrator.running.run_file import run_file_text
from orchestrator.system.text import format_duration, plural
from runner.contract.cell import Backend, Cell
from runner.contract.errors import BenchError, DamagedFile, StoreError, Unavailable
from runner.contract.record import Status

NO_JOURNAL = HostJournal()
_TICK_S = 1.0
"""Longest wait for news before silence, deaths and the budget are looked at."""
_FAREWELL_S = 10.0
"""Seconds that hosts have to clean up once they were told to end."""
_FAILED_FAST = "--fail-fast ended the run at its first failure"


@dataclass(frozen=True)
class UnitWork:
    """Cells of one run that one host measures."""

    unit: Unit
    folder: RunFolder
    """The run's folder."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Reach:
    """A host that answered: the way to it, and what it is."""

    transport: Transport
    facts: HostFacts


@dataclass(frozen=True)
class _Standing:
    """An order that a host has."""

    id: str
    host: str
    work: UnitWork
    talk: Talk
    arrivals: OrderArrivals


def chosen_digests(images: Mapping[Backend, str]) -> dict[Backend, str]:
    """The digests of images that the user chose by digest: no host may have another one."""
    named = {backend: reference.partition("@")[2] for backend, reference in images.items()}
    return {backend: digest for backend, digest in named.items() if digest}


class FleetExecution:
    """Runs under way on the hosts of a fleet."""

    def __init__(
        self,
        folders: Sequence[RunFolder],
        work: Sequence[UnitWork],
        hosts: Mapping[str, Reach],
        observer: FleetObserver,
        options: RunOptions,
        journal: HostJournal = NO_JOURNAL,
    ) -> None:
        """The execution of this work.

        Args:
            folders: those of the runs.
            work: everything that is to be measured.
            hosts: the hosts, by name.
            observer: is told of the progress.
            options: database, budget and when to stop.
            journal: keeps what hosts do.
        """
        self._work = {one.unit.id: one for one in work}
        self._folders = folders
        self._hosts = hosts
        self._observer = observer
        self._options = options
        self._journal = journal
        seed = self._folders[0].run.seed or 0
        classes = {name: host.facts.ability for name, host in hosts.items()}
        self._dispatcher = Dispatcher.of([one.unit for one in work], classes, seed)
        self._standing: dict[str, _Standing] = {}
        self._gone: set[str] = set()
        self._heard: Queue[Heard] = Queue()
        self._started = time.monotonic()
        self._troubles: dict[str, BenchError] = {}
        self._stopped = False

    def run(self) -> list[RunOutcome]:
        """Measure what the runs still miss; merge all there is, also when interrupted."""
        try:
            for folder in self._folders:
                folder.remove_unfinished()
                folder.forget_retried()
                save_skips(folder, self._observer)
            self._measure()
        except BaseException:
            self._break_off()
            raise
        return [self._end(folder) for folder in self._folders]

    def _measure(self) -> None:
        while True:
            self._watch_budget()
            for given_up in self._dispatcher.give_up(self._alive):
                self._give_up(given_up)
            for assignment in self._dispatcher.next(self._alive - self._standing.keys()):
                self._order(assignment)
            if self._dispatcher.is_over:
                return
            self._take_news()
            self._look_after()

    @property
    def _alive(self) -> set[str]:
        return self._hosts.keys() - self._gone

    def _order(self, assignment: Assignment) -> None:
        """Send a unit to a host; one that cannot be reached gets no more."""
        host, work = assignment.host, self._work[assignment.unit.id]
        reach = self._hosts[host]
        order = Order(
            id=f"{work.folder.run.run_id}-{secrets.token_hex(4)}",
            host=host,
            transport=reach.transport.name,
            version=work.folder.run.orchestrator_version,
            digests=chosen_digests(work.folder.run.images),
            budget_s=self._budget_left_s,
            fail_fast=self._options.fail_fast,
        )
        try:
            conversation = reach.transport.begin(host)
        except Unavailable as error:
            self._note_trouble(error)
            self._gone.add(host)
            self._dispatcher.refused(host, str(error))
            return
        plan = sub_plan(work.folder.run.plan, work.cells)
        run = work.folder.run.model_copy(update={"plan": plan, "matrix": None, "database": None})
        arrivals = OrderArrivals(work.folder, work.cells, self._observer.on_host(host))
        talk = Talk(conversation, host, order.id, self._heard)
        self._standing[host] = _Standing(order.id, host, work, talk, arrivals)
        self._journal.begin(host, work.unit.id)
        known = known_references(work.folder.path.parent, run, work.cells)
        files = (frame_of(shared, content) for shared, content in known)
        talk.start([*files, frame_of(order, run_file_text(run).encode())])

    def _take_news(self) -> None:
        try:
            self._take(self._heard.get(timeout=_TICK_S))
            while True:
                self._take(self._heard.get_nowait())
        except Empty:
            return

    def _take(self, heard: Heard) -> None:
        standing = self._standing.get(heard.host)
        if standing is None or standing.id != heard.order:
            return  # an order that is over already
        if heard.message is None:
            self._lose(standing, heard.fault or "the connection ended")
        elif isinstance(heard.message, Refused):
            self._refuse(standing, heard.message)
        elif isinstance(heard.message, Ended):
            self._close(standing, heard.message)
        elif isinstance(heard.message, Shared):
            keep_reference(standing.work.folder.path.parent, heard.message, heard.body)
        else:
            try:
                standing.arrivals.take(heard.message, heard.body)
            except DamagedFile as error:
                self._lose(standing, str(error))
            else:
                self._stop_at_failure(standing)

    def _close(self, standing: _Standing, ended: Ended) -> None:
        """End an order that its host has ended."""
        for trouble in ended.troubles:
            self._observer.note(f"{standing.host}: {trouble}")
        if standing.arrivals.left:
            self._lose(standing, "it ended without a verdict of each cell")
            return
        self._dismiss(standing)
        self._tell_end(standing.host)
        self._dispatcher.done(standing.host)

    def _refuse(self, standing: _Standing, refused: Refused) -> None:
        hint = f"; {refused.hint}" if refused.hint else ""
        self._note_trouble(Unavailable(f"{standing.host}: {refused.reason}{hint}"))
        self._dismiss(standing)
        self._tell_end(standing.host)
        self._dispatcher.refused(standing.host, refused.reason)

    def _lose(self, standing: _Standing, reason: str) -> None:
        """Count an order as lost: what it has not measured is tried again on another host."""
        self._dismiss(standing)
        left = standing.arrivals.left
        self._tell_end(standing.host, reason if left else None)
        if not left:
            self._dispatcher.done(standing.host)
            return
        host, work = standing.host, standing.work
        if not self._stopped:
            cells = f"{len(left)} {plural(len(left), 'cell')}"
            self._observer.note(f"{host}: lost with {cells} to do: {reason}")
        self._work[work.unit.id] = replace(work, cells=left)
        self._dispatcher.lost(host, reason)

    def _tell_end(self, host: str, fault: str | None = None) -> None:
        self._journal.end(host, fault)
        self._observer.order_ended(host, fault)

    def _dismiss(self, standing: _Standing) -> None:
        del self._standing[standing.host]
        Thread(target=standing.talk.end, daemon=True).start()

    def _look_after(self) -> None:
        """Find hosts that are dead or silent."""
        for host in self._alive:
            if self._hosts[host].transport.is_dead(host):
                self._gone.add(host)
                if standing := self._standing.get(host):
                    self._lose(standing, "the host is gone")
        for standing in [*self._standing.values()]:
            if standing.talk.silence_s > SILENCE_S:
                self._gone.add(standing.host)
                self._lose(standing, f"silent for {format_duration(SILENCE_S)}")

    def _watch_budget(self) -> None:
        if self._budget_left_s == 0 and self._options.budget_s is not None:
            budget = format_duration(self._options.budget_s)
            self._stop(f"the budget of {budget} was spent")

    def _stop_at_failure(self, standing: _Standing) -> None:
        if self._options.fail_fast and not set(FAILURES).isdisjoint(
            standing.arrivals.verdicts.values()
        ):
            self._stop(_FAILED_FAST)
            for other in self._standing.values():
                other.talk.cancel()

    def _stop(self, reason: str) -> None:
        self._stopped = True
        self._dispatcher.stop(reason)

    @property
    def _budget_left_s(self) -> float | None:
        budget = self._options.budget_s
        return None if budget is None else max(0.0, self._started + budget - time.monotonic())

    def _give_up(self, given_up: GivenUp) -> None:
        """Give the cells of a unit that no host will do a verdict, with the reason."""
        work = self._work[given_up.unit.id]
        was_lost = given_up.unit.excluded and not self._stopped
        if not was_lost and not self._stopped:
            self._note_trouble(Unavailable(given_up.reason))
        left = [cell for cell in work.cells if work.folder.record_of(cell) is None]
        status: Status = "lost" if was_lost else "unavailable"
        save_verdicts(work.folder, self._observer, left, status, given_up.reason)

    def _note_trouble(self, error: BenchError) -> None:
        if str(error) not in self._troubles:
            self._troubles[str(error)] = error
            self._observer.note(str(error))

    def _break_off(self) -> None:
        """End every order within seconds; what arrived is merged."""
        for standing in self._standing.values():
            standing.talk.cancel()
        deadline = time.monotonic() + _FAREWELL_S
        try:
            while self._standing and time.monotonic() < deadline:
                with suppress(Empty):
                    heard = self._heard.get(timeout=_TICK_S)
                    self._hear_out(heard)
        finally:
            for standing in [*self._standing.values()]:
                standing.talk.end()
                self._journal.end(standing.host, None)
            for folder in self._folders:
                with suppress(StoreError):
                    self._merge(folder)

    def _hear_out(self, heard: Heard) -> None:
        """Take what still arrives from a host that was told to end."""
        standing = self._standing.get(heard.host)
        if standing is None or standing.id != heard.order:
            return
        if heard.message is None or isinstance(heard.message, Ended | Refused):
            self._dismiss(standing)
            self._journal.end(standing.host, None)
            return
        with suppress(DamagedFile):
            standing.arrivals.take(heard.message, heard.body)

    def _merge(self, folder: RunFolder) -> Any:
        return merge_run(folder, self._options.database or folder.database)

    def _end(self, folder: RunFolder) -> RunOutcome:
        merged = self._merge(folder)
        outcome = outcome_of(folder, merged, tuple(self._troubles.values()))
        if outcome.exit_code != StoreError.exit_code and not merged.is_complete:
            self._observer.note(merged.faults)
        return outcome
