"""Erasure: finds the requested data, marks it for all search indexes, removes it, and reports.

Each call finds anew what is left, and removes derived data before the data that it came from; the
stored progress tells the next call by which fingerprints to find the rest. So an erasure that was
cut off is finished by repeating the same request, with the same result.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Any

from opencrab.domain.document import Document, new_fact
from opencrab.domain.erasure.request import (
    FORGOTTEN,
    MARKS_KEPT,
    ErasureMark,
    ErasureRequest,
    ErasureScope,
)
from opencrab.domain.errors import Conflict
from opencrab.domain.memory.memory import MEMORY
from opencrab.domain.turn.turn import Trigger, Turn, TurnStatus
from opencrab.engine.access.membership import revoke_session_access
from opencrab.engine.access.visibility import access_of_sessions
from opencrab.engine.erasure.derived import DerivedData, data_derived_from_erased
from opencrab.engine.erasure.mails import drop_letters_and_mails
from opencrab.engine.erasure.progress import ErasureProgress, ErasureProgressStore
from opencrab.engine.erasure.scope import (
    DataToErase,
    find_data_to_erase,
    find_lines_repeating_erased,
)
from opencrab.engine.erasure.turns import (
    TurnErasure,
    erasure_batches,
    files_remaining_after_erasure,
    files_written_by_erased_turn,
    find_turn_header_for_erasure,
)
from opencrab.engine.erasure.uploads import (
    erased_upload_references,
    erasures_of_uploads,
    uploads_to_erase,
)
from opencrab.engine.memory.records import count_memory_removed
from opencrab.engine.runtime import Runtime
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents

Step = Callable[[], bool]
"""One piece of work; returns False if it was done before."""

SECONDS = 15.0
"""The time in seconds after which a call leaves the rest to the next: a request has 29 s."""

_LOOKING = 1 / 3
"""The share of a call's time for the first pass through the sessions."""

_LINES = 50
_MARKED = 200
_ALIVE = 100
_CHECKED = 200


@dataclass(frozen=True)
class ErasureReport:
    """The result of one call, the steps that are `left`, and related data that is not removed.

    `removed` are references by agent as `agent/kind:id`; `files`, `skills` and `schedules` are
    `agent:name`, of all calls of the same request. `done` is true if nothing is left, in no index
    and in no copy of one. `out_of_reach` names the copies that no call can remove, as in
    docs/explanation/forgetting.md.
    """

    done: bool
    left: int
    lines: int
    turns: int
    removed: tuple[str, ...]
    files: tuple[str, ...]
    skills: tuple[str, ...]
    schedules: tuple[str, ...] = ()
    out_of_reach: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataLineage:
    """The data that an erasure would remove, and what was derived from it."""

    lines: int
    repeated: int
    turns: int
    kept: tuple[str, ...]
    files: tuple[str, ...]
    skills: tuple[str, ...]
    schedules: tuple[str, ...] = ()


@dataclass
class _Plan:
    found: DataToErase
    kept: list[DerivedData]
    uploads: tuple[Document, ...]


def erase_data(
    runtime: Runtime, agent_id: str, wish: ErasureRequest, *, seconds: float = SECONDS
) -> ErasureReport:
    """Erase the requested data for at most `seconds`; repeat the call until the report is done.

    Lines of a session are shared by all its participants: they are erased for everyone, with what
    the other agents derived from them. The report is done when a pass after all removals finds
    nothing more, since a turn may have stored the data again meanwhile. Raises NotFound, and
    Conflict while affected turns or goals have not ended; by then the data is hidden from search,
    but still stored.
    """
    runtime.home.agents.get(agent_id)
    call = _Call(runtime, agent_id, wish, seconds)
    call.work()
    if call.done:
        call.trails.remove()
        drop_letters_and_mails(runtime.home, wish)
        for each in _agents_with_marks(runtime.home.facts, agent_id, call.met):
            runtime.search.apply_erasures(each)
        runtime.home.eraser.scrub_storage()
    remains = call.erasing.data_to_review()
    if call.done:
        call.end_versions(remains.files)
    return ErasureReport(
        done=call.done,
        left=call.left,
        lines=call.erasing.lines,
        turns=call.erasing.turns,
        removed=tuple(call.removed),
        files=tuple(files_remaining_after_erasure(runtime.home.files, remains.files)),
        skills=remains.skills,
        schedules=remains.schedules,
        out_of_reach=tuple(runtime.home.eraser.out_of_reach),
    )


