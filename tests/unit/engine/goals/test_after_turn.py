"""What follows for a goal when its turn ends: well, silently, badly, or without its world."""

from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Channel
from opencrab.domain.goals.expectation import EXPECTATIONS, Expectations
from opencrab.domain.goals.goal import (
    GOAL,
    Goal,
    GoalSource,
    GoalStatus,
    Task,
    TaskStatus,
)
from opencrab.domain.memory.memory import EXPERIENCE
from opencrab.domain.turn.action import ActionResult, GoalBegun
from opencrab.domain.turn.record import (
    ActionCall,
    ApprovalDecision,
    CallResult,
    CallState,
    ModelAnswer,
)
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.goals.after_turn import GoalConsequence
from opencrab.engine.goals.progress import Standing, goal_summary
from opencrab.engine.phrases import system_phrase
from tests.unit.engine.goals.aims import aim, pursues, step
from tests.unit.engine.known_world import World, took_step

WROTE = ("ws_write", ActionResult.ok(size=3))
NO_PLAN = ("plan_goal", ActionResult.failure("the plan is cyclic"))
REJECTED = ApprovalDecision(n=9, call_id="c", argument_hash="h", approved=False, by="owner")


def after(
    world: World, status: TurnStatus, *, read: bool = False, mine: bool = True, **changes: Any
) -> list[Goal]:
    """Mika's goal as it is written when the turn for its first task ends; nothing if it is not."""
    turn, _ = world.say("灯台を数えて")
    turn_id = turn.id if mine else "another"
    tasks = (step(1, status=TaskStatus.ACTIVE, turn_id=turn_id), step(2))
    pursues(world, aim(turn_id=turn_id, tasks=tasks, **changes), current="G1")
    work = world.work(turn)
    work.turn = work.turn.replaced(task="G1-T1", taint=read)
    ended = TurnEnding(turn=work.turn, status=status, speech="三つです")
    following = GoalConsequence().on_close(work, ended)
    return [fact.read(Goal) for fact in following.facts if fact.kind == GOAL]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("read", [True, False])
@pytest.mark.parametrize(
    "status", [TurnStatus.COMPLETED, TurnStatus.IDLE, TurnStatus.FAILED, TurnStatus.EXHAUSTED]
)
def test_however_a_turn_ends_its_goal_keeps_that_foreign_words_were_read(
    world: World, status: TurnStatus, *, read: bool, known: bool
) -> None:
    (goal,) = after(world, status, read=read, taint=known)
    assert goal.taint is (known or read)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("read", [True, False])
def test_a_goal_that_was_cancelled_meanwhile_keeps_that_foreign_words_were_read(
    world: World, *, read: bool, known: bool
) -> None:
    turn, _ = world.say("灯台を数えて")
    given_up = aim(turn_id=turn.id, status=GoalStatus.ABANDONED, taint=known)
    pursues(world, given_up, current="G1")
    work = world.work(turn)
    work.turn = work.turn.replaced(task="G1", taint=read)
    ended = TurnEnding(turn=work.turn, status=TurnStatus.STOPPED, speech="")
    following = GoalConsequence().on_close(work, ended)
    (goal,) = (fact.read(Goal) for fact in following.facts if fact.kind == GOAL)
    assert (goal.status, goal.taint) == (GoalStatus.ABANDONED, known or read)


def test_a_task_whose_turn_said_something_is_done(world: World) -> None:
    (goal,) = after(world, TurnStatus.COMPLETED)
    assert (goal.tasks[0].status, goal.tasks[0].result) == (TaskStatus.DONE, "三つです")


def test_a_task_whose_turn_said_nothing_has_failed(world: World) -> None:
    (goal,) = after(world, TurnStatus.IDLE)
    assert goal.tasks[0].status is TaskStatus.FAIL
    assert goal.tasks[0].cause == system_phrase("task_silent", Language.JA)


@pytest.mark.parametrize("status", [TurnStatus.COMPLETED, TurnStatus.FAILED])
def test_a_turn_that_its_goal_no_longer_waits_for_moves_nothing(
    world: World, status: TurnStatus
) -> None:
    assert after(world, status, mine=False) == []


