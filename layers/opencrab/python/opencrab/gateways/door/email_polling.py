"""Reading of a mailbox, for a server on one's own computer: what is to be answered is queued.

A mail is queued before it counts as read, so that none is lost; its id is the same whenever it
comes again, so that none is answered twice. What is not answered stays unread in the mailbox.
"""

import json
import logging
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import date, datetime, timedelta
from typing import Protocol

from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.email.address import EMAIL
from opencrab.domain.email.incoming import (
    FetchedEmail,
    IncomingEmail,
    UnreadableEmail,
    parse_incoming_email,
)
from opencrab.domain.email.intake import (
    AcceptedEmail,
    EmailRules,
    EmailSilence,
    judge_incoming_email,
)
from opencrab.domain.email.letter import LETTER, MAILBOX, MailboxPosition
from opencrab.domain.errors import Conflict, OpenCrabError, Unavailable
from opencrab.gateways.door.door import SendEvent, queue_name_of_request
from opencrab.gateways.door.request import ReceivedEvent, SignedRequest, encode_queued_event
from opencrab.ports.clock import Clock
from opencrab.ports.documents import Documents

PAUSES = (2.0, 5.0, 15.0, 60.0, 300.0)
"""Seconds between tries while the mailbox cannot be opened; accounts are locked for many."""

IDLE_SECONDS, POLL_SECONDS = 240.0, 30.0
"""How long a server is listened to at once, and how often one is asked that tells nothing."""

OVERLAP = timedelta(days=2)
"""How far back a mailbox is read again that was numbered anew."""

TRIES = 4
"""How often a mail is asked for that the server does not give; the others wait meanwhile."""

BREAKS = 12
"""How often the fetching of a mail may end its connection; then those after it are read."""

SENDERS = 1_000
_HOUR = 3_600.0
_TOLD = frozenset(
    {
        EmailSilence.FORGED,
        EmailSilence.LIMIT,
        EmailSilence.SENDER,
        EmailSilence.UNREADABLE,
        EmailSilence.UNVERIFIED,
    }
)
"""What an owner may want to know: a person may have waited for an answer."""

log = logging.getLogger(__name__)


class OpenedMailbox(Protocol):
    """A mailbox while it can be read; `adapters/email/mailbox.py` says what the methods do."""

    uidvalidity: int
    next_uid: int

    @property
    def has_idle(self) -> bool: ...

    def uids_from(self, first: int) -> tuple[int, ...]: ...
    def uids_since(self, day: date) -> tuple[int, ...]: ...
    def fetch(self, uid: int) -> FetchedEmail | None: ...
    def mark_read(self, uid: int) -> None: ...
    def wait(self, seconds: float) -> bool: ...


