"""Telegram's messages: plain text in pieces, and buttons of which each fits its 64 bytes."""

from opencrab.adapters.telegram.rendering import TEXT_UNITS, telegram_messages_of_utterance
from opencrab.domain.approvals.call_text import approval_question_with_call
from tests.unit.adapters.line.speaking import Talk

APPROVAL = "01KBA0QJ5V9X8Y7Z6W5T4S3R2Q"


def test_marks_are_left_out_and_code_stays() -> None:
    text = "# 題\n**太字** と `a**b`\n- 項目\n[頁](https://example.org)"
    (shown,) = telegram_messages_of_utterance(Talk().utterance(text))
    assert shown == {"text": "■ 題\n太字 と `a**b`\n・項目\n頁 (https://example.org)"}
    assert telegram_messages_of_utterance(Talk().utterance("")) == ()


def test_a_long_text_comes_in_pieces_that_cut_no_character_in_half() -> None:
    text = "🦀" * 5_000
    shown = [each["text"] for each in telegram_messages_of_utterance(Talk().utterance(text))]
    assert "".join(shown) == text
    assert all(len(each.encode("utf-16-le")) // 2 <= TEXT_UNITS for each in shown)


def test_the_buttons_of_an_approval_fit() -> None:
    question = approval_question_with_call("?", '{"a": "**b**"}', "ab" * 32)
    text, buttons = telegram_messages_of_utterance(Talk().utterance(question, approval=APPROVAL))
    assert text["text"] == question
    (row,) = buttons["reply_markup"]["inline_keyboard"]
    assert [each["callback_data"].split(":")[3] for each in row] == ["y", "n"]
    assert all(len(each["callback_data"].encode()) <= 64 for each in row)


def test_a_call_that_fits_no_message_can_only_be_rejected() -> None:
    question = approval_question_with_call("?", "x" * 5_000, "ab" * 32)
    *_, buttons = telegram_messages_of_utterance(Talk().utterance(question, approval=APPROVAL))
    (row,) = buttons["reply_markup"]["inline_keyboard"]
    assert [each["callback_data"].split(":")[3] for each in row] == ["n"]
