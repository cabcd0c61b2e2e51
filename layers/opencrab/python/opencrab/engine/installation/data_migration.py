"""Data migrations: what older releases left out is filled in, once, in both homes (ADR 0055).

Each looks at one agent after the other and says what to write; that is safe to repeat. Progress is
recorded with every page of agents, so that an upgrade that was cut off goes on where it was.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from opencrab.domain.agents.agent import AgentStatus, Profile
from opencrab.domain.autonomy.schedule import SCHEDULE, Schedule, next_schedule_time
from opencrab.domain.autonomy.vital_signs import (
    VITALS,
    VitalSigns,
    bring_heartbeat_forward,
    first_heartbeat_signs,
    heartbeat_signs_document,
)
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Invalid
from opencrab.domain.value import Value
from opencrab.engine.autonomy.schedule_documents import schedule_document
from opencrab.engine.installation.data_release import RELEASE, ReleaseRecord
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.installation.data_upgrade import DataUpgrade, MigrationResult

MIGRATION = "migration"
"""Kind of the documents of the installation that record migrations."""

_PAGE = 100

Repair = Callable[[Documents, Profile, datetime], Iterator[Document]]
"""Yields what is to be written for an agent; nothing if older releases left nothing out."""


class MigrationRecord(Value):
    """How far a migration is: `after` is the last agent that was looked at.

    `changed` counts agents, since the migration began for `release`.
    """

    release: str
    begun_at: datetime
    ended_at: datetime | None = None
    after: str | None = None
    checked: int = 0
    changed: int = 0


def _first_heartbeats(facts: Documents, profile: Profile, now: datetime) -> Iterator[Document]:
    """Agents of releases before autonomy have heartbeats switched on, and none is due.

    Releases that skip no heartbeats give an agent a reason to wake, and leave the next one where it
    is: for an agent at rest in the year 2100.
    """
    agent = profile.agent
    if agent.status is AgentStatus.RETIRED:
        return
    stored = facts.get(agent.id, VITALS, VITALS)
    if stored is None:
        signs = first_heartbeat_signs(agent, profile.soul.weights.risk_tolerance, now)
        yield heartbeat_signs_document(signs, None)
        return
    signs = stored.read(VitalSigns)
    to_be_reviewed = not signs.reviewed_at.timestamp()
    if signs.has_pending_input or signs.goal_at is not None or to_be_reviewed:
        signs = bring_heartbeat_forward(signs, now)
    due = heartbeat_signs_document(signs, stored)
    if due.due_at != stored.due_at:
        yield due


def _schedule_times(facts: Documents, profile: Profile, now: datetime) -> Iterator[Document]:
    """A schedule that is switched on and due at no time, or not found by it, would never run."""
    if profile.agent.status is AgentStatus.RETIRED:
        return
    for stored in facts.page(profile.agent.id, SCHEDULE):
        schedule = stored.read(Schedule)
        if not schedule.enabled:
            continue
        next_at = schedule.next_at
        with suppress(Invalid):  # a rule that cannot be parsed is switched off by its next run
            next_at = next_at or next_schedule_time(schedule.when, schedule.zone, now)
        if next_at is not None and stored.due_at != next_at:
            yield schedule_document(schedule.replaced(next_at=next_at), stored)


DATA_MIGRATIONS: dict[str, Repair] = {
    "first_heartbeats": _first_heartbeats,
    "schedule_times": _schedule_times,
}
"""All migrations by their names, which are recorded: never reuse one."""


def upgrade_data(
    home: Home,
    clock: Clock,
    release: str,
    *,
    dry_run: bool = False,
    seconds: float | None = None,
    migrations: dict[str, Repair] = DATA_MIGRATIONS,
) -> DataUpgrade:
    """Run the migrations that are left, and record that `release` uses the data now.

    After another release has used the data all run again: an older one may have left out what a
    newer one needs. With `dry_run` nothing is written. After about `seconds` the rest is left for
    the next call.
    """
    record = home.facts.get(INSTALLATION_FACTS, RELEASE, RELEASE)
    before = None if record is None else record.read(ReleaseRecord).version
    deadline = None if seconds is None else clock.monotonic_ms() + seconds * 1_000
    other = None if record is None or before == release else record.read(ReleaseRecord)
    results = tuple(
        _Run(home, clock, release, other, name, repair, dry_run=dry_run).run(deadline)
        for name, repair in migrations.items()
    )
    done = DataUpgrade(before, release, results)
    if done.ended and before != release and not dry_run:
        with suppress(Changed):
            home.facts.commit(_record_document(record, RELEASE, _release_record(release, clock)))
    return done


@dataclass
class _Run:
    home: Home
    clock: Clock
    release: str
    other: ReleaseRecord | None
    """Another release that used the data last."""

    name: str
    repair: Repair
    dry_run: bool

    def run(self, deadline: float | None) -> MigrationResult:
        stored = self.home.facts.get(INSTALLATION_FACTS, MIGRATION, self.name)
        known = None if stored is None else stored.read(MigrationRecord)
        if known is None or self._is_of_other_release(known):
            known = MigrationRecord(release=self.release, begun_at=self.clock.now())
        if known.ended_at is not None:
            return self._result(known, was_done=True)
        while not self._is_over(deadline):
            known = self._page(known)
            if not self.dry_run:
                stored = _record_document(stored, self.name, known)
                self.home.facts.commit(stored)
            if known.ended_at is not None:
                break
        return self._result(known)

    def _is_of_other_release(self, known: MigrationRecord) -> bool:
        """Check whether it began for another release, or another one came after it."""
        if known.release != self.release:
            return True
        ended, other = known.ended_at, self.other
        return ended is not None and other is not None and ended <= other.since

    def _is_over(self, deadline: float | None) -> bool:
        return deadline is not None and self.clock.monotonic_ms() >= deadline

    def _page(self, known: MigrationRecord) -> MigrationRecord:
        agents = self.home.agents.page(after=known.after, limit=_PAGE)
        now = self.clock.now()
        changed = sum([self._repaired(profile, now) for profile in agents])
        last = agents[-1].agent.id if agents else known.after
        return known.replaced(
            after=last,
            checked=known.checked + len(agents),
            changed=known.changed + changed,
            ended_at=now if len(agents) < _PAGE else None,
        )

    def _repaired(self, profile: Profile, now: datetime) -> bool:
        changes = list(self.repair(self.home.facts, profile, now))
        if not self.dry_run:
            for change in changes:
                # Whoever changed it meanwhile is of this release, and left nothing out.
                with suppress(Changed):
                    self.home.facts.commit(change)
        return bool(changes)

    def _result(self, known: MigrationRecord, *, was_done: bool = False) -> MigrationResult:
        ended = known.ended_at is not None
        return MigrationResult(self.name, known.checked, known.changed, ended, was_done)


def _record_document(stored: Document | None, fact_id: str, value: Value) -> Document:
    if stored is None:
        kind = RELEASE if isinstance(value, ReleaseRecord) else MIGRATION
        return new_fact(INSTALLATION_FACTS, kind, fact_id, value)
    return stored.with_body(value)


def _release_record(release: str, clock: Clock) -> ReleaseRecord:
    return ReleaseRecord(version=release, since=clock.now())
