"""What may stand above a report: few plain sentences whose numbers are all in it."""

import pytest

from opencrab.domain.insight.report_wording import (
    CHARACTERS,
    WrittenReports,
    first_learning_report_sentences,
    learning_report_wording_flaw,
)

REPORT = """# Mika learned this on 2026-11-05

1,234 turns, 60 of them judged. Yes: 0.0120 USD of 1.00 USD (1.2 %).
- `openai:gpt-4o-2024`: 12 calls, 7.50 s on average
- skill `save-99-percent`: on trial → active; +12 points (3 to 21) in W47
- `7`: +1 points; cheap2 40 %
"""


@pytest.mark.parametrize(
    "text",
    [
        "All went well.",
        "1234 turns, 60 judged; 0.012 USD is 1.2%.",
        "11月5日は1,234ターンでした。60件を評価し、費用は0.0120ドルです。",
        "\uff16\uff10ターン、\uff11\uff0e\uff12\uff05。",
        "gpt-4o-2024 took 7.5 s, and openai:gpt-4o-2024 was called 12 times.",
        "save-99-percent brought 12 points; cheap2 had 40 %.",
        "W47 took 7.50s; `openai:gpt-4o-2024` and `gpt-4o-2024` are one; 1.00USD, the 12th.",
        "One thing is sure: two models differ. 一つだけ分かりました。",
    ],
)
def test_numbers_of_the_report_may_be_told_however_they_are_written(text: str) -> None:
    assert learning_report_wording_flaw(text, REPORT) == ""


@pytest.mark.parametrize(
    "text",
    [
        "I saved 99 percent.",
        "61 turns.",
        "1.3 %",
        "99%でした。",
        "九十九パーセントでした。",
        "Ninety percent better, twelve points.",
        "٩٩ %",
        "gpt-6 took 7.5 s.",
        "7 turns.",
        "123 turns.",
        "½ of all",
        "I spent USD9000.",
        "US9000 dollars",
        "12k turns.",
        "12 k turns",
        "12K USD",
        "1.2e3 %",
        "12.000.000",
        "12 000 turns",
        "12'000 turns",
        "12 million tokens",
        "Thousands of turns",
        "12万 USD",
        "12億トークン",
        "十万トークン",
        "cheap99",
        "①③",
    ],
)
def test_a_number_that_is_not_in_the_report_is_found(text: str) -> None:
    assert learning_report_wording_flaw(text, REPORT) == "number"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("a" * (CHARACTERS + 1), "form"),
        ("<b>fine</b>", "form"),
        ("see https://evil.example", "form"),
        ("![x](y)", "form"),
        ("[[note]]", "form"),
        ("```run```", "form"),
        ("see www.evil.example", "form"),
        ("Mail a@evil.example", "form"),
        ("I ran `rm -rf /`.", "form"),
    ],
)
def test_only_plain_sentences_may_stand_there(text: str, why: str) -> None:
    assert learning_report_wording_flaw(text, REPORT) == why


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("## Fine\nIt went well.", "Fine It went well."),
        ("- a\n- b", "a - b"),
        ("1.5 is fine. " * 8, " ".join(["1.5 is fine."] * 6)),
        ("良い。" * 7, "良い。" * 6),
        ("良い!本当?" * 2, "良い!本当?良い!本当?"),
        (" \n", ""),
    ],
)
def test_what_is_said_becomes_six_sentences_on_one_line(said: str, text: str) -> None:
    assert first_learning_report_sentences(said) == text


@pytest.mark.parametrize(
    ("said", "finish", "text"),
    [
        ("I did well. Quality is at 1", "length", "I did well."),
        ("I did well. It is at 1.", "MAX_TOKENS", "I did well."),
        ("I did well. So it is.", "max_tokens", "I did well. So it is."),
        ("良い日でした。品質は1", "length", "良い日でした。"),
        ("Quality is at 1", "length", ""),
        ("Fine", "STOP", "Fine"),
    ],
)
def test_of_an_answer_that_was_cut_off_whole_sentences_stay(
    said: str, finish: str, text: str
) -> None:
    assert first_learning_report_sentences(said, finish) == text


def test_of_many_reports_the_newest_are_known_again() -> None:
    known = WrittenReports()
    for number in (*range(30), 15):
        known = known.with_digest(str(number))
    assert (known.digests[0], known.digests[-2:], len(known.digests)) == ("10", ("29", "15"), 20)
