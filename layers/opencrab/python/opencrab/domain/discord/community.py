"""Discord: who is who there, where an agent may speak, and where an answer goes.

Ids are Discord's snowflakes, which tell when they were made (Discord's reference, "Snowflakes").
"""

from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import Field, StringConstraints

from opencrab.domain.access.authority import Authority
from opencrab.domain.conversation.message import Channel
from opencrab.domain.conversation.session import Hearing
from opencrab.domain.value import Identifier, Language, Name, Value

KIND = "discord"
"""The kind of channel."""

PRESENCE, REPLY = "discord_presence", "discord_reply"
"""Kinds of the installation's facts: the id of one is its agent's, of the other its
interaction's."""

TOKEN_LIVES = timedelta(minutes=15)
"""How long an interaction can be answered by its token."""

_EPOCH_MILLISECONDS = 1_420_070_400_000

_TRUSTED = {Authority.OWNER, Authority.USER}

Snowflake = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,19}$")]


class Spot(Value):
    """A channel of a server in which an agent is a participant.

    With `reads` it reads messages there (through the relay), with `mentions_only` only those that
    name it; with `writes` it may post there on its own. `hearing` is who may read them later.
    """

    channel_id: Snowflake
    reads: bool = True
    mentions_only: bool = True
    writes: bool = True
    hearing: Hearing = Hearing.SESSION


class Presence(Value):
    """An agent's Discord settings; without spots it can be asked anywhere and posts only replies.

    Ids and roles are added to those of the installation. `token_secret` names the secret that holds
    the token of a bot of its own.
    """

    agent_id: Identifier
    spots: Annotated[tuple[Spot, ...], Field(max_length=100)] = ()
    owner_ids: Annotated[tuple[Snowflake, ...], Field(max_length=20)] = ()
    user_ids: Annotated[tuple[Snowflake, ...], Field(max_length=100)] = ()
    role_ids: Annotated[tuple[Snowflake, ...], Field(max_length=100)] = ()
    token_secret: Name | None = None

    def spot(self, channel_id: str) -> Spot | None:
        """Its part in a channel, or None."""
        return next((each for each in self.spots if each.channel_id == channel_id), None)

    def may_be_asked(
        self,
        channel_id: str,
        guild_id: str | None,
        *,
        by: Authority = Authority.PUBLIC,
        among_others: bool = False,
    ) -> bool:
        """Whether commands in this channel reach it; in private nobody else listens.

        Where a user brought the bot along into a conversation `among_others`, an agent that has
        spots is reached by its owners and users only.
        """
        if not self.spots or self.spot(channel_id) is not None:
            return True
        return guild_id is None and (not among_others or by in _TRUSTED)


class Community(Value):
    """The installation's own lists: its servers (none is every one), owners, users and roles."""

    guild_ids: tuple[Snowflake, ...] = ()
    owner_ids: tuple[Snowflake, ...] = ()
    user_ids: tuple[Snowflake, ...] = ()
    role_ids: tuple[Snowflake, ...] = ()

    def admits(self, guild_id: str | None, by: Authority = Authority.PUBLIC) -> bool:
        """Whether this server is heard; None is a private conversation, of whatever kind.

        Where servers are listed, only owners and users are heard in private.
        """
        if not self.guild_ids:
            return True
        return by in _TRUSTED if guild_id is None else guild_id in self.guild_ids


class Person(Value):
    """Somebody on Discord, with their roles in the server where they write."""

    id: Snowflake
    name: Name
    role_ids: tuple[Snowflake, ...] = ()
    is_bot: bool = False

    @property
    def principal_id(self) -> str:
        """Our id for them."""
        return f"discord-{self.id}"


class InteractionReply(Value):
    """How an interaction is answered: its token, and what Discord allows with it.

    `is_guest` says that the bot is no member there (the user brought it along): it answers by the
    token alone, with at most five further messages. `message_id` is the first answer's.
    """

    id: Snowflake
    application_id: Snowflake
    token: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.\-=:+/]{1,2000}$")] = Field(
        repr=False
    )
    channel_id: Snowflake
    guild_id: Snowflake | None = None
    language: Language = Language.EN
    is_ephemeral: bool = False
    is_guest: bool = False
    message_id: Snowflake | None = None

    @property
    def is_among_others(self) -> bool:
        """Whether others talk there in private, to whom a user brought the bot along."""
        return self.guild_id is None and self.is_guest

    def is_open(self, now: datetime) -> bool:
        """Whether its token still answers."""
        return now < snowflake_time(self.id) + TOKEN_LIVES


def member_authority(person: Person, community: Community, presence: Presence | None) -> Authority:
    """On whose behalf a turn acts that this person starts; nobody is the owner by default."""
    lists = (community,) if presence is None else (community, presence)
    if any(person.id in each.owner_ids for each in lists):
        return Authority.OWNER
    roles = set(person.role_ids)
    if any(person.id in each.user_ids or roles & set(each.role_ids) for each in lists):
        return Authority.USER
    return Authority.PUBLIC


def discord_channel(
    channel_id: str, interaction_id: str | None = None, *, awaited: bool = False
) -> Channel:
    """Where answers go: into a channel, or to an interaction as long as its token lives."""
    address = channel_id if interaction_id is None else f"{channel_id}/{interaction_id}"
    return Channel(kind=KIND, address=address, awaited=awaited)


def discord_address(channel: Channel) -> tuple[str, str | None]:
    """The ids of the channel and of the interaction that an address names."""
    channel_id, _, interaction_id = channel.address.partition("/")
    return channel_id, interaction_id or None


def snowflake_time(snowflake: str) -> datetime:
    """When an id was made."""
    milliseconds = (int(snowflake) >> 22) + _EPOCH_MILLISECONDS
    return datetime.fromtimestamp(milliseconds / 1_000, UTC)
