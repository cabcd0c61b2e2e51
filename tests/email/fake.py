"""A fake mail service: a mailbox that fills, and mails that were sent; see `servers`.

tests/interop runs the same contract against servers that nobody here wrote.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import date, datetime
from email import message_from_bytes, policy
from email.message import EmailMessage
from threading import Condition
from typing import Any

from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.email.address import (
    email_person_id,
    normalize_email_address,
    quote_email_address,
)
from tests.discord.faults import Delay, Drop, Fault, Faults, Limited, Status

ADDRESS, PASSWORD = "crab@example.org", "pass word-5"
OWNER, GUEST = "taro@example.net", "guest@example.com"
AUTHSERV = "mx.example.org"
NAMES = {OWNER: "山田 太郎", GUEST: "Guest 🦀"}


def verdict(address: str, result: str = "pass", server: str = AUTHSERV) -> str:
    """What our server writes above a mail."""
    domain = address.rpartition("@")[2]
    return f"{server}; spf={result} smtp.mailfrom={domain}; dmarc={result} header.from={domain}"


def written(
    text: str,
    by: str = OWNER,
    *,
    to: str = ADDRESS,
    subject: str = "相談",
    number: int = 1,
    result: str | None = "pass",
    **headers: str,
) -> bytes:
    """A mail as it arrives: headers are named with underscores."""
    mail = EmailMessage(policy=policy.SMTP)
    if result is not None:
        mail["Authentication-Results"] = verdict(by, result)
    mail["Received"] = "from mail.example.net by mx.example.org; Mon, 30 Nov 2026 10:00:00 +0900"
    mail["From"] = f'"{NAMES[by]}" <{by}>' if by in NAMES else by
    mail["To"] = to
    mail["Subject"] = subject
    mail["Message-ID"] = f"<m{number}@mail.example.net>"
    for name, value in headers.items():
        mail[name.replace("_", "-")] = value
    mail.set_content(text)
    return mail.as_bytes()


def with_files(content: bytes, files: Iterable[tuple[str, bytes]]) -> bytes:
    """A mail with files attached to it, as programs attach them."""
    mail = message_from_bytes(content, policy=policy.SMTP)
    assert isinstance(mail, EmailMessage)
    for name, each in files:
        mail.add_attachment(each, "application", "octet-stream", filename=name)
    return mail.as_bytes()


@dataclass
class Kept:
    """A mail in the mailbox."""

    uid: int
    content: bytes
    arrived: datetime
    is_read: bool = False

    @property
    def day(self) -> date:
        """The day on which it arrived."""
        return self.arrived.date()


@dataclass(frozen=True)
class Shown:
    """A mail that somebody received."""

    text: str
    mail: EmailMessage
    sender: str
    buttons: tuple[Any, ...] = ()


@dataclass
class FakeMail:
    """A mail service with one mailbox, which people write to and are answered from."""

    clock: FakeClock
    faults: Faults = field(default_factory=Faults)
    complaints: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    shown: dict[str, list[Shown]] = field(default_factory=dict)
    uidvalidity: int = 7
    next_uid: int = 40
    password: str = PASSWORD
    has_idle: bool = True
    refuses_idle: bool = False
    refusals: dict[str, bytes] = field(default_factory=dict)
    """What is answered to a command of SMTP, such as RCPT or DATA or END, instead of yes."""

    drips: bool = False
    """Whether mails, what is idle, and the answer to DATA come a byte at a time, without end."""

    knows_no_pieces: bool = False
    """Whether a mail comes whole, whatever piece of it was asked for."""

    sends_and_refuses: bool = False
    """Whether a mail is sent, and refused at the end all the same."""

    pieces: list[tuple[int, int]] = field(default_factory=list)
    """The pieces that were asked for: where each begins, and its size."""

    internal_date: str | None = None
    """What is told of when a mail arrived, instead of the truth."""

    door: Callable[[], int] = lambda: 200
    told: Condition = field(default_factory=Condition)
    _again: Callable[[], int] = lambda: 200
    _numbers: int = 0

    def says(
        self, text: str, by: str = OWNER, *, files: Iterable[tuple[str, bytes]] = (), **fields: Any
    ) -> int:
        """Somebody writes; answers whether it was taken."""
        self._numbers += 1
        mail = written(text, by, number=self._numbers, **fields)
        return self.arrives(with_files(mail, files) if files else mail)

    def arrives(self, content: bytes) -> int:
        """A mail arrives."""

        def again() -> int:
            with self.told:
                self.kept.append(Kept(self.next_uid, content, self.clock.now()))
                self.next_uid += 1
                self.told.notify_all()
            return self.door()

        self._again = again
        return again()

    def send_again(self) -> int:
        """The newest mail arrives once more, or what its reader does is done once more."""
        return self._again()

    def press(self, _label: str, _by: str) -> int:
        """The owner decides elsewhere, since a mail decides nothing."""
        self._again = self.decide
        return self.decide()

    decide: Callable[[], int] = lambda: 200

    def renumber(self) -> None:
        """The mailbox gets new numbers, as after it was restored."""
        self.uidvalidity += 1
        for number, each in enumerate(self.kept, 1):
            each.uid = number
        self.next_uid = len(self.kept) + 1

    def texts(self, person: str) -> list[str]:
        """The texts of the mails that somebody received."""
        return [each.text for each in self.shown.get(person, [])]

    def befalls(self, request: str) -> Fault | None:
        """What befalls a request; those that take time let it pass."""
        self.log.append(request)
        fault = self.faults.take(request)
        if isinstance(fault, Delay):
            self.clock.advance(fault.seconds)
            return None
        return fault

    @staticmethod
    def ends_before(fault: Fault | None) -> bool:
        """Whether the connection ends before anything was done."""
        return isinstance(fault, Drop) and fault.when == "before"

    @staticmethod
    def ends_after(fault: Fault | None) -> bool:
        """Whether it ends afterwards, without an answer."""
        return isinstance(fault, Drop | Status) and fault.when == "after"

    @staticmethod
    def refuses(fault: Fault | None) -> bool:
        """Whether the server says: later."""
        is_down = isinstance(fault, Status) and fault.when == "before"
        return is_down or isinstance(fault, Limited)

    def receives(self, sender: str, recipient: str, content: bytes) -> None:
        """Show a mail to its recipient, and complain of what no mail may be."""
        mail = message_from_bytes(content, policy=policy.default)
        if not content.isascii() or any(len(each) > 998 for each in content.split(b"\r\n")):
            self.complaints.append("a mail that not every server carries")
        if mail.defects or [each.defects for each in mail.values() if each.defects]:
            self.complaints.append(f"a malformed mail: {mail.defects}")
        if mail["auto-submitted"] != "auto-replied" or not mail["message-id"]:
            self.complaints.append("an answer that does not say that it is one")
        address = normalize_email_address(recipient) or ""
        if quote_email_address(address) != recipient:
            self.complaints.append(f"an address that SMTP does not allow: {recipient}")
        if f"To: {recipient}\r\n" not in content.decode() or sender not in str(mail["from"]):
            self.complaints.append("an envelope for somebody else")
        text = mail.get_content().replace("\r\n", "\n").rstrip("\n")
        asks = "opencrab approvals" in text
        shown = Shown(text, mail, sender, ("elsewhere",) if asks else ())
        for is_verified in (True, False):
            person = email_person_id(address, verified=is_verified)
            self.shown.setdefault(person, []).append(shown)
