"""Reading a mailbox: nothing is lost and nothing comes twice, whatever happens in between."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.email.incoming import FetchedEmail
from opencrab.domain.email.letter import LETTER, MAILBOX, Letter, MailboxPosition
from opencrab.domain.errors import Invalid, Unavailable
from opencrab.gateways.door.email_polling import (
    BREAKS,
    PAUSES,
    SENDERS,
    TRIES,
    EmailReader,
    poll_mailbox,
)
from opencrab.gateways.door.request import parse_queued_event
from tests.contract.example import NOW
from tests.e2e.email_house import RULES
from tests.email.box import Box
from tests.email.fake import ADDRESS, GUEST, OWNER, FakeMail
from tests.unit.adapters.discord.speaking import FewFacts


class Reading:
    """A reader, and what it queued."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.mail, self.facts = FakeMail(self.clock), FewFacts()
        self.queued: list[str] = []
        self.bodies: list[str] = []
        self.error: Exception | None = None
        self.renew()
        self.read()

    def renew(self) -> None:
        """A new process."""
        self.reader = EmailReader("m", RULES, self.facts, self.clock, self.send)

    def send(self, body: str, *, group: str, deduplication: str) -> None:
        if self.error is not None:
            raise self.error
        assert group != deduplication
        self.queued.append(deduplication)
        self.bodies.append(body)

    def read(self) -> None:
        self.reader.read_new_mails(Box(self.mail), lambda: False)

    @property
    def unread(self) -> list[int]:
        return [each.uid for each in self.mail.kept if not each.is_read]


def test_mails_of_before_the_first_start_are_left_and_later_ones_are_queued_once() -> None:
    here = Reading()
    here.mail.says("蟹 \ud83d?".encode("utf-8", "replace").decode())
    here.mail.says("two", GUEST)
    for _ in range(2):
        here.read()
        here.renew()
    assert (len(here.queued), here.unread) == (2, [])
    event = parse_queued_event(here.bodies[0])
    assert (event.kind, event.event.group != event.event.id) == ("email", True)
    fresh = Reading()
    fresh.mail.says("old")
    fresh.facts.kept.clear()
    fresh.read()
    assert (fresh.queued, len(fresh.unread)) == ([], 1)


def test_a_mail_that_cannot_be_queued_now_is_the_first_the_next_time() -> None:
    here = Reading()
    here.mail.says("one")
    here.mail.says("two")
    here.error = Unavailable("the store does not answer")
    with pytest.raises(Unavailable):
        here.read()
    assert (here.queued, here.unread) == ([], [40, 41])
    here.error = None
    here.read()
    assert (len(here.queued), here.unread) == (2, [])


def test_a_mail_that_can_never_be_queued_or_read_holds_up_no_other() -> None:
    here = Reading()
    here.mail.arrives(b"Content-Type: " + b"a;" * 9_000 + b"\n\nx")
    here.mail.says("list", List_Id="<x.y>")
    here.error = Invalid("too large")
    here.mail.says("x")
    here.read()
    here.error = None
    here.mail.says("good")
    here.read()
    # What is not answered stays unread, for its owner to see.
    assert (len(here.queued), here.unread) == (1, [40, 41, 42])


def test_a_mail_that_the_server_does_not_give_holds_up_the_others_for_a_while_only() -> None:
    here = Reading()
    here.mail.next_uid = 99
    here.mail.says("broken")
    here.mail.says("good")
    for _ in range(TRIES - 1):
        with pytest.raises(Unavailable):
            here.read()
    here.read()
    assert (len(here.queued), here.unread) == (1, [99])


def test_a_mail_whose_fetching_ends_each_connection_holds_up_the_others_for_a_while_only() -> None:
    class Breaking(Box):
        def fetch(self, uid: int) -> FetchedEmail | None:
            if uid == 40:
                raise OSError("the connection ended")
            return super().fetch(uid)

    here = Reading()
    here.mail.says("broken")
    here.mail.says("good")
    for _ in range(BREAKS):
        with pytest.raises(OSError, match="ended"):
            here.reader.read_new_mails(Breaking(here.mail), lambda: False)
    here.reader.read_new_mails(Breaking(here.mail), lambda: False)
    assert (len(here.queued), here.unread) == (1, [40])


def test_mails_that_could_not_be_queued_count_against_no_limit() -> None:
    here = Reading()
    here.mail.says("one")
    here.error = Unavailable("the store does not answer")
    for _ in range(RULES.most_per_hour + 1):
        with pytest.raises(Unavailable):
            here.read()
    here.error = None
    here.read()
    assert (len(here.queued), here.unread) == (1, [])


def test_a_mailbox_with_new_numbers_is_read_again_and_nothing_is_answered_twice() -> None:
    here = Reading()
    here.mail.says("answered")
    here.read()
    event = parse_queued_event(here.bodies[0]).event
    letter = Letter(address=OWNER, alias=ADDRESS)
    here.facts.commit(new_fact(INSTALLATION_FACTS, LETTER, event.id, letter))
    here.mail.says("while it was away", GUEST)
    here.mail.renumber()
    for _ in range(2):
        here.read()
    assert len(here.queued) == 2
    here.mail.says("later")
    here.read()
    assert (len(here.queued), here.unread) == (3, [])
    kept = here.facts.get(INSTALLATION_FACTS, MAILBOX, "m")
    assert kept is not None
    at = kept.read(MailboxPosition)
    assert (at.uidvalidity, at.next_uid) == (8, 4)