@pytest.mark.parametrize(("known", "read"), [(False, False), (False, True), (True, False)])
def test_a_goal_whose_turn_is_abandoned_waits_and_keeps_that_foreign_words_were_read(
    world: World, *, known: bool, read: bool
) -> None:
    turn, _ = world.say("Count the lighthouses")
    pursues(world, aim(taint=known, turn_id=turn.id), current="G1")
    served = turn.replaced(task="G1", taint=read)
    following = GoalConsequence().on_abandon(world.runtime, served, "消えました")
    (waits,) = (each.read(Goal) for each in following.facts if each.kind == GOAL)
    assert waits.taint == (known or read)
    assert waits.pause is not None
    assert waits.pause.reason == "消えました"


def closed(
    world: World,
    goal: Goal | None,
    *deeds: tuple[str, ActionResult],
    status: TurnStatus = TurnStatus.COMPLETED,
    decision: ApprovalDecision | None = None,
    hops: int = 0,
    channel: Channel | None = None,
) -> FollowUp:
    """What follows when a turn of Mika's ends that has made these calls, for a goal or for none."""
    turn, _ = world.say("灯台を数えて")
    if goal is not None:
        pursues(world, goal.replaced(turn_id=turn.id), current="G1")
        turn = turn.replaced(task="G1")
    work = world.work(turn)
    work.turn = work.turn.replaced(task=turn.task, hops=hops, channel=channel)
    if deeds:
        calls = tuple(
            ActionCall(id=f"c{n}", name=name, arguments={}) for n, (name, _) in enumerate(deeds)
        )
        results = (
            CallResult(n=n + 3, call_id=f"c{n}", name=name, state=CallState.COMPLETED, result=done)
            for n, (name, done) in enumerate(deeds)
        )
        took_step(work, ModelAnswer(calls=calls), *results)
    if decision is not None:
        work.transcript.add(decision)
    return GoalConsequence().on_close(
        work, TurnEnding(turn=work.turn, status=status, speech="三つ")
    )


def written(following: FollowUp) -> Goal:
    """The goal as it is stored in the end."""
    (goal,) = (fact.read(Goal) for fact in following.facts if fact.kind == GOAL)
    return goal


def test_a_task_ends_when_its_turn_does(world: World) -> None:
    world.clock.advance(90)
    (goal,) = after(world, TurnStatus.COMPLETED)
    assert goal.tasks[0].ended_at == world.clock.now()
    assert goal.tasks[1].ended_at is None


def test_a_goal_without_a_plan_is_done_by_what_its_turn_did(world: World) -> None:
    following = closed(world, aim(), WROTE)
    goal = written(following)
    assert (goal.status, goal.report, goal.unconfirmed) == (GoalStatus.COMPLETED, "三つ", ())
    assert [receipt.action for receipt in goal.receipts] == ["ws_write"]
    assert following.session_notice == "[G1] DONE 灯台を数える / 100%"


def test_a_goal_that_was_only_talked_about_says_so(world: World) -> None:
    following = closed(world, aim())
    nothing = system_phrase("nothing_done", Language.JA)
    goal = written(following)
    assert goal.unconfirmed == (nothing,)
    assert following.session_notice.startswith("[G1] ANSWERED 灯台を数える / 0%")
    assert following.session_notice.endswith(nothing)
    assert (goal.status, goal.has_only_words, goal.completion_percent) == (
        GoalStatus.COMPLETED,
        True,
        0,
    )
    summary = goal_summary(world.runtime.home.journal, goal)
    assert (summary.status, summary.completion) == (Standing.ANSWERED, 0)


@pytest.mark.parametrize("source", [GoalSource.ROLE, GoalSource.CURIOSITY, GoalSource.SOCIAL])
@pytest.mark.parametrize("tasks", [(), (step(1, status=TaskStatus.DONE),)])
def test_a_goal_of_its_own_with_nothing_but_words_is_not_done(
    world: World, source: GoalSource, tasks: tuple[Task, ...]
) -> None:
    following = closed(world, aim(authority=Authority.SELF, source=source, tasks=tasks))
    goal = written(following)
    assert (goal.status, goal.report) == (GoalStatus.ABANDONED, "三つ")
    assert goal.unconfirmed == (system_phrase("nothing_done", Language.JA),)
    assert [fact for fact in following.facts if fact.kind == EXPERIENCE] == []
    (expected,) = (fact.read(Expectations) for fact in following.facts if fact.kind == EXPECTATIONS)
    assert expected.rewards[source].reward == 0
    assert following.session_notice == ""


