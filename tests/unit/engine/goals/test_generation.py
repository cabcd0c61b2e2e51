"""Goals that an agent sets itself: when it wants to survive, and what it gives up again."""

from datetime import datetime, timedelta

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.agents.soul import Drives
from opencrab.domain.document import new_fact
from opencrab.domain.goals.expectation import goal_satisfaction
from opencrab.domain.goals.goal import Goal, GoalSource, GoalStatus
from opencrab.domain.goals.value_estimate import Horizon
from opencrab.domain.money.budget import BudgetDraw, agent_budget_scope
from opencrab.domain.value import Language
from opencrab.domain.world.binding import WORLD, Genome, WorldBinding, WorldRole
from opencrab.engine.goals.generation import (
    STEPS,
    generate_aspirations,
    generate_exploration_goal,
    generate_next_step_goal,
    generate_survival_goal,
)
from opencrab.engine.goals.queue import GoalBoard, dequeue_goal_and_begin_next
from opencrab.ports.turn.journal import TurnChange
from tests.unit.engine.goals.aims import aim, board, pursues
from tests.unit.engine.known_world import NOW, World

LIMIT = 1_000
UNASKED = Heartbeat(instructions="海を知る")
LEFT = {
    Language.EN: "Only {}% of today's budget is left.",
    Language.JA: "今日の予算は残り{}%です。",
}


def lives(world: World, language: Language = Language.JA, purpose: str = "") -> None:
    """Mika acts unasked from now on."""
    agents = world.runtime.home.agents
    changes = {"heartbeat": UNASKED, "language": language, "purpose": purpose}
    agents.save(agents.get("mika").agent.replaced(day_limit_micro_usd=LIMIT, **changes))


def spends(world: World, micro_usd: int) -> None:
    """A turn of Mika's draws from the budget of the day."""
    held = world.claimed(world.say("買って")[0])
    draw = BudgetDraw(
        scope=agent_budget_scope("mika"),
        day=NOW.strftime("%Y-%m-%d"),
        micro_usd=micro_usd,
        limit_micro_usd=LIMIT,
    )
    change = TurnChange(turn=held, expected=held.sequence, draws=(draw,))
    world.runtime.home.journal.commit(change)


def owns(world: World, balance: int | None) -> None:
    """Mika is bound to a world, which last said that she has so much; None if it said nothing."""
    genome = Genome(role=WorldRole.EXPLORER, drives=Drives(), spawned_at=NOW)
    digest = "0" * 64
    binding = WorldBinding(
        world_id="sea",
        agent_id="mika",
        public_key=digest,
        key_id=digest,
        keys=(digest,),
        genome=genome,
        balance=balance,
    )
    world.runtime.home.facts.commit(new_fact("mika", WORLD, WORLD, binding))


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize(("spent", "left"), [(0, None), (800, None), (801, 19), (1_000, 0)])
def test_it_wants_to_survive_when_less_than_a_fifth_of_the_day_is_left(
    world: World, spent: int, left: int | None, language: Language
) -> None:
    lives(world, language)
    spends(world, spent)
    wanted = generate_survival_goal(world.runtime, board(world), NOW)
    if left is None:
        assert wanted is None
        return
    assert wanted is not None
    assert wanted.source is GoalSource.SURVIVAL
    assert wanted.instruction.startswith(LEFT[language].format(left))


@pytest.mark.parametrize(
    ("language", "words"),
    [
        (Language.EN, "Your balance is low: {}."),
        (Language.JA, "残高は{}で、残りわずかです。"),
    ],
)
@pytest.mark.parametrize("balance", [None, 20, 19, 0])
def test_it_wants_to_survive_in_its_world_when_it_can_hardly_pay_there(
    world: World, balance: int | None, language: Language, words: str
) -> None:
    lives(world, language)
    agents = world.runtime.home.agents
    agents.save(agents.get("mika").agent.replaced(world="sea"))
    owns(world, balance)
    wanted = generate_survival_goal(world.runtime, board(world), NOW)
    if balance in {None, 20}:
        assert wanted is None
        return
    assert wanted is not None
    assert words.format(balance) in wanted.instruction


