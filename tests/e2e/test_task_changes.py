"""Instructions that are steered, paused, interrupted, given up, or lose what they need."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from opencrab.adapters.sqlite.database import sqlite_milliseconds
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.errors import Conflict
from opencrab.domain.goals.goal import GoalStatus, Pause
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.goals import instructions
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.ports.models.model import ChatMessage
from opencrab.ports.turn.journal import Journal, TurnChange
from tests.crash.errand import OWNER, scripts
from tests.crash.outside import HOPELESS, Reply, Script
from tests.e2e.house import House
from tests.e2e.instructed import agenda, aside, at_rest, carried, crab, goal, instruct, told, until

FAILED: Script = (Reply(text="never", fails=HOPELESS * 8),)
ENDLESS: Script = tuple(
    Reply(calls=(("ws_write", {"path": "x.md", "content": f"{n}"}),)) for n in range(20)
)


def paused_at_work(house: House) -> None:
    """An instruction whose owner pauses it while a model works on its second task."""
    crab(house)
    instruct(house)
    until(house, "G1-T2")
    house.interrupt(
        lambda: instructions.pause_goal_by_label(house.runtime, "crab", "G1", by="owner")
    )
    house.work()
    house.provider.wrap = lambda model: model


@pytest.mark.parametrize(
    ("script", "status"), [(FAILED, TurnStatus.FAILED), (ENDLESS, TurnStatus.EXHAUSTED)]
)
def test_a_turn_that_ended_badly_is_not_run_again_without_a_yes(
    home: House, script: Script, status: TurnStatus
) -> None:
    crab(home, G1_T2=script)
    instruct(home)
    carried(home)
    waiting = goal(home)
    assert waiting.pause is not None
    assert not waiting.pause.turn_waits
    assert waiting.turn_id is not None
    assert home.turn(waiting.turn_id).status is status
    asked, clock = home.provider.bill.received, 100_000
    for _ in range(5):
        home.later(clock)
    assert home.provider.bill.received == asked
    assert told(home) == ["[G1-T1] DONE 1番目のメモを書く"]
    at_rest(home)
    home.scripts["crab@G1-T2"] = scripts("crab")["crab@G1-T2"]
    assert instructions.resume_goal(home.runtime, "crab", "G1").runs == waiting.runs + 1
    carried(home)
    assert goal(home).status is GoalStatus.COMPLETED
    assert len(told(home)) == 6


def test_a_turn_that_somebody_stops_lets_its_goal_wait(home: House) -> None:
    crab(home)
    instruct(home)
    until(home, "G1-T2")
    instructions._stop(home.runtime.home, home.runtime.clock, str(goal(home).turn_id), "owner", "")
    carried(home)
    assert goal(home).pause is not None
    instructions.resume_goal(home.runtime, "crab", "G1-T2")
    carried(home)
    assert goal(home).status is GoalStatus.COMPLETED


def test_a_goal_is_paused_for_a_day_and_goes_on_with_the_same_turn(house: House) -> None:
    crab(house, Language.JA)
    instruct(house)
    until(house, "G1-T1")
    house.interrupt(
        lambda: instructions.pause_goal_by_label(house.runtime, "crab", "G1", by="owner")
    )
    house.work()
    house.provider.wrap = lambda model: model
    waiting = goal(house)
    assert waiting.turn_id is not None
    assert house.turn(waiting.turn_id).status is TurnStatus.WAITING
    house.later(90_000)
    assert house.bell.rings == []
    summary = house.home.journal.lines(waiting.session_id, newest_first=True, limit=1)[0].text
    assert "[G1-T1] 一時停止しました" in summary
    assert instructions.resume_goal(house.runtime, "crab", "G1").turn_id == waiting.turn_id
    house.work()
    assert told(house) == ["[G1-T1] DONE 1番目のメモを書く"]
    assert len(house.bell.rings) == 1
    given_up = instructions.cancel_goal(house.runtime, "crab", "G1", by="owner")
    assert given_up.status is GoalStatus.ABANDONED
    house.later(1)
    at_rest(house)
    assert agenda(house).open == ()
    with pytest.raises(Conflict, match="ended"):
        instructions.resume_goal(house.runtime, "crab", "G1")


def test_who_is_resumed_and_paused_again_before_going_on_says_so_once(home: House) -> None:
    paused_at_work(home)
    waiting = goal(home)
    for _ in range(2):
        instructions.resume_goal(home.runtime, "crab", "G1")
        instructions.pause_goal_by_label(home.runtime, "crab", "G1", by="owner")
        home.work()
    assert home.turn(str(waiting.turn_id)).status is TurnStatus.WAITING
    lines = [line.text for line in home.home.journal.lines(waiting.session_id, limit=50)]
    assert sum("I have paused" in line for line in lines) == 1
    instructions.resume_goal(home.runtime, "crab", "G1")
    carried(home)
    assert goal(home).status is GoalStatus.COMPLETED


class Meddled:
    """A journal before whose first commit of an end somebody changes something else."""

    def __init__(self, journal: Journal, meddle: Callable[[], object]) -> None:
        self._journal, self._meddle = journal, meddle
        self.ends = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._journal, name)

    def commit(self, change: TurnChange) -> Turn:
        """Commit it; of ends the first one late."""
        self.ends += change.turn.status.is_end
        if change.turn.status.is_end and self.ends == 1:
            self._meddle()
        return self._journal.commit(change)


def test_a_turn_ends_though_its_goal_is_changed_in_the_same_moment(home: House) -> None:
    crab(home, G1_T2=(Reply(text="2番目もできました"),))
    instruct(home)
    until(home, "G1-T2")

    def meddle() -> None:
        fact = require_goal_document(home.runtime.home.facts, "crab", "G1")
        home.runtime.home.facts.commit(fact.with_body(goal(home)))

    journal: Any = Meddled(home.home.journal, meddle)
    turn_id = str(goal(home).turn_id)
    home.runtime = replace(home.runtime, home=replace(home.runtime.home, journal=journal))
    home.work()
    assert journal.ends > 1
    ended = home.turn(turn_id)
    assert (ended.status, ended.attempts) == (TurnStatus.COMPLETED, 1), "its answer is kept"


def test_a_goal_whose_turn_was_never_told_of_the_pause_waits_all_the_same(home: House) -> None:
    crab(home)
    instruct(home)
    until(home, "G1-T2")
    # Whoever paused it died between the goal and its turn.
    fact = require_goal_document(home.runtime.home.facts, "crab", "G1")
    pause = Pause(reason="later", by="owner", at=home.clock.now(), turn_waits=True)
    home.runtime.home.facts.commit(fact.with_body(goal(home).replaced(pause=pause)))
    asked = home.provider.bill.received
    home.work()
    assert home.provider.bill.received == asked
    assert home.turn(str(goal(home).turn_id)).status is TurnStatus.WAITING
    instructions.resume_goal(home.runtime, "crab", "G1")
    carried(home)
    assert goal(home).status is GoalStatus.COMPLETED


def test_what_an_owner_whispers_is_heard_in_the_next_step(home: House) -> None:
    crab(home)
    instruct(home)
    until(home, "G1-T2")
    for _ in range(2):
        instructions.steer_goal(home.runtime, "crab", "G1-T2", "短く", asker=OWNER, key="s")
    seen = len(home.provider.seen)
    home.work()
    first = home.provider.seen[seen]
    assert sum("短く" in said.text for said in first.turns if isinstance(said, ChatMessage)) == 1


def test_what_is_whispered_before_a_goal_begins_is_heard_when_it_does(home: House) -> None:
    crab(home)
    instruct(home)
    instruct(home, "もう一つ", "k2")
    instructions.steer_goal(home.runtime, "crab", "G2", "短く", asker=OWNER, key="s")
    carried(home, 30)
    assert goal(home, "G2").status is GoalStatus.COMPLETED
    planned = next(r for r in home.provider.seen if "もう一つ" in str(r.turns))
    assert "短く" in str(planned.turns)


def test_what_is_whispered_to_a_goal_that_waits_for_days_is_heard(home: House) -> None:
    paused_at_work(home)
    instructions.steer_goal(home.runtime, "crab", "G1", "短く", asker=OWNER, key="s")
    for _ in range(3):
        home.later(90_000)
    journal: Any = home.home.journal
    journal._database.purge(sqlite_milliseconds(home.clock.now()), 0)
    seen = len(home.provider.seen)
    instructions.resume_goal(home.runtime, "crab", "G1")
    home.work()
    assert "短く" in str(home.provider.seen[seen].turns)


def test_an_owners_message_interrupts_and_the_same_turn_goes_on_later(home: House) -> None:
    crab(home)
    instruct(home)
    until(home, "G1-T2")
    home.interrupt(lambda: aside(home) if goal(home).pause is None else None)
    home.work()
    home.provider.wrap = lambda model: model
    waiting = goal(home)
    assert waiting.pause is not None
    assert waiting.pause.reason.endswith("いま何を?")
    lines = [line.text for line in home.home.journal.lines(waiting.session_id, limit=50)]
    assert lines[-1] == "はい、聞いています"
    assert "[G1-T2] I have paused. Done so far: nothing yet" in lines[-2]
    carried(home)
    assert told(home) == ["[G1-T1] DONE 1番目のメモを書く"]
    assert instructions.resume_goal(home.runtime, "crab", "G1").turn_id == waiting.turn_id
    carried(home)
    assert goal(home).status is GoalStatus.COMPLETED
    assert len(home.bell.rings) == 5


def _retired(house: House) -> None:
    agent = house.home.agents.get("crab").agent
    house.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))


def test_a_retired_agent_takes_no_instruction_and_its_goals_wait(home: House) -> None:
    crab(home)
    instruct(home)
    instruct(home, "もう一つ", "k2")
    home.work()
    _retired(home)
    with pytest.raises(Conflict, match="retired"):
        instruct(home, "三つ目", "k3")
    carried(home)
    for each in ("G1", "G2"):
        stranded = goal(home, each)
        assert stranded.pause is not None
        assert "no active agent" in stranded.pause.reason
        assert stranded.turn_id is None
    at_rest(home)
    assert home.home.due.list_due(home.clock.now(), 10) == ()


@pytest.mark.parametrize("change", [instructions.pause_goal_by_label, instructions.cancel_goal])
def test_a_goal_whose_turn_never_comes_holds_no_place_after_it_was_changed(
    home: House, change: Any
) -> None:
    crab(home)
    instruct(home)
    home.work()
    _retired(home)
    change(home.runtime, "crab", "G1", by="owner")
    carried(home)
    at_rest(home)
    assert goal(home).turn_id is None


def test_a_turn_whose_session_is_gone_lets_its_goal_wait(home: House) -> None:
    crab(home)
    instruct(home)
    instruct(home, "もう一つ", "k2")
    lost: Any = home.home.sessions
    with lost._database.write_transaction() as items:
        items.delete(f"SESSION#{goal(home).session_id}", "S")
    home.work()
    waiting = goal(home)
    assert home.turn(str(waiting.turn_id)).status is TurnStatus.FAILED
    assert waiting.pause is not None
    assert agenda(home).current == "G2"
