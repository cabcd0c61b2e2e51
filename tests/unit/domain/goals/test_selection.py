"""Ranking goals, when one is worth beginning, and what is expected after the last ones."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.soul import Drives
from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.goals.condition import (
    first_unmet_goal_condition,
    parse_goal_conditions,
    require_checkable_goal_conditions,
)
from opencrab.domain.goals.expectation import REMEMBERED, Expectations, goal_satisfaction
from opencrab.domain.goals.goal import (
    ActionReceipt,
    Goal,
    GoalSource,
    GoalStatus,
    Pause,
    PlannedTask,
    Task,
    TaskStatus,
    with_plan,
)
from opencrab.domain.goals.plan import PlanStatus, plan_status, replan_goal
from opencrab.domain.goals.selection import (
    SETTLING,
    goal_begins_at,
    may_begin_goal,
    open_goal_limit,
    rank_goals,
    require_goal_room,
    require_valid_goal_deadline,
    score_goal,
)
from opencrab.domain.goals.value_estimate import (
    ASPIRATIONS,
    OBJECTIVES,
    Horizon,
    Satisfaction,
    ValueEstimate,
)
from opencrab.domain.outcome import Outcome
from tests.soak import examples

NOW = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
units = st.floats(0, 1, allow_nan=False)
worths = st.builds(
    ValueEstimate,
    expected_reward=units,
    capability_match=st.none() | units,
    novelty=units,
    social_value=units,
)
drives = st.builds(
    Drives,
    risk_tolerance=units,
    collaboration=units,
    depth_vs_breadth=units,
    quality_vs_speed=units,
)
deadlines = st.none() | st.integers(-100, 10_000).map(lambda n: NOW + timedelta(minutes=n))


def goal(number: int = 1, **changes: object) -> Goal:
    made = Goal(
        id=f"G{number}",
        agent_id="crab",
        session_id="s",
        name="海",
        principal_id="crab",
        authority=Authority.SELF,
        created_at=NOW,
    )
    return made.replaced(**changes)


def steps(count: int = 5, **changes: object) -> tuple[PlannedTask, ...]:
    return tuple(
        PlannedTask(name=f"n{n}", precondition="…", postcondition="…").replaced(**changes)
        for n in range(count)
    )


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(worths, deadlines), max_size=8), units, drives)
def test_goals_are_ranked_by_the_sum_of_the_terms_that_are_shown(
    many: list[tuple[ValueEstimate, datetime | None]], able: float, wants: Drives
) -> None:
    goals = [goal(n, worth=worth, deadline=at) for n, (worth, at) in enumerate(many, 1)]
    listed = rank_goals(goals, able, wants, NOW + timedelta(minutes=5))
    sums = [score.priority for _, score in listed]
    assert sums == sorted(sums, reverse=True)
    assert sorted(each.id for each, _ in listed) == sorted(each.id for each in goals)
    for each, score in listed:
        terms = score.urgency, score.expected_reward, score.capability_match
        assert score.priority == pytest.approx(sum((*terms, score.novelty, score.social_value)))
        if each.worth.capability_match is None:
            assert score.values.capability_match == able


@settings(max_examples=examples(50), deadline=None)
@given(worths, deadlines, units, drives, st.floats(0, 3))
def test_a_goal_is_worth_it_from_the_moment_on_that_is_foretold(
    worth: ValueEstimate, deadline: datetime | None, able: float, wants: Drives, threshold: float
) -> None:
    wanted = goal(worth=worth, deadline=deadline)
    at = goal_begins_at(wanted, able, wants, threshold)
    if at is None:
        late = NOW + timedelta(days=30)
        assert score_goal(wanted, able, wants, late).priority < threshold + 1e-9
    else:
        assert at >= NOW
        later = at + timedelta(seconds=1)
        assert score_goal(wanted, able, wants, later).priority >= threshold - 1e-6


def test_a_heartbeat_begins_only_what_it_may() -> None:
    assert may_begin_goal(goal(), unasked=True)
    assert not may_begin_goal(goal(), unasked=False)
    owners = goal(authority=Authority.OWNER, given=True)
    assert may_begin_goal(owners, unasked=False)
    assert not may_begin_goal(owners.replaced(given=False), unasked=False)
    pause = Pause(reason="…", by="owner", at=NOW)
    for changes in (
        {"horizon": Horizon.ASPIRATION},
        {"status": GoalStatus.ACTIVE},
        {"pause": pause},
        {"authority": Authority.USER},
        {"authority": Authority.PUBLIC},
    ):
        assert not may_begin_goal(goal(**changes), unasked=True)


def test_what_came_up_in_a_conversation_and_what_rests_are_left_alone_for_a_while() -> None:
    chatted = goal(authority=Authority.OWNER)
    assert goal_begins_at(chatted, 0.5, Drives(), 0.0) == NOW + SETTLING
    later = NOW + timedelta(hours=3)
    assert goal_begins_at(goal(rests_until=later), 0.5, Drives(), 0.0) == later


def test_horizons_are_full_with_a_clear_error_and_leave_room_for_the_owner() -> None:
    assert open_goal_limit(Horizon.OBJECTIVE, Authority.SELF) < OBJECTIVES
    require_goal_room(Horizon.OBJECTIVE, OBJECTIVES - 1, Authority.OWNER)
    with pytest.raises(
        Invalid, match="limit reached: 20 open goals with horizon 'objective'"
    ) as full:
        require_goal_room(Horizon.OBJECTIVE, OBJECTIVES, Authority.OWNER)
    assert full.value.field == "horizon"
    assert full.value.cure == "complete or abandon one of them first"
    with pytest.raises(Invalid, match="'aspiration'"):
        require_goal_room(Horizon.ASPIRATION, ASPIRATIONS, Authority.OWNER)


@pytest.mark.parametrize(
    ("deadline", "why"),
    [
        (NOW, "in the past"),
        (NOW - timedelta(days=1), "in the past"),
        ((NOW + timedelta(days=1)).replace(tzinfo=None), "no time zone"),
        (NOW + timedelta(days=40_000), "ten years"),
    ],
)
def test_an_impossible_deadline_is_refused_by_its_name(deadline: datetime, why: str) -> None:
    with pytest.raises(Invalid, match=why) as refused:
        require_valid_goal_deadline(deadline, NOW)
    assert refused.value.field == "deadline"
    assert refused.value.cure
    require_valid_goal_deadline(NOW + timedelta(days=1), NOW)


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(units, st.sampled_from(Outcome)), max_size=30))
def test_expectations_are_the_mean_of_what_came_and_stay_between_0_and_1(
    came: list[tuple[float, Outcome]],
) -> None:
    expecting, source = Expectations(), GoalSource.ROLE
    assert (expecting.capability, expecting.reward(source, 0.7)) == (0.5, 0.7)
    for actual, outcome in came:
        expecting = expecting.after(
            source,
            Satisfaction(
                outcome=outcome,
                reward_expected=0.5,
                reward_actual=actual,
                novelty=0.5,
                effort=1,
                at=NOW,
            ),
        )
        assert 0 <= expecting.reward(source, 0) <= 1
        assert 0 < expecting.capability < 1
    if came and len(came) <= REMEMBERED:
        mean = sum(actual for actual, _ in came) / len(came)
        assert expecting.reward(source, 0) == pytest.approx(mean)
    assert expecting.reward(GoalSource.SOCIAL, 0.3) == 0.3


def _done(task: Task, *, confirmed: bool) -> Task:
    receipts = (ActionReceipt(action="ws_write"),) if confirmed else ()
    return task.replaced(status=TaskStatus.DONE, receipts=receipts)


@pytest.mark.parametrize(
    ("confirmed", "failed", "claim", "actual", "outcome"),
    [
        (5, 0, Outcome.SUCCESS, 1.0, Outcome.SUCCESS),
        (0, 0, Outcome.SUCCESS, 0.5, Outcome.SUCCESS),
        (0, 0, None, 0.0, Outcome.UNKNOWN),
        (3, 2, None, 0.6, Outcome.PARTIAL),
        (5, 0, Outcome.PARTIAL, 0.5, Outcome.PARTIAL),
        (5, 0, Outcome.FAILURE, 0.0, Outcome.FAILURE),
        (0, 5, Outcome.SUCCESS, 0.0, Outcome.FAILURE),
    ],
)
def test_satisfaction_counts_what_was_done_and_what_of_it_is_known(
    confirmed: int, failed: int, claim: Outcome, actual: float, outcome: Outcome
) -> None:
    tasks = with_plan(goal(), steps()).tasks
    made = [_done(task, confirmed=n < confirmed) for n, task in enumerate(tasks)]
    for n in range(failed):
        made[-1 - n] = tasks[-1 - n].replaced(status=TaskStatus.FAIL)
    ended = goal(tasks=tuple(made), status=GoalStatus.COMPLETED, runs=7, claim=claim)
    came = goal_satisfaction(ended, NOW)
    assert (came.reward_actual, came.outcome, came.effort) == (actual, outcome, 7)
    assert came.reputation_delta == goal_satisfaction(ended, NOW, 0.9).reputation_delta == 0
    known = ended.replaced(reputation=0.75)
    assert goal_satisfaction(known, NOW, 0.5).reputation_delta == -0.25


def test_a_plan_is_a_draft_then_active_then_over() -> None:
    assert (plan_status(goal()), goal().risk) == (None, 0.0)
    drafted = with_plan(goal(), (*steps(4), *steps(1, risk=0.8, depends_on=())))
    assert (drafted.risk, drafted.tasks[0].risk) == (0.8, 0.5)
    assert plan_status(drafted) is PlanStatus.DRAFT
    begun = drafted.with_task(drafted.tasks[0].replaced(status=TaskStatus.ACTIVE))
    assert plan_status(begun) is PlanStatus.ACTIVE
    assert plan_status(begun.replaced(status=GoalStatus.COMPLETED)) is PlanStatus.COMPLETED
    assert plan_status(begun.replaced(status=GoalStatus.ABANDONED)) is PlanStatus.ABANDONED
    with pytest.raises(Conflict, match="is running"):
        replan_goal(begun, steps(1), NOW)


def test_another_plan_keeps_what_is_done_and_numbers_on() -> None:
    drafted = with_plan(goal(), steps())
    stuck = drafted.with_task(_done(drafted.tasks[0], confirmed=True)).replaced(stuck="暗い")
    anew, old = replan_goal(stuck, steps(2, depends_on=()), NOW)
    assert [task.id for task in anew.tasks] == ["G1-T1", "G1-T6", "G1-T7"]
    assert (anew.stuck, anew.revision, old.revision, old.why) == ("", 2, 1, "暗い")
    again, _ = replan_goal(anew, steps(1), NOW)
    with pytest.raises(Conflict, match="replanned 2 times"):
        replan_goal(again, steps(1), NOW)
    with pytest.raises(Invalid, match="itself"):
        replan_goal(stuck, steps(2, depends_on=(1, 2)), NOW)
    for count in (0, 11):
        with pytest.raises(Invalid, match=f"has {count} tasks"):
            replan_goal(stuck, steps(count), NOW)


def test_conditions_are_found_between_other_words_and_checked() -> None:
    text = "地図 file:notes/map.md と, task:G1-T2. profile:x"
    assert parse_goal_conditions(text) == (("file", "notes/map.md"), ("task", "G1-T2"))
    assert first_unmet_goal_condition(text, lambda _: True, lambda _: True) is None
    assert first_unmet_goal_condition(text, lambda _: False, lambda _: True) == "file:notes/map.md"
    assert first_unmet_goal_condition(text, lambda _: True, lambda _: False) == "task:G1-T2"
    assert first_unmet_goal_condition("ただの言葉", lambda _: False, lambda _: False) is None
    for wrong in ("file:/etc/passwd", "file:../x", "task:G1"):
        assert first_unmet_goal_condition(wrong, lambda _: True, lambda _: True)
        with pytest.raises(Invalid):
            require_checkable_goal_conditions(steps(1, postcondition=wrong))
