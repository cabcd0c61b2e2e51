"""A house beside a mail service of our own: people write there, and the real handlers answer."""

from contextlib import ExitStack, suppress
from typing import Any, cast

from opencrab.adapters.email.channel import EmailChannel
from opencrab.adapters.email.files import EmailFiles
from opencrab.adapters.email.link import EmailLink
from opencrab.adapters.email.mailbox import ImapMailbox
from opencrab.adapters.email.post import SmtpPost
from opencrab.adapters.email.server import MailServer
from opencrab.domain.approvals.approval import ApprovalState
from opencrab.domain.email.address import EMAIL, email_person_id
from opencrab.domain.email.intake import EmailRules
from opencrab.domain.errors import OpenCrabError
from opencrab.engine.approvals import approvals
from opencrab.engine.approvals.approvals import Decider
from opencrab.gateways.door.email_polling import EmailReader
from opencrab.ports.conversation.channel import DeliveryChannel
from opencrab.ports.conversation.chat_link import ChatLink
from tests.crash.scheduling import Killed
from tests.e2e.chat_house import ChatHouse, OneToken
from tests.e2e.troubled_house import Pointed
from tests.email.fake import ADDRESS, AUTHSERV, OWNER, PASSWORD, FakeMail
from tests.email.servers import served_mail

RULES = EmailRules(aliases={ADDRESS: ""}, authserv_id=AUTHSERV)


class EmailHouse(ChatHouse):
    """A house with an owner and strangers who write mails."""

    kind = EMAIL
    secret_name, secret = "EMAIL_PASSWORD", PASSWORD
    owner = email_person_id(OWNER, verified=True)
    vendor: FakeMail
    rules = RULES

    def opened(self) -> FakeMail:
        mail = FakeMail(self.clock)
        self.addresses = dict[str, str]()
        self.sockets = ExitStack()
        self.ports = self.sockets.enter_context(served_mail(mail))
        mail.door, mail.decide = self.poll, self.decide
        return mail

    def close(self) -> None:
        self.sockets.close()
        super().close()

    def connected(self) -> tuple[DeliveryChannel, ChatLink]:
        imap, smtp = (MailServer("127.0.0.1", port, is_tls=False) for port in self.ports)
        password = OneToken(PASSWORD)
        self.mailbox = ImapMailbox(imap, ADDRESS, password)
        plain = SmtpPost(smtp, ADDRESS, password)
        post = cast(SmtpPost, Pointed(plain, self.kind, self))
        facts = self.runtime.home.facts
        self.sources[self.kind] = EmailFiles(ImapMailbox(imap, ADDRESS, password), "m")
        return EmailChannel(post, facts), EmailLink(self.mailbox, post, facts, self.rules)

    def begin(self) -> None:
        super().begin()
        queue = self.runtime.home.interactions
        assert queue is not None
        facts = self.runtime.home.facts
        self.reader = EmailReader("m", self.rules, facts, self.clock, queue.send)
        if not self.vendor.kept:
            self.poll()

    def poll(self) -> int:
        """Read what is new; who dies or fails meanwhile has not taken it."""
        try:
            with self.mailbox.opened() as opened:
                self.reader.read_new_mails(opened, lambda: False)
        except Killed:
            self.begin()
            return 500
        except OpenCrabError:
            return 500
        return 200

    def decide(self) -> int:
        """The owner approves on the page what this agent asks."""
        try:
            who = Decider(id="owner", is_owner=True, name="owner")
            facts = self.runtime.home.facts
            for each in approvals.open_or_decided_approvals(facts, decided=False):
                if each.state is ApprovalState.PENDING:
                    approvals.decide_approval(self.runtime, each.id, approved=True, who=who)
        except Killed:
            self.begin()
            return 500
        except OpenCrabError:
            return 500
        return 200

    def person_and_room(self, number: int, *, group: bool) -> tuple[str, str]:
        address = f"p{number}@example.net"
        person = email_person_id(address, verified=True)
        self.addresses[person] = address
        return person, person

    def ask(
        self, text: str, asker: str, group: str | None, file: tuple[str, bytes] | None = None
    ) -> None:
        fields: dict[str, Any] = {} if file is None else {"files": (file,), "subject": ""}
        self.hear(self.vendor.says(text, self.addresses[asker], **fields))

    def hear(self, status: int) -> None:
        """Read the mailbox again until everything in it was taken."""
        for _ in range(5):
            if status == 200:
                return
            self.clock.advance(30)
            with suppress(Killed):
                status = self.poll()
        self.problems.append("the mailbox was not read")
