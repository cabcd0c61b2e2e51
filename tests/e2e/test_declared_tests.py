"""Beliefs that code tests: declared in a chat, checked in the agent's own turns."""

import pytest

from opencrab.domain.erasure.request import ErasureRequest, ErasureScope
from opencrab.domain.memory.belief import BELIEF, BELIEF_TESTS, Belief
from opencrab.domain.memory.belief_index import belief_id_in_memory
from opencrab.domain.memory.salient_beliefs import OUTLOOK, SalientBeliefs
from opencrab.domain.turn.declared_test import DeclaredTests
from opencrab.domain.turn.transcript import Transcript
from opencrab.domain.value import Language
from opencrab.engine.erasure.erase import erase_data
from opencrab.engine.goals.generation import generate_exploration_goal
from opencrab.engine.memory.beliefs_and_peers import remove_belief_from_agent_memory
from opencrab.engine.turn.observe import load_turn_work
from opencrab.engine.turn.work import TurnWork
from tests.crash.outside import Reply, Script
from tests.e2e.house import House
from tests.e2e.instructed import carried
from tests.e2e.meddling import Killed, die, meddled
from tests.e2e.wanting import begins, lives

CLAIMS = {Language.EN: "The tide table is written down", Language.JA: "潮の表は書いてある"}
TIDE = "notes/tide.md"
WRITES: Script = (Reply(calls=(("ws_write", {"path": TIDE, "content": "04:12"}),)), Reply("ok"))
LOOKS: Script = (Reply(calls=(("ws_read", {"path": TIDE}),)), Reply(""))


def declares(house: House, language: Language, test: str, **scripts: Script) -> str:
    """In a chat with its owner the agent forms a belief with a test."""
    lives(house, language, **scripts)
    formed = ("form_belief", {"claim": CLAIMS[language], "test": test})
    house.scripts["crab"] = (Reply(calls=(formed,)), Reply("はい"))
    house.session(house.home.agents.get("crab").agent)
    house.say("覚えて")
    house.work()
    return belief_id_in_memory(CLAIMS[language])


def explores(house: House) -> str:
    """A turn of the agent's own; returns its id."""
    house.clock.advance(40 * 3_600)
    begun = begins(house, generate_exploration_goal)
    assert begun is not None
    carried(house, 3)
    return str(begun.turn_id)


def orients(work: TurnWork) -> None:
    """What a worker does before a turn's first prompt."""
    for on_begin in work.hooks.on_begin:
        on_begin(work)


def belief(house: House, name: str) -> Belief:
    stored = house.home.facts.get("crab", BELIEF, name)
    assert stored is not None
    return stored.read(Belief)


def holds(house: House) -> list[bool | None]:
    stored = house.home.facts.get("crab", BELIEF_TESTS, BELIEF_TESTS)
    return [] if stored is None else [each.holds for each in stored.read(DeclaredTests).tests]


@pytest.mark.parametrize("language", Language)
def test_a_file_confirms_and_its_absence_contradicts_a_belief_once_per_change(
    house: House, language: Language
) -> None:
    name = declares(house, language, f"file:{TIDE}", G1=WRITES, G2=LOOKS, G3=LOOKS)
    assert (belief(house, name).confidence, holds(house)) == (0.5, [None])
    house.provider.reset()
    first = explores(house)
    known = belief(house, name)
    assert (known.confirmed, known.refuted) == (1, 1), "absent when it oriented, then written"
    assert known.confidence == 0.5
    assert first in known.evidence
    shown = [m.text for m in house.provider.seen[0].turns if hasattr(m, "text")]
    assert any(f"0.33 {CLAIMS[language]}" in text for text in shown), "the prompt is up to date"
    explores(house)
    assert belief(house, name) == known, "nothing has changed"
    house.home.files.delete("crab", TIDE)
    third = explores(house)
    known = belief(house, name)
    assert (known.refuted, known.evidence[-1]) == (2, third)
    assert holds(house) == [False]
    outlook = house.home.facts.get("crab", OUTLOOK, OUTLOOK)
    assert outlook is not None
    (brief,) = outlook.read(SalientBeliefs).beliefs
    assert brief.confidence == known.confidence