@pytest.mark.parametrize("tasks", [(), (step(1, status=TaskStatus.DONE),)])
def test_to_read_is_no_deed_and_subgoals_are(world: World, tasks: tuple[Task, ...]) -> None:
    listed = ("ws_list", ActionResult.ok(files=[]))
    own = aim(authority=Authority.SELF, source=GoalSource.ROLE, tasks=tasks)
    assert written(closed(world, own, listed)).status is GoalStatus.ABANDONED


def test_a_goal_that_was_divided_is_done(world: World) -> None:
    own = aim(authority=Authority.SELF, source=GoalSource.ROLE, children=1)
    assert written(closed(world, own)).status is GoalStatus.COMPLETED


@pytest.mark.parametrize(
    ("source", "status"),
    [
        (GoalSource.ROLE, GoalStatus.COMPLETED),
        (GoalSource.SURVIVAL, GoalStatus.COMPLETED),
        (GoalSource.SOCIAL, GoalStatus.COMPLETED),
        (GoalSource.CURIOSITY, GoalStatus.ABANDONED),
    ],
)
def test_words_that_somebody_hears_are_a_deed_but_for_curiosity(
    world: World, source: GoalSource, status: GoalStatus
) -> None:
    own = aim(authority=Authority.SELF, source=source)
    channel = Channel(kind="wall", address="x")
    assert written(closed(world, own, channel=channel)).status is status


@pytest.mark.parametrize("tasks", [(), (step(1, status=TaskStatus.DONE),)])
def test_a_goal_of_its_own_is_done_by_what_it_did(world: World, tasks: tuple[Task, ...]) -> None:
    following = closed(world, aim(authority=Authority.SELF, tasks=tasks), WROTE)
    assert written(following).status is GoalStatus.COMPLETED
    assert [fact.kind for fact in following.facts].count(EXPERIENCE) == 1


def test_a_report_after_all_tasks_ends_the_goal_though_it_asks_for_another_plan(
    world: World,
) -> None:
    tasks = (step(1, status=TaskStatus.DONE), step(2, status=TaskStatus.FAIL))
    goal = written(closed(world, aim(tasks=tasks), NO_PLAN))
    assert (goal.status, goal.pause) == (GoalStatus.COMPLETED, None)


def test_a_goal_whose_only_plan_was_refused_waits_and_says_why(world: World) -> None:
    unplanned = written(closed(world, aim(), NO_PLAN))
    assert unplanned.status is not GoalStatus.COMPLETED
    assert unplanned.pause is not None
    assert "計画の内容に誤りがあります" in unplanned.pause.reason


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize(
    ("status", "decision", "reason"),
    [
        (TurnStatus.STOPPED, None, "goal_stopped"),
        (TurnStatus.STOPPED, REJECTED, "goal_rejected"),
        (TurnStatus.STOPPED, REJECTED.replaced(approved=True), "goal_stopped"),
        (TurnStatus.FAILED, REJECTED, "goal_failed"),
        (TurnStatus.EXHAUSTED, REJECTED, "goal_exhausted"),
    ],
)
def test_a_goal_that_waits_says_what_has_ended_its_turn(
    world: World,
    status: TurnStatus,
    decision: ApprovalDecision | None,
    reason: str,
    language: Language,
) -> None:
    agents = world.runtime.home.agents
    agents.save(agents.get("mika").agent.replaced(language=language))
    goal = written(closed(world, aim(), status=status, decision=decision))
    assert goal.pause is not None
    assert goal.pause.reason == system_phrase(reason, language)


def test_a_goal_of_its_own_that_finds_no_other_plan_waits_for_its_owner(world: World) -> None:
    tasks = (step(1, status=TaskStatus.FAIL, cause="暗い"), step(2))
    stuck = aim(tasks=tasks, authority=Authority.SELF, stuck="G1-T1: 暗い")
    goal = written(closed(world, stuck))
    assert (goal.status.is_end, goal.stuck) == (False, "G1-T1: 暗い")
    assert goal.pause is not None
    assert goal.pause.reason == system_phrase("goal_stuck", Language.JA, cause="G1-T1: 暗い")


def test_a_goal_that_is_begun_counts_as_one_step_further_from_the_human(world: World) -> None:
    begun = ActionResult.ok().replaced(side_effects=(GoalBegun(goal="G1"),))
    pursues(world, aim())
    (due,) = closed(world, None, ("start_task", begun), hops=2).due
    assert (due.task, due.hops) == ("G1", 3)
