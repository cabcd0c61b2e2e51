"""Schedules end to end: each time once, whoever sweeps, crashes or edits meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.autonomy.schedule import SCHEDULE, SCHEDULES, Schedule, ScheduleDraft, WhyOff
from opencrab.domain.conversation.message import Channel, LineKind
from opencrab.domain.conversation.session import Ending, SessionStatus
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.domain.identifier import stable_id
from opencrab.domain.memory.working_memory import WORKING, WorkingMemory
from opencrab.domain.turn.turn import Trigger, TurnStatus
from opencrab.engine.autonomy import schedules
from opencrab.engine.autonomy.heartbeat import decide_queued_heartbeat
from opencrab.engine.autonomy.sweep import run_autonomy_sweep
from opencrab.engine.runtime import Runtime
from opencrab.ports.home import Home
from opencrab.ports.turn.queue import MessageOutcome
from tests.crash.scenarios import TEXT
from tests.e2e.house import START, House
from tests.e2e.talking import gathered, session_of, turns_of

HOUR = 3_600
OWN = stable_id("own", "crab")


def draft(when: str = "@every 1h", **changes: Any) -> ScheduleDraft:
    return ScheduleDraft(**{"name": "朝", "when": when, "instructions": "天気を伝える", **changes})


def kept(house: House, **changes: Any) -> Schedule:
    """A schedule of the agent `crab`, who is made first if need be."""
    if not house.scripts:
        house.session(house.agent("crab", TEXT))
    return schedules.create_schedule(house.runtime, "crab", "morning", draft(**changes))


def stored(house: House) -> Schedule:
    return schedules.find_schedule(house.runtime.home.facts, "crab", "morning")


def woken(house: House, session_id: str = OWN) -> list[str]:
    """What the schedule has said to the agent, as often as it has."""
    try:
        lines = house.home.journal.lines(session_id, after=0, limit=1_000)
    except NotFound:
        return []
    return [line.text for line in lines if line.kind is LineKind.SYSTEM]


def test_an_agent_does_what_its_schedule_says_each_time_once(house: House) -> None:
    kept(house, channel=Channel(kind="wall", address="here"))
    house.later(HOUR - 1)
    assert woken(house) == []
    house.later(1)
    assert schedules.sweep_schedules(house.runtime).begun == 0
    after = stored(house)
    turn = house.turn(str(after.last_turn_id))
    assert (turn.trigger, turn.source, turn.authority) == (
        Trigger.SCHEDULE,
        Source.SCHEDULE,
        Authority.SELF,
    )
    assert (turn.status, turn.taint, turn.session_id) == (TurnStatus.COMPLETED, False, OWN)
    assert [text for _, text in house.wall.shown] == ["hello there"]
    assert (after.last_at, after.next_at) == (
        START + timedelta(hours=1),
        START + timedelta(hours=2),
    )
    house.later(HOUR)
    assert woken(house) == ["天気を伝える"] * 2
    assert stored(house).fired == 2


def start_queued(house: House, seconds: float) -> int:
    """Let time pass, and functions handle what the sweep has queued; how often it has run then."""
    house.clock.advance(seconds)
    while (found := house.home.beats.receive(visibility_seconds=60, wait_seconds=0)) is not None:
        decide_queued_heartbeat(house.runtime, found)
        house.home.beats.acknowledge(found.receipt)
    house.work()
    return stored(house).fired


def test_a_schedule_starts_at_its_second_between_two_sweeps_unless_it_was_changed(
    house: House,
) -> None:
    kept(house)
    house.later(HOUR - 30)
    assert [start_queued(house, seconds) for seconds in (29, 1, 1)] == [0, 1, 1]
    assert stored(house).next_at == START + timedelta(hours=2)
    house.later(HOUR - 31)
    schedules.change_schedule(house.runtime, "crab", "morning", draft("@every 3h"))
    assert start_queued(house, 30) == 1
    house.later(HOUR - 30)
    assert start_queued(house, 29) == 1
    house.home.switches.set("crab", frozen=True)
    assert (start_queued(house, 1), len(woken(house))) == (1, 1)


def test_a_message_comes_to_an_end_though_the_sweep_begins_its_schedule_first_each_minute(
    house: House,
) -> None:
    kept(house, when="@every 1m")
    house.later(10)
    counts = list[int]()
    for _ in range(6):
        house.later(50 if not counts else 60)
        found = house.home.beats.receive(visibility_seconds=60, wait_seconds=0)
        counts.append(0 if found is None else found.count)
        if found is not None:
            outcome = decide_queued_heartbeat(house.runtime, found)
            if outcome is MessageOutcome.FINISHED:
                house.home.beats.acknowledge(found.receipt)
    assert (counts, stored(house).fired) == ([1, 2, 3, 0, 0, 0], 6)


def test_after_an_outage_one_time_is_caught_up_with_and_the_others_are_skipped(
    home: House,
) -> None:
    kept(home)
    home.later(100 * HOUR + 90)
    assert (len(woken(home)), stored(home).next_at) == (1, START + timedelta(hours=101))
    home.later(HOUR)
    assert len(woken(home)) == 2


def test_a_time_passes_by_while_the_turn_before_goes_on_or_its_agent_is_frozen(
    home: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    kept(home)
    for _ in range(3):
        home.clock.advance(HOUR)
        run_autonomy_sweep(home.runtime)
    home.work()
    assert (len(woken(home)), stored(home).fired) == (1, 1)
    assert "schedule skipped: schedule=morning, reason=previous_run_active" in caplog.messages
    home.home.switches.set("crab", frozen=True)
    home.later(HOUR)
    assert "schedule skipped: schedule=morning, reason=frozen" in caplog.messages
    assert len(woken(home)) == 1
    home.home.switches.set("crab", frozen=False)
    home.later(HOUR)
    assert len(woken(home)) == 2


def test_an_edit_never_brings_a_time_back_and_deleting_ends_them(home: House) -> None:
    kept(home)
    home.later(HOUR + 60)
    edited = schedules.change_schedule(
        home.runtime, "crab", "morning", draft("0 * * * *"), version=1
    )
    home.later(1)
    assert (len(woken(home)), edited.next_at) == (1, START + timedelta(hours=2))
    with pytest.raises(Conflict, match="version 2"):
        schedules.change_schedule(home.runtime, "crab", "morning", draft(), version=1)
    schedules.delete_schedule(home.runtime.home.facts, "crab", "morning")
    home.later(2 * HOUR)
    assert len(woken(home)) == 1
    with pytest.raises(NotFound):
        stored(home)


def test_it_is_run_by_hand_once_by_its_key_and_its_times_stay(home: House) -> None:
    kept(home, enabled=False)
    first = schedules.run_schedule_now(home.runtime, "crab", "morning", key="k1")
    assert schedules.run_schedule_now(home.runtime, "crab", "morning", key="k1") == first
    home.work()
    assert schedules.run_schedule_now(home.runtime, "crab", "morning", key="k1") == first
    second = schedules.run_schedule_now(home.runtime, "crab", "morning", key="k2")
    home.later(90)
    assert len(woken(home)) == 2
    after = stored(home)
    assert ((after.last_turn_id,), after.fired, after.next_at) == (second, 2, None)


def test_nobody_is_woken_who_has_retired_or_left_and_the_reason_is_kept(home: House) -> None:
    kept(home, session_id="s")
    (seat,) = home.home.sessions.get("s").participants
    home.home.sessions.create(home.home.sessions.get("s").replaced(id="t", participants=(seat,)))
    home.home.sessions.end("s", home.clock.now())
    home.later(HOUR)
    assert (stored(home).enabled, stored(home).why_off) == (False, WhyOff.NOT_THERE)
    with pytest.raises(Invalid):
        schedules.change_schedule(home.runtime, "crab", "morning", draft(session_id="s"))
    schedules.change_schedule(home.runtime, "crab", "morning", draft())
    home.later(HOUR)
    assert len(woken(home)) == 1
    home.home.sessions.end(OWN, home.clock.now())
    home.later(HOUR)
    assert (stored(home).why_off, len(woken(home))) == (WhyOff.NOT_THERE, 1)
    agent = home.home.agents.get("crab").agent
    schedules.create_schedule(home.runtime, "crab", "other", draft(session_id="t"))
    home.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))
    home.later(HOUR)
    retired = schedules.find_schedule(home.runtime.home.facts, "crab", "other")
    assert (retired.why_off, retired.next_at, retired.fired) == (WhyOff.RETIRED, None, 0)
    assert home.home.facts.list_due(SCHEDULE, home.clock.now() + timedelta(days=999), 10) == ()
    for act in (
        lambda: schedules.create_schedule(home.runtime, "crab", "third", draft()),
        lambda: schedules.run_schedule_now(home.runtime, "crab", "morning", key="k"),
    ):
        with pytest.raises(Conflict, match="retired"):
            act()


def test_what_it_says_in_a_session_that_it_shares_is_heard_there(home: House) -> None:
    kept(home, session_id="s")
    home.later(HOUR)
    spoken = [line.text for line in home.lines(LineKind.SPEECH)]
    assert (woken(home, "s"), spoken) == (["天気を伝える"], ["hello there"])


def test_in_a_discussion_it_begins_a_round_and_ends_nothing(home: House) -> None:
    gathered(home, "kai", "nami", says=["潮", "波", "砂", "貝"], hop_limit=1)
    wanted = draft(session_id="s")
    schedules.create_schedule(home.runtime, "kai", "morning", wanted)
    home.later(HOUR)
    assert (session_of(home).status, session_of(home).floor) == (SessionStatus.ACTIVE, 0)
    home.later(61)
    assert [turn.agent_id for turn in turns_of(home)] == ["kai", "nami"]
    assert session_of(home).ended_by is Ending.HOPS


def test_a_clock_that_was_ahead_once_keeps_nothing_waiting(home: House) -> None:
    kept(home)
    schedules.create_schedule(home.runtime, "crab", "mornings", draft("0 9 * * *"))
    rare = schedules.create_schedule(home.runtime, "crab", "rare", draft("0 0 29 2 *"))
    ahead = replace(home.runtime, clock=FakeClock(START + timedelta(days=30)))
    assert schedules.sweep_schedules(ahead).begun == 2
    home.work()
    home.later(HOUR)
    assert stored(home).next_at == START + timedelta(hours=2)
    daily = schedules.find_schedule(home.runtime.home.facts, "crab", "mornings")
    assert daily.next_at == START + timedelta(days=1)
    assert schedules.find_schedule(home.runtime.home.facts, "crab", "rare") == rare
    home.later(HOUR)
    assert (stored(home).fired, len(woken(home))) == (2, 3)


def test_the_same_id_again_is_one_schedule_and_fifty_are_enough(home: House) -> None:
    made = kept(home)
    assert kept(home) == made
    with pytest.raises(Conflict, match="other content"):
        kept(home, when="@every 2h")
    for number in range(1, SCHEDULES):
        schedules.create_schedule(home.runtime, "crab", f"n{number}", draft())
    with pytest.raises(Conflict, match="50 schedules"):
        schedules.create_schedule(home.runtime, "crab", "one-more", draft())
    assert len(schedules.schedules_of_agent(home.runtime.home, "crab")) == SCHEDULES
    with pytest.raises(NotFound):
        schedules.create_schedule(home.runtime, "nobody", "n", draft())


class Crash(Exception):
    """The worker dies here."""


@dataclass
class Dying:
    """A home whose n-th call does not return: before it takes effect, or right after."""

    house: House
    deadly: int
    after: bool
    calls: int = 0

    def runtime(self) -> Runtime:
        """The house's runtime on such a home."""
        ports = {
            name: _Port(getattr(self.house.home, name), self) for name in Home.__dataclass_fields__
        }
        return replace(self.house.runtime, home=replace(self.house.home, **ports))

    def call(self, inner: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """One call of a port."""
        self.calls += 1
        if self.calls == self.deadly and not self.after:
            raise Crash
        answer = inner(*arguments, **named)
        if self.calls == self.deadly:
            raise Crash
        return answer


@dataclass
class _Port:
    target: Any
    dying: Dying

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self.target, method)
        return lambda *given, **named: self.dying.call(inner, *given, **named)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_a_crash_anywhere_loses_no_time_and_doubles_none(home: House, *, after: bool) -> None:
    kept(home)
    for deadly in range(1, 40):
        turns_before = stored(home).fired
        home.clock.advance(HOUR)
        dying = Dying(home, deadly, after)
        try:
            schedules.sweep_schedules(dying.runtime())
            break
        except Crash:
            home.later(0)
            assert stored(home).fired == turns_before + 1
    else:
        pytest.fail("a sweep that never ends")
    assert dying.calls > 8
    home.later(0)
    assert woken(home) == ["天気を伝える"] * stored(home).fired == ["天気を伝える"] * deadly


