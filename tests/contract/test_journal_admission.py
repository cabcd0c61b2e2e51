"""Journal: a message and its turns are admitted once, together or not at all."""

from dataclasses import replace

import pytest

from opencrab.domain.conversation.message import Line
from opencrab.domain.conversation.session import SessionChange, SessionStatus
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.turn.turn import Turn, TurnStatus
from opencrab.ports.home import Home
from opencrab.ports.turn.journal import AdmittedMessage
from tests.contract.example import (
    ENGLISH,
    JAPANESE,
    NOW,
    admission,
    ending,
    later,
    session,
    turn,
)
from tests.contract.following import told
from tests.contract.waiting import at_once

AGENTS = ("hana", "ken", "yui")


def three_turns() -> tuple[Turn, ...]:
    return tuple(turn(f"turn_{name}", agent_id=name) for name in AGENTS)


@pytest.mark.parametrize("text", [JAPANESE, ENGLISH])
def test_an_admitted_message_is_a_line_and_a_queued_turn(home: Home, text: str) -> None:
    home.sessions.create(session())
    (admitted,) = home.journal.admit(admission(text=text))
    (line,) = home.journal.lines("s1")
    assert (line.text, line.sequence, line.group_line, line.speaker_name) == (text, 1, 1, "太郎")
    assert (admitted.status, admitted.epoch, admitted.sequence) == (TurnStatus.QUEUED, 0, 1)
    stored = home.journal.load("t1")
    assert (stored.turn, stored.records) == (admitted, ())


def test_one_message_to_three_agents_is_one_line_and_three_turns(home: Home) -> None:
    home.sessions.create(session("s1", *AGENTS))
    turns = home.journal.admit(admission(*three_turns(), message_id="朝"))
    assert [one.agent_id for one in turns] == list(AGENTS)
    assert [one.trigger_line for one in turns] == [1, 1, 1]
    assert {one.group for one in turns} == {"朝"}
    assert len(home.journal.lines("s1")) == 1
    assert [home.journal.load(one.id).turn for one in turns] == list(turns)


def test_twenty_agents_are_one_transaction(home: Home) -> None:
    names = [f"agent{number}" for number in range(20)]
    home.sessions.create(session("s1", *names))
    turns = home.journal.admit(admission(*(turn(f"t_{n}", agent_id=n) for n in names)))
    assert len(turns) == 20


def test_the_line_of_the_message_is_what_starts_its_turns(home: Home) -> None:
    home.sessions.create(session())
    home.journal.admit(admission(turn("t1"), message_id="m1"))
    (second,) = home.journal.admit(admission(turn("t2"), message_id="m2", text=ENGLISH))
    assert (second.trigger_line, second.group) == (2, "m2")
    assert [line.group_line for line in home.journal.lines("s1")] == [1, 2]


def test_the_same_message_again_answers_the_stored_turns(home: Home) -> None:
    home.sessions.create(session("s1", *AGENTS))
    first = home.journal.admit(admission(*three_turns()))
    fed = told(home)
    assert home.journal.admit(admission(*three_turns())) == first
    assert len(home.journal.lines("s1")) == 1
    assert told(home) == fed


def test_the_same_message_again_shows_how_far_its_turn_has_come(home: Home) -> None:
    home.sessions.create(session())
    home.journal.admit(admission())
    claimed = home.journal.claim("t1", lease_until=NOW, receipt=None)
    assert claimed is not None
    assert home.journal.admit(admission()) == (claimed.turn,)


def test_the_same_message_is_answered_even_after_its_session_ended(home: Home) -> None:
    home.sessions.create(session())
    first = home.journal.admit(admission())
    home.sessions.end("s1", NOW)
    assert home.journal.admit(admission()) == first


def test_an_id_used_for_another_body_is_a_conflict(home: Home) -> None:
    home.sessions.create(session())
    home.journal.admit(admission(text=JAPANESE))
    with pytest.raises(Conflict) as refusal:
        home.journal.admit(admission(text=ENGLISH))
    assert refusal.value.field == "Idempotency-Key"
    assert [line.text for line in home.journal.lines("s1")] == [JAPANESE]


