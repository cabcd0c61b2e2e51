"""Mailbox: new mails over IMAP, by their UIDs, with IDLE where the server has it.

Nothing is deleted or moved; a mail is marked as read when it was taken.
"""

import imaplib
import logging
import re
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date, datetime, timedelta, timezone
from time import monotonic
from typing import Any

from opencrab.adapters.email.server import (
    SECONDS,
    TOTAL_SECONDS,
    EmailPasswords,
    MailServer,
    mail_tls_context,
    words_of_mail_server,
)
from opencrab.adapters.email.time_limit import TimeLimit
from opencrab.domain.email.incoming import FetchedEmail
from opencrab.domain.errors import Conflict, Refused, Unavailable

MOST_BYTES = 2_000_000
"""Bytes of one mail that are fetched: text comes before what is attached."""

PIECE_BYTES = 250_000
"""Bytes of a mail that are asked for at once: each piece has time of its own."""

_MOST_ANSWER = 4_000_000
_IDLE = b"OCIDLE"
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_ARRIVAL = re.compile(
    rb'INTERNALDATE "([ 0-9]?[0-9])-([A-Za-z]{3})-([0-9]{4}) '
    rb'([0-9]{2}):([0-9]{2}):([0-9]{2}) ([+-][0-9]{2})([0-9]{2})"'
)
_CURE = "`opencrab admin email doctor` checks the mailbox"

log = logging.getLogger(__name__)


BegunEmails = dict[tuple[int, int], FetchedEmail]
"""What has arrived of the mail that is fetched, by the mailbox's validity and the mail's UID."""


class _Bounded(imaplib.IMAP4):
    """A connection with bounded answers, which a time limit knows from its first byte."""

    def __init__(self, limit: TimeLimit, *server: Any, **options: Any) -> None:
        self.limit = limit
        super().__init__(*server, **options)

    def open(self, *server: Any, **options: Any) -> None:
        super().open(*server, **options)
        self.limit.watch(self.socket())

    def read(self, size: int) -> bytes:
        if size > _MOST_ANSWER:
            raise imaplib.IMAP4.abort(f"an answer of {size} bytes")
        return super().read(size)


class _Tls(_Bounded, imaplib.IMAP4_SSL):
    pass


class ImapMailbox:
    """A mailbox on a server; `opened` gives a connection to it.

    Args:
        server: Where it is.
        user: The user name.
        passwords: Provides the password for each connection.
        folder: The mailbox's name, such as INBOX.
        context: The rules for encryption.
    """

    def __init__(
        self,
        server: MailServer,
        user: str,
        passwords: EmailPasswords,
        folder: str = "INBOX",
        context: Callable[[], ssl.SSLContext] = mail_tls_context,
    ) -> None:
        self._server = server
        self._user = user
        self._passwords = passwords
        self._folder = folder
        self._context = context
        self._begun: BegunEmails = {}

    @contextmanager
    def opened(
        self, seconds: float = SECONDS, total: float = TOTAL_SECONDS
    ) -> Iterator["OpenMailbox"]:
        """Connect, sign in and select the mailbox; raises Refused and Unavailable.

        `seconds` is how long the server may be silent, `total` how long this, and then each method
        but `wait`, may take.
        """
        password, limit = self._passwords.token(), TimeLimit()
        imap: imaplib.IMAP4 | None = None
        try:
            with limit.within(total):
                imap = self._connected(seconds, limit)
                self._secure(imap)
                self._sign_in(imap, password)
                status, told = imap.select(f'"{self._folder}"')
                if status != "OK":
                    words = words_of_mail_server(told[0], password)
                    raise Refused(f"there is no mailbox {self._folder!r}: {words}", cure=_CURE)
                opened = OpenMailbox(imap, self._folder, limit, total, self._begun)
            yield opened
        except (imaplib.IMAP4.error, OSError, ValueError) as error:
            words = words_of_mail_server(error, password)
            kind = "too slow" if limit.is_over else type(error).__name__
            raise Unavailable(
                f"IMAP server {self._server.name} failed: {kind}: {words}", cure=_CURE
            ) from None
        finally:
            if imap is not None:
                with suppress(OSError, imaplib.IMAP4.error):
                    imap.shutdown()
            limit.close()

    def _connected(self, seconds: float, limit: TimeLimit) -> imaplib.IMAP4:
        host, port = self._server.host, self._server.port
        if self._server.is_tls:
            return _Tls(limit, host, port, ssl_context=self._context(), timeout=seconds)
        return _Bounded(limit, host, port, timeout=seconds)

    def _secure(self, imap: imaplib.IMAP4) -> None:
        server = self._server
        if server.is_tls:
            return
        if "STARTTLS" in imap.capabilities:
            imap.starttls(self._context())
        elif not server.may_be_plain:
            raise Refused(f"IMAP server {server.name} offers no encryption", cure="use imaps://")

    def _sign_in(self, imap: imaplib.IMAP4, password: str) -> None:
        try:
            if "AUTH=PLAIN" in imap.capabilities:
                given = f"\0{self._user}\0{password}".encode()
                imap.authenticate("PLAIN", lambda _: given)
            else:
                imap.login(self._user, password)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            self._passwords.forget()
            words = words_of_mail_server(error, password)
            raise Refused(
                f"IMAP server {self._server.name} refused the sign-in: {words}",
                cure="store the mailbox's password, or an app password, as EMAIL_PASSWORD",
            ) from None


