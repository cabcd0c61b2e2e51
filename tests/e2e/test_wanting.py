"""What an agent puts up by itself when its wants are worked out anew, and what it begins."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.event import HAPPENING, AgentEvent
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Drives
from opencrab.domain.autonomy.vital_signs import Mention, VitalSigns
from opencrab.domain.document import new_fact
from opencrab.domain.errors import Conflict, Invalid
from opencrab.domain.goals.goal import Goal, GoalSource, GoalStatus
from opencrab.domain.goals.selection import OWNERS_PLACES
from opencrab.domain.goals.value_estimate import ASPIRATIONS, OBJECTIVES, Horizon
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.money.budget import agent_budget_scope, heartbeat_budget_scope
from opencrab.domain.value import Language
from opencrab.engine.agents.vital_signs import (
    agent_vital_signs_document,
    create_agent_vital_signs,
    make_agent_dormant,
)
from opencrab.engine.goals import instructions
from opencrab.engine.goals.generation import (
    STEPS,
    generate_exploration_goal,
    generate_goals,
    generate_goals_from_events,
    generate_social_goal,
    generate_survival_goal,
)
from opencrab.engine.goals.owner_goals import NewGoal, inject_owner_goal
from opencrab.engine.goals.queue import GoalBoard
from opencrab.engine.goals.selection import begin_best_goal, goal_preferences
from opencrab.engine.runtime import Runtime
from tests.crash.errand import OWNER
from tests.crash.outside import Reply
from tests.e2e.house import START, House
from tests.e2e.instructed import agenda, carried, goal
from tests.e2e.wanting import begins, lives

NAMES = {
    Language.EN: ("Do something well together with amy", "Look into an opportunity: 宝"),
    Language.JA: ("amyさんと一緒に何かをうまくやる", "機会を調べる: 宝"),
}


STEP = {Language.EN: "Work towards", Language.JA: "次の一歩"}


def social(house: House, collaboration: float) -> None:
    profile = house.home.agents.get("crab")
    soul = profile.soul.replaced(drives=Drives(collaboration=collaboration))
    house.home.agents.save(profile.agent, soul=soul)
    known = Peer(agent_id="amy", interactions=4, successes=1, last_at=START)
    house.home.facts.commit(new_fact("crab", PEER, "amy", known))


def happens(house: House, *numbers: int, opportunity: bool = True) -> None:
    for number in numbers:
        event = AgentEvent(
            id=f"{number:04d}",
            type="world.bounty",
            source="sea",
            text="宝",
            opportunity=opportunity,
            at=START,
        )
        house.home.facts.commit(new_fact("crab", HAPPENING, event.id, event))


def changed(house: House, **changes: Any) -> None:
    agent = house.home.agents.get("crab").agent
    house.home.agents.save(agent.replaced(**changes))


@pytest.mark.parametrize("language", [Language.EN, Language.JA])
def test_a_review_puts_up_goals_from_every_source_once(home: House, language: Language) -> None:
    lives(home, language)
    changed(home, purpose="海を守る")
    social(home, 0.8)
    happens(home, 1, opportunity=False)
    happens(home, 2)
    made: tuple[Goal, ...] = begins(home, generate_goals)
    assert {(each.source, each.name) for each in made} == {
        (GoalSource.ROLE, "海を知る"),
        (GoalSource.ROLE, "海を守る"),
        (GoalSource.SOCIAL, NAMES[language][0]),
        (GoalSource.OPPORTUNITY, NAMES[language][1]),
    }
    assert [each.taint for each in made if each.source is GoalSource.OPPORTUNITY] == [True]
    assert {(each.door, each.authority) for each in made} == {(Source.HEARTBEAT, Authority.SELF)}
    assert begins(home, generate_goals) == ()
    changed(home, purpose="川を守る")
    (role,) = begins(home, generate_goals)
    assert (role.horizon, role.name) == (Horizon.ASPIRATION, "川を守る")
    assert goal(home, "G2").status is GoalStatus.ABANDONED
    best = begins(home, begin_best_goal)
    assert best.horizon is Horizon.OBJECTIVE
    assert begins(home, begin_best_goal) is None


@pytest.mark.parametrize("known", [True, False])
def test_a_goal_for_a_peer_that_a_stranger_named_is_tainted(home: House, *, known: bool) -> None:
    lives(home)
    social(home, 0.8)
    if known:
        home.agent("amy", ())
    stored = home.home.facts.get("crab", PEER, "amy")
    assert stored is not None
    home.home.facts.commit(stored.with_body(stored.read(Peer).replaced(tainted=True)))
    made = [each for each in begins(home, generate_goals) if each.source is GoalSource.SOCIAL]
    assert [each.taint for each in made] == [not known]


@pytest.mark.parametrize("heartbeat", [Heartbeat(), Heartbeat(instructions="x", initiative=False)])
def test_without_instructions_or_initiative_it_wants_nothing_itself(
    home: House, heartbeat: Heartbeat
) -> None:
    lives(home)
    changed(home, purpose="海を守る", heartbeat=heartbeat)
    social(home, 1.0)
    happens(home, 1)
    assert begins(home, generate_goals) == ()
    assert begins(home, generate_exploration_goal) is None
    assert agenda_is_empty(home)
    inject_owner_goal(home.runtime, "crab", NewGoal(name="掃除"), OWNER, key="k")
    assert begins(home, begin_best_goal).id == "G1"


def agenda_is_empty(house: House) -> bool:
    return house.home.agents.get("crab").mind.agenda.open == ()


def test_it_wants_to_survive_until_there_is_money_again(home: House) -> None:
    lives(home)
    changed(home, day_limit_micro_usd=100_000)
    assert begins(home, generate_survival_goal) is None
    inject_owner_goal(home.runtime, "crab", NewGoal(name="掃除"), OWNER, key="k")
    begins(home, begin_best_goal)
    home.work()
    day = home.clock.now().strftime("%Y-%m-%d")
    assert home.home.budgets.drawn_micro_usd(agent_budget_scope("crab"), day) > 0
    changed(
        home, day_limit_micro_usd=home.home.budgets.drawn_micro_usd(agent_budget_scope("crab"), day)
    )
    wanted = begins(home, generate_survival_goal)
    assert (wanted.source, wanted.deadline) == (
        GoalSource.SURVIVAL,
        START.replace(hour=0) + timedelta(days=1),
    )
    assert begins(home, generate_survival_goal) is None
    home.clock.advance(86_400)
    assert begins(home, generate_survival_goal) is None
    assert goal(home, wanted.id).status is GoalStatus.ABANDONED


def poor(house: House, key: str) -> None:
    """Let the agent use its day up for its owner."""
    changed(house, day_limit_micro_usd=100_000)
    inject_owner_goal(house.runtime, "crab", NewGoal(name="掃除"), OWNER, key=key)
    begins(house, begin_best_goal)
    house.work()
    day = house.clock.now().strftime("%Y-%m-%d")
    changed(
        house,
        day_limit_micro_usd=house.home.budgets.drawn_micro_usd(agent_budget_scope("crab"), day),
    )


@pytest.mark.parametrize("by_hand", [False, True])
def test_it_wants_to_survive_once_a_day_however_that_ended(home: House, *, by_hand: bool) -> None:
    lives(home, G2=(Reply(""),))
    poor(home, "k")
    wanted = begins(home, generate_survival_goal)
    assert begins(home, generate_survival_goal) is None
    if by_hand:
        instructions.cancel_goal(home.runtime, "crab", wanted.id, by="owner")
    else:
        instructions.cancel_goal(home.runtime, "crab", "G1", by="owner")
        changed(home, day_limit_micro_usd=None)
        carried(home, 2)
        begins(home, begin_best_goal)
        carried(home, 2)
        poor(home, "k2")
    assert goal(home, wanted.id).status is GoalStatus.ABANDONED
    assert begins(home, generate_survival_goal) is None
    home.clock.advance(86_400)
    changed(home, day_limit_micro_usd=None)
    carried(home, 2)
    poor(home, "k3")
    assert begins(home, generate_survival_goal).source is GoalSource.SURVIVAL


def test_what_came_up_in_a_conversation_is_begun_by_a_heartbeat_out_of_its_share(
    home: House,
) -> None:
    lives(home)
    home.session(home.home.agents.get("crab").agent)
    home.scripts["crab"] = (Reply(calls=(("add_goal", {"name": "貝"}),)), Reply("うん"))
    home.say("貝はどうかな")
    home.work()
    home.clock.advance(86_400)
    day = home.clock.now().strftime("%Y-%m-%d")
    assert (goal(home).authority, goal(home).given) == (Authority.OWNER, False)
    begins(home, begin_best_goal)
    carried(home)
    turn = home.turn(str(goal(home).turn_id))
    assert (turn.source, turn.authority) == (Source.HEARTBEAT, Authority.SELF)
    assert goal(home).status is GoalStatus.COMPLETED
    drawn = home.home.budgets.drawn_micro_usd
    spent = drawn(heartbeat_budget_scope("crab"), day)
    assert 0 < spent == drawn(agent_budget_scope("crab"), day)
    inject_owner_goal(home.runtime, "crab", NewGoal(name="掃除"), OWNER, key="k")
    given = begins(home, begin_best_goal)
    home.work()
    assert home.turn(given.turn_id).source is OWNER.source
    assert (
        drawn(heartbeat_budget_scope("crab"), day) == spent < drawn(agent_budget_scope("crab"), day)
    )


def test_opportunities_are_looked_at_once_and_three_at_most(home: House) -> None:
    lives(home)
    happens(home, *range(1, 6))
    assert len(begins(home, generate_goals_from_events)) == 3
    assert begins(home, generate_goals_from_events) == ()
    happens(home, 9)
    assert begins(home, generate_goals_from_events) == ()


def test_an_unanswered_mention_becomes_a_goal_after_an_hour(home: House) -> None:
    lives(home)
    signs = create_agent_vital_signs(home.runtime, home.home.agents.get("crab"))
    owed = Mention(session_id="s", line=3, authority=Authority.USER, principal_id="bob", at=START)
    signs = signs.replaced(mention=owed)

    def asks(runtime: Runtime, board: GoalBoard, now: datetime) -> Goal | None:
        return generate_social_goal(runtime.home, runtime.rules.autonomy, board, now, signs)

    assert begins(home, asks) is None
    home.clock.advance(3_700)
    assert begins(home, asks).name == "Answer what bob said to you"
    assert begins(home, asks) is None


def test_full_horizons_leave_room_for_the_owner_and_say_so(home: House) -> None:
    lives(home)
    for n in range(OBJECTIVES - OWNERS_PLACES):
        inject_owner_goal(home.runtime, "crab", NewGoal(name=f"n{n}"), OWNER, key=f"{n}")
    assert begins(home, generate_exploration_goal) is None
    for n in range(OWNERS_PLACES):
        inject_owner_goal(home.runtime, "crab", NewGoal(name=f"m{n}"), OWNER, key=f"m{n}")
    with pytest.raises(Invalid, match="20 open goals with horizon 'objective'"):
        inject_owner_goal(home.runtime, "crab", NewGoal(name="zu viel"), OWNER, key="x")
    high = NewGoal(name="志", horizon=Horizon.ASPIRATION)
    for n in range(ASPIRATIONS):
        inject_owner_goal(home.runtime, "crab", high, OWNER, key=f"a{n}")
    with pytest.raises(Invalid, match="5 open goals with horizon 'aspiration'"):
        inject_owner_goal(home.runtime, "crab", high, OWNER, key="y")
    with pytest.raises(Conflict, match="open goals"):
        instructions.start_instruction_as_goal(
            home.runtime, "crab", instructions.NewInstruction(instruction="x"), OWNER, key="z"
        )


def test_an_injected_goal_tells_the_heartbeat_when_it_is_worth_it(home: House) -> None:
    lives(home)
    create_agent_vital_signs(home.runtime, home.home.agents.get("crab"))
    late = NewGoal(
        name="締め切り",
        expected_reward=0.0,
        novelty=0.0,
        capability_match=0.0,
        deadline=START + timedelta(hours=4),
    )
    inject_owner_goal(home.runtime, "crab", late, OWNER, key="k")
    stored = agent_vital_signs_document(home.runtime.home.facts, "crab")
    assert stored is not None
    at = START + timedelta(hours=3)
    assert stored.body is not None
    assert stored.body["goal_at"] == at.isoformat().replace("+00:00", "Z")
    assert goal_preferences(home.runtime, home.home.agents.get("crab"), START).goal_at == at
    assert begins(home, begin_best_goal) is None
    home.clock.advance(3 * 3_600)
    assert begins(home, begin_best_goal).id == "G1"
    with pytest.raises(Conflict, match="another goal"):
        inject_owner_goal(home.runtime, "crab", NewGoal(name="別の"), OWNER, key="k")


def test_a_goal_whose_money_has_ended_goes_on_the_next_day(home: House) -> None:
    lives(home)
    changed(home, day_limit_micro_usd=1)
    begins(home, generate_exploration_goal)
    carried(home, 3)
    rests = goal(home)
    assert (rests.status, rests.pause) == (GoalStatus.PENDING, None)
    assert agenda(home).current is None
    assert begins(home, begin_best_goal) is None
    tomorrow = START.replace(hour=0) + timedelta(days=1, minutes=1)
    assert rests.rests_until == tomorrow
    assert goal_preferences(home.runtime, home.home.agents.get("crab"), START).goal_at == tomorrow
    changed(home, day_limit_micro_usd=None)
    home.clock.advance(86_400)
    assert begins(home, begin_best_goal).id == "G1"
    carried(home)
    assert goal(home).status is GoalStatus.COMPLETED


def test_an_owners_goal_wakes_an_agent_that_is_asleep_after_a_crash_too(home: House) -> None:
    lives(home)
    changed(home, heartbeat=Heartbeat())
    create_agent_vital_signs(home.runtime, home.home.agents.get("crab"))
    stranger = replace(OWNER, authority=Authority.PUBLIC)
    for key, asker, status in (
        ("p", stranger, AgentStatus.DORMANT),
        ("k", OWNER, AgentStatus.ACTIVE),
        ("k", OWNER, AgentStatus.ACTIVE),
    ):
        make_agent_dormant(home.runtime, "crab")
        inject_owner_goal(home.runtime, "crab", NewGoal(name="海を見る"), asker, key=key)
        assert home.home.agents.get("crab").agent.status is status
        stored = agent_vital_signs_document(home.runtime.home.facts, "crab")
        assert stored is not None
        assert (stored.read(VitalSigns).status, bool(stored.due_at)) == (status, asker is OWNER)


@pytest.mark.parametrize("language", [Language.EN, Language.JA])
def test_its_role_leads_to_one_step_in_so_many_cycles_while_nothing_else_is_open(
    home: House, language: Language
) -> None:
    lives(home, language, G3=(Reply(""),), G4=(Reply(""),))
    changed(home, purpose="海を守る")
    asked, role, made = begins(home, generate_goals)
    assert {asked.horizon, role.horizon} == {Horizon.ASPIRATION}
    assert (made.source, made.horizon) == (GoalSource.ROLE, Horizon.OBJECTIVE)
    assert made.name.endswith(asked.name)
    assert begins(home, generate_goals) == ()
    home.clock.advance(STEPS * 3_600)
    assert begins(home, begin_best_goal).id == made.id
    carried(home, 2)
    assert goal(home, made.id).status is GoalStatus.ABANDONED
    assert begins(home, generate_goals) == ()
    home.clock.advance(STEPS * 3_600)
    (step,) = begins(home, generate_goals)
    assert STEP[language] in step.name
    assert step.name.endswith("海を守る")
    changed(home, heartbeat=Heartbeat())
    assert begins(home, generate_goals) == ()
