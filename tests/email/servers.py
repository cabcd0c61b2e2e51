"""The fake mail service on sockets of this machine: as much of IMAP and SMTP as OpenCrab speaks."""

import base64
import re
from collections.abc import Iterator
from contextlib import contextmanager
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Event, Thread
from typing import ClassVar

from tests.discord.faults import Fault
from tests.email.fake import ADDRESS, FakeMail, Kept


class _Ended(Exception):
    """The connection ends."""


class _Handler(StreamRequestHandler):
    mail: ClassVar[FakeMail]
    disable_nagle_algorithm = True
    """Else a second line waits 40 ms for the client's kernel."""

    def handle(self) -> None:
        try:
            self.talk()
        except (_Ended, OSError, ValueError):
            return

    def talk(self) -> None:
        raise NotImplementedError

    def line(self) -> str:
        """The next line of the client."""
        line = self.rfile.readline()
        if not line.endswith(b"\r\n"):
            raise _Ended
        return line[:-2].decode()

    def say(self, line: str) -> None:
        """A line of ours."""
        self.wfile.write(line.encode() + b"\r\n")

    def drip(self) -> None:
        """Say one more byte now and then, for as long as somebody listens."""
        while True:
            self.wfile.write(b"2")
            Event().wait(0.02)

    def is_known(self, given: str) -> bool:
        """Whether credentials of PLAIN are right."""
        told = base64.b64decode(given).decode().split("\0")
        return told == ["", ADDRESS, self.mail.password]


class _Imap(_Handler):
    is_in = False
    count: int | None = None
    """How many mails were told of, once a mailbox is selected."""

    def talk(self) -> None:
        self.say("* OK ready")
        while True:
            tag, command = self.line().split(" ", 1)
            self.answer(tag, command)

    def answer(self, tag: str, command: str) -> None:
        """Do one command."""
        mail, name = self.mail, command.partition(" ")[0].upper()
        if name == "CAPABILITY":
            # As real servers do, it tells this only who has signed in.
            idle = " IDLE" if mail.has_idle and self.is_in else ""
            self.say(f"* CAPABILITY IMAP4rev1 AUTH=PLAIN{idle}")
        elif name == "AUTHENTICATE":
            self.say("+ ")
            if not self.is_known(self.line()):
                self.say(f"{tag} NO [AUTHENTICATIONFAILED] not {mail.password} at all")
                return
            self.is_in = True
        elif name == "SELECT":
            if '"INBOX"' not in command:
                self.say(f"{tag} NO no such mailbox")
                return
            self.tell_count()
            self.say(f"* OK [UIDVALIDITY {mail.uidvalidity}] valid")
            self.say(f"* OK [UIDNEXT {mail.next_uid}] next")
        elif (name == "IDLE" and not self.idle(tag)) or (
            name == "UID" and not self.of_mails(tag, command)
        ):
            return
        # As real servers do, it tells of new mails with any answer, once.
        if self.count not in {None, len(mail.kept)}:
            self.tell_count()
        self.say(f"{tag} OK done")

    def tell_count(self) -> None:
        """Say how many mails there are."""
        self.count = len(self.mail.kept)
        self.say(f"* {self.count} EXISTS")

    def idle(self, tag: str) -> bool:
        """Tell of the next mail; whether that was done."""
        mail, known = self.mail, self.count or 0
        if mail.refuses_idle:
            self.say(f"{tag} BAD not now")
            return False
        if mail.drips:
            self.drip()
        self.say("+ idling")
        with mail.told:
            mail.told.wait_for(lambda: len(mail.kept) > known, 5)
        self.tell_count()
        self.line()
        return True

    def of_mails(self, tag: str, command: str) -> bool:
        """Search, fetch and mark; whether it was done."""
        mail = self.mail
        if found := re.fullmatch(r"UID SEARCH UID (\d+):\*", command):
            # As IMAP says: `*` is the newest mail, also if its number is lower.
            uids = [each.uid for each in mail.kept]
            chosen = [each for each in uids if each >= int(found[1])] or uids[-1:]
            self.say("* SEARCH " + " ".join(map(str, chosen)))
        elif command.startswith("UID SEARCH"):
            self.say("* SEARCH " + " ".join(str(each.uid) for each in mail.kept))
        elif found := re.fullmatch(
            r"UID FETCH (\d+) \(INTERNALDATE BODY\.PEEK\[\]<(\d+)\.(\d+)>\)", command
        ):
            return self.fetch(tag, int(found[1]), int(found[2]), int(found[3]))
        elif found := re.fullmatch(r"UID STORE (\d+) \+FLAGS\.SILENT \(\\Seen\)", command):
            for each in self.named(int(found[1])):
                each.is_read = True
        else:
            mail.complaints.append(f"unknown: {command}")
        return True

    def fetch(self, tag: str, uid: int, start: int, size: int) -> bool:
        """Send a piece of a mail; an empty one as a quoted string, as some servers do."""
        self.mail.pieces.append((start, size))
        fault = self.mail.befalls("FETCH")
        if self.mail.ends_before(fault):
            raise _Ended
        if self.mail.refuses(fault):
            self.say(f"{tag} NO later")
            return False
        for each in self.named(uid):
            piece = each.content[start : start + size]
            content = each.content if self.mail.knows_no_pieces else piece
            if self.mail.drips:
                self.drip()
            at = self.mail.internal_date or f'INTERNALDATE "{each.arrived:%d-%b-%Y %H:%M:%S %z}"'
            # A server names what it was asked for in any order.
            before, after = (at, "") if uid % 2 else ("", f" {at}")
            head = f"* 1 FETCH (UID {uid} {before} BODY[]<{start}>"
            if content:
                self.say(f"{head} {{{len(content)}}}")
                self.wfile.write(content)
                self.say(f"{after})")
            else:
                self.say(f'{head} ""{after})')
        if self.mail.ends_after(fault):
            raise _Ended
        if self.mail.sends_and_refuses:
            self.say(f"{tag} NO [SERVERBUG] not all of it")
            return False
        return True

    def named(self, uid: int) -> list[Kept]:
        """The mail of a number."""
        return [each for each in self.mail.kept if each.uid == uid]


