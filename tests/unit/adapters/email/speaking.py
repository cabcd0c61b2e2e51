"""The fake mail service with a mailbox and a post of ours."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Event, Thread
from typing import ClassVar

from opencrab.adapters.email.mailbox import ImapMailbox
from opencrab.adapters.email.post import SmtpPost
from opencrab.adapters.email.server import MailServer
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.email.letter import Letter
from tests.contract.example import NOW
from tests.email.fake import ADDRESS, OWNER, PASSWORD, FakeMail
from tests.email.servers import served_mail

LETTER = Letter(
    address=OWNER,
    alias=ADDRESS,
    agent_name="蟹",
    subject="相談",
    message_id="<m1@mail.example.net>",
    references=("<m0@mail.example.net>",),
)


@dataclass
class Passwords:
    """A password that may be replaced; `forgotten` counts how often it was read anew."""

    known: str = PASSWORD
    forgotten: int = field(default=0)

    def token(self) -> str:
        return self.known

    def forget(self) -> None:
        self.forgotten += 1


@dataclass
class Talk:
    """Both sides."""

    mail: FakeMail
    passwords: Passwords
    mailbox: ImapMailbox
    post: SmtpPost


class _Dripping(BaseRequestHandler):
    """Says its greeting, and then a byte now and then, for as long as somebody listens."""

    greeting: ClassVar[bytes]

    def handle(self) -> None:
        with suppress(OSError):
            self.request.sendall(self.greeting)
            while True:
                self.request.sendall(b"2")
                Event().wait(0.02)


@contextmanager
def dripping(greeting: bytes) -> Iterator[int]:
    """Serve so; answers the port."""
    kind = type("_Greeting", (_Dripping,), {"greeting": greeting})
    with ThreadingTCPServer(("127.0.0.1", 0), kind) as server:
        server.daemon_threads = True
        Thread(target=lambda: server.serve_forever(0.02), daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@contextmanager
def talk(folder: str = "INBOX") -> Iterator[Talk]:
    """Serve the fake for a while."""
    mail, passwords = FakeMail(FakeClock(NOW)), Passwords()
    with served_mail(mail) as ports:
        imap, smtp = (MailServer("127.0.0.1", port, is_tls=False) for port in ports)
        mailbox = ImapMailbox(imap, ADDRESS, passwords, folder)
        yield Talk(mail, passwords, mailbox, SmtpPost(smtp, ADDRESS, passwords))
