"""The mailbox over IMAP: by UIDs, waiting for news, and errors that say no password."""

from datetime import date
from socket import create_server
from threading import Timer
from time import monotonic

import pytest

from opencrab.adapters.email.mailbox import MOST_BYTES, ImapMailbox
from opencrab.adapters.email.server import MailServer
from opencrab.domain.errors import Conflict, Refused, Unavailable
from tests.discord.faults import Drop, Status
from tests.email.fake import ADDRESS, PASSWORD
from tests.unit.adapters.email.speaking import Passwords, talk


def test_mails_are_found_by_uid_and_marked_only_when_asked() -> None:
    with talk() as here:
        here.mail.says("one")
        here.mail.arrives(b"From: a@b.c\r\n\r\n" + b"x" * (MOST_BYTES + 9))
        with here.mailbox.opened() as opened:
            assert (opened.uidvalidity, opened.next_uid, opened.has_idle) == (7, 42, True)
            assert opened.uids_from(40) == (40, 41)
            assert opened.uids_from(41) == (41,)
            # IMAP names the newest mail for `42:*`, although it is older.
            assert opened.uids_from(42) == ()
            assert opened.uids_since(date(2026, 1, 5)) == (40, 41)
            content = opened.fetch(40)
            assert content is not None
            assert content == here.mail.kept[0].content
            assert len(opened.fetch(41) or b"") == MOST_BYTES
            assert opened.fetch(99) is None
            assert [each.is_read for each in here.mail.kept] == [False, False]
            opened.mark_read(40)
            assert [each.is_read for each in here.mail.kept] == [True, False]
        assert here.mail.complaints == []


def test_news_are_told_at_once_and_silence_ends() -> None:
    with talk() as here:
        with here.mailbox.opened() as opened:
            timer = Timer(0.05, here.mail.says, ("now",))
            timer.start()
            assert opened.wait(20)
            assert opened.uids_from(40) == (40,)
            timer.join()
        with here.mailbox.opened() as opened:
            assert opened.wait(0.1) is False
        here.mail.refuses_idle = True
        with here.mailbox.opened() as opened:
            assert opened.wait(20)
            assert opened.has_idle is False
            assert opened.uids_from(40) == (40,)


def test_a_mail_that_came_while_another_was_fetched_is_not_waited_for() -> None:
    with talk() as here, here.mailbox.opened() as opened:
        here.mail.says("one")
        assert opened.uids_from(40) == (40,)
        here.mail.says("two")
        # The server tells of it now, and not again.
        opened.fetch(40)
        before = monotonic()
        assert opened.wait(3)
        assert monotonic() - before < 2
        assert opened.uids_from(41) == (41,)
        opened.mark_read(41)
        assert opened.wait(0.1) is False


def test_errors_say_what_is_wrong_and_never_the_password() -> None:
    with talk() as here:
        here.passwords.known = "wrong-5"
        with pytest.raises(Refused, match="refused the sign-in") as refused, here.mailbox.opened():
            pass
        assert here.passwords.forgotten == 1
        assert "wrong-5" not in refused.value.message
        here.passwords.known = PASSWORD
        for fault in (Drop(), Drop("after")):
            here.mail.says("x")
            here.mail.faults.plan("FETCH", fault)
            with pytest.raises(Unavailable, match=r"IMAP server 127\.0\.0\.1"):  # noqa: SIM117
                with here.mailbox.opened() as opened:
                    opened.fetch(40)
        here.mail.faults.plan("FETCH", Status())
        with here.mailbox.opened() as opened:
            with pytest.raises(Conflict, match="does not give mail 40"):
                opened.fetch(40)
            assert opened.fetch(40) is not None
    with (
        talk("Crab") as here,
        pytest.raises(Refused, match="no mailbox 'Crab'"),
        here.mailbox.opened(),
    ):
        pass


def test_a_server_that_says_nothing_is_waited_for_no_longer_than_asked() -> None:
    with create_server(("127.0.0.1", 0)) as silent:
        here = MailServer("127.0.0.1", silent.getsockname()[1], is_tls=False)
        before = monotonic()
        with pytest.raises(Unavailable, match="timed out"):  # noqa: SIM117
            with ImapMailbox(here, ADDRESS, Passwords()).opened(0.2):
                pass
        assert monotonic() - before < 2


def test_a_server_that_is_not_there_is_tried_again() -> None:
    nowhere = ImapMailbox(MailServer("127.0.0.1", 9, is_tls=False), ADDRESS, Passwords())
    with pytest.raises(Unavailable, match="Refused"), nowhere.opened():
        pass