@dataclass
class _Between:
    """A port during whose every write something else happens first."""

    target: Any
    happens: Callable[[], object]

    def __getattr__(self, method: str) -> Any:
        inner = getattr(self.target, method)

        def call(*given: Any, **named: Any) -> Any:
            if method == "commit":
                self.happens()
            return inner(*given, **named)

        return call


def test_two_sweeps_at_once_begin_one_turn(home: House) -> None:
    kept(home)
    home.clock.advance(HOUR)
    other = _Between(home.home.facts, lambda: schedules.sweep_schedules(home.runtime))
    slow = replace(home.runtime, home=replace(home.runtime.home, facts=other))
    assert schedules.sweep_schedules(slow).begun == 0
    home.work()
    assert (len(woken(home)), stored(home).fired) == (1, 1)


@pytest.mark.parametrize("by_hand", [False, True])
def test_a_clock_that_is_set_back_brings_nothing_twice(home: House, *, by_hand: bool) -> None:
    kept(home, when="0 * * * *")
    home.later(HOUR)
    if by_hand:
        schedules.run_schedule_now(home.runtime, "crab", "morning", key="k")
        home.work()
    earlier = replace(home.runtime, clock=FakeClock(START + timedelta(minutes=30)))
    schedules.change_schedule(earlier, "crab", "morning", draft("@every 2h"))
    again = draft("0 * * * *", instructions="もう一度")
    edited = schedules.change_schedule(earlier, "crab", "morning", again)
    assert edited.next_at == home.clock.now()
    home.later(0)
    assert woken(home) == ["天気を伝える"] * (1 + by_hand)
    home.later(HOUR)
    assert woken(home) == ["天気を伝える"] * (1 + by_hand) + ["もう一度"]


def test_notes_from_before_end_with_a_schedules_turn(home: House) -> None:
    kept(home)
    noted = WorkingMemory(text="雨のこと", turn_id="before", at=START)
    home.home.facts.commit(new_fact("crab", WORKING, WORKING, noted))
    home.later(HOUR)
    assert home.turn(str(stored(home).last_turn_id)).status is TurnStatus.COMPLETED
    assert home.home.facts.get("crab", WORKING, WORKING) is None


def test_fifty_are_enough_for_those_too_who_make_them_at_once(home: House) -> None:
    kept(home)
    for number in range(SCHEDULES - 2):
        schedules.create_schedule(home.runtime, "crab", f"n{number}", draft())
    others = iter(["other"])

    def meanwhile() -> None:
        for name in others:
            schedules.create_schedule(home.runtime, "crab", name, draft())

    slow_facts = _Between(home.home.facts, meanwhile)
    slow = replace(home.runtime, home=replace(home.runtime.home, facts=slow_facts))
    with pytest.raises(Conflict, match="50 schedules"):
        schedules.create_schedule(slow, "crab", "mine", draft())
    made = {each.id for each in schedules.schedules_of_agent(home.runtime.home, "crab")}
    assert (len(made), "other" in made) == (SCHEDULES, True)
