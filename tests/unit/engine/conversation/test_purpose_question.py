"""An agent without a purpose asks its owner for one, once."""

from dataclasses import replace

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.consequence import FollowUp, TurnEnding
from opencrab.engine.conversation.purpose_question import PurposeQuestionConsequence
from opencrab.engine.turn.work import TurnWork
from tests.unit.engine.known_world import WEBHOOK, World

ASKED = {Language.JA: "まだ目的がありません。何のために", Language.EN: "has no purpose yet"}


@pytest.fixture
def asking(world: World) -> World:
    world.rules(asks_purpose=True)
    return world


def follows(work: TurnWork, **changes: object) -> FollowUp:
    ending = TurnEnding(work.turn, TurnStatus.COMPLETED, speech="どうも")
    return PurposeQuestionConsequence().on_close(work, replace(ending, **changes))  # type: ignore[arg-type]


def speaks(work: TurnWork, language: Language = Language.EN, orders: str = "…") -> TurnWork:
    heartbeat = work.profile.agent.heartbeat.replaced(instructions=orders)
    agent = work.profile.agent.replaced(language=language, heartbeat=heartbeat)
    work.profile = work.profile.replaced(agent=agent)
    return work


@pytest.mark.parametrize("language", Language)
def test_it_asks_in_the_conversation_with_its_owner_once(asking: World, language: Language) -> None:
    first = follows(speaks(asking.begun(), language))
    assert ASKED[language] in first.session_notice
    assert first.owner_question == ""
    asking.runtime.home.facts.commit(*first.facts)
    assert follows(speaks(asking.begun(), language)) == FollowUp()


def test_it_asks_where_its_heartbeat_speaks(asking: World) -> None:
    work = asking.begun(channel=WEBHOOK)
    assert follows(work) == FollowUp(), "no place where people would read it"
    beat = work.profile.agent.heartbeat.replaced(channel=WEBHOOK)
    work.profile = work.profile.replaced(agent=work.profile.agent.replaced(heartbeat=beat))
    assert follows(work).owner_question
    assert follows(work).session_notice == ""


def test_it_asks_nobody_else_and_not_without_an_answer(asking: World) -> None:
    stranger = speaks(asking.begun(principal_id="guest", authority=Authority.PUBLIC))
    assert follows(stranger) == FollowUp()
    work = speaks(asking.begun())
    assert follows(work, status=TurnStatus.FAILED) == follows(work, speech="") == FollowUp()
    assert follows(work) != FollowUp()
    assert follows(speaks(asking.begun(), orders=" ")) == FollowUp(), "it does what it is told"
    agent = work.profile.agent.replaced(purpose="海を守る")
    work.profile = work.profile.replaced(agent=agent)
    assert follows(work) == FollowUp()
