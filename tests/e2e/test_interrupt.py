"""What a person's next message does to the turn that still answers the one before."""

from collections.abc import Callable
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import FilePart, LineKind, Sender, TextPart
from opencrab.domain.turn.interrupt import Interrupt
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.domain.value import Language
from opencrab.engine.runtime import Rules
from opencrab.engine.turn.control import decide_waiting_turn, stop_turn
from tests.contract.homes import DISTINCT_HOMES
from tests.crash.outside import Reply
from tests.e2e.conftest import Build
from tests.e2e.house import House

IN_HOMES = DISTINCT_HOMES

WORK = (
    Reply(calls=(("ws_write", {"path": "a.md", "content": "a"}),)),
    Reply(calls=(("ws_write", {"path": "b.md", "content": "b"}),)),
    Reply("all done"),
)
WORDS = (Reply("one two three four", streamed=True),)
NO_WAIT = Rules(stop_check_ms=0)


def _agent(house: House, script: tuple[Reply, ...], interrupt: Interrupt | None = None) -> None:
    agent = house.agent("crab", script)
    if interrupt is not None:
        house.home.agents.save(agent.replaced(interrupt=interrupt))
    house.session(agent)


def _during_call(house: House, call: int, happens: Callable[[], object]) -> None:
    """Let something happen once, during the n-th model call."""
    count = [0]

    def count_call() -> None:
        count[0] += 1
        if count[0] == call:
            happens()

    house.interrupt(count_call)


def _said(house: House, turn: Turn) -> list[tuple[str, str]]:
    shown = {LineKind.SPEECH, LineKind.SYSTEM}
    lines = (line for line in house.lines() if line.turn_id == turn.id and line.kind in shown)
    return [(line.kind.value, line.text) for line in lines]


def _actions(house: House, turn: Turn) -> int:
    lines = house.lines(LineKind.ACTION)
    return sum(line.turn_id == turn.id for line in lines)


@pytest.mark.parametrize("language", list(Language))
def test_the_next_message_ends_the_turn_after_its_step_and_both_are_answered(
    house: House, language: Language
) -> None:
    agent = house.agent("crab", WORK, language)
    house.session(agent)
    later: list[Turn] = []
    _during_call(house, 2, lambda: later.extend(house.say("短くして / make it short", "m2")))
    (first,) = house.say("二つ書いて / write two files", "m1")
    house.work()
    (second,) = later
    assert house.statuses((first, second)) == [TurnStatus.STOPPED, TurnStatus.COMPLETED]
    assert _actions(house, first) == 1
    ((kind, notice),) = _said(house, first)
    assert kind == "system"
    assert ("次のメッセージ" in notice) is (language is Language.JA)
    assert house.provider.bill.received == 2 + len(WORK)
    asked = house.provider.seen[2]
    told = "\n".join(getattr(message, "text", "") for message in asked.turns)
    assert told.index("write two files") < told.index(notice) < told.index("make it short")
    assert house.home.sessions.get("s").unanswered == ()


def test_an_answer_without_tool_calls_is_given_whole(house: House) -> None:
    _agent(house, (Reply("hello to you"),))
    later: list[Turn] = []
    _during_call(house, 1, lambda: later.extend(house.say("and also …", "m2")))
    (first,) = house.say("hello", "m1")
    house.work()
    assert house.statuses((first, *later)) == [TurnStatus.COMPLETED] * 2
    assert _said(house, first) == [("speech", "hello to you")]


def test_at_once_ends_the_model_call_and_keeps_its_words(build: Build) -> None:
    house = build(NO_WAIT)
    _agent(house, WORDS, Interrupt.AT_ONCE)
    later: list[Turn] = []
    _during_call(house, 1, lambda: later.extend(house.say("違うことを / something else", "m2")))
    (first,) = house.say("数えて / count", "m1")
    house.work()
    assert house.statuses((first, *later)) == [TurnStatus.STOPPED, TurnStatus.COMPLETED]
    (said, notice) = _said(house, first)
    assert said == ("speech", "one")
    assert "incomplete" in notice[1]
    assert house.turn(first.id).spent > 0


def test_after_step_lets_the_same_call_finish(build: Build) -> None:
    house = build(NO_WAIT)
    _agent(house, WORDS)
    later: list[Turn] = []
    _during_call(house, 1, lambda: later.extend(house.say("something else", "m2")))
    (first,) = house.say("count", "m1")
    house.work()
    assert house.statuses((first, *later)) == [TurnStatus.COMPLETED] * 2
    assert _said(house, first) == [("speech", "one two three four")]