def test_what_it_gives_up_is_no_longer_among_its_open_goals(world: World) -> None:
    lives(world, purpose="海を守る")
    own = {"authority": Authority.SELF, "source": GoalSource.ROLE, "horizon": Horizon.ASPIRATION}
    pursues(world, aim(1, **own), aim(2), waiting="G2")
    at = board(world)
    made = generate_aspirations(at, NOW)
    assert [goal.name for goal in made] == [UNASKED.instructions, "海を守る"]
    assert (at.agenda().open, at.agenda().waiting) == (("G2", "G3", "G4"), ("G2",))
    assert generate_aspirations(at, NOW) == ()


STEP = {Language.JA: "オーナーの指示を行う: ", Language.EN: "Do what your owner asked for: "}
TOWARDS = {Language.JA: "次の一歩を踏み出す: ", Language.EN: "Work towards: "}


def _ends(at: GoalBoard, goal: Goal, when: datetime) -> None:
    ended = goal.replaced(status=GoalStatus.ABANDONED, ended_at=when)
    at.put_goal(ended)
    dequeue_goal_and_begin_next(at, ended)
    at.put_expectations(at.expectations().after(goal.source, goal_satisfaction(ended, when)))


@pytest.mark.parametrize("language", Language)
def test_what_the_owner_asks_for_begins_at_once_and_then_takes_turns_with_the_purpose(
    world: World, language: Language
) -> None:
    autonomy, purpose = world.runtime.rules.autonomy, "海を守る"
    pause = STEPS * autonomy.curiosity_interval
    lives(world, language, purpose)
    at = board(world)
    generate_aspirations(at, NOW)
    wanted = []
    for number in range(3):
        when = NOW + number * max(pause, timedelta(days=2))
        goal = generate_next_step_goal(autonomy, at, when)
        assert goal is not None, number
        assert generate_next_step_goal(autonomy, at, when) is None, "one at a time"
        wanted.append(goal.name)
        _ends(at, goal, when)
        world.runtime.home.facts.commit(*at.facts)
        at = GoalBoard.of(world.runtime.home.facts, at.profile, when)
        curious = generate_exploration_goal(world.runtime, at, when)
        assert curious is not None
        _ends(at, curious, when)
        assert generate_next_step_goal(autonomy, at, when) is None, "after a pause"
    asked = STEP[language] + UNASKED.instructions
    assert wanted == [asked, TOWARDS[language] + purpose, asked]


@pytest.mark.parametrize("before", ["Look at the sea", "海を見る。" * 100, "Look. " * 60])
def test_changed_instructions_wait_for_no_pause(world: World, before: str) -> None:
    autonomy, agents = world.runtime.rules.autonomy, world.runtime.home.agents
    lives(world, Language.EN)
    agents.save(agents.get("mika").agent.replaced(heartbeat=Heartbeat(instructions=before)))
    at = board(world)
    generate_aspirations(at, NOW)
    goal = generate_next_step_goal(autonomy, at, NOW)
    assert goal is not None
    _ends(at, goal, NOW)
    world.runtime.home.facts.commit(*at.facts)
    soon = NOW + timedelta(seconds=61)
    same = GoalBoard.of(world.runtime.home.facts, agents.get("mika"), soon)
    assert generate_aspirations(same, soon) == ()
    # What changes may be behind all that a name shows.
    changed = Heartbeat(instructions=f"{before} Feed Kani.")
    agents.save(agents.get("mika").agent.replaced(heartbeat=changed))
    later = GoalBoard.of(world.runtime.home.facts, agents.get("mika"), soon)
    (aspiration,) = generate_aspirations(later, soon)
    assert "Feed Kani." in f"{aspiration.name} {aspiration.instruction}"
    goal = generate_next_step_goal(autonomy, later, soon)
    assert goal is not None
    assert goal.name.startswith("Do what your owner asked for: ")


def test_what_nobody_can_see_is_no_aspiration(world: World) -> None:
    lives(world, purpose="\u200b")
    assert [goal.name for goal in generate_aspirations(board(world), NOW)] == [UNASKED.instructions]
