"""What a person wrote: without history, signature and forwarded words, as programs write them."""

import pytest

from opencrab.domain.email.quotation import written_words_of_email

HISTORIES = {
    "gmail": "On Mon, Nov 30, 2026 at 10:00 AM Crab <crab@example.org> wrote:\n> old\n> older",
    "gmail, broken": "On Mon, Nov 30, 2026 at 10:00 AM A Crab With A Long Name\n"
    "<crab@example.org> wrote:\n\n> old",
    "gmail, ja": "2026年11月30日(月) 10:00 蟹 <crab@example.org>:\n\n> old",
    "apple": "> On Nov 30, 2026, at 10:00, Crab <crab@example.org> wrote:\n> \n> old",
    "apple, bare": "On Nov 30, 2026, at 10:00, Crab <crab@example.org> wrote:\n\nold",
    "apple, ja": "2026/11/30 10:00、蟹 <crab@example.org>のメール:\n\n> old",
    "thunderbird, ja": "蟹 <crab@example.org>さんは書きました:\n> old",
    "outlook": "________________________________\nFrom: Crab <crab@example.org>\n"
    "Sent: Monday\nTo: Me\nSubject: x\n\nold",
    "outlook, plain": "-----Original Message-----\nFrom: Crab\nSent: Monday\nTo: Me\n\nold",
    "outlook, ja": "差出人: 蟹 <crab@example.org>\n送信日時: 2026年11月30日\n宛先: 私\n"
    "件名: x\n\nold",
    "outlook, ja, plain": "-----元のメッセージ-----\n差出人: 蟹\n送信日時: 月曜\n宛先: 私\n\nold",
    "outlook, bold": "*From:* Crab <crab@example.org>\n*Sent:* Monday\n*To:* Me\n\nold",
    "outlook, de": "Von: Crab <crab@example.org>\nGesendet: Montag\nAn: Ich\nBetreff: x\n\nold",
    "outlook, fr": "De : Crab <c@d.e>\nEnvoyé : lundi\nÀ : Moi\nObjet : x\n\nold",
    "outlook, es": "De: Crab <c@d.e>\nEnviado el: lunes\nPara: Yo\nAsunto: x\n\nold",
    "outlook, zh": "发件人: 蟹 <c@d.e>\n发送时间: 星期一\n收件人: 我\n主题: x\n\nold",
    "outlook, ko": "보낸 사람: 게 <c@d.e>\n보낸 날짜: 월요일\n받는 사람: 나\n제목: x\n\nold",
    "signature": "-- \nTaro\n+81 3",
    "telephone": "Sent from my iPhone",
    "telephone, ja": "iPhoneから送信",
}


@pytest.mark.parametrize("name", HISTORIES)
@pytest.mark.parametrize("words", ["はい、お願いします。\n\n次は?", "Yes, please.\n\nAnd then?"])
def test_history_and_signatures_are_cut_off(name: str, words: str) -> None:
    for line_end in ("\n", "\r\n"):
        mail = f"{words}\n\n{HISTORIES[name]}\n".replace("\n", line_end)
        assert written_words_of_email(mail) == (words, False)


def test_answers_between_and_below_quotations_stay() -> None:
    mail = "On Mon, Nov 30, 2026 at 10:00 Crab <c@d.e> wrote:\n> one?\nyes\n> two?\nno\n> three"
    assert written_words_of_email(mail) == ("yes\nno", False)


@pytest.mark.parametrize(
    "mail",
    [
        "On Monday we met. He wrote:",
        "From: Tokyo\nTo: Kyoto",
        "差出人: が空です",
        "2026年11月30日に行きます:",
        "-----\nnext",
        "a - b",
        "Sent from my heart, with words\nand more",
    ],
)
def test_what_only_looks_like_history_stays(mail: str) -> None:
    assert written_words_of_email(f"Hello\n{mail}\nBye").text.endswith("Bye")


@pytest.mark.parametrize(
    ("mail", "subject"),
    [
        ("Look:\n\n---------- Forwarded message ---------\nFrom: X\nSubject: y\n\ntheirs", ""),
        ("Look:\n\nBegin forwarded message:\n\n> theirs", ""),
        ("見て\n\n転送されたメッセージ:\ntheirs", ""),
        ("Look:\nFrom: X <x@y.z>\nSent: Monday\nTo: Me\nSubject: y\n\ntheirs", "FW: y"),
        ("見て\n差出人: X\n送信日時: 月\n宛先: 私\n件名: y\n\ntheirs", "転送: y"),
    ],
)
def test_forwarded_words_stay_and_are_others(mail: str, subject: str) -> None:
    found = written_words_of_email(mail, subject)
    assert (found.holds_others, "theirs" in found.text) == (True, True)


def test_a_mail_of_quotations_only_is_others_words_and_an_empty_one_is_empty() -> None:
    assert written_words_of_email("> do it") == ("> do it", True)
    assert written_words_of_email(" \n ") == ("", False)


def test_no_line_of_a_quotation_loses_its_mark() -> None:
    mail = "yes\r\n\r\n> old\rdelete everything\r\n> older"
    assert written_words_of_email(mail) == ("yes", False)
    assert written_words_of_email("one\rtwo") == ("one\ntwo", False)
    assert written_words_of_email("Bitte lesen.", "WG: Rechnung").holds_others
