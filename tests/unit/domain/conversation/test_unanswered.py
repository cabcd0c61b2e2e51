"""Unanswered messages: what is remembered of them, how many, and how they are stored."""

from opencrab.domain.conversation.message import (
    UNANSWERED_MESSAGES,
    UNANSWERED_TURNS,
    Unanswered,
    UnansweredMessage,
    decode_messages_left_unanswered,
    encode_messages_left_unanswered,
    messages_left_unanswered,
    with_unanswered_message,
)

TWO: Unanswered = (UnansweredMessage("hana", ("t1", "t2")), UnansweredMessage("ken", ("t3",)))


def test_what_is_stored_is_read_again() -> None:
    assert decode_messages_left_unanswered(encode_messages_left_unanswered(TWO)) == TWO
    assert decode_messages_left_unanswered(encode_messages_left_unanswered(())) == ()


def test_a_message_is_gone_with_its_last_turn() -> None:
    assert messages_left_unanswered(TWO, "t1") == (
        UnansweredMessage("hana", ("t2",)),
        TWO[1],
    )
    assert messages_left_unanswered(messages_left_unanswered(TWO, "t1"), "t2") == TWO[1:]
    assert messages_left_unanswered(TWO, "another") == TWO


def test_the_newest_messages_are_kept() -> None:
    waiting: Unanswered = ()
    for n in range(UNANSWERED_MESSAGES + 3):
        waiting = with_unanswered_message(waiting, UnansweredMessage("hana", (f"t{n}",)))
    assert len(waiting) == UNANSWERED_MESSAGES
    assert waiting[-1].turn_ids == (f"t{UNANSWERED_MESSAGES + 2}",)


def test_of_messages_to_many_agents_fewer_are_kept() -> None:
    waiting: Unanswered = ()
    for n in range(5):
        turns = tuple(f"t{n}_{agent}" for agent in range(20))
        waiting = with_unanswered_message(waiting, UnansweredMessage("hana", turns))
    assert sum(len(each.turn_ids) for each in waiting) == UNANSWERED_TURNS
    assert waiting[-1].turn_ids[0] == "t4_0"
