"""Titles: the beginning of what was said first, cut where a reader would cut it."""

import pytest

from opencrab.domain.conversation.title import (
    COLUMNS,
    conversation_title,
    conversation_title_column_width,
)

FAMILY = "👩\u200d👩\u200d👧\u200d👦"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Hello", "Hello"),
        ("Plan my week. I have three meetings.", "Plan my week. I have three meetings."),
        ("Please plan my whole week. I have three meetings.", "Please plan my whole week."),
        (
            "Could you please plan my week with the three meetings that I have?",
            "Could you please plan my week with the three…",
        ),
        ("来週の計画を立ててください。会議が3つあります。", "来週の計画を立ててください"),
        (
            "こんにちは。来週の出張の計画を立ててください。新幹線で。",
            "こんにちは。来週の出張の計画を立ててください",
        ),
        (
            "新幹線とホテルの両方を予約して経費の精算まで済ませておきたいのですが",
            "新幹線とホテルの両方を予約して経費の精算まで済…",
        ),
        ("# Notes\n\nbody", "Notes"),
        ("\n\n- 牛乳\n- 卵", "牛乳"),
        ("See version 1.2.3 please", "See version 1.2.3 please"),
        ("[image workspace:uploads/3f/蟹.png]", "蟹.png"),
        ("a\tb\u202e\x1b[31mc", "a b[31mc"),
        (" \n\u200b\n", ""),
        ("", ""),
    ],
)
def test_a_title_is_the_first_thing_that_was_said(text: str, title: str) -> None:
    assert conversation_title(text) == title


@pytest.mark.parametrize("text", ["a" * 500, "蟹" * 500, FAMILY * 50, "e\u0301" * 300, "が" * 99])
def test_a_title_fits_and_splits_no_character(text: str) -> None:
    title = conversation_title(text)
    assert title.endswith("…")
    assert conversation_title_column_width(title) <= COLUMNS
    assert text.startswith(title[:-1])
    assert len(title[:-1]) % len(FAMILY) == 0 or FAMILY not in text
    assert not text[len(title) - 1].startswith("\u0301")
