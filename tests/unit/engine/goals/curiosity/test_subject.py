"""What curiosity asks about: chosen by code from what is stored, one subject after the other."""

from datetime import datetime, timedelta

import pytest

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.agents.heartbeat import Heartbeat
from opencrab.domain.autonomy.curiosity_subject import SOON
from opencrab.domain.document import new_fact
from opencrab.domain.goals.goal import Goal, GoalSource
from opencrab.domain.memory.belief import BELIEF, BELIEF_TESTS, Belief
from opencrab.domain.memory.knowledge_graph import KNOWLEDGE, NODE, GraphSize, KnowledgeNode
from opencrab.domain.memory.memory import MEMORY, Memory
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs, remember_belief
from opencrab.domain.memory.write_policy import GATE, MemoryCounts
from opencrab.domain.turn.declared_test import DeclaredTest, DeclaredTests
from opencrab.domain.value import Language
from opencrab.engine.goals.curiosity.subject import find_curiosity_reason
from opencrab.engine.goals.generation import generate_exploration_goal
from opencrab.engine.goals.queue import GoalBoard
from tests.unit.engine.goals.aims import aim, pursues
from tests.unit.engine.known_world import NOW, World

UNKNOWN = {Language.EN: "Explore the unknown", Language.JA: "未知を探る"}


def lives(world: World, language: Language = Language.JA, *, alone: bool = True) -> None:
    """Mika acts unasked from now on; alone, she can reach no other agent that is active."""
    agents = world.runtime.home.agents
    unasked = Heartbeat(instructions="海を知る")
    agents.save(agents.get("mika").agent.replaced(heartbeat=unasked, language=language))
    if alone:
        agents.save(agents.get("ken").agent.replaced(status=AgentStatus.RETIRED))


def explores(world: World, at: datetime = NOW) -> Goal:
    """The next exploration goal, which is over at once."""
    profile = world.runtime.home.agents.get("mika")
    board = GoalBoard.of(world.runtime.home.facts, profile, at)
    goal = generate_exploration_goal(world.runtime, board, at)
    assert goal is not None
    kept = [fact for fact in board.facts if fact.kind == "curiosity"]
    world.runtime.home.facts.commit(*kept)
    return goal


def believes(world: World, *beliefs: Belief) -> None:
    outlook = SalientBeliefs()
    for belief in beliefs:
        outlook = remember_belief(outlook, belief)
    facts = (new_fact("mika", BELIEF, each.id, each) for each in beliefs)
    world.runtime.home.facts.commit(*facts, new_fact("mika", OUTLOOK, OUTLOOK, outlook))


def claim(number: int, **changes: object) -> Belief:
    fields = {"id": f"b{number}", "claim": f"蟹{number}は横に歩く", "formed_at": NOW, **changes}
    return Belief.model_validate(fields)


@pytest.mark.parametrize("language", Language)
def test_with_nothing_unknown_it_explores_at_large(world: World, language: Language) -> None:
    lives(world, language)
    goal = explores(world)
    assert goal.name == UNKNOWN[language]
    assert "learn_from_experience" in goal.instruction


QUESTION = {Language.EN: "Question: ", Language.JA: "問い: "}


@pytest.mark.parametrize("language", Language)
def test_it_names_a_belief_that_was_never_tested_and_asks_one_question(
    world: World, language: Language
) -> None:
    lives(world, language)
    believes(world, claim(1, tested_at=NOW), claim(2, confidence=0.7))
    goal = explores(world)
    assert goal.name == f"{UNKNOWN[language]}: 蟹2は横に歩く"
    assert goal.source is GoalSource.CURIOSITY
    assert "「蟹2は横に歩く」" in goal.instruction or '"蟹2は横に歩く"' in goal.instruction
    assert "test_belief" in goal.instruction
    assert "b2" in goal.instruction
    assert "0.70" in goal.instruction
    assert goal.instruction.count(QUESTION[language]) == 1
    assert not goal.taint