class OpenMailbox:
    """A mailbox while a connection to it is open; all methods raise what imaplib raises.

    Each takes `total` seconds at most, and `fetch` so many for each piece of a mail. `begun` keeps
    the pieces of a mail whose connection ended: the next one goes on there.
    """

    def __init__(
        self,
        imap: imaplib.IMAP4,
        folder: str,
        limit: TimeLimit,
        total: float,
        begun: BegunEmails,
    ) -> None:
        self._begun = begun
        self._imap = imap
        self._limit = limit
        self._total = total
        self.folder = folder
        # Most servers tell all that they can only after the sign-in.
        self._can = b" ".join(each or b"" for each in imap.capability()[1]).upper().split()
        self.uidvalidity = self._number("UIDVALIDITY")
        self.next_uid = self._number("UIDNEXT") or self._last_uid() + 1
        self._known = self._told_count()

    @property
    def has_idle(self) -> bool:
        """True if the server tells of new mails at once."""
        return b"IDLE" in self._can

    def within(self, seconds: float) -> AbstractContextManager[None]:
        """Allow all that is done meanwhile so many seconds, beside what each method may take."""
        return self._limit.within(seconds)

    def uids_from(self, first: int) -> tuple[int, ...]:
        """Return the UIDs of mails from one on, in order."""
        with self._limit.within(self._total):
            self._checked(self._imap.noop())
            self._known = self._told_count() or self._known
            return tuple(each for each in self._search(f"UID {first}:*") if each >= first)

    def uids_since(self, day: date) -> tuple[int, ...]:
        """Return the UIDs of mails that arrived on a day or later, in order."""
        with self._limit.within(self._total):
            return self._search(f"SINCE {day.day}-{_MONTHS[day.month - 1]}-{day.year}")

    def fetch(self, uid: int) -> FetchedEmail | None:
        """Return a mail, or its beginning, without marking it; None if it is gone.

        Raises Conflict if the server does not give this one.
        """
        place = self.uidvalidity, uid
        email = self._begun.get(place, FetchedEmail(b"", None))
        self._begun.clear()
        while (size := min(PIECE_BYTES, MOST_BYTES - len(email.content))) > 0:
            piece = self._fetch_piece(uid, len(email.content), size)
            if piece is None:
                return None
            email = FetchedEmail(
                (email.content + piece.content)[:MOST_BYTES], email.arrived or piece.arrived
            )
            # The last one is shorter; a server that knows no pieces sends all of it at once.
            if len(piece.content) != size:
                break
            self._begun[place] = email
        self._begun.clear()
        return email._replace(is_cut=len(email.content) >= MOST_BYTES)

    def _fetch_piece(self, uid: int, start: int, size: int) -> FetchedEmail | None:
        """Return a piece of a mail, which is empty behind its end; None if the mail is gone."""
        try:
            with self._limit.within(self._total):
                # imaplib keeps what came before a refusal, and would give it as this mail's.
                self._imap.response("FETCH")
                wanted = f"(INTERNALDATE BODY.PEEK[]<{start}.{size}>)"
                told = self._checked(self._imap.uid("FETCH", str(uid), wanted))
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            words = words_of_mail_server(error, "")
            raise Conflict(f"the server does not give mail {uid}: {words}") from None
        found = (each[1] for each in told if isinstance(each, tuple) and len(each) > 1)
        content = next((each for each in found if isinstance(each, bytes)), None)
        if content is None and any(isinstance(each, bytes) and b"BODY[" in each for each in told):
            if start:  # Behind the end there is nothing, which needs no literal.
                return FetchedEmail(b"", None)
            raise Conflict(f"the server's answer for mail {uid} is not understood")
        return None if content is None else FetchedEmail(content, _arrival(told))

    def mark_read(self, uid: int) -> None:
        """Mark a mail as read, if the server lets us."""
        try:
            with self._limit.within(self._total):
                self._checked(self._imap.uid("STORE", str(uid), "+FLAGS.SILENT", r"(\Seen)"))
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            log.warning("mail not marked as read: uid=%s, error=%s", uid, error)

    def wait(self, seconds: float) -> bool:
        """Wait until the server tells of something, for `seconds` at most.

        A mail that came while others were fetched was told of already, and is not told again.
        Returns False if the connection cannot be used any more.
        """
        if self._told_count() not in {None, self._known}:
            return True
        with self._limit.within(seconds + self._total):
            return self._idle(seconds)

    def _idle(self, seconds: float) -> bool:
        deadline, is_told = monotonic() + seconds, False
        self._imap.send(_IDLE + b" IDLE\r\n")
        self._imap.socket().settimeout(seconds)
        try:
            while not (line := self._line()).startswith(b"+"):
                if line.startswith(_IDLE):
                    log.warning("the server offers IDLE and refuses it: it is asked instead")
                    self._can = []
                    return True
                is_told |= b" EXISTS" in line
            while not is_told and monotonic() < deadline:
                is_told = b" EXISTS" in self._line()
            self._imap.socket().settimeout(SECONDS)
            self._imap.send(b"DONE\r\n")
            while not self._line().startswith(_IDLE):
                pass
        except TimeoutError:
            return False
        return True

    def _line(self) -> bytes:
        line = self._imap.readline()
        if not line:
            raise imaplib.IMAP4.abort("the connection ended")
        return line

    def _search(self, criteria: str) -> tuple[int, ...]:
        told = self._checked(self._imap.uid("SEARCH", criteria))
        words = b" ".join(each for each in told if isinstance(each, bytes)).split()
        return tuple(sorted({int(each) for each in words if each.isdigit()}))

    def _last_uid(self) -> int:
        return max(self._search("ALL"), default=0)

    def _told_count(self) -> object:
        """Return what the server last told of the number of mails; None if nothing since."""
        return self._imap.response("EXISTS")[1][-1]

    def _number(self, name: str) -> int:
        _, told = self._imap.response(name)
        found = told[0] if told else None
        return int(found) if isinstance(found, bytes) and found.isdigit() else 0

    @staticmethod
    def _checked(answer: tuple[str, Sequence[object]]) -> Sequence[object]:
        status, told = answer
        if status != "OK":
            raise imaplib.IMAP4.error(words_of_mail_server(told[0] if told else "", ""))
        return told


def _arrival(told: Sequence[object]) -> datetime | None:
    """Return when a mail arrived, as its server says; never by what stands in the mail."""
    pieces = (each[0] if isinstance(each, tuple) else each for each in told)
    said = b" ".join(each for each in pieces if isinstance(each, bytes))
    found = _ARRIVAL.search(said)
    if found is None:
        return None
    day, month, year, hour, minute, second, hours, minutes = (
        each.decode() for each in found.groups()
    )
    try:
        ahead = timedelta(hours=int(hours), minutes=int(f"{hours[0]}{minutes}"))
        number = _MONTHS.index(month.capitalize()) + 1
        at = datetime(int(year), number, int(day), tzinfo=timezone(ahead))
        return at.replace(hour=int(hour), minute=int(minute), second=int(second))
    except ValueError:
        return None
