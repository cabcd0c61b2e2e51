"""What corrects an answer and what asks again, in both languages; what is doubtful does neither."""

import pytest

from opencrab.domain.text.correction import is_text_correction, is_text_repeated


@pytest.mark.parametrize(
    "text",
    [
        "違う、東京の天気だよ",
        "違います。明日です",
        "いや、違うよ、そっちじゃない",
        "ちがうよ!",
        "そうじゃなくて、去年の売上を出して",
        "そうではなく、英語でお願いします",
        "答えが間違っています",
        "その計算は間違ってるよ",
        "それは違います",
        "そういう意味じゃないです",
        "No, I wanted the second one",
        "no. the other file",
        "Wrong: it is Tuesday",
        "That's wrong, it was 2024",
        "That’s not what I asked",
        "I meant Kyoto, not Tokyo",
        "Your answer is incorrect.",
        "you misunderstood the question",
        "Hm. You're mistaken about the date",
    ],
)
def test_who_says_that_the_answer_is_not_right_corrects(text: str) -> None:
    assert is_text_correction(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "違う話だけど、明日の予定は?",
        "違う色も見せて",
        "AではなくBを教えて",
        "間違っていたら教えてください",
        "もしそれが間違っているなら直して",
        "この文は間違っていますか?",
        "この結果は違うと思いますか",
        "北海道は東京と違いますか",
        "犬と猫の違いは?",
        "いいえ、大丈夫です",
        "いや",
        "それはいいね",
        "No",
        "No problem, thanks",
        "no, thank you",
        "No, that's fine",
        "No idea what this is",
        "Is this sentence incorrect?",
        "what is wrong with my code?",
        "Tell me if that is wrong",
        "I meant to ask you about lunch",
    ],
)
def test_who_only_uses_such_words_corrects_nothing(text: str) -> None:
    assert not is_text_correction(text)


@pytest.mark.parametrize(
    ("text", "before", "again"),
    [
        ("明日の東京の天気を教えて", "明日の東京の天気を教えて!", True),
        ("WHAT is the weather in Tokyo", "what is the weather in tokyo?", True),
        ("明日の東京の天気を教えて", "明日の大阪の天気を教えて", False),
        ("What is the weather in Tokyo", "What is the time in Tokyo", False),
        ("weather in Tokyo", "weather in Tokyo on Monday and what to wear", False),
        ("はい", "はい", False),
        ("go on", "go on", False),
        ("", "", False),
    ],
)
def test_who_says_nearly_the_same_asks_again(text: str, before: str, *, again: bool) -> None:
    assert is_text_repeated(text, before) is again
    assert is_text_repeated(before, text) is again