class _Call:
    """One call: as many passes through the sessions, or parts of one, as there is time for.

    `left` counts the known steps that remain, and is at least 1 while a pass is unfinished.
    """

    def __init__(
        self, runtime: Runtime, agent_id: str, wish: ErasureRequest, seconds: float
    ) -> None:
        self._runtime, self._agent_id, self._wish = runtime, agent_id, wish
        began = runtime.clock.monotonic_ms()
        self._looks_until = began + seconds * _LOOKING * 1_000
        self._ends = began + seconds * 1_000
        self.trails = ErasureProgressStore(runtime, agent_id, wish)
        self.erasing = TurnErasure(runtime, agent_id, wish)
        self.removed: dict[str, None] = {}
        self.met: dict[str, None] = {}
        self.done, self.left = False, 0

    def work(self) -> None:
        """Find and remove data until nothing is left or the time is over."""
        trail = self.trails.read()
        while True:
            last = self._batch(trail)
            if self.left:
                return
            trail.after = last
            if last is None:
                if trail.whole and trail.clean:
                    self.done = True
                    return
                trail.next_round()
            if not self._has_until(self._ends):
                self.left = 1
                self.trails.keep(trail)
                return

    def end_versions(self, files: Iterable[str]) -> None:
        """Delete the older versions of remaining files that an agent has changed since."""
        for owner, _, path in (each.partition(":") for each in files):
            if self._has_until(self._ends):
                self._runtime.home.files.delete_versions(owner, path)

    def _batch(self, trail: ErasureProgress) -> str | None:
        """Process some sessions; return the last of them, None when there are no more."""
        in_time = partial(self._has_until, self._looks_until)
        plan = _plan_erasure(self._runtime, self._agent_id, self._wish, trail, in_time)
        if trail.after is None and plan.found.last is None:
            trail.whole = True
        for session in plan.found.sessions.values():
            self.met.update(dict.fromkeys(session.all_time_agent_ids))
        steps = list(_steps(self._runtime.home.facts, plan, self.erasing))
        steps.extend(erasures_of_uploads(self._runtime.home, plan.uploads))
        if steps:
            _mark(self._runtime.home.facts, self._runtime.clock, plan)
        _require_ended(self._runtime, plan)
        if steps or any(each.schedules for each in plan.kept):
            self.erasing.record_remaining(skills=_skills(plan), schedules=_schedules(plan))
        if steps:
            trail.clean = False
            self.trails.keep(trail)
            self.removed.update(dict.fromkeys(_removed_references(plan)))
            self.left = self._take(steps)
        return plan.found.last

    def _take(self, steps: Sequence[Step]) -> int:
        """Run steps until the time is over, at least one; return how many are left."""
        taken, worked = 0, False
        while taken < len(steps) and (not worked or self._has_until(self._ends)):
            worked = steps[taken]() or worked
            taken += 1
        return len(steps) - taken

    def _has_until(self, moment: float) -> bool:
        return self._runtime.clock.monotonic_ms() < moment


