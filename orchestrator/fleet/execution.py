"""Runs under way on many hosts: orders go out, records come in, what is lost is tried again."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, Queue

from orchestrator.fleet.dispatch import Assignment, Dispatcher, GivenUp
from orchestrator.fleet.host import HostJournal
from orchestrator.fleet.messages import Declined, Ended, Refused, Shared
from orchestrator.fleet.orders import FleetObserver, OrderBook, StandingOrder, UnitWork
from orchestrator.fleet.presence import Presence
from orchestrator.fleet.transport import (
    FAREWELL_S,
    FIRST_WORD_S,
    SILENCE_S,
    Heard,
    HostBusy,
    end_all,
    end_later,
    prompt_interrupts,
)
from orchestrator.planning.plan import Plan
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_run
from orchestrator.running.options import RunOptions
from orchestrator.running.outcome import FAILURES, RunOutcome, end_run, save_skips, save_verdicts
from orchestrator.screen.words.reasons import error_hint, error_text
from orchestrator.system.text import format_duration, plural
from runner.contract.errors import (
    BenchError,
    DamagedFile,
    EngineUnavailable,
    ImageError,
    StoreError,
    Unavailable,
)
from runner.contract.reasons import reason
from runner.contract.record.verdict import Status

NO_JOURNAL = HostJournal()
_TICK_S = 0.25
"""Longest wait for news before silence, deaths and the budget are looked at."""
_MOST_NEWS = 64
"""News that wait to be taken, and those that are taken before that look."""
_FAILED_FAST = "--fail-fast ended the run at its first failure"
_KINDS: Mapping[int, type[BenchError]] = {
    kind.exit_code: kind for kind in (EngineUnavailable, ImageError)
}
"""Errors of hosts that have an exit code of their own."""


@dataclass(frozen=True)
class FleetWork:
    """All that runs on a fleet are to measure."""

    folders: Sequence[RunFolder]
    units: Sequence[UnitWork]
    skips: Mapping[str, Plan] = field(default_factory=dict)
    """Plans whose skipped cells get their verdict, by run; those of the folders else."""


class FleetExecution:
    """Runs under way on the hosts of a fleet."""

    def __init__(
        self,
        work: FleetWork,
        presence: Presence,
        observer: FleetObserver,
        options: RunOptions,
        journal: HostJournal = NO_JOURNAL,
    ) -> None:
        self._work = {one.unit.id: one for one in work.units}
        self._folders, self._skips = work.folders, work.skips
        self._presence = presence
        self._observer = observer
        self._options = options
        self._journal = journal
        seed = self._folders[0].run.seed
        classes = {name: presence.reach(name).facts.ability for name in presence.alive}
        self._dispatcher = Dispatcher.of([one.unit for one in work.units], classes, seed)
        self._standing: dict[str, StandingOrder] = {}
        self._heard: Queue[Heard] = Queue(_MOST_NEWS)
        self._orders = OrderBook(self._heard)
        self._started = time.monotonic()
        self._faults: dict[str, BenchError] = {}
        """The last refusal of a unit, by its id; that of any under an empty one."""
        self._troubles: dict[str, BenchError] = {}
        self._news: Heard | None = None
        """The news that is being taken, which an interruption may leave half done."""
        self._stopped = False

    def run(self) -> list[RunOutcome]:
        """Measure what the runs still miss; merge all there is, also when interrupted."""
        try:
            for folder in self._folders:
                folder.remove_unfinished()
                folder.forget_retried()
                save_skips(folder, self._observer, self._skips.get(folder.run.run_id))
            self._measure()
        except BaseException:
            self._break_off()
            raise
        troubles = tuple(self._troubles.values())
        return [
            end_run(folder, self._database(folder), troubles, self._observer)
            for folder in self._folders
        ]

    def _measure(self) -> None:
        while True:
            if self._budget_left_s == 0 and self._options.budget_s is not None:
                budget = format_duration(self._options.budget_s)
                self._stop(f"the budget of {budget} was spent")
            for host, reach in self._presence.returned().items():
                self._observer.note(f"{host}: is there")
                self._dispatcher.join(host, reach.facts.ability)
            for given_up in self._dispatcher.give_up(self._presence.alive):
                self._give_up(given_up)
            free = self._presence.free - self._standing.keys()
            for assignment in self._dispatcher.next(free):
                self._order(assignment)
            self._orders.release()
            if self._dispatcher.is_over:
                return
            self._take_news()
            self._lose_silent()

    def _order(self, assignment: Assignment) -> None:
        host, work = assignment.host, self._work[assignment.unit.id]
        observer = self._observer.on_host(host)
        self._standing[host] = self._orders.give(
            host, self._presence.reach(host), work, observer, self._options, self._budget_left_s
        )
        self._journal.begin(host, work.unit.id)

    def _take_news(self) -> None:
        with suppress(Empty):
            for number in range(_MOST_NEWS + 1):
                self._news = self._heard.get(block=number == 0, timeout=_TICK_S)
                self._take(self._news)
                self._news = None

    def _lose_silent(self) -> None:
        for host in self._presence.alive:
            transport = self._presence.reach(host).transport
            standing = self._standing.get(host)
            if standing and standing.talk.is_silent(SILENCE_S, FIRST_WORD_S[transport.name]):
                self._presence.leave(host)
                self._lose(standing, f"silent for {format_duration(SILENCE_S)}")

    def _take(self, heard: Heard) -> None:
        standing = self._standing.get(heard.host)
        if standing is None or standing.id != heard.order:
            return  # an order that is over already
        message = heard.message
        if heard.obstacle is not None:
            self._withdraw(standing, heard.obstacle)
        elif message is None:
            self._lose(standing, heard.fault or "the connection ended")
        elif isinstance(message, Refused):
            self._refuse(standing, message)
        elif isinstance(message, Declined):
            standing.declined[message.backend] = message
            self._note_fault(standing, message)
        elif isinstance(message, Ended):
            self._close(standing)
        elif isinstance(message, Shared):
            self._orders.take(standing, message, heard.body)
        else:
            self._presence.work(standing.host)
            try:
                standing.arrivals.take(message, heard.body)
            except DamagedFile as error:
                self._lose(standing, str(error))
            else:
                self._stop_at_failure(standing)

    def _withdraw(self, standing: StandingOrder, obstacle: Unavailable) -> None:
        """Take an order back from a host that has not begun it, since it is busy or gone."""
        host, reason = standing.host, error_text(obstacle)
        if not isinstance(obstacle, HostBusy):
            self._presence.leave(host)
            self._faults[standing.work.unit.id] = self._faults[""] = obstacle
            self._observer.note(f"{reason}; {hint}" if (hint := error_hint(obstacle)) else reason)
        elif self._presence.rest(host):
            self._observer.note(f"{reason}; it is tried again")
        self._dismiss(standing)
        self._dispatcher.withdraw(host, reason)

    def _close(self, standing: StandingOrder) -> None:
        """End an order that its host has ended; what it declined is for another host."""
        left, host = standing.arrivals.left, standing.host
        needs = {cell.backend for cell in left}
        if not needs <= standing.declined.keys():
            self._lose(standing, "it ended without a verdict of each cell")
            return
        self._orders.keep(standing)
        self._put_away(standing)
        if not left:
            self._dispatcher.done(host)
            return
        reason = "; ".join(dict.fromkeys(one.reason for one in standing.declined.values()))
        has_begun = len(left) < len(standing.work.cells)
        self._keep_left(standing)
        self._dispatcher.declined(host, reason, standing.declined, needs, has_begun=has_begun)

    def _refuse(self, standing: StandingOrder, refused: Refused) -> None:
        self._note_fault(standing, refused)
        self._dismiss(standing)
        self._keep_left(standing)
        self._dispatcher.refused(standing.host, refused.reason)

    def _lose(self, standing: StandingOrder, reason: str) -> None:
        """Count an order as lost: what it has not measured is tried again on another host."""
        left = standing.arrivals.left
        self._dismiss(standing, reason if left else None)
        if not left:
            self._dispatcher.done(standing.host)
            return
        if not self._stopped:
            cells = f"{len(left)} {plural(len(left), 'cell')}"
            self._observer.note(f"{standing.host}: lost with {cells} to do: {reason}")
        self._keep_left(standing)
        self._dispatcher.lost(standing.host, reason)

    def _keep_left(self, standing: StandingOrder) -> None:
        """Keep what is due again: cells without a verdict, and those measured side by side."""
        work, left = standing.work, standing.arrivals.left
        again = work.folder.beside(left)
        work.folder.forget(again)
        self._work[work.unit.id] = replace(work, cells=(*left, *again))

    def _dismiss(self, standing: StandingOrder, fault: str | None = None) -> None:
        end_later(standing.talk)
        self._put_away(standing, fault)

    def _put_away(self, standing: StandingOrder, fault: str | None = None) -> None:
        del self._standing[standing.host]
        self._journal.end(standing.host, fault)
        self._observer.order_ended(standing.host, fault)

    def _stop_at_failure(self, standing: StandingOrder) -> None:
        if self._stopped or not self._options.fail_fast:
            return
        if not set(FAILURES).isdisjoint(standing.arrivals.verdicts.values()):
            self._stop(_FAILED_FAST)
            for other in self._standing.values():
                if other is not standing:
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
        was_lost = given_up.unit.losses > 0 and not self._stopped
        explanation = reason("said", text=given_up.reason)
        if not was_lost and not self._stopped:
            fault = self._faults.get(work.unit.id) or self._faults.get("")
            trouble = type(fault or Unavailable(""))(given_up.reason)
            if str(trouble) not in self._troubles:
                self._troubles[str(trouble)] = trouble
                self._observer.note(error_text(trouble), explanation)
        left = [cell for cell in work.cells if work.folder.record_of(cell) is None]
        status: Status = "lost" if was_lost else "unavailable"
        save_verdicts(work.folder, self._observer, left, status, explanation)

    def _note_fault(self, standing: StandingOrder, message: Refused | Declined) -> None:
        """Remember an error of a host, whose kind decides the exit code if no other host helps."""
        kind = _KINDS.get(message.exit_code, Unavailable)
        text = f"{standing.host}: {message.reason}"
        self._faults[standing.work.unit.id] = self._faults[""] = kind(text)
        self._observer.note(f"{text}; {message.hint}" if message.hint else text)

    def _break_off(self) -> None:
        """End every order within seconds, at once if asked again; what arrived is merged."""
        deadline = time.monotonic() + FAREWELL_S
        try:
            with prompt_interrupts():
                for standing in self._standing.values():
                    standing.talk.cancel()
                if self._news is not None:
                    self._hear_out(self._news)
                while self._standing and time.monotonic() < deadline:
                    with suppress(Empty):
                        self._hear_out(self._heard.get(timeout=_TICK_S))
                end_all(standing.talk for standing in self._standing.values())
        finally:
            self._orders.release()
            for host in self._standing:
                self._journal.end(host, None)
            for folder in self._folders:
                with suppress(StoreError):
                    merge_run(folder, self._database(folder))

    def _hear_out(self, heard: Heard) -> None:
        """Take what still arrives from a host that was told to end."""
        standing = self._standing.get(heard.host)
        if standing is None or standing.id != heard.order:
            return
        if heard.message is None or isinstance(heard.message, Ended | Refused):
            self._dismiss(standing)
            return
        with suppress(DamagedFile):
            standing.arrivals.take(heard.message, heard.body)

    def _database(self, folder: RunFolder) -> Path:
        return self._options.database or folder.database