class _Smtp(_Handler):
    def talk(self) -> None:
        self.sender = self.recipient = ""
        self.fault: Fault | None = None
        known = {"EHLO": self.hello, "AUTH": self.sign_in, "MAIL": self.begin, "RCPT": self.to}
        self.say("220 ready")
        while True:
            command = self.line()
            name = command[:4].upper()
            if refusal := self.mail.refusals.get(name):
                self.wfile.write(refusal + b"\r\n")
            elif name == "DATA":
                self.data()
            elif name in known:
                known[name](command)
            else:
                self.say("221 bye")
                if name == "QUIT":
                    raise _Ended

    def hello(self, _: str) -> None:
        self.say("250-fake")
        self.say("250 AUTH PLAIN")

    def sign_in(self, command: str) -> None:
        is_known = self.is_known(command.rpartition(" ")[2])
        self.say("235 yes" if is_known else f"535 5.7.8 not {self.mail.password}")

    def begin(self, command: str) -> None:
        """A mail begins."""
        self.fault = self.mail.befalls("MAIL")
        if self.mail.ends_before(self.fault):
            raise _Ended
        self.sender = command.partition("<")[2].partition(">")[0]
        self.say("451 later" if self.mail.refuses(self.fault) else "250 yes")

    def to(self, command: str) -> None:
        self.recipient = command.partition("<")[2].partition(">")[0]
        self.say("250 yes")

    def data(self) -> None:
        """Take the mail itself."""
        self.say("354 go on")
        content = self.content()
        if refusal := self.mail.refusals.get("END"):
            self.wfile.write(refusal + b"\r\n")
            return
        self.mail.receives(self.sender, self.recipient, content)
        if self.mail.ends_after(self.fault):
            raise _Ended
        if self.mail.drips:
            self.drip()
        self.say("250 taken")

    def content(self) -> bytes:
        """What follows DATA."""
        lines: list[bytes] = []
        while (line := self.rfile.readline()) != b".\r\n":
            if not line:
                raise _Ended
            lines.append(line[1:] if line.startswith(b"..") else line)
        return b"".join(lines)


class _Server(ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    block_on_close = False


@contextmanager
def served_mail(mail: FakeMail) -> Iterator[tuple[int, int]]:
    """Serve IMAP and SMTP; answers their ports."""
    kinds = [type(each.__name__, (each,), {"mail": mail}) for each in (_Imap, _Smtp)]
    servers = [_Server(("127.0.0.1", 0), each) for each in kinds]
    for each in servers:
        Thread(target=lambda server=each: server.serve_forever(0.02), daemon=True).start()
    try:
        yield servers[0].server_address[1], servers[1].server_address[1]
    finally:
        for each in servers:
            each.shutdown()
            each.server_close()
