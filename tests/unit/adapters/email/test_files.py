"""Files of mails: read again from the mailbox, once for all of a mail, as far as a mail is read."""

from threading import Event

import pytest

from opencrab.adapters.email.files import EmailFiles
from opencrab.adapters.email.mailbox import MOST_BYTES
from opencrab.domain.errors import NotFound, Refused, TooLarge, Unauthenticated, Unavailable
from tests.discord.faults import Drop, Fault, Faults
from tests.unit.adapters.email.speaking import Talk, talk

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def fetched(files: EmailFiles, place: int, uid: int = 40, *, validity: int = 7) -> bytes:
    return files.fetch(f"m.{validity}.{uid}.{place}", most=1_500_000, seconds=10)


def sent(here: Talk, *contents: bytes) -> EmailFiles:
    here.mail.says("見て", files=[(f"{n}.bin", each) for n, each in enumerate(contents)])
    return EmailFiles(here.mailbox, "m")


def test_the_files_of_a_mail_are_read_at_once_and_in_order() -> None:
    with talk() as here:
        files = sent(here, PNG, "蟹".encode(), b"")
        assert [fetched(files, place) for place in range(3)] == [PNG, "蟹".encode(), b""]
        assert len(here.mail.pieces) == 1
        assert not here.mail.kept[0].is_read
        fetched(files, 0)
        assert len(here.mail.pieces) == 2


def test_of_a_mail_that_is_cut_the_last_file_is_too_large() -> None:
    with talk() as here:
        files = sent(here, PNG, bytes(MOST_BYTES))
        assert fetched(files, 0) == PNG
        with pytest.raises(TooLarge):
            fetched(files, 1)
        with pytest.raises(TooLarge):
            EmailFiles(here.mailbox, "m").fetch("m.7.40.0", most=9, seconds=10)


def test_of_a_mail_of_very_many_lines_the_last_file_is_not_taken_for_whole() -> None:
    with talk() as here:
        here.mail.says("見て", files=[("a.png", PNG), ("数.csv", b"")])
        kept = here.mail.kept[0]
        head, boundary, end = kept.content.rpartition(b"\r\n--")
        kept.content = head + b"1,2\r\n" * 150_000 + boundary + end
        files = EmailFiles(here.mailbox, "m")
        assert fetched(files, 0) == PNG
        with pytest.raises(TooLarge):
            fetched(files, 1)


def test_what_is_not_there_any_more_is_gone() -> None:
    with talk() as here:
        files = sent(here, PNG)
        for place, uid, validity in ((1, 40, 7), (0, 41, 7), (0, 40, 8)):
            with pytest.raises(NotFound):
                fetched(files, place, uid, validity=validity)


def test_a_mail_that_is_gone_is_looked_for_once_for_all_its_files() -> None:
    with talk() as here:
        files = sent(here, PNG, PNG)
        here.mail.kept.clear()
        for password in (here.mail.password, "another"):
            here.mail.password = password
            with pytest.raises(NotFound):
                fetched(files, 0)


@pytest.mark.parametrize(
    "url",
    ["", "7.40.0", "m.7.40", "m.7.40.x", "m.7.40.0.0", "https://example.com/", "m.\u0667.1.1"],
)
def test_an_id_that_is_none_opens_no_mailbox(url: str) -> None:
    with talk() as here:
        with pytest.raises(Refused):
            EmailFiles(here.mailbox, "m").fetch(url, most=9, seconds=10)
        assert here.mail.log == []


def test_a_mailbox_that_fails_is_asked_again_and_one_that_refuses_is_not() -> None:
    with talk() as here:
        files = sent(here, PNG)
        here.mail.faults.plan("FETCH", Drop("before"))
        with pytest.raises(Unavailable):
            fetched(files, 0)
        assert fetched(files, 0) == PNG
        here.mail.password = "another"
        with pytest.raises(Unauthenticated):
            fetched(files, 0)


def test_the_same_numbers_in_another_mailbox_are_another_mail() -> None:
    with talk() as here:
        files = sent(here, PNG)
        with pytest.raises(NotFound):
            files.fetch("n.7.40.0", most=1_500_000, seconds=10)
        assert here.mail.log == []
        assert fetched(files, 0) == PNG


class _Slow(Faults):
    """Every piece of a mail takes its time."""

    def take(self, request: str) -> Fault | None:
        Event().wait(0.3 if request == "FETCH" else 0)
        return super().take(request)


def test_a_server_that_takes_its_time_for_each_piece_has_no_more_than_for_one() -> None:
    with talk() as here:
        files = sent(here, bytes(1_400_000))
        here.mail.faults = _Slow()
        with pytest.raises(Unavailable, match="too slow"):
            files.fetch("m.7.40.0", most=1_500_000, seconds=1)
        assert len(here.mail.pieces) < 8
