"""What corrects an answer and what asks again, in both languages; what is doubtful does neither."""

import pytest

from opencrab.domain.text.correction import is_text_correction, is_text_repeated, is_text_thanks


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


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, that's exactly what I needed.",
        "thank you! Now the second one, please.",
        "Perfect. Next: the kitchen.",
        "That worked. How do I undo it?",
        "Great, thanks a lot",
        "It helped, I could fix the printer.",
        "Cheers!",
        "ありがとうございます。次は、予算の表もお願いします。",
        "助かりました！",
        "うまくいきました。",
        "完璧です。",
        "なるほど、ありがとう",
        "解決しました。ありがとうございました。",
    ],
)
def test_who_is_content_thanks(text: str) -> None:
    assert is_text_thanks(text)
    assert not is_text_correction(text)


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, but that is the old address.",
        "No, thank you.",
        "Please translate the letter, thank you!",
        "Translate 'thank you' into French.",
        "Write a thank you note to Bob.",
        "Thanks for nothing.",
        "Thx, wrong file.",
        "Great. It crashed.",
        "「ありがとう」は英語で何と言いますか",
        "ありがとうカードを作って",
        "明日の天気を教えて。ありがとう",
        "解決しましたか?",
        "Thanks anyway.",
        "Thanks in advance for the summary.",
        "Could you write a thank-you note to my aunt? She always says thanks to everyone.",
        "That didn't help.",
        "It never worked.",
        "Is that perfect?",
        "Thanks. However, the second figure still differs.",
        "Please tell me if that worked.",
        "What is the capital of France?",
        "ありがとうございます。でも、数字が違います。",
        "ありがとう、でもそれは古い住所です。",
        "いいえ、結構です。ありがとう。",
        "まとめてくれるとありがたいです。",
        "完璧ではないです。",
        "うまくいきません。",
        "明日の天気を教えてください。",
    ],
)
def test_who_only_uses_words_of_thanks_does_not(text: str) -> None:
    assert not is_text_thanks(text)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        (
            "How can I reset the kitchen router to factory settings?",
            "So how do I reset that router in the kitchen to its factory settings then",
        ),
        (
            "台所のルーターを工場出荷時の設定に戻すには?",
            "台所のルーターは、工場出荷時の設定にどうやって戻しますか",
        ),
    ],
)
def test_the_same_matter_in_other_words_asks_again(text: str, before: str) -> None:
    assert is_text_repeated(text, before)


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("What is the population of the capital of France?", "What is the capital of France?"),
        ("Write a poem about the sea in winter", "Write a poem about the sea in summer"),
        ("明日の大阪の天気を教えてください", "明日の東京の天気を教えてください"),
        ("Send the report to Anna at nine", "Send the report to Ben at noon"),
    ],
)
def test_a_question_about_something_else_is_new(text: str, before: str) -> None:
    assert not is_text_repeated(text, before)
