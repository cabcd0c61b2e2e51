"""The mailbox over IMAP: by UIDs, waiting for news, and errors that say no password."""

import imaplib
from datetime import UTC, date, datetime
from socket import create_server
from threading import Timer
from time import monotonic

import pytest

from opencrab.adapters.email.mailbox import MOST_BYTES, PIECE_BYTES, ImapMailbox
from opencrab.adapters.email.server import MailServer
from opencrab.domain.email.incoming import FetchedEmail
from opencrab.domain.errors import Conflict, Refused, Unavailable
from tests.discord.faults import Drop, Status, When
from tests.email.fake import ADDRESS, PASSWORD, Kept
from tests.unit.adapters.email.speaking import Passwords, dripping, talk


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
            first, second = here.mail.kept
            assert opened.fetch(40) == FetchedEmail(first.content, first.arrived)
            beginning = second.content[:MOST_BYTES]
            assert opened.fetch(41) == FetchedEmail(beginning, second.arrived, is_cut=True)
            assert opened.fetch(99) is None
            assert [each.is_read for each in here.mail.kept] == [False, False]
            opened.mark_read(40)
            assert [each.is_read for each in here.mail.kept] == [True, False]
        assert here.mail.complaints == []


@pytest.mark.parametrize("size", [PIECE_BYTES - 1, PIECE_BYTES, 2 * PIECE_BYTES + 1])
def test_a_large_mail_comes_in_pieces(size: int) -> None:
    content = "蟹".encode() * size
    with talk() as here:
        here.mail.arrives(content[:size])
        with here.mailbox.opened() as opened:
            (kept,) = here.mail.kept
            assert opened.fetch(40) == FetchedEmail(kept.content, kept.arrived)
        starts = [start for start, _ in here.mail.pieces]
        assert starts == [PIECE_BYTES * place for place in range(size // PIECE_BYTES + 1)]


def test_a_server_that_knows_no_pieces_is_asked_once() -> None:
    with talk() as here:
        here.mail.knows_no_pieces = True
        here.mail.arrives(b"x" * (PIECE_BYTES + 1))
        with here.mailbox.opened() as opened:
            assert opened.fetch(40) == FetchedEmail(*_told(here.mail.kept[0]))
        assert here.mail.pieces == [(0, PIECE_BYTES)]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_mail_whose_connection_ended_goes_on_where_it_was(when: When) -> None:
    with talk() as here:
        here.mail.arrives(bytes(range(256)) * (3 * PIECE_BYTES // 256))
        here.mail.faults.plan("FETCH", Drop(when), skip=2)
        with pytest.raises(Unavailable), here.mailbox.opened() as opened:
            opened.fetch(40)
        here.mail.pieces.clear()
        with here.mailbox.opened() as opened:
            assert opened.fetch(40) == FetchedEmail(*_told(here.mail.kept[0]))
            assert min(start for start, _ in here.mail.pieces) == 2 * PIECE_BYTES
            # What arrived of one mail is no part of another, nor of the same one asked again.
            here.mail.pieces.clear()
            assert opened.fetch(40) == FetchedEmail(*_told(here.mail.kept[0]))
            assert here.mail.pieces[0] == (0, PIECE_BYTES)


def test_what_was_sent_of_a_refused_mail_is_no_part_of_the_next_one() -> None:
    with talk() as here:
        here.mail.arrives(b"from a stranger")
        here.mail.arrives(b"from the owner")
        here.mail.sends_and_refuses = True
        with here.mailbox.opened() as opened:
            with pytest.raises(Conflict, match="SERVERBUG"):
                opened.fetch(40)
            here.mail.sends_and_refuses = False
            assert opened.fetch(41) == FetchedEmail(*_told(here.mail.kept[1]))


def _told(kept: Kept) -> tuple[bytes, datetime]:
    return kept.content, kept.arrived


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


@pytest.mark.parametrize(
    ("told", "arrived"),
    [
        ('INTERNALDATE " 1-Nov-2026 23:59:60 +0000"', None),
        ('INTERNALDATE "31-Feb-2026 10:00:00 +0000"', None),
        ('INTERNALDATE "01-Xxx-2026 10:00:00 +0000"', None),
        ("FLAGS ()", None),
        ('INTERNALDATE " 1-nov-2026 09:30:01 -0330"', datetime(2026, 11, 1, 13, 0, 1, tzinfo=UTC)),
    ],
)
def test_a_mail_arrived_when_its_server_says_and_not_when_it_says_itself(
    told: str, arrived: datetime | None
) -> None:
    lies = b'INTERNALDATE "01-Jan-2020 10:00:00 +0000"'
    with talk() as here:
        here.mail.arrives(b"From: a@b.c\r\n\r\n" + lies)
        here.mail.internal_date = told
        with here.mailbox.opened() as opened:
            found = opened.fetch(40)
            assert found is not None
            assert (found.content.endswith(lies), found.arrived) == (True, arrived)


@pytest.mark.parametrize("greeting", [b"", b"* OK ready\r\n"])
def test_a_server_that_drips_bytes_is_left_when_the_whole_time_is_over(greeting: bytes) -> None:
    with dripping(greeting) as port:
        box = ImapMailbox(MailServer("127.0.0.1", port, is_tls=False), ADDRESS, Passwords())
        with pytest.raises(Unavailable, match="too slow"), box.opened(60, 0.3):
            pass


def test_each_step_has_its_time_and_so_has_waiting() -> None:
    with talk() as here:
        here.mail.says("x")
        with here.mailbox.opened(60, 60) as opened:
            assert opened.uids_from(40) == (40,)
            here.mail.drips = True
            opened._total = 0.3
            with pytest.raises(imaplib.IMAP4.abort):
                opened.fetch(40)
        with here.mailbox.opened(60, 60) as opened:
            opened._total = 0.3
            with pytest.raises(imaplib.IMAP4.abort):
                opened.wait(0.1)


def test_a_server_that_is_not_there_is_tried_again() -> None:
    nowhere = ImapMailbox(MailServer("127.0.0.1", 9, is_tls=False), ADDRESS, Passwords())
    with pytest.raises(Unavailable, match="Refused"), nowhere.opened():
        pass