def erased_data_lineage(runtime: Runtime, agent_id: str, wish: ErasureRequest) -> DataLineage:
    """Return what an erasure would remove, and what was derived from it; change nothing."""
    runtime.home.agents.get(agent_id)
    known = ErasureProgress(traces=ErasureProgressStore(runtime, agent_id, wish).read().traces)
    plan = _plan_erasure(runtime, agent_id, wish, known, lambda: True)
    found = plan.found
    turns = (*found.turns, *found.beside)
    files = (
        path for turn_id in turns for path in files_written_by_erased_turn(runtime.home, turn_id)
    )
    return DataLineage(
        lines=sum(map(len, found.lines.values())),
        repeated=sum(map(len, found.repeating.values())),
        turns=len(dict.fromkeys(turns)),
        kept=tuple(_removed_references(plan)),
        files=tuple(files_remaining_after_erasure(runtime.home.files, dict.fromkeys(files))),
        skills=_skills(plan),
        schedules=_schedules(plan),
    )


def _plan_erasure(
    runtime: Runtime,
    agent_id: str,
    wish: ErasureRequest,
    trail: ErasureProgress,
    in_time: Callable[[], bool],
) -> _Plan:
    found = find_data_to_erase(runtime, agent_id, wish, trail, in_time)
    kept = [data_derived_from_erased(runtime, found, each) for each in found.agents()]
    for each in kept:
        found.beside.update(dict.fromkeys(turn for turn in each.turns if turn))
    find_lines_repeating_erased(runtime.home, found)
    return _Plan(found, kept, tuple(uploads_to_erase(runtime.home.facts, found)))


def _require_ended(runtime: Runtime, plan: _Plan) -> None:
    """Raise Conflict while an open turn or goal could store the erased data again."""
    found = plan.found
    goals = [goal for each in plan.kept for goal in each.open_goals]
    alive = {turn.id for turn in _alive(runtime, found)}
    for turn_id in islice(reversed([*found.turns, *found.beside]), _CHECKED):
        turn = find_turn_header_for_erasure(runtime.home.journal, turn_id)
        if turn is not None and not turn.status.is_end:
            alive.add(turn_id)
    if goals or alive:
        named = ", ".join([*sorted(goals), *sorted(alive)][:10])
        raise Conflict(
            f"{named} have not ended and could store the erased data again",
            cure="cancel these goals and stop these turns, or wait for them, then repeat the "
            "erasure",
        )


def _alive(runtime: Runtime, found: DataToErase) -> Iterator[Turn]:
    """Yield open turns that have read these sessions, and those that write summaries."""
    rules, places = runtime.rules, found.traces.lines
    horizon = timedelta(seconds=max(rules.lease_seconds, rules.visibility_seconds))
    agents = found.agents()
    for turn in runtime.home.journal.list_overdue(runtime.clock.now() + horizon, _ALIVE):
        if turn.trigger is Trigger.COMPACTION:
            concerned = turn.agent_id in agents
        else:
            concerned = turn.status is TurnStatus.RUNNING and turn.session_id in places
        if concerned or turn.trigger_line in places.get(turn.session_id, ()):
            yield turn


def _mark(facts: Documents, clock: Clock, plan: _Plan) -> None:
    """Write the marks that hide the data in every copy of a search index, before it is removed."""
    found, now = plan.found, clock.now()
    refs = {each.agent_id: each.found_again for each in plan.kept}
    for agent_id in found.agents():
        for what in _mark_contents(found, agent_id, refs.get(agent_id, ())):
            mark = ErasureMark(scope=found.wish.scope, at=now, **what)
            facts.commit(
                new_fact(agent_id, FORGOTTEN, clock.new_id(), mark, expires_at=now + MARKS_KEPT)
            )


