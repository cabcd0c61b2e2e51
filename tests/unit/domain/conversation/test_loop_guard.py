"""The loop guard's rules: bots in a row, near repeats, humans, and quiet times."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from opencrab.domain.conversation.loop_guard import (
    ALIKE,
    MOST,
    NEARLY,
    WINDOW,
    BotRun,
    minhash_of_conversation_message,
    similarity_of_conversation_messages,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
DIFFERENT = [
    "The weather in Kyoto will be fine",
    "明日の会議は十時から始まります",
    "My favourite pizza has four cheeses",
    "電車が遅れているので少し待ってください",
    "Seven ravens sat upon the old tower",
    "図書館の本を返すのを忘れました",
    "Please water the plants on Friday",
    "新しい辞書が棚の上にあります",
    "Quantum foam tastes like nothing",
    "猫は窓辺で眠っています",
]

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
gaps = st.integers(1, 15 * 60).map(lambda seconds: timedelta(seconds=seconds))


def after(texts: list[str], step: timedelta = timedelta(seconds=20)) -> BotRun:
    """The run after bots said these, one after the other."""
    run = BotRun()
    for number, text in enumerate(texts):
        run = run.after_bot(str(number), text, NOON + number * step)
    return run


def answers(run: BotRun) -> list[bool]:
    """Which of the messages in a run were answered."""
    return [each.answered for each in run.heard]


def test_six_messages_of_bots_are_answered_and_the_seventh_is_not() -> None:
    assert answers(after(DIFFERENT[:7])) == [True] * 6 + [False]


def test_the_third_that_says_nearly_the_same_is_not_answered() -> None:
    counted = [f"Build {n} failed at 12:0{n} on main, please look at it" for n in range(3)]
    assert answers(after(counted)) == [True, True, False]
    assert answers(after(["了解しました！", "了解しました。", "了解 しました"])) == [
        True,
        True,
        False,
    ]
    assert answers(after(["👍", "👍", "👍"])) == [True, True, False]


def test_a_human_ends_it_at_once() -> None:
    run = after(DIFFERENT[:7])
    later = NOON + timedelta(minutes=3)
    assert run.after_human(later) == BotRun()
    assert answers(run.after_human(later).after_bot("x", DIFFERENT[7], later)) == [True]


def test_a_human_who_spoke_before_ends_only_what_came_before() -> None:
    run = after(DIFFERENT[:3])
    assert [each.id for each in run.after_human(NOON + timedelta(seconds=20)).heard] == ["2"]


def test_silence_holds_while_bots_go_on_and_ends_after_a_quiet_window() -> None:
    run = after(DIFFERENT[:7])
    last = run.heard[-1].at
    for number in range(30):
        last += timedelta(minutes=9)
        run = run.after_bot(f"more-{number}", DIFFERENT[number % 10], last)
        assert run.heard[-1].answered is False
    rested = run.after_bot("rested", "hello", last + WINDOW)
    assert answers(rested) == [True]


def test_slow_talk_is_not_taken_for_a_loop() -> None:
    assert all(answers(after(DIFFERENT, step=timedelta(minutes=3))))


def test_a_message_in_the_run_keeps_its_verdict() -> None:
    run = after(DIFFERENT[:7])
    assert run.verdict("5") is True
    assert run.verdict("6") is False
    assert run.verdict("unknown") is None


@given(st.lists(st.tuples(texts, gaps), max_size=60))
def test_never_more_than_the_most_are_answered_within_a_window(
    said: list[tuple[str, timedelta]],
) -> None:
    run, at, answered = BotRun(), NOON, list[datetime]()
    for number, (text, gap) in enumerate(said):
        at += gap
        run = run.after_bot(str(number), text, at)
        assert len(run.heard) <= MOST + 1
        if run.heard[-1].answered:
            answered.append(at)
            assert sum(at - each < WINDOW for each in answered) <= MOST


@given(texts, st.integers(ALIKE, 20))
def test_a_repeat_is_answered_less_often_than_three_times(text: str, times: int) -> None:
    assert sum(answers(after([text] * min(times, MOST)))) == ALIKE - 1


@given(st.lists(st.tuples(texts, gaps), max_size=20), texts)
def test_after_a_human_the_next_bot_is_heard(said: list[tuple[str, timedelta]], text: str) -> None:
    run, at = BotRun(), NOON
    for number, (words, gap) in enumerate(said):
        at += gap
        run = run.after_bot(str(number), words, at)
    run = run.after_human(at)
    assert run.after_bot("next", text, at).heard[-1].answered


@given(texts, texts)
def test_likeness_is_even_bounded_and_whole_for_one_text(one: str, other: str) -> None:
    first, second = minhash_of_conversation_message(one), minhash_of_conversation_message(other)
    assert similarity_of_conversation_messages(first, first) == 1.0
    assert (
        0.0
        <= similarity_of_conversation_messages(first, second)
        == similarity_of_conversation_messages(second, first)
        <= 1.0
    )


def test_other_words_are_not_alike_and_no_word_can_be_read() -> None:
    for one in DIFFERENT:
        for other in DIFFERENT:
            alike = (
                similarity_of_conversation_messages(
                    minhash_of_conversation_message(one), minhash_of_conversation_message(other)
                )
                >= NEARLY
            )
            assert alike is (one == other)
    assert "kyoto" not in str(after(DIFFERENT[:1])).lower()
