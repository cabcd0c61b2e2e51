"""Goals that an agent sets itself, from wanting them to what came of them."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.curiosity import autonomy_curiosity_threshold
from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.conversation.channel_binding import PLACE, ChannelBinding
from opencrab.domain.conversation.message import Channel
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.goals.expectation import EXPECTATIONS, Expectations
from opencrab.domain.goals.goal import GoalSource, GoalStatus, TaskStatus
from opencrab.domain.goals.plan import PLAN, AbandonedPlan, PlanStatus, plan_status
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.outcome import Outcome
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.value import Language
from opencrab.domain.world.binding import WORLD, WorldBinding
from opencrab.engine.access.session_access import record_access_speaking_freely
from opencrab.engine.agents.agent_session import agents_own_session
from opencrab.engine.agents.vital_signs import agent_vital_signs_document, create_agent_vital_signs
from opencrab.engine.goals import instructions
from opencrab.engine.goals.generation import generate_exploration_goal
from opencrab.engine.goals.owner_goals import NewGoal, inject_owner_goal
from opencrab.engine.goals.queue import GoalBoard
from opencrab.engine.goals.selection import (
    are_paused_goals_overdue,
    begin_best_goal,
    goal_preferences,
)
from opencrab.engine.runtime import Runtime
from opencrab.engine.turn.observe import load_turn_work
from opencrab.engine.world.binding import bind_to_world
from tests.crash.errand import OWNER
from tests.crash.outside import Reply
from tests.e2e.beating import minutes
from tests.e2e.house import House
from tests.e2e.instructed import agenda, at_rest, carried, goal, told
from tests.e2e.wanting import begins, does, gives_up, lives, plans, rows
from tests.world.reference import ReferenceWorld

NAMES = {Language.EN: "Explore the unknown", Language.JA: "未知を探る"}
STUCK = {Language.EN: "tell me how to proceed", Language.JA: "どうすればよいか教えてください"}


RISKY = [{**row, "risk": 0.9} if n == 3 else row for n, row in enumerate(rows(5))]


def expected(house: House) -> Expectations:
    fact = house.home.facts.get("crab", EXPECTATIONS, EXPECTATIONS)
    assert fact is not None
    return fact.read(Expectations)


@pytest.mark.parametrize("language", [Language.JA, Language.EN])
def test_a_goal_of_its_own_goes_from_curiosity_to_satisfaction(
    home: House, language: Language
) -> None:
    lives(home, language)
    begun = begins(home, generate_exploration_goal)
    assert begun is not None
    assert (begun.name, begun.source) == (NAMES[language], GoalSource.CURIOSITY)
    assert begins(home, generate_exploration_goal) is None
    carried(home)
    done = goal(home)
    assert (done.status, plan_status(done)) == (GoalStatus.COMPLETED, PlanStatus.COMPLETED)
    came = done.satisfaction
    assert came is not None
    assert (came.outcome, came.reward_actual, came.effort) == (Outcome.SUCCESS, 1.0, 6)
    assert came.spent_micro_usd == done.spent_micro_usd > 0
    (kept,) = home.home.facts.page("crab", EXPERIENCE)
    lived = kept.read(Experience)
    assert (lived.lesson, lived.outcome) == ("海は深い", Outcome.SUCCESS)
    assert expected(home).reward(GoalSource.CURIOSITY, 0.5) == 1.0
    assert expected(home).capability == pytest.approx(2 / 3)
    at_rest(home)


def test_a_task_that_fails_is_planned_anew_and_what_is_done_stays(home: House) -> None:
    lives(home, G1_T2=gives_up("G1-T2"))
    begins(home, generate_exploration_goal)
    stuck: list[str] = []

    def watch() -> None:
        if goal(home).stuck:
            stuck.append(goal(home).stuck)
            home.scripts["crab@G1"] = (Reply(calls=(("plan_goal", _arguments()),)),)

    home.interrupt(watch)
    carried(home)
    done = goal(home)
    assert "G1-T2: 暗い" in stuck[0]
    assert [task.id for task in done.tasks] == ["G1-T1", "G1-T6", "G1-T7"]
    assert (done.status, done.revision, done.stuck) == (GoalStatus.COMPLETED, 2, "")
    (kept,) = home.home.facts.page("crab", PLAN)
    old = kept.read(AbandonedPlan)
    assert (old.revision, len(old.tasks), old.why) == (1, 5, "G1-T2: 暗い")
    assert done.satisfaction is not None
    assert done.satisfaction.outcome is Outcome.SUCCESS
    lived = [fact.read(Experience) for fact in home.home.facts.page("crab", EXPERIENCE)]
    told = {(each.experience[:7], each.outcome, each.lesson) for each in lived}
    assert ("[G1-T2]", Outcome.FAILURE, "暗い") in told
    assert len(told) == len(lived) == 2, "the task and the goal, each once"


def _arguments() -> dict[str, Any]:
    return {"goal_id": "G1", "tasks": rows(2)}


@pytest.mark.parametrize("language", [Language.JA, Language.EN])
def test_after_two_other_plans_the_owner_is_asked(home: House, language: Language) -> None:
    lives(home, language)
    _speaks_at(home)
    for place in range(1, 31):
        home.scripts[f"crab@G1-T{place}"] = gives_up(f"G1-T{place}")
    begins(home, generate_exploration_goal)
    carried(home, 40)
    waits = goal(home)
    assert (waits.revision, waits.status) == (3, GoalStatus.ACTIVE)
    assert waits.pause is not None
    assert STUCK[language] in waits.pause.reason
    lines = home.home.journal.lines(waits.session_id, limit=1_000)
    assert STUCK[language] in lines[-1].text
    ((_, heard),) = home.wall.shown
    assert heard == f"[G1] {waits.pause.reason}"
    assert agenda(home).current is None
    assert not goal_preferences(
        home.runtime, home.home.agents.get("crab"), home.clock.now()
    ).exploring


def test_a_task_goes_on_in_new_turns_up_to_its_limit(home: House) -> None:
    lives(home, G1_T1=(Reply("考えています"),))
    begins(home, generate_exploration_goal)
    home.work()
    for _ in range(6):
        home.later(1)
    failed = goal(home).stuck
    turns = home.runtime.rules.autonomy.task_turns
    assert told(home)[0] == f"[G1-T1] FAIL 見る1 / it did not finish within {turns} turns"
    assert failed or goal(home).revision > 1


def test_a_task_gets_the_turns_that_its_plan_estimated(home: House) -> None:
    longer = [{**row, "estimated_turns": 5} for row in rows(5)]
    planned = (Reply(calls=(("plan_goal", {"goal_id": "G1", "tasks": longer}),)),)
    lives(home, G1=planned, G1_T1=(Reply("考えています"),))
    begins(home, generate_exploration_goal)
    home.work()
    for _ in range(8):
        home.later(1)
    assert told(home)[0] == "[G1-T1] FAIL 見る1 / it did not finish within 5 turns"


def test_a_goal_knows_what_reputation_it_brought_in_a_world(home: House, tmp_path: Path) -> None:
    kingdom = ReferenceWorld(home.clock)
    home.runtime = replace(home.runtime, world=kingdom.link(tmp_path / "secrets"))
    lives(home)
    bind_to_world(home.runtime, "crab", kingdom.binding(reputation=0.25))
    begins(home, generate_exploration_goal)
    stored = home.home.facts.get("crab", WORLD, WORLD)
    assert stored is not None
    home.home.facts.commit(stored.with_body(stored.read(WorldBinding).replaced(reputation=0.75)))
    home.scripts["crab@G1"] = (Reply(calls=(("plan_goal", {"goal_id": "G1", "tasks": RISKY}),)),)
    carried(home)
    done = goal(home)
    assert (done.risk, {task.risk for task in done.tasks}) == (0.9, {0.9, 0.5})
    assert done.satisfaction is not None
    assert done.satisfaction.reputation_delta == 0.5


def test_a_turn_of_its_own_reads_its_goal_once_with_all_around_it(home: House) -> None:
    lives(home)
    begun = begins(home, generate_exploration_goal)
    turn = home.turn(begun.turn_id)
    home.calls.clear()
    work = load_turn_work(home.runtime, turn, Transcript())
    # The page is the notice board.
    lines, facts = ("journal.lines",), ("facts.get_many", "facts.page")
    once = ("agents.get", "sessions.get_with_access", *lines, *facts)
    assert home.calls == dict.fromkeys(once, 1)
    assert work.served == goal(home)
    assert work.prompt.around is not None
    assert work.prompt.around.goals == (goal(home),)


def test_silence_ends_a_goal_that_nobody_gave(home: House) -> None:
    looks: tuple[str, dict[str, Any]] = ("ws_list", {})
    lives(home, G1=(Reply(calls=(looks,)), Reply("")))
    create_agent_vital_signs(home.runtime, home.home.agents.get("crab"))
    begins(home, generate_exploration_goal)
    carried(home, 2)
    assert (goal(home).status, len(goal(home).receipts)) == (GoalStatus.ABANDONED, 1)
    stored = agent_vital_signs_document(home.runtime.home.facts, "crab")
    assert stored is not None
    assert stored.read(VitalSigns).in_vain == 1
    assert expected(home).reward(GoalSource.CURIOSITY, 0.5) == 0.0
    at_rest(home)
    home.clock.advance(
        autonomy_curiosity_threshold(0.5) * home.runtime.rules.autonomy.cycle_seconds - 60
    )
    assert begins(home, generate_exploration_goal) is None
    home.clock.advance(60)
    assert begins(home, generate_exploration_goal) is not None


@pytest.mark.parametrize("asleep", [{"status": AgentStatus.DORMANT}, {"heartbeat": Heartbeat()}])
@pytest.mark.parametrize("tasks_done", [-1, 0, 2])
def test_a_goal_of_its_own_rests_while_it_sleeps_and_goes_on_afterwards(
    home: House, asleep: dict[str, Any], tasks_done: int
) -> None:
    lives(home)
    agent = home.home.agents.get("crab").agent
    if tasks_done < 0:
        # It falls asleep between the beat and its turn.
        board = GoalBoard.of(home.home.facts, home.home.agents.get("crab"), home.clock.now())
        generate_exploration_goal(home.runtime, board, home.clock.now())
        home.home.facts.commit(*board.facts, due=tuple(board.due))
    else:
        begins(home, generate_exploration_goal)
        carried(home, tasks_done)
    sleeping = home.home.agents.save(agent.replaced(**asleep))
    before = home.provider.bill.received
    carried(home, 4)
    rests = goal(home)
    assert (rests.status, rests.turn_id, rests.pause) == (GoalStatus.PENDING, None, None)
    assert home.provider.bill.received == before
    at_rest(home)
    awake = {"status": agent.status, "heartbeat": agent.heartbeat}
    home.home.agents.save(sleeping.replaced(**awake))
    assert begins(home, begin_best_goal) is not None
    carried(home)
    done = goal(home)
    assert (done.status, {task.turns for task in done.tasks}) == (GoalStatus.COMPLETED, {1})


def test_what_code_can_check_is_checked_before_and_after_a_task(home: House) -> None:
    planned = plans(5, precondition="要る: file:map.md")
    lives(home, G1=planned)
    new = NewGoal(name="地図どおりに見る")
    inject_owner_goal(home.runtime, "crab", new, OWNER, key="k")
    assert begins(home, begin_best_goal) is not None
    carried(home)
    done = goal(home)
    assert {task.status for task in done.tasks} == {TaskStatus.FAIL}
    assert done.tasks[0].cause == "its precondition does not hold: file:map.md"
    assert done.satisfaction is not None
    assert done.satisfaction.outcome is Outcome.FAILURE


def test_a_task_is_not_finished_while_its_file_is_missing(home: House) -> None:
    planned = plans(5, postcondition="file:G1-T1.md がある")
    finish = ("finish_task", {"task_id": "G1-T1", "result": "見た"})
    lives(home, G1=planned, G1_T1=(Reply(calls=(finish,)), *does("G1-T1")))
    begins(home, generate_exploration_goal)
    carried(home)
    lines = home.home.journal.lines(goal(home).session_id, limit=100)
    answers = [str(line.data.get("result")) for line in lines if line.data]
    assert any("file:G1-T1.md does not hold" in answer for answer in answers)
    assert goal(home).status is GoalStatus.COMPLETED


def test_an_owners_goal_is_begun_by_its_worth_and_never_planned_anew(home: House) -> None:
    lives(home, G1_T2=gives_up("G1-T2"))
    small = NewGoal(name="いつか", expected_reward=0.0, novelty=0.0, capability_match=0.0)
    assert inject_owner_goal(home.runtime, "crab", small, OWNER, key="small").id == "G1"
    assert begins(home, begin_best_goal) is None
    assert (
        inject_owner_goal(home.runtime, "crab", NewGoal(name="今すぐ"), OWNER, key="k").id == "G2"
    )
    assert (
        inject_owner_goal(home.runtime, "crab", NewGoal(name="今すぐ"), OWNER, key="k").id == "G2"
    )
    found = goal_preferences(home.runtime, home.home.agents.get("crab"), home.clock.now())
    assert (found.goal_at, found.taken) == (home.clock.now(), False)
    begun = begins(home, begin_best_goal)
    assert begun is not None
    assert (begun.id, begun.authority) == ("G2", OWNER.authority)


def test_an_agent_hears_that_its_goal_was_given_up_or_goes_on(home: House) -> None:
    lives(home)
    create_agent_vital_signs(home.runtime, home.home.agents.get("crab"))
    begins(home, generate_exploration_goal)
    instructions.pause_goal_by_label(home.runtime, "crab", "G1", by="owner")
    for _ in range(2):
        instructions.resume_goal(home.runtime, "crab", "G1")
    for _ in range(2):
        instructions.cancel_goal(home.runtime, "crab", "G1", by="owner", reason="遅い")
    inject_owner_goal(home.runtime, "crab", NewGoal(name="掃除"), OWNER, key="k")
    instructions.cancel_goal(home.runtime, "crab", "G2", by="owner")
    events = [fact.read(AgentEvent) for fact in home.home.facts.page("crab", HAPPENING)]
    assert [(event.type, event.text) for event in events] == [
        ("goal.resumed", "G1 Explore the unknown"),
        ("goal.abandoned", "G1 Explore the unknown: 遅い"),
    ]
    assert {event.tainted for event in events} == {False}


def _speaks_at(house: House, *, freely: bool = True, **heartbeat: Any) -> Channel:
    """Where the agent's heartbeat speaks from now on; there its owner lets it speak freely."""
    wall = Channel(kind="wall", address="x")
    if freely:
        house.home.sessions.create(agents_own_session("crab", house.clock.now()).replaced(id="w"))
        bound = new_fact(INSTALLATION_FACTS, PLACE, "wall.x", ChannelBinding(session_id="w"))
        house.home.facts.commit(bound.replaced(version=0))
        record_access_speaking_freely(house.home.facts, "w", speaks_freely=True)
    agent = house.home.agents.get("crab").agent
    changed = agent.heartbeat.replaced(channel=wall, **heartbeat)
    house.home.agents.save(agent.replaced(heartbeat=changed))
    create_agent_vital_signs(house.runtime, house.home.agents.get("crab"))
    return wall


