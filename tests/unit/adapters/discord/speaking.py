"""A fake Discord with a client of ours, and interactions that were acknowledged there."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from opencrab.adapters.discord.channel import DiscordChannel
from opencrab.adapters.discord.client import DiscordClient
from opencrab.adapters.providers.transport.httpx_client import new_client
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.conversation.message import Utterance
from opencrab.domain.discord.community import (
    PRESENCE,
    REPLY,
    InteractionReply,
    Presence,
    discord_channel,
)
from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Refused, Unavailable
from opencrab.domain.value import Language
from tests.discord.calling import Caller
from tests.discord.fake import APPLICATION_ID, OWNER, SERVER_CHANNEL, TOKEN, FakeDiscord
from tests.discord.state import Interaction, Message, Person, Place

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
OWN_TOKEN = "MTQwMDAwMDAwMDAwMDAwMDAwMg.fake.token-of-the-crab"
CRAB = Person("1400000000000000002", "Crab", is_bot=True)


@dataclass
class Tokens:
    """Tokens by the names of their secrets; what is not there is refused."""

    known: dict[str | None, str] = field(default_factory=lambda: {None: TOKEN})
    renewed: dict[str | None, str] = field(default_factory=dict)

    def token(self, secret: str | None) -> str:
        if secret not in self.known:
            raise Refused(f"set {secret or 'DISCORD_TOKEN'}")
        return self.known[secret]

    def forget(self) -> None:
        self.known.update(self.renewed)


class Done:
    """An edit that was over when it had begun."""

    def is_alive(self) -> bool:
        return False

    def join(self) -> None:
        """Nothing is left to wait for."""


def run_at_once(run: Callable[[], None]) -> Done:
    """Edits of a preview, made in the thread of who shows it."""
    run()
    return Done()


@dataclass
class FewFacts:
    """`ports.facts.Documents` as far as the channel asks for them."""

    kept: dict[tuple[str, str], Document] = field(default_factory=dict)
    writes: int = 0
    is_silent: bool = False

    def get(self, owner: str, kind: str, fact_id: str) -> Document | None:
        if self.is_silent:
            raise Unavailable("the table does not answer")
        return self.kept.get((kind, fact_id))

    def page(self, *asked: Any, **more: Any) -> tuple[Document, ...]:
        raise AssertionError("nobody looks through facts to speak")

    get_many = list_due = page

    def commit(self, *facts: Document, due: tuple[Any, ...] = ()) -> None:
        for fact in facts:
            there = self.kept.get((fact.kind, fact.id))
            if fact.version and fact.version != (there.version + 1 if there else 1):
                raise Changed(f"{fact.id} was changed")
        for fact in facts:
            self.writes += 1
            self.kept[fact.kind, fact.id] = fact
            if fact.body is None:
                del self.kept[fact.kind, fact.id]

    commit_soon = commit


class Talk:
    """Discord on one side, our client and channel on the other."""

    def __init__(self, discord: FakeDiscord, clock: FakeClock) -> None:
        self.discord, self.clock = discord, clock
        self.tokens = Tokens()
        self.facts = FewFacts()
        self.pauses: list[float] = []
        self.client = DiscordClient(new_client, discord.url, self.tokens, clock, self._pause)
        self.channel = DiscordChannel(self.client, self.facts, clock)
        self.call = Caller(discord)

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.clock.advance(seconds)

    def asked(
        self,
        *,
        place: Place = SERVER_CHANNEL,
        ephemeral: bool = False,
        language: Language = Language.EN,
    ) -> InteractionReply:
        """Somebody asks, the door says that it is being thought about, the worker keeps it."""
        interaction = self.discord.command("ask", place=place)
        told = {"type": 5, "data": {"flags": 64}} if ephemeral else {"type": 5}
        self.call.acknowledge(interaction, told)
        reply = InteractionReply(
            id=interaction.id,
            application_id=APPLICATION_ID,
            token=interaction.token,
            channel_id=place.channel_id,
            guild_id=place.guild_id,
            language=language,
            is_ephemeral=ephemeral,
            is_guest=place.guest,
        )
        self.facts.commit(new_fact(INSTALLATION_FACTS, REPLY, reply.id, reply))
        self.facts.writes = 0
        return reply

    def interaction(self, reply: InteractionReply) -> Interaction:
        """What Discord knows of an interaction."""
        return self.discord.world.interactions[reply.id]

    def presence(self, **said: Any) -> None:
        """What is kept of the agent."""
        kept = Presence(agent_id="crab", **said)
        self.facts.commit(new_fact(INSTALLATION_FACTS, PRESENCE, "crab", kept))

    def utterance(
        self, text: str, reply: InteractionReply | None = None, **changes: Any
    ) -> Utterance:
        """Words of the agent, to who asked or into the channel; on their way since now."""
        interaction_id = None if reply is None else reply.id
        channel_id = SERVER_CHANNEL.channel_id if reply is None else reply.channel_id
        now = self.clock.now()
        made = Utterance(
            channel=discord_channel(channel_id, interaction_id, awaited=reply is not None),
            turn_id="turn-1",
            ordinal=0,
            agent_id="crab",
            session_id="s",
            text=text,
            nonce="n" * 22,
            opens=reply is not None,
            since=now,
            created_at=now,
            updated_at=now,
        )
        return made.replaced(**changes)

    def say(self, utterance: Utterance) -> None:
        """Send all its pieces."""
        for piece in range(self.channel.piece_count(utterance)):
            self.channel.send(utterance.replaced(piece=piece))

    def shown(self, place: Place = SERVER_CHANNEL) -> list[Message]:
        """What the owner sees in a channel."""
        return self.discord.shown(place, OWNER)


@contextmanager
def talking() -> Iterator[Talk]:
    """A talk, whose connections are closed at its end."""
    clock = FakeClock(START)
    with FakeDiscord(clock, lambda headers, body: (202, {}, b"")) as discord:
        discord.add_bot(OWN_TOKEN, CRAB)
        talk = Talk(discord, clock)
        with closing(talk.client):
            yield talk