@pytest.mark.parametrize("language", Language)
def test_an_action_confirms_by_success_and_contradicts_by_failure(
    home: House, language: Language
) -> None:
    name = declares(home, language, "action:ws_read", G1=LOOKS, G2=WRITES, G3=LOOKS)
    explores(home)
    assert (belief(home, name).refuted, holds(home)) == (1, [False]), "there was no file"
    explores(home)
    assert holds(home) == [False], "it was not called"
    explores(home)
    assert (belief(home, name).confirmed, holds(home)) == (1, [True])


def test_a_file_of_others_and_a_tainted_turn_test_no_trusted_belief(home: House) -> None:
    name = declares(home, Language.JA, f"file:{TIDE}", G1=LOOKS, G2=LOOKS)
    home.home.files.write("crab", TIDE, b"...")
    begun = begins(home, generate_exploration_goal)
    assert begun is not None
    carried(home, 3)
    assert holds(home) == [None], "a stranger may have written it"
    home.home.files.delete("crab", TIDE)
    goal_turn = home.turn(begun.turn_id).replaced(taint=True)
    work = load_turn_work(home.runtime, goal_turn, Transcript())
    orients(work)
    assert (belief(home, name).refuted, holds(home)) == (0, [None])


def test_a_turn_that_is_delivered_twice_counts_once_and_the_prompt_follows(home: House) -> None:
    name = declares(home, Language.EN, f"file:{TIDE}")
    begun = begins(home, generate_exploration_goal)
    assert begun is not None
    for _ in range(2):
        work = load_turn_work(home.runtime, home.turn(begun.turn_id), Transcript())
        orients(work)
        assert work.prompt.around is not None
        (brief,) = work.prompt.around.outlook.beliefs
        assert brief.confidence == pytest.approx(1 / 3)
    assert belief(home, name).refuted == 1


def test_turns_check_a_few_tests_each_and_without_any_read_nothing_more(home: House) -> None:
    lives(home, G1=(Reply(""),))
    begun = begins(home, generate_exploration_goal)
    turn = home.turn(begun.turn_id)
    home.calls.clear()
    work = load_turn_work(home.runtime, turn, Transcript())
    before = dict(home.calls)
    orients(work)
    assert home.calls == before
    carried(home, 2)
    home.session(home.home.agents.get("crab").agent)
    calls = tuple(("form_belief", {"claim": f"x{n}y", "test": f"file:{n}.md"}) for n in range(5))
    home.scripts["crab"] = (Reply(calls=calls), Reply("はい"))
    home.say("覚えて")
    home.work()
    assert holds(home) == [None] * 5
    home.scripts["crab@G2"] = home.scripts["crab@G3"] = (Reply(""),)
    explores(home)
    assert holds(home) == [False] * 3 + [None] * 2
    explores(home)
    assert holds(home) == [False] * 5


def test_a_belief_that_is_deleted_takes_its_test_along(home: House) -> None:
    name = declares(home, Language.EN, f"file:{TIDE}")
    remove_belief_from_agent_memory(home.home, "crab", name)
    assert holds(home) == []


def test_a_worker_that_dies_after_a_check_counts_it_once(house: House) -> None:
    name = declares(house, Language.JA, f"file:{TIDE}", G1=LOOKS)
    begun = begins(house, generate_exploration_goal)
    dying = meddled(house, 1, die)
    work = load_turn_work(dying, house.turn(begun.turn_id), Transcript())
    with pytest.raises(Killed):
        orients(work)
    carried(house, 3)
    known = belief(house, name)
    assert (known.refuted, known.evidence[-1]) == (1, begun.turn_id)


def test_a_test_goes_with_what_it_came_from(home: House) -> None:
    declares(home, Language.EN, f"file:{TIDE}")
    session = ErasureRequest(scope=ErasureScope.SESSION, id="s")
    erase_data(home.runtime, "crab", session)
    assert holds(home) == []