def test_what_it_says_in_goals_of_its_own_is_heard_once_in_the_cooldown(home: House) -> None:
    lives(home, G1_T2=(*does("G1-T2")[:1], Reply("二つ目が終わった")))
    wall = _speaks_at(home, cooldown_seconds=600)
    begins(home, generate_exploration_goal)
    carried(home)
    assert goal(home).status is GoalStatus.COMPLETED
    assert [text for _, text in home.wall.shown] == ["二つ目が終わった"]
    stored = agent_vital_signs_document(home.runtime.home.facts, "crab")
    assert stored is not None
    assert list(stored.read(VitalSigns).spoke) == [wall.target]


def test_what_it_set_itself_is_told_in_no_channel_that_others_read(home: House) -> None:
    lives(home, G1_T2=(*does("G1-T2")[:1], Reply("二つ目が終わった")))
    _speaks_at(home, freely=False)
    begins(home, generate_exploration_goal)
    carried(home)
    assert goal(home).status is GoalStatus.COMPLETED
    assert home.wall.shown == []


def test_why_it_waits_is_told_in_no_channel_that_others_read(home: House) -> None:
    lives(home, G1=(*plans(1), Reply("できません")))
    _speaks_at(home, freely=False)
    begins(home, generate_exploration_goal)
    carried(home, 2)
    unsaid = "[G1] I cannot continue. Please read the reason and tell me how to proceed."
    assert [text for _, text in home.wall.shown] == [unsaid]


