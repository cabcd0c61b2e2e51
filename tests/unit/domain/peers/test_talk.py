"""A talk of two agents: how far it goes, when it is over, and what may be asked next."""

from datetime import UTC, datetime, timedelta

import pytest

from opencrab.domain.conversation.loop_guard import minhash_of_conversation_message
from opencrab.domain.conversation.session import Mode
from opencrab.domain.errors import Refused
from opencrab.domain.peers.talk import (
    DISCUSSIONS_A_DAY,
    PATIENCE,
    REPEATED,
    TALKS_A_DAY,
    OpenedDiscussions,
    PeerTalk,
    caller_of_peer_turn,
    is_peer_session,
    peer_session,
    require_new_question_to_peer,
)

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
DAY = timedelta(days=1)


def marks(text: str) -> tuple[str, ...]:
    return minhash_of_conversation_message(text)


def talk(**changes: object) -> PeerTalk:
    asked = marks("満潮は何時ですか")
    return PeerTalk(
        peer_id="bo",
        session_id="s",
        turn_id="t",
        asked=(asked,),
        said=(asked,),
        day="2026-02-17",
        asked_at=NOW,
    ).replaced(**changes)


def test_the_first_words_of_the_peer_are_the_answer_and_later_ones_go_on() -> None:
    first = talk().after_turn(1, "t1", marks("九時です"), NOW)
    assert (first.answer_turn, first.answered_at, first.ended) == ("t1", NOW, False)
    second = first.after_turn(2, "t2", marks("では干潮は?"), NOW + DAY)
    assert (second.answer_turn, second.hops, second.ended) == ("t1", 2, False)
    assert second.after_turn(3, "t3", marks("三時です"), NOW).ended


def test_a_turn_counts_once() -> None:
    first = talk().after_turn(1, "t1", marks("九時です"), NOW)
    assert first.after_turn(1, "t1", marks("九時です"), NOW + DAY) == first


@pytest.mark.parametrize("text", ["", "満潮は何時ですか", "満潮は何時ですか。"])
def test_silence_and_words_that_were_said_end_it(text: str) -> None:
    ended = talk().after_turn(1, "t1", marks(text) if text else (), NOW)
    assert ended.ended
    assert bool(ended.answer_turn) is bool(text)


def test_a_peer_is_asked_one_thing_at_a_time_for_as_long_as_one_waits() -> None:
    other = marks("風はどうですか")
    with pytest.raises(Refused, match="not over yet"):
        require_new_question_to_peer(talk(), other, "Bo", NOW)
    later = NOW + PATIENCE
    assert require_new_question_to_peer(talk(), other, "Bo", later) == (2, (*talk().asked, other))


def test_the_same_question_waits_for_a_day() -> None:
    done = talk(ended=True)
    same = marks("満潮は何時ですか?")
    with pytest.raises(Refused, match="nearly the same"):
        require_new_question_to_peer(done, same, "Bo", NOW + REPEATED - timedelta(seconds=1))
    assert require_new_question_to_peer(done, same, "Bo", NOW + REPEATED)[0] == 1


def test_questions_of_a_day_are_limited_and_the_next_day_begins_anew() -> None:
    full = talk(ended=True, today=TALKS_A_DAY)
    with pytest.raises(Refused, match=str(TALKS_A_DAY)):
        require_new_question_to_peer(full, marks("風"), "Bo", NOW)
    assert require_new_question_to_peer(full, marks("風"), "Bo", NOW + DAY)[0] == 1
    assert require_new_question_to_peer(None, marks("風"), "Bo", NOW) == (1, (marks("風"),))


def test_two_agents_have_one_session_whoever_opens_it() -> None:
    ours, theirs = peer_session("aki", "bo", "A, B", NOW), peer_session("bo", "aki", "B, A", NOW)
    assert (ours.id, ours.agent_ids, ours.theme) == (theirs.id, theirs.agent_ids, theirs.theme)
    assert (ours.mode, ours.discusses) == (Mode.DIRECT, False)
    assert is_peer_session(ours)
    assert not is_peer_session(ours.replaced(id="other"))
    assert not is_peer_session(ours.replaced(participants=ours.participants[:1]))


def test_the_caller_has_the_even_turns() -> None:
    assert caller_of_peer_turn("bo", "aki", 1) == "aki"
    assert caller_of_peer_turn("aki", "bo", 2) == "aki"
    assert caller_of_peer_turn("bo", "aki", 3) == "aki"


def test_discussions_of_a_day_are_counted() -> None:
    opened = OpenedDiscussions()
    for _ in range(DISCUSSIONS_A_DAY):
        opened = opened.with_one_more(NOW)
    with pytest.raises(Refused, match=f"{DISCUSSIONS_A_DAY} discussions"):
        opened.with_one_more(NOW)
    assert opened.with_one_more(NOW + DAY).count == 1