class EmailReader:
    """Reads one mailbox; `name` is the same for the same one.

    Args:
        name: The id under which is noted how far it was read.
        rules: Whose mails are answered.
        facts: Where that is noted.
        clock: The time.
        send: Queues an event.
    """

    def __init__(
        self, name: str, rules: EmailRules, facts: Documents, clock: Clock, send: SendEvent
    ) -> None:
        self._name = name
        self._rules = rules
        self._facts = facts
        self._clock = clock
        self._send = send
        self._heard: dict[str, dict[str, float]] = {}
        self._refused: dict[tuple[int, int], int] = {}
        self._broken: dict[tuple[int, int], int] = {}

    def read_new_mails(self, mailbox: OpenedMailbox, stopping: Callable[[], bool]) -> None:
        """Queue the mails that came since the last time; at the first time only note where it is.

        Raises Unavailable if one cannot be queued: it is the first the next time.
        """
        noted = self._facts.get(INSTALLATION_FACTS, MAILBOX, self._name)
        if noted is None:
            self._note(noted, mailbox.uidvalidity, mailbox.next_uid)
            return
        at = noted.read(MailboxPosition)
        if at.uidvalidity != mailbox.uidvalidity:
            self._read_again(mailbox, noted, at.at, stopping)
            return
        for uid in mailbox.uids_from(at.next_uid):
            if stopping():
                return
            is_taken = self._take(mailbox, uid, again=False)
            noted = self._note(noted, at.uidvalidity, uid + 1)
            if is_taken:
                mailbox.mark_read(uid)

    def _read_again(
        self,
        mailbox: OpenedMailbox,
        noted: Document,
        since: datetime,
        stopping: Callable[[], bool],
    ) -> None:
        """Read the newest mails of a mailbox whose numbers are new; what is known is left out."""
        log.warning("the mailbox was numbered anew; its newest mails are read again")
        newest = mailbox.uids_since((since - OVERLAP).date())
        for uid in newest:
            if stopping():
                return
            if self._take(mailbox, uid, again=True):
                mailbox.mark_read(uid)
        self._note(noted, mailbox.uidvalidity, max((*newest, mailbox.next_uid - 1)) + 1)

    def _note(self, noted: Document | None, uidvalidity: int, next_uid: int) -> Document:
        at = MailboxPosition(uidvalidity=uidvalidity, next_uid=next_uid, at=self._clock.now())
        if noted is None:
            fact = new_fact(INSTALLATION_FACTS, MAILBOX, self._name, at)
        else:
            fact = noted.with_body(at)
        self._facts.commit(fact)
        return fact

    def _take(self, mailbox: OpenedMailbox, uid: int, *, again: bool) -> bool:
        """Queue a mail, if it is to be answered, and return whether it was."""
        fetched = self._fetched(mailbox, uid)
        if fetched is None:
            return False
        silence = self._queue(fetched, f"{self._name}.{mailbox.uidvalidity}.{uid}", again=again)
        if silence is not None:
            level = logging.WARNING if silence in _TOLD else logging.INFO
            log.log(level, "mail left unanswered: uid=%s, reason=%s", uid, silence)
        return silence is None

    def _fetched(self, mailbox: OpenedMailbox, uid: int) -> FetchedEmail | None:
        """Return a mail; one that the server does not give, TRIES times, is left for good.

        So is one whose fetching ended BREAKS connections. Raises Unavailable before that, and what
        ended the connection.
        """
        key = mailbox.uidvalidity, uid
        if self._broken.get(key, 0) >= BREAKS:
            log.warning("mail left alone: its connection ended %s times: uid=%s", BREAKS, uid)
            return None
        try:
            return mailbox.fetch(uid)
        except Conflict as error:
            self._refused[key] = self._refused.get(key, 0) + 1
            if self._refused[key] < TRIES:
                raise Unavailable(error.message) from None
            log.warning("mail left alone: %s", error.message)
            return None
        except Exception:
            self._broken[key] = self._broken.get(key, 0) + 1
            raise

    def _queue(self, fetched: FetchedEmail, place: str, *, again: bool) -> EmailSilence | None:
        """Queue a mail, else return why not; one that can never be queued holds up no other."""
        judged = self._judge(fetched.content)
        if isinstance(judged, EmailSilence):
            return judged
        email, accepted = judged
        email = email._replace(is_cut=email.is_cut or fetched.is_cut)
        arrived = (fetched.arrived or self._clock.now()).timestamp()
        if again and self._facts.get(INSTALLATION_FACTS, LETTER, accepted.id) is not None:
            self._count(accepted, arrived)
            return None
        if not self._is_within_limit(accepted, arrived):
            return EmailSilence.LIMIT
        try:
            text = encode_accepted_email(email, accepted, place)
            event = ReceivedEvent(accepted.id, accepted.room, text)
            self._send(
                encode_queued_event(SignedRequest(EMAIL, "", {}, b"", 0), event),
                group=queue_name_of_request(EMAIL, "", event.group),
                deduplication=queue_name_of_request(EMAIL, "", event.id),
            )
        except Unavailable:
            raise
        except (OpenCrabError, ValueError, RecursionError) as error:
            log.warning("mail cannot be queued: error=%s", type(error).__name__)
            return EmailSilence.UNREADABLE
        self._count(accepted, arrived)
        return None

    def _judge(self, content: bytes) -> tuple[IncomingEmail, AcceptedEmail] | EmailSilence:
        try:
            email = parse_incoming_email(content)
            accepted = judge_incoming_email(email, self._rules)
        except UnreadableEmail:
            return EmailSilence.UNREADABLE
        except Exception:  # What a stranger wrote would fail again, before all others.
            log.exception("a mail that cannot be judged")
            return EmailSilence.UNREADABLE
        return accepted if isinstance(accepted, EmailSilence) else (email, accepted)

    def _is_within_limit(self, accepted: AcceptedEmail, arrived: float) -> bool:
        """Check a sender's mails: too many within an hour are programs that answer each other.

        When they arrived counts, not when they are read: what came over days, while no server of
        ours ran, is no loop.
        """
        lately = self._heard_lately(accepted.person, arrived)
        return accepted.id in lately or len(lately) < self._rules.most_per_hour

    def _count(self, accepted: AcceptedEmail, arrived: float) -> None:
        lately = self._heard_lately(accepted.person, arrived)
        self._heard[accepted.person] = {**lately, accepted.id: arrived}
        if len(self._heard) > SENDERS:
            self._heard.pop(next(iter(self._heard)))

    def _heard_lately(self, person: str, arrived: float) -> dict[str, float]:
        heard = self._heard.get(person, {})
        return {id_: at for id_, at in heard.items() if abs(arrived - at) < _HOUR}


def encode_accepted_email(email: IncomingEmail, accepted: AcceptedEmail, place: str) -> str:
    """Return a mail as the text of its event; at its `place` in the mailbox are its files."""
    told = {
        **{name: value for name, value in accepted._asdict().items() if name != "id"},
        "address": email.sender,
        "name": email.name,
        "subject": email.subject,
        "message_id": email.message_id,
        "references": email.references,
        "files": email.files,
        "place": place,
        "is_cut": email.is_cut,
    }
    return json.dumps(told, ensure_ascii=False)


def poll_mailbox(
    opened: Callable[[], AbstractContextManager[OpenedMailbox]],
    reader: EmailReader,
    *,
    stopping: Callable[[], bool],
    pause: Callable[[float], object],
) -> None:
    """Read a mailbox until it is time to stop; an error is logged and followed by a pause."""
    failures = 0
    while not stopping():
        try:
            with opened() as mailbox:
                is_open = True
                while is_open and not stopping():
                    reader.read_new_mails(mailbox, stopping)
                    if mailbox.has_idle:
                        is_open = mailbox.wait(IDLE_SECONDS)
                    else:
                        pause(POLL_SECONDS)
                    # Only now: a server that ends each connection at once is not asked every time.
                    failures = 0
        except OpenCrabError as error:
            if not failures:
                log.warning(
                    "cannot read the mailbox, retrying: error=%s, cure=%s",
                    error.message,
                    error.cure,
                )
            pause(PAUSES[min(failures, len(PAUSES) - 1)])
            failures += 1
        except Exception:  # No other thread reads the mailbox: this one goes on.
            log.exception("reading the mailbox failed, retrying")
            pause(PAUSES[min(failures, len(PAUSES) - 1)])
            failures += 1