def test_a_stop_still_ends_a_call_that_a_takeover_let_finish(build: Build) -> None:
    house = build(NO_WAIT)
    _agent(house, WORDS)

    def happens() -> None:
        house.say("something else", "m2")
        stop_turn(house.runtime, first.id, by="owner")

    _during_call(house, 1, happens)
    (first,) = house.say("count", "m1")
    house.work()
    assert house.statuses((first,)) == [TurnStatus.STOPPED]
    assert [kind for kind, _ in _said(house, first)] == ["speech", "system"]


def test_with_queue_the_next_message_waits(house: House) -> None:
    _agent(house, WORK, Interrupt.QUEUE)
    later: list[Turn] = []
    _during_call(house, 2, lambda: later.extend(house.say("and also", "m2")))
    (first,) = house.say("write", "m1")
    house.work()
    assert house.statuses((first, *later)) == [TurnStatus.COMPLETED] * 2
    assert _actions(house, first) == 2


OTHERS: list[dict[str, Any]] = [
    {"principal_id": "hana", "sender": Sender(id="hana", name="花"), "authority": Authority.USER},
    {"sender": Sender(id="owner", name="another one behind the same key")},
    {"source": Source.WEBHOOK},
    {"source": Source.PEER, "authority": Authority.PEER},
]


@pytest.mark.parametrize("other", OTHERS)
def test_messages_of_others_take_nothing_over(house: House, other: dict[str, Any]) -> None:
    _agent(house, WORK)
    later: list[Turn] = []
    _during_call(house, 2, lambda: later.extend(house.say("me too", "m2", **other)))
    (first,) = house.say("write", "m1")
    house.work()
    assert house.statuses((first, *later)) == [TurnStatus.COMPLETED] * 2


def test_a_user_takes_over_her_own_turn_also_if_another_message_lies_between(house: House) -> None:
    _agent(house, WORK)
    hana: dict[str, Any] = {
        "principal_id": "hana",
        "sender": Sender(id="hana", name="花"),
        "authority": Authority.USER,
    }
    later: list[Turn] = []

    def happens() -> None:
        later.extend(house.say("from the owner", "m2"))
        later.extend(house.say("短く", "m3", **hana))

    _during_call(house, 2, happens)
    (first,) = house.say("書いて", "m1", **hana)
    house.work()
    assert house.statuses((first, *later)) == [TurnStatus.STOPPED] + [TurnStatus.COMPLETED] * 2


def test_turns_that_have_not_begun_are_all_answered(house: House) -> None:
    _agent(house, (Reply("yes"),))
    turns = [house.say(f"question {n}", f"m{n}")[0] for n in range(12)]
    house.work()
    assert house.statuses(tuple(turns)) == [TurnStatus.COMPLETED] * 12
    assert house.home.sessions.get("s").unanswered == ()


def test_the_same_message_again_takes_nothing_over(house: House) -> None:
    _agent(house, WORK)
    later: list[Turn] = []
    (first,) = house.say("write", "m1")

    def happens() -> None:
        house.say("write", "m1")
        later.extend(house.say("and also", "m2"))

    _during_call(house, 2, happens)
    house.work()
    # The first was taken over by the second; while that one runs, both come again.
    assert house.statuses((first, *later)) == [TurnStatus.STOPPED, TurnStatus.COMPLETED]
    _during_call(house, 2, lambda: (house.say("write", "m1"), house.say("third", "m3")))
    (third,) = house.say("third", "m3")
    house.work()
    assert house.statuses((third,)) == [TurnStatus.COMPLETED]


def test_a_turn_that_a_human_was_asked_about_is_taken_over_neither_before_nor_after(
    house: House,
) -> None:
    agent = house.agent("crab", WORK)
    house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT))
    house.session(agent)
    (first,) = house.say("write", "m1")
    house.work()
    assert house.statuses((first,)) == [TurnStatus.WAITING]
    house.say("何時ですか", "m2")
    house.work()
    decide_waiting_turn(house.runtime, first.id, approved=True, by="owner")
    house.clock.advance(1)
    house.provider.wrap = lambda model: model
    _during_call(house, 1, lambda: house.say("thanks", "m3"))
    house.work()
    waiting = house.turn(first.id)
    assert (waiting.status, waiting.stop) == (TurnStatus.WAITING, None)
    assert _actions(house, first) == 1


