"""Who waits in a channel hears of every end, first by an answer to their question, and once."""

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import Channel, Utterance
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.engine.goals.instructions import (
    InstructionGiver,
    NewInstruction,
    start_instruction_as_goal,
)
from opencrab.engine.phrases import system_phrase
from opencrab.engine.turn.admission import admit_turns_of_message
from opencrab.ports.conversation.channel import Panel
from tests.crash.outside import Reply, Script
from tests.crash.scenarios import message
from tests.e2e.house import House

ROOM = Channel(kind="room", address="42/7", awaited=True)
OWNER = Decider(id="owner", is_owner=True)
SILENT: Script = (Reply(calls=(("send_noreact", {}),)),)
EMPTY: Script = (Reply(text=""),)


class Room:
    """A channel that keeps what it was told."""

    def __init__(self, house: House) -> None:
        self.heard: list[Utterance] = []
        self.shown: list[Panel] = []
        house.runtime.channels["room"] = self  # type: ignore[index]

    def piece_count(self, utterance: Utterance) -> int:
        return 1

    def is_idempotent(self, utterance: Utterance) -> bool:
        return True

    def send(self, utterance: Utterance) -> None:
        self.heard.append(utterance)

    def show(self, place: Place, panel: Panel) -> None:
        assert place.kind == "room"
        self.shown.append(panel)

    @property
    def told(self) -> list[tuple[str, bool, bool]]:
        """What was said, whether it answered who waits, and whether it was the last."""
        return [(each.text, each.opens, each.closes) for each in self.heard]


def asks(
    house: House, channel: Channel = ROOM, *, only: tuple[str, ...] | None = None
) -> tuple[Turn, ...]:
    """Somebody asks in a channel, and everything is worked off."""
    said = message("元気?", "m1").replaced(channel=channel)
    turns = admit_turns_of_message(house.runtime, "s", said, only=only)
    house.work()
    return turns


def test_an_answer_opens_and_closes(house: House) -> None:
    room = Room(house)
    house.session(house.agent("crab", (Reply(text="元気です"),)))
    asks(house)
    assert room.told == [("元気です", True, True)]


def test_of_two_speeches_the_first_opens_and_the_last_closes(house: House) -> None:
    room = Room(house)
    speech = Reply(calls=(("send_speech", {"content": "まず一つ", "more": True}),))
    house.session(house.agent("crab", (speech, Reply(text="もう一つ"))))
    asks(house)
    assert room.told == [("まず一つ", True, False), ("もう一つ", False, True)]


def test_a_speech_that_ends_the_turn_closes_too(house: House) -> None:
    room = Room(house)
    house.session(house.agent("crab", (Reply(calls=(("send_speech", {"content": "以上"}),)),)))
    asks(house)
    assert room.told == [("以上", True, True)]


def test_who_waits_is_told_that_a_silent_turn_has_ended(house: House) -> None:
    room = Room(house)
    house.session(house.agent("crab", SILENT))
    asks(house)
    assert room.told == [("", True, True)]


def test_who_waits_is_told_that_an_answer_was_empty(house: House) -> None:
    room = Room(house)
    house.session(house.agent("crab", EMPTY))
    asks(house)
    assert room.told == [(system_phrase("unusable", Language.EN), True, True)]


@pytest.mark.parametrize("answer", [SILENT, EMPTY])
def test_where_nobody_waits_a_silent_turn_delivers_nothing(house: House, answer: Script) -> None:
    room = Room(house)
    house.session(house.agent("crab", answer))
    asks(house, ROOM.replaced(awaited=False))
    assert room.heard == []


def test_a_question_to_a_human_is_told_and_the_answer_after_it_opens_nothing(house: House) -> None:
    room = Room(house)
    ring = Reply(calls=(("ring_bell", {"tone": "ding"}),))
    agent = house.agent("crab", (ring, Reply(text="鳴らしました")))
    house.session(house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT)))
    (turn,) = asks(house)
    (question,) = room.heard
    (found,) = approvals.open_or_decided_approvals(house.runtime.home.facts, decided=False)
    assert (question.approval, question.opens, question.closes) == (found.id, True, False)
    assert "鐘" in question.text or "bell" in question.text
    assert house.turn(turn.id).status is TurnStatus.WAITING
    approvals.decide_approval(house.runtime, found.id, approved=True, who=OWNER)
    house.work()
    assert room.told[1:] == [("鳴らしました", False, True)]


def test_only_the_one_who_is_asked_answers(house: House) -> None:
    room = Room(house)
    crab, shrimp = (house.agent(name, (Reply(text=name),)) for name in ("crab", "shrimp"))
    house.session(crab, shrimp)
    turns = asks(house, only=("shrimp",))
    assert [turn.agent_id for turn in turns] == ["shrimp"]
    assert room.told == [("shrimp", True, True)]


def test_the_place_of_an_instruction_sees_how_far_it_comes(house: House) -> None:
    room = Room(house)
    agent = house.agent("crab", (Reply(text="できました"),))
    asker = InstructionGiver(
        principal_id="discord-1",
        name="花子",
        source=Source.DISCORD,
        authority=Authority.OWNER,
        channel=ROOM.replaced(awaited=False),
    )
    new = NewInstruction(instruction="潮の満ち引きを調べて")
    goal = start_instruction_as_goal(house.runtime, agent.id, new, asker, key="i1")
    assert start_instruction_as_goal(house.runtime, agent.id, new, asker, key="i1").id == goal.id
    for _ in range(4):
        house.later(60)
    assert room.shown
    assert {panel.goal for panel in room.shown} == {goal.id}
    assert room.shown[-1].over
    assert "できました" in "".join(each.text for each in room.heard)
