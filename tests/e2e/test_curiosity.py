"""Curiosity that names what is unknown: from a belief formed in a chat to its test by a goal."""

import pytest

from opencrab.domain.goals.goal import GoalStatus
from opencrab.domain.memory.belief import BELIEF, Belief
from opencrab.domain.memory.belief_index import belief_id_in_memory
from opencrab.domain.value import Language
from opencrab.engine.goals.generation import generate_exploration_goal
from tests.crash.outside import Reply
from tests.e2e.house import House
from tests.e2e.instructed import carried, goal
from tests.e2e.wanting import begins, lives

NAMES = {Language.EN: "Explore the unknown", Language.JA: "未知を探る"}
CLAIMS = {Language.EN: "Crabs walk sideways", Language.JA: "蟹は横に歩く"}


@pytest.mark.parametrize("language", Language)
def test_a_belief_that_was_never_tested_is_asked_about_and_tested_once(
    house: House, language: Language
) -> None:
    claim = CLAIMS[language]
    name = belief_id_in_memory(claim)
    tested = ("test_belief", {"belief_id": name, "outcome": "failure", "evidence": ["beach"]})
    lives(house, language, G1=(Reply(calls=(tested,)), Reply("違いました")))
    formed = ("form_belief", {"claim": claim, "confidence": 0.8})
    house.scripts["crab"] = (Reply(calls=(formed,)), Reply("はい"))
    house.session(house.home.agents.get("crab").agent)
    house.say("覚えておいて")
    house.work()
    house.provider.reset()
    begun = begins(house, generate_exploration_goal)
    assert begun.name == f"{NAMES[language]}: {claim}"
    carried(house)
    shown = [message.text for message in house.provider.seen[0].turns if hasattr(message, "text")]
    assert any(name in text and claim in text for text in shown)
    done = goal(house)
    assert done.status is GoalStatus.COMPLETED
    assert [receipt.action for receipt in done.receipts] == ["test_belief"]
    stored = house.home.facts.get("crab", BELIEF, name)
    assert stored is not None
    assert stored.read(Belief).confidence == pytest.approx(0.8 * 2 / 3)
    house.clock.advance(40 * 3_600)
    again = begins(house, generate_exploration_goal)
    assert again.name == NAMES[language], "nothing is unknown any more"
