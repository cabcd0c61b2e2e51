"""Answers as mails: in their thread, in Japanese, and with no header that a stranger wrote."""

from email import message_from_bytes, policy
from email.message import EmailMessage

import pytest

from opencrab.adapters.email.rendering import compose_email_reply, email_text_of_utterance
from opencrab.domain.approvals.call_text import approval_question_with_call
from opencrab.domain.email.letter import own_message_id, thread_of_own_message_ids
from tests.contract.example import NOW
from tests.unit.adapters.email.speaking import LETTER
from tests.unit.adapters.line.speaking import Talk

ROOM = f"{'a' * 32}.{'b' * 8}.{'c' * 16}"
NUMBER = own_message_id(ROOM, "turn#0001", "crab@example.org")


def composed(text: str = "やあ", **changes: object) -> EmailMessage:
    """A mail as another program reads it."""
    content = compose_email_reply(LETTER.replaced(**changes), text, NUMBER, NOW)
    assert content.isascii()
    assert max(map(len, content.split(b"\r\n"))) <= 78
    assert content.count(b"\n") == content.count(b"\r\n")
    return message_from_bytes(content, policy=policy.default)


def test_an_answer_is_in_its_thread_and_says_what_it_is() -> None:
    mail = composed("蟹です。\n🦀")
    assert mail["subject"] == "Re: 相談"
    assert str(mail["from"]) == "蟹 <crab@example.org>"
    assert mail["to"] == "taro@example.net"
    assert mail["in-reply-to"] == "<m1@mail.example.net>"
    assert mail["references"].split() == ["<m0@mail.example.net>", "<m1@mail.example.net>"]
    assert (mail["auto-submitted"], mail["message-id"]) == ("auto-replied", NUMBER)
    assert mail.get_content() == "蟹です。\r\n🦀\r\n"
    assert thread_of_own_message_ids(("<a@b>", NUMBER, "<c@d>")) == "c" * 16
    assert compose_email_reply(LETTER, "x", NUMBER, NOW) == compose_email_reply(
        LETTER, "x", NUMBER, NOW
    )


@pytest.mark.parametrize(
    ("subject", "shown"),
    [
        ("Re: x", "Re: x"),
        ("RE\uff1ax", "RE\uff1ax"),
        ("", "Re:"),
        ("x\r\nBcc: victim@example.com\r\n\r\nbody", "Re: x Bcc: victim@example.com body"),
        ("x\u2028y\0z", "Re: x yz"),
        ("half \ud83d", "Re: half \ufffd"),
        ("=?utf-8?q?x=0D=0ABcc:_a@b?=", "Re: = ?utf-8?q?x=0D=0ABcc:_a@b?="),
        ("蟹" * 200, "Re: " + "蟹" * 200),
        ("word " * 55, "Re: " + ("word " * 55).strip()),
    ],
)
def test_a_subject_is_one_header_whatever_it_says(subject: str, shown: str) -> None:
    mail = composed(subject=subject)
    assert mail["subject"] == shown
    assert mail["bcc"] is None


@pytest.mark.parametrize("name", ['a" <evil@example.com>, "', "a\r\nBcc: x@y.z", "蟹 <a@b.c>", ""])
def test_a_name_is_no_address_and_no_header(name: str) -> None:
    mail = composed(agent_name=name)
    assert [each.addr_spec for each in mail["from"].addresses] == ["crab@example.org"]
    assert mail["bcc"] is None


def test_halves_of_signs_and_nul_do_not_stop_an_answer() -> None:
    assert composed("a\ud83d\0\r\n.b\rc").get_content() == "a\ufffd\r\n.b\r\nc\r\n"


def test_an_address_with_odd_dots_is_quoted() -> None:
    mail = composed(address="taro..y@docomo.ne.jp")
    assert ("To", '"taro..y"@docomo.ne.jp') in mail.raw_items()
    (told,) = mail["to"].addresses
    assert (told.username, told.domain) == ("taro..y", "docomo.ne.jp")


def test_references_stay_few() -> None:
    many = tuple(f"<{n}@x.y>" for n in range(40))
    told = composed(references=many)["references"].split()
    assert (len(told), told[0], told[-1]) == (20, "<0@x.y>", "<m1@mail.example.net>")


def test_calls_are_shown_to_owners_only_and_a_mail_decides_nothing() -> None:
    question = approval_question_with_call("?", '{"a": 1}', "ab" * 32)
    asked = Talk().utterance(question, approval="01AP")
    shown = email_text_of_utterance(asked, LETTER.replaced(shows_calls=True))
    assert '{"a": 1}' in shown
    assert "opencrab approvals" in shown
    hidden = email_text_of_utterance(asked, LETTER)
    assert '{"a": 1}' not in hidden
    assert email_text_of_utterance(Talk().utterance("**はい**"), LETTER) == "はい"