@pytest.mark.parametrize("tainted", [False, True])
def test_one_that_waits_for_its_owner_for_a_day_sleeps_until_the_goal_goes_on(
    home: House, *, tainted: bool
) -> None:
    lives(home, G1=(*plans(1), Reply("できません")))
    _speaks_at(home)
    begun = begins(home, generate_exploration_goal)
    if tainted:
        board = GoalBoard.of(home.home.facts, home.home.agents.get("crab"), home.clock.now())
        board.goal("G1")
        board.put_goal(begun.replaced(taint=True))
        home.home.facts.commit(*board.facts)
    carried(home, 2)
    (_, spoken), (_, asked) = home.wall.shown
    assert spoken == "できません"
    pause = goal(home).pause
    assert pause is not None
    assert "rejected" in pause.reason
    unsaid = "I cannot continue. Please read the reason and tell me how to proceed."
    assert asked == f"[G1] {unsaid if tainted else pause.reason}"
    for hours, vain in ((23, False), (1, True)):
        home.clock.advance(hours * 3_600)
        assert begins(home, _waits) is vain
    _speaks_at(home, enabled=True)
    assert _status_after_a_beat(home) is AgentStatus.DORMANT
    instructions.resume_goal(home.runtime, "crab", "G1")
    assert begins(home, _waits) is False
    assert _status_after_a_beat(home) is AgentStatus.ACTIVE


def _waits(_runtime: Runtime, board: GoalBoard, now: datetime) -> bool:
    return are_paused_goals_overdue(board, None, now)


def _status_after_a_beat(house: House) -> AgentStatus:
    minutes(house, 2, step=30)
    return house.home.agents.get("crab").agent.status