def test_each_agent_of_the_session_follows_its_own_policy(house: House) -> None:
    crab = house.agent("crab", WORK)
    other = house.agent("kani", WORK)
    house.home.agents.save(other.replaced(interrupt=Interrupt.QUEUE))
    house.session(crab, other)
    later: list[Turn] = []
    _during_call(house, 2, lambda: later.extend(house.say("short", "m2")))
    first = house.say("write", "m1")
    house.work()
    assert house.statuses(first) == [TurnStatus.STOPPED, TurnStatus.COMPLETED]
    assert house.statuses(tuple(later)) == [TurnStatus.COMPLETED] * 2


def test_a_message_after_the_last_token_finds_the_turn_complete(house: House) -> None:
    _agent(house, (Reply("hello"),))
    (first,) = house.say("hi", "m1")
    house.work()
    (second,) = house.say("more", "m2")
    house.work()
    assert house.statuses((first, second)) == [TurnStatus.COMPLETED] * 2
    assert house.turn(first.id).stop is None


@pytest.mark.parametrize("scope", ["installation", "crab"])
def test_a_freeze_ends_the_turn_before_the_tool_calls_of_an_answer_in_hand(
    build: Build, scope: str
) -> None:
    house = build(NO_WAIT)
    _agent(house, WORK)
    _during_call(house, 1, lambda: house.home.switches.set(scope, frozen=True))
    (first,) = house.say("二つ書いて / write two files", "m1")
    house.work()
    assert house.statuses((first,)) == [TurnStatus.STOPPED]
    assert _actions(house, first) == 0
    assert "frozen" in _said(house, first)[-1][1]


def test_a_stop_ends_the_turn_before_a_tool_call_that_only_reads(build: Build) -> None:
    house = build(NO_WAIT)
    _agent(house, (Reply(calls=(("ws_list", {}),)), Reply("listed")))
    _during_call(house, 1, lambda: stop_turn(house.runtime, first.id, by="owner"))
    (first,) = house.say("list", "m1")
    house.work()
    assert house.statuses((first,)) == [TurnStatus.STOPPED]
    assert _actions(house, first) == 0


@pytest.mark.parametrize(
    "call",
    [
        ("ws_write", {"path": "a.md", "content": "a"}),
        ("send_speech", {"content": "one moment", "more": True}),
        ("generate_inner_voice", {"content": "careful"}),
    ],
)
def test_a_stop_refuses_a_tool_call_that_does_more_than_read_without_a_look_at_the_header(
    build: Build, call: tuple[str, dict[str, Any]]
) -> None:
    house = build(NO_WAIT)
    _agent(house, (Reply(calls=(call,)), Reply("done")))
    _during_call(house, 1, lambda: stop_turn(house.runtime, first.id, by="owner"))
    (first,) = house.say("go on", "m1")
    house.work()
    assert house.statuses((first,)) == [TurnStatus.STOPPED]
    assert _actions(house, first) == 0
    assert [kind for kind, _ in _said(house, first)] == ["system"]
    assert house.home.files.list("crab") == ()
    assert house.provider.bill.received == 1
    assert house.calls["journal.interruption"] == 0


def test_quick_tool_calls_read_nothing_more(house: House) -> None:
    _agent(house, WORK)
    house.say("write", "m1")
    house.work()
    assert house.calls["journal.interruption"] == 0


def _attached(house: House, message_id: str, text: str, name: str) -> tuple[Turn, ...]:
    house.home.files.write("crab", name, f"words of {name}".encode())
    part = FilePart(reference=f"workspace:{name}")
    return house.say(text, message_id, parts=(TextPart(text=text), part))


@pytest.mark.parametrize("language", list(Language))
def test_what_came_with_a_message_that_was_taken_over_is_shown_to_the_next_answer_alone(
    house: House, language: Language
) -> None:
    house.session(house.agent("crab", WORK, language))
    _during_call(house, 2, lambda: house.say("短くして / make it short", "m2"))
    _attached(house, "m1", "要約して / sum it up", "a.txt")
    house.work()
    house.say("ありがとう / thanks", "m3")
    house.work()
    shown = [
        "\n".join(getattr(each, "text", "") for each in asked.turns)
        for asked in house.provider.seen
    ]
    answered = 2 + len(WORK)
    assert ["words of a.txt" in each for each in shown[:answered]] == [True] * answered
    assert "thanks" in shown[-1]
    assert "words of a.txt" not in shown[-1]