def test_one_sender_has_so_many_mails_an_hour_and_others_are_not_hindered() -> None:
    here = Reading()
    for _ in range(RULES.most_per_hour + 3):
        here.mail.says("again")
    here.mail.says("me, too", GUEST)
    here.read()
    assert (len(here.queued), len(here.unread)) == (RULES.most_per_hour + 1, 3)
    here.clock.advance(3_601)
    here.mail.says("later")
    here.read()
    assert len(here.queued) == RULES.most_per_hour + 2


def test_what_came_over_days_is_answered_when_the_server_runs_again() -> None:
    here = Reading()
    for hour in range(RULES.most_per_hour + 5):
        here.clock.advance(3_601)
        here.mail.says(f"hour {hour}")
    here.read()
    assert (len(here.queued), here.unread) == (RULES.most_per_hour + 5, [])
    for _ in range(RULES.most_per_hour + 2):
        here.mail.says("a loop")
    here.clock.advance(90_000)
    # Who reads them late still sees that they came at once; one came in the hour before.
    here.read()
    assert len(here.unread) == 3


def test_what_was_answered_before_a_mailbox_was_numbered_anew_counts_against_the_limit() -> None:
    here = Reading()
    for _ in range(RULES.most_per_hour + 1):
        here.mail.says("a loop")
    here.read()
    letter = Letter(address=OWNER, alias=ADDRESS)
    for each in here.bodies:
        event = parse_queued_event(each).event
        here.facts.commit(new_fact(INSTALLATION_FACTS, LETTER, event.id, letter))
    here.mail.renumber()
    here.renew()
    here.read()
    assert (len(here.queued), len(here.unread)) == (RULES.most_per_hour, 1)


def test_many_senders_read_again_are_remembered_in_bounds_and_the_first_is_still_heard() -> None:
    here = Reading()
    here.mail.next_uid = 100
    for number in range(SENDERS + 3):
        here.mail.says("answered", f"p{number}@example.net")
    here.read()
    letter = Letter(address=OWNER, alias=ADDRESS)
    for each in here.bodies:
        event = parse_queued_event(each).event
        here.facts.commit(new_fact(INSTALLATION_FACTS, LETTER, event.id, letter))
    here.mail.renumber()
    here.mail.kept = [each for each in here.mail.kept if each.uid not in Box.broken]
    here.renew()
    here.read()
    here.mail.says("once more", "p0@example.net")
    here.mail.says("me, too", GUEST)
    here.read()
    assert (len(here.queued), here.unread) == (SENDERS + 5, [])


def test_a_mail_that_is_read_again_counts_once() -> None:
    here = Reading()
    for _ in range(RULES.most_per_hour - 1):
        here.mail.says("not handled so far")
    for _ in range(2):
        here.read()
        here.mail.renumber()
    here.mail.says("the last one")
    here.read()
    here.read()
    assert (len(set(here.queued)), here.unread) == (RULES.most_per_hour, [])


def test_errors_are_followed_by_growing_pauses_and_a_silent_server_is_asked() -> None:
    here, pauses, boxes = Reading(), list[float](), list[Box]()

    @contextmanager
    def opened() -> Iterator[Box]:
        if len(pauses) < 3:
            raise Unavailable("nobody is there")
        boxes.append(Box(here.mail))
        yield boxes[0]

    here.mail.has_idle = False
    poll_mailbox(opened, here.reader, stopping=lambda: len(pauses) >= 5, pause=pauses.append)
    assert pauses == [*PAUSES[:3], 30.0, 30.0]


def test_a_server_that_ends_each_connection_is_asked_less_and_less() -> None:
    here, pauses = Reading(), list[float]()

    class Ending(Box):
        def wait(self, seconds: float) -> bool:
            raise Unavailable(f"ended before {seconds} seconds")

    @contextmanager
    def opened() -> Iterator[Box]:
        yield Ending(here.mail)

    here.mail.says("x")
    poll_mailbox(opened, here.reader, stopping=lambda: len(pauses) >= 7, pause=pauses.append)
    assert pauses == [*PAUSES, PAUSES[-1], PAUSES[-1]]
    assert len(here.queued) == 1


def test_an_error_that_nobody_foresaw_ends_no_reading() -> None:
    here, pauses = Reading(), list[float]()

    class Odd(Box):
        def uids_from(self, first: int) -> tuple[int, ...]:
            if not pauses:
                raise TypeError("an answer that the library does not expect")
            return super().uids_from(first)

    @contextmanager
    def opened() -> Iterator[Box]:
        yield Odd(here.mail)

    here.mail.says("x")
    here.mail.has_idle = False
    poll_mailbox(opened, here.reader, stopping=lambda: len(pauses) >= 2, pause=pauses.append)
    assert (pauses, len(here.queued)) == ([PAUSES[0], 30.0], 1)


def test_a_mail_that_nobody_foresaw_holds_up_no_other() -> None:
    class Odd(dict[str, str]):
        def __contains__(self, address: object) -> bool:
            if address == "odd@example.org":
                raise TypeError("nobody foresaw this")
            return super().__contains__(address)

    here = Reading()
    rules = RULES.replaced(aliases=Odd(RULES.aliases))
    here.reader = EmailReader("m", rules, here.facts, here.clock, here.send)
    here.mail.says("odd", to="odd@example.org")
    here.mail.says("good")
    here.read()
    assert (len(here.queued), here.unread) == (1, [40])