def test_a_message_to_an_ended_session_is_a_conflict(home: Home) -> None:
    home.sessions.create(session(status=SessionStatus.ENDED))
    with pytest.raises(Conflict, match="has ended"):
        home.journal.admit(admission())
    assert home.journal.lines("s1") == ()
    with pytest.raises(NotFound):
        home.journal.load("t1")


def test_what_comes_after_the_end_is_admitted_once(home: Home) -> None:
    home.sessions.create(session(status=SessionStatus.ENDED))
    late = replace(admission(), after_end=True)
    assert home.journal.admit(late) == home.journal.admit(late)
    assert len(home.journal.lines("s1")) == 1
    assert home.sessions.get("s1").status is SessionStatus.ENDED


def test_a_message_to_an_unknown_session_is_not_found(home: Home) -> None:
    with pytest.raises(NotFound, match="s1"):
        home.journal.admit(admission())
    assert home.journal.lines("s1") == ()
    assert told(home) == []


def test_a_turn_that_exists_refuses_the_whole_message(home: Home) -> None:
    home.sessions.create(session("s1", *AGENTS))
    home.journal.admit(admission(turn("turn_yui"), message_id="m1"))
    fed = told(home)
    with pytest.raises(Conflict):
        home.journal.admit(admission(*three_turns(), message_id="m2", text=ENGLISH))
    assert len(home.journal.lines("s1")) == 1
    assert told(home) == fed
    with pytest.raises(NotFound):
        home.journal.load("turn_hana")
    turns = home.journal.admit(admission(turn("t9"), message_id="m2", text="別の話"))
    assert turns[0].trigger_line == 2


def test_eight_copies_at_once_are_admitted_once(home: Home) -> None:
    home.sessions.create(session("s1", *AGENTS))
    answers = at_once(8, lambda _: home.journal.admit(admission(*three_turns())))
    assert all(answer == answers[0] for answer in answers)
    assert len(home.journal.lines("s1")) == 1


def test_messages_at_once_get_lines_without_a_gap(home: Home) -> None:
    home.sessions.create(session())

    def say(number: int) -> Line:
        asked = admission(turn(f"t{number}"), message_id=f"m{number}", text=f"{number}番")
        home.journal.admit(asked)
        return asked.line

    said = at_once(8, say)
    stored = home.journal.lines("s1")
    assert [line.sequence for line in stored] == list(range(1, 9))
    assert {line.text for line in stored} == {line.text for line in said}


def from_person(*turns: Turn, message_id: str = "m1", person: str = "taro") -> AdmittedMessage:
    return replace(admission(*turns, message_id=message_id), person=person)


def unanswered(home: Home) -> list[tuple[str, tuple[str, ...]]]:
    return [(each.person, each.turn_ids) for each in home.sessions.get("s1").unanswered]


def end(home: Home, turn_id: str, agent_id: str) -> None:
    claimed = home.journal.claim(turn_id, lease_until=later(120), receipt=None)
    assert claimed is not None
    change = SessionChange(agent_id=agent_id, turn_id=turn_id)
    home.journal.commit(ending(claimed.turn, session=change))


def test_a_persons_message_is_unanswered_until_its_turns_have_ended(home: Home) -> None:
    home.sessions.create(session("s1", *AGENTS))
    home.journal.admit(from_person(*three_turns()))
    home.journal.admit(from_person(turn("later"), message_id="m2", person="花".encode().hex()))
    home.journal.admit(admission(turn("nobody"), message_id="m3"))
    end(home, "turn_ken", "ken")
    left = [("taro", ("turn_hana", "turn_yui")), ("花".encode().hex(), ("later",))]
    assert unanswered(home) == left
    for turn_id, agent_id in (("turn_hana", "hana"), ("turn_yui", "yui"), ("later", "hana")):
        end(home, turn_id, agent_id)
    assert unanswered(home) == []


def test_the_same_message_again_is_unanswered_once(home: Home) -> None:
    home.sessions.create(session())
    for _ in range(2):
        home.journal.admit(from_person(turn()))
    assert unanswered(home) == [("taro", ("t1",))]
