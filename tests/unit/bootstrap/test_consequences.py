"""The table of consequences: each loads, and whom a turn does not concern has nothing to add."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from opencrab.bootstrap.consequences import CONSEQUENCES
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.turn.turn import TurnStatus
from opencrab.engine.consequence import EVERY_TRAIT, FollowUp, TurnEnding, TurnTrait
from tests.unit.engine.known_world import NOW, World, opened

ALL = (
    "GoalConsequence",
    "ApprovalConsequence",
    "DiscussionConsequence",
    "OutcomeConsequence",
    "PeerConsequence",
    "HeartbeatConsequence",
    "WorldUnitConsequence",
    "ForgottenFileConsequence",
    "PurposeQuestionConsequence",
    "WebhookEventConsequence",
    "SignalsConsequence",
)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as made:
        made.runtime.home.sessions.create(
            Session(
                id="alone",
                participants=(Participant(agent_id="mika"),),
                created_by="owner",
                created_at=NOW,
                updated_at=NOW,
            )
        )
        yield made


def names(hooks: tuple[Any, ...]) -> tuple[str, ...]:
    return tuple(type(hook.__self__).__name__ for hook in hooks)


def test_all_consequences_load_and_are_asked_in_their_order() -> None:
    hooks = CONSEQUENCES[EVERY_TRAIT]
    assert names(hooks.on_close) == ALL
    assert names(hooks.after_close) == (
        "CompactionConsequence",
        "HeartbeatConsequence",
        "WorldUnitConsequence",
        "BeliefTestConsequence",
        "SignalsConsequence",
    )
    assert names(hooks.on_message) == ("GoalConsequence",)
    assert CONSEQUENCES[frozenset[TurnTrait]()].on_message == ()


def test_whom_a_plain_question_does_not_concern_would_do_nothing(world: World) -> None:
    work = world.begun(session_id="alone")
    ending = TurnEnding(work.turn, TurnStatus.COMPLETED, speech="元気です。", has_spoken=True)
    asked, everybody = work.hooks, CONSEQUENCES[EVERY_TRAIT]
    assert names(asked.on_close) == ("SignalsConsequence",)
    left_out = [hook for hook in everybody.on_close if hook not in asked.on_close]
    assert len(left_out) == len(ALL) - 1
    assert [hook(work, ending) for hook in left_out] == [FollowUp()] * len(left_out)
    assert not any(hook(work) for hook in everybody.may_write_on_close)
    before = work.turn, work.profile
    for hook in everybody.on_begin:
        hook(work)
    assert (work.turn, work.profile) == before


def test_each_trait_of_a_turn_brings_whom_it_concerns(world: World) -> None:
    work = world.begun(session_id="alone")
    work.turn = work.turn.replaced(task="3")
    assert set(names(work.hooks.on_close)) == {
        "GoalConsequence",
        "OutcomeConsequence",
        "HeartbeatConsequence",
        "SignalsConsequence",
    }


def test_a_turn_among_several_agents_asks_those_of_discussions(world: World) -> None:
    assert set(names(world.begun().hooks.on_close)) == {
        "DiscussionConsequence",
        "HeartbeatConsequence",
        "SignalsConsequence",
    }