@pytest.mark.parametrize("language", Language)
def test_kinds_and_subjects_take_turns_and_none_comes_again_soon(
    world: World, language: Language
) -> None:
    lives(world, language)
    facts = world.runtime.home.facts
    believes(world, claim(1), claim(2))
    nodes = [
        KnowledgeNode(id="n1", label="灯台", updated_at=NOW),
        KnowledgeNode(id="n2", label="海", content="広い", updated_at=NOW),
    ]
    facts.commit(new_fact("mika", KNOWLEDGE, KNOWLEDGE, GraphSize(nodes=2)))
    facts.commit(*(new_fact("mika", NODE, each.id, each) for each in nodes))
    facts.commit(new_fact("mika", GATE, GATE, MemoryCounts(kept=2)))
    for name, category in (("m1", "core"), ("m2", "fact")):
        kept = Memory(
            id=name, category=category, content=f"{name}の話", created_at=NOW, updated_at=NOW
        )
        facts.commit(new_fact("mika", MEMORY, name, kept))
    world.runtime.home.files.write("mika", "vault/海図.md", b"...")
    world.runtime.home.files.write("mika", "notes/own.md", b"...", clean=True)
    world.runtime.home.files.write("mika", "data/results/t1.json", b"...")
    named = []
    for number in range(6):
        goal = explores(world, NOW + number * timedelta(hours=12))
        named.append(goal.name.removeprefix(f"{UNKNOWN[language]}: "))
        assert goal.taint is (named[-1] == "vault/海図.md")
    assert named == [
        *("蟹1は横に歩く", "灯台", "m2の話", "vault/海図.md", "蟹2は横に歩く"),
        UNKNOWN[language],
    ]
    assert explores(world, NOW + SOON).name.endswith("蟹1は横に歩く")


@pytest.mark.parametrize("language", Language)
def test_an_agent_that_it_never_talked_to_is_asked_by_name(
    world: World, language: Language
) -> None:
    lives(world, language, alone=False)
    goal = explores(world)
    assert goal.name.endswith("Ken")
    assert "talk_to_peer" in goal.instruction
    assert goal.instruction.count("ken") == 0, "by name, not by id"
    pursues(world, aim(9, source=GoalSource.SOCIAL))
    profile, later = world.runtime.home.agents.get("mika"), NOW + SOON
    board = GoalBoard.of(world.runtime.home.facts, profile, later)
    assert find_curiosity_reason(world.runtime, board, later) is None, "one is being met"


def test_words_of_strangers_taint_the_goal(world: World) -> None:
    lives(world)
    believes(world, claim(1, tainted=True))
    goal = explores(world)
    assert goal.name.endswith("蟹1は横に歩く")
    assert goal.taint


def test_a_belief_that_code_tests_is_none_to_ask_about(world: World) -> None:
    lives(world)
    believes(world, claim(1), claim(2))
    test = DeclaredTest(belief_id="b1", test="file:a.md", declared_at=NOW)
    tests = new_fact("mika", BELIEF_TESTS, BELIEF_TESTS, DeclaredTests(tests=(test,)))
    world.runtime.home.facts.commit(tests)
    assert explores(world).name.endswith("蟹2は横に歩く")


def test_it_reads_only_when_a_goal_is_about_to_be_set(world: World) -> None:
    lives(world)
    believes(world, claim(1))
    pursues(world, aim(1), current="G1")
    profile = world.runtime.home.agents.get("mika")
    board = GoalBoard.of(world.runtime.home.facts, profile, NOW)
    assert generate_exploration_goal(world.runtime, board, NOW) is None
    assert board.facts == ()


def test_many_beliefs_are_asked_about_one_after_the_other(world: World) -> None:
    lives(world)
    believes(world, *(claim(number) for number in range(1_000, 1_150)))
    seen = [explores(world, NOW + number * timedelta(hours=10)).name for number in range(150)]
    assert len(set(seen)) == 150
