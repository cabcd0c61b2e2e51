"""Answers as they leave: to whom, how often, and with what in them."""

from collections.abc import Callable
from email import message_from_bytes, policy

from opencrab.adapters.email.channel import EmailChannel
from opencrab.domain.chat.event import chat_address
from opencrab.domain.conversation.message import Channel as Place
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.email.address import email_person_id
from opencrab.domain.errors import NeverSent, Refused, Unavailable
from opencrab.ports.conversation.channel import Panel
from tests.email.fake import OWNER, FakeMail
from tests.hostile.entries.email.letters import ALIASES, ROBOT
from tests.hostile.world import World

_HEADERS = {
    "from", "to", "subject", "date", "message-id", "in-reply-to", "references", "auto-submitted",
    "x-auto-response-suppress", "mime-version", "content-type", "content-transfer-encoding",
}  # fmt: skip
_CALLS = 30
"""Characters of a call by which it is known in a mail."""


class SentMails:
    """The server that sends; it fails now and then, before and after it has a mail."""

    def __init__(self, world: World, fake: FakeMail, answers: Callable[[str], None]) -> None:
        self.world, self._fake, self._answers = world, fake, answers
        self._may: dict[str, str] = {}
        self._sending: Utterance | None = None
        self._is_over: set[str] = set()
        self.contents: list[bytes] = []
        self.message_ids: list[str] = []

    def may_write_to(self, person: str, address: str) -> None:
        """Somebody wrote from an address, and waits for an answer there."""
        self._may[person] = address

    def sends(self, utterance: Utterance | None) -> None:
        """The channel begins to send an utterance, or is done with it."""
        self._sending = utterance

    def send(self, sender: str, recipient: str, content: bytes) -> None:
        """`adapters.email.channel.Post`: take a mail, or not."""
        way = self.world.dice.random()
        if way < 0.06:
            raise NeverSent("the server is busy", retry_after=120)
        if way < 0.09:
            raise Refused("no such user")
        self._judge(sender, recipient, content)
        self._fake.receives(sender, recipient, content)
        self.contents.append(content)
        self.world.watcher.counts["mails sent"] += 1
        if recipient == ROBOT:
            self._answers(sender)
        if way < 0.15:
            raise Unavailable("the connection broke")

    def _judge(self, sender: str, recipient: str, content: bytes) -> None:
        mail = message_from_bytes(content, policy=policy.default)
        names = [each.lower() for each in mail]
        if len(names) != len(set(names)) or not set(names) <= _HEADERS:
            self._problem(f"a mail has other headers: {names}")
        if str(mail["to"]) != recipient:
            self._problem(f"a mail to {recipient} says that it is to {mail['to']}")
        message_id = str(mail["message-id"])
        if message_id in self.message_ids:
            self._problem(f"mail {message_id} was sent twice")
        self.message_ids.append(message_id)
        told = str(mail.get_content())
        self.world.watcher.public(f"{mail['subject']} {mail['from']} {told}", "a mail")
        if self._sending is not None:
            self._judge_utterance(self._sending, sender, recipient, told)

    def _judge_utterance(self, said: Utterance, sender: str, recipient: str, told: str) -> None:
        room_id, _ = chat_address(said.channel)
        person = room_id.partition(".")[0]
        if self._may.get(person) != recipient:
            self._problem(f"a mail for {self._may.get(person)} goes to {recipient}")
        if ALIASES.get(sender) != said.agent_id:
            self._problem(f"{said.agent_id} writes from {sender}")
        is_owner = person == email_person_id(OWNER, verified=True)
        if said.approval is not None:
            self.world.watcher.counts["mails that ask"] += 1
            shows = said.text[:_CALLS] in told or "opencrab approvals" in told
            if shows != is_owner:
                self._problem(f"a call that waits, in a mail to {recipient}: {told[:200]}")

    def _problem(self, text: str) -> None:
        self.world.watcher.problem(text)


class JudgedChannel:
    """The product's channel; whoever judges its mails knows what they are made of."""

    def __init__(self, inner: EmailChannel, sent: SentMails) -> None:
        self._inner, self._sent = inner, sent

    def piece_count(self, utterance: Utterance) -> int:
        return self._inner.piece_count(utterance)

    def is_idempotent(self, utterance: Utterance) -> bool:
        return self._inner.is_idempotent(utterance)

    def show(self, place: Place, panel: Panel) -> None:
        self._inner.show(place, panel)

    def send(self, utterance: Utterance) -> None:
        self._sent.sends(utterance)
        try:
            self._inner.send(utterance)
        finally:
            self._sent.sends(None)