def _mark_contents(
    found: DataToErase, agent_id: str, refs: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the fields of one agent's marks, split to the size of one document."""
    yield from ({"lines": part} for part in erasure_batches(list(found.ranges(agent_id)), _MARKED))
    yield from ({"refs": part} for part in erasure_batches(refs, _MARKED))
    if found.wish.scope is ErasureScope.EVERYTHING and agent_id == found.agent_id:
        yield {"everything": True}


def _steps(facts: Documents, plan: _Plan, erasing: TurnErasure) -> Iterator[Step]:
    """Yield the steps in an order in which data that leads to other data is removed after it."""
    found = plan.found
    for turn_id in found.beside:
        if turn_id not in found.turns:
            yield partial(erasing.erase_turn, turn_id)
    yield from _portions(found.repeating, erasing)
    for change in (change for each in plan.kept for change in each.changes):
        yield partial(_keep, facts, erasing, change)
    yield from _portions(found.lines, erasing)
    for change in (change for each in plan.kept for change in each.sources):
        yield partial(_keep, facts, erasing, change)
    for session_id in _sessions_to_strip(found):
        yield partial(erasing.erase_session_words, session_id)
    yield from _members_to_forget(facts, found)


def _members_to_forget(facts: Documents, found: DataToErase) -> Iterator[Step]:
    """Yield the removal of a person from members of sessions, or of all members with a session."""
    wish = found.wish
    if wish.scope in {ErasureScope.MEMORY, ErasureScope.PERIOD}:
        return
    for session_id, access in access_of_sessions(facts, found.sessions).items():
        everybody = wish.scope is ErasureScope.EVERYTHING or (
            wish.scope is ErasureScope.SESSION and session_id == wish.id
        )
        gone = access.members if everybody else (str(wish.id),)
        if (everybody or wish.scope is ErasureScope.PERSON) and set(gone) & set(access.members):
            yield partial(_forget_members, facts, session_id, gone)


def _forget_members(facts: Documents, session_id: str, gone: Sequence[str]) -> bool:
    for each in gone:
        revoke_session_access(facts, session_id, each)
    return True


def _keep(facts: Documents, erasing: TurnErasure, change: Document) -> bool:
    """Write a planned change; a removed memory also reduces the count of memories."""
    if change.kind != MEMORY or change.body is not None:
        return erasing.apply_change(change)
    facts.commit(change, count_memory_removed(facts, change.owner))
    return True


def _portions(
    lines: Mapping[str, Mapping[int, tuple[str, ...]]], erasing: TurnErasure
) -> Iterator[Step]:
    """Yield the erasure of lines with their turns, newest first: an answer before its message."""
    for session_id, numbers in lines.items():
        for part in erasure_batches(sorted(numbers, reverse=True), _LINES):
            turns = tuple(dict.fromkeys(turn for number in part for turn in numbers[number]))
            yield partial(erasing.erase_lines, session_id, part, turns)


def _sessions_to_strip(found: DataToErase) -> Iterator[str]:
    """Yield the ids of sessions whose name, theme or creator must be erased."""
    wish = found.wish
    for session in found.sessions.values():
        meant = {
            ErasureScope.MEMORY: False,
            ErasureScope.EVERYTHING: True,
            ErasureScope.SESSION: session.id == wish.id,
            ErasureScope.PERSON: session.created_by == wish.id,
            ErasureScope.PERIOD: wish.covers(session.created_at),
        }[wish.scope]
        is_concerned = meant or found.repeated_in(session.name or "", session.theme)
        if is_concerned and session != session.without_opening_words():
            yield session.id


def _agents_with_marks(facts: Documents, agent_id: str, others: Iterable[str]) -> Iterator[str]:
    """Yield the agents with erasure marks, from this call or an earlier one."""
    for each in dict.fromkeys((agent_id, *others)):
        if facts.page(each, FORGOTTEN, limit=1, newest_first=True):
            yield each


def _removed_references(plan: _Plan) -> Iterator[str]:
    yield from (f"{each.agent_id}/{ref}" for each in plan.kept for ref in each.removed)
    yield from erased_upload_references(plan.uploads)


def _skills(plan: _Plan) -> tuple[str, ...]:
    return tuple(f"{each.agent_id}:{name}" for each in plan.kept for name in each.skills)


def _schedules(plan: _Plan) -> tuple[str, ...]:
    return tuple(f"{each.agent_id}:{name}" for each in plan.kept for name in each.schedules)
