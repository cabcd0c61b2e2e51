"""A fake LINE with a client and a channel of ours."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from opencrab.adapters.line.channel import LineChannel
from opencrab.adapters.line.client import LineClient
from opencrab.adapters.line.link import LineLink
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.chat.event import REPLY, ReplyToken
from opencrab.domain.conversation.message import Channel, Utterance
from opencrab.domain.document import INSTALLATION_FACTS, new_fact
from opencrab.domain.errors import Refused
from tests.line.fake import OWNER, TOKEN, FakeLine
from tests.unit.adapters.discord.speaking import FewFacts

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
EVENT = "01H8XGJWBWBAQ4000000000001"


@dataclass
class Tokens:
    """The channel access token; a new one is found after it is forgotten."""

    known: str = TOKEN
    renewed: str = TOKEN
    asked: list[str] = field(default_factory=list)

    def token(self) -> str:
        if not self.known:
            raise Refused("set LINE_CHANNEL_ACCESS_TOKEN")
        self.asked.append(self.known)
        return self.known

    def forget(self) -> None:
        self.known = self.renewed


class Talk:
    """LINE on one side, our client, channel and service on the other."""

    def __init__(self) -> None:
        self.clock = FakeClock(START)
        self.line = FakeLine(self.clock)
        self.tokens, self.facts = Tokens(), FewFacts()
        self.client = LineClient(self.line.connect, "https://line.test", self.tokens)
        self.channel = LineChannel(self.client, self.facts, self.clock)
        self.service = LineLink(self.client)

    def event(self, place: str = OWNER) -> str:
        """Somebody wrote, and the worker kept the reply token; answers it."""
        self.line.says("?", OWNER, group=place if place.startswith("C") else None)
        token = list(self.line._tokens)[-1]
        kept = ReplyToken(token=token, until=self.clock.now() + timedelta(seconds=50))
        self.facts.commit(new_fact(INSTALLATION_FACTS, REPLY, EVENT, kept))
        return token

    def utterance(self, text: str, *, event: bool = True, **fields: Any) -> Utterance:
        """What an agent says to the owner."""
        now = self.clock.now()
        place = fields.pop("place", OWNER)
        address = f"{place}/{EVENT}" if event else place
        return Utterance(
            channel=Channel(kind="line", address=address, awaited=event),
            turn_id="t1",
            ordinal=0,
            agent_id="kani",
            session_id="s",
            text=text,
            nonce="n" * 22,
            opens=event,
            created_at=now,
            updated_at=now,
            **fields,
        )

    def sending(self, utterance: Utterance) -> Utterance:
        """The utterance as the delivery marks it before it is sent."""
        now = self.clock.now()
        return utterance.replaced(since=utterance.since or now, updated_at=now)


@contextmanager
def talking() -> Iterator[Talk]:
    """A talk in which LINE has nothing to complain of."""
    talk = Talk()
    yield talk
    assert talk.line.complaints == []
