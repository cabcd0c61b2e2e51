"""A message goes in and its answers come out, once, by the functions that all handlers call."""

import pytest

from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.errors import Conflict
from opencrab.domain.money.budget import INSTALLATION
from opencrab.domain.turn.turn import TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.turn import control
from opencrab.engine.turn.admission import admit_turns_of_message
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import Reply
from tests.crash.scenarios import LONG, TALK, TEXT, WRITE, message
from tests.e2e.house import House

IN_HOMES = DISTINCT_HOMES


def test_a_message_is_answered(house: House) -> None:
    house.session(house.agent("crab", TEXT))
    turns = house.say("hello")
    house.work()
    assert house.statuses(turns) == [TurnStatus.COMPLETED]
    assert [(line.speaker_id, line.text) for line in house.lines()] == [("crab", "hello there")]


def test_a_channel_that_pushes_shows_every_speech_in_order(house: House) -> None:
    house.session(house.agent("crab", TALK))
    house.say("hello", channel="wall")
    house.work()
    assert [text for _, text in house.wall.shown] == ["one moment", "still on it", "there you are"]


def test_an_unreachable_channel_gets_the_speech_later_and_once(house: House) -> None:
    house.session(house.agent("crab", TEXT))
    house.wall.failures = 3
    house.say("hello", channel="wall")
    for _ in range(10):
        house.later(90)
    assert [text for _, text in house.wall.shown] == ["hello there"]
    assert house.home.outbox.list_unsent(house.clock.now(), 10) == ()


@pytest.mark.parametrize(
    ("language", "first", "later", "answer"),
    [
        (Language.EN, "thanks, that was all", "one more thing", "of course"),
        (Language.JA, "ありがとう、以上です", "もう一つあります", "もちろんです"),
    ],
)
def test_a_conversation_goes_on_with_the_next_message_after_the_agent_declared_done(
    house: House, language: Language, first: str, later: str, answer: str
) -> None:
    house.session(house.agent("crab", (Reply(calls=(("declare_done", {}),)),), language))
    house.say(first)
    house.work()
    session = house.home.sessions.get("s")
    assert (session.done_count, session.status) == (1, SessionStatus.ACTIVE)
    house.scripts["crab"] = (Reply(text=answer),)
    house.say(later, "m2")
    house.work()
    assert house.lines(LineKind.SPEECH)[-1].text == answer
    assert house.home.sessions.get("s").done_count == 0


def test_three_participants_are_three_turns_however_often_the_message_comes(house: House) -> None:
    house.session(house.agent("a", TEXT), house.agent("b", WRITE), house.agent("c", TALK))
    turns = house.say("all of you")
    house.work()
    assert house.say("all of you") == tuple(house.turn(turn.id) for turn in turns)
    house.later(400)
    house.say("all of you")
    house.later(400)
    assert [turn.agent_id for turn in turns] == ["a", "b", "c"]
    assert house.statuses(turns) == [TurnStatus.COMPLETED] * 3
    spoken = [(line.speaker_id, line.text) for line in house.lines(LineKind.SPEECH)]
    assert spoken == [
        ("a", "hello there"),
        ("b", "written"),
        ("c", "one moment"),
        ("c", "still on it"),
        ("c", "there you are"),
    ]


def test_the_same_id_with_other_words_is_refused(house: House) -> None:
    house.session(house.agent("crab", TEXT))
    house.say("hello")
    with pytest.raises(Conflict):
        house.say("something else")


def test_the_owners_stop_ends_a_running_turn_before_its_next_call(house: House) -> None:
    house.session(house.agent("crab", LONG))
    (turn,) = house.say("work")
    house.interrupt(lambda: control.stop_turn(house.runtime, turn.id, by="owner"))
    house.work()
    assert house.turn(turn.id).status is TurnStatus.STOPPED
    assert house.provider.bill.received == 1
    assert house.home.files.list("crab") == ()
    assert [line.text for line in house.lines()] == ["I stopped, as requested."]


def test_a_stopped_turn_does_not_hold_up_the_next_message(house: House) -> None:
    house.session(house.agent("crab", TEXT))
    first, second = house.say("one", "m1")[0], house.say("two", "m2")[0]
    control.stop_turn(house.runtime, first.id, by="owner")
    house.work()
    assert house.statuses((first, second)) == [TurnStatus.STOPPED, TurnStatus.COMPLETED]


@pytest.mark.parametrize("scope", [INSTALLATION, "crab"])
def test_what_was_approved_while_all_is_frozen_is_not_done(house: House, scope: str) -> None:
    note = ("ws_write", {"path": "memo.txt", "content": "凍結中"})
    agent = house.agent("crab", (Reply(calls=(note,)), Reply("done")))
    house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT))
    house.session(agent)
    (turn,) = house.say("write it")
    house.work()
    assert house.turn(turn.id).status is TurnStatus.WAITING
    house.home.switches.set(scope, frozen=True)
    control.decide_waiting_turn(house.runtime, turn.id, approved=True, by="owner")
    house.work()
    assert house.turn(turn.id).status is TurnStatus.STOPPED
    assert house.home.files.list("crab") == ()


@pytest.mark.parametrize("scope", ["crab", "installation"])
def test_a_frozen_agent_or_installation_calls_no_model_and_says_so(
    house: House, scope: str
) -> None:
    house.session(house.agent("crab", TEXT))
    house.home.switches.set(scope, frozen=True)
    turns = house.say("hello")
    house.work()
    assert house.statuses(turns) == [TurnStatus.STOPPED]
    assert house.provider.bill.received == 0
    (line,) = house.lines()
    assert "frozen" in line.text
    house.home.switches.set(scope, frozen=False)
    again = house.say("hello again", "m2")
    house.work()
    assert house.statuses(again) == [TurnStatus.COMPLETED]


def test_an_agent_that_retires_before_its_turn_says_only_that(house: House) -> None:
    agent = house.agent("crab", TEXT)
    house.session(agent)
    turns = house.say("hello")
    house.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))
    house.work()
    assert house.statuses(turns) == [TurnStatus.STOPPED]
    assert [line.text for line in house.lines()] == ["This agent is retired."]
    assert house.provider.bill.received == 0
    with pytest.raises(Conflict):
        house.say("anybody?", "m2")


@pytest.mark.parametrize(
    ("language", "told"),
    [
        (Language.EN, "I am sorry, the model gave no usable answer."),
        (Language.JA, "申し訳ありません。モデルから使える回答が返りませんでした。"),
    ],
)
def test_who_waits_is_told_that_a_model_said_nothing(
    house: House, language: Language, told: str
) -> None:
    house.session(house.agent("crab", (Reply(" "),), language))
    said = message("hello", "m1", "wall")
    assert said.channel is not None
    awaited = said.replaced(channel=said.channel.replaced(awaited=True))
    turns = admit_turns_of_message(house.runtime, "s", awaited)
    house.work()
    assert house.statuses(turns) == [TurnStatus.IDLE]
    assert [text.startswith(told) for _, text in house.wall.shown] == [True]
