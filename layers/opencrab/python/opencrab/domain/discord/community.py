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
"""The kind of a Discord channel."""

PRESENCE, REPLY = "discord_presence", "discord_reply"
"""Kinds of installation documents: the id of the first is the agent's, of the second the
interaction's."""

DISCORD_PRINCIPAL = "discord-"
"""The beginning of the principal ids of Discord's users; what follows is a snowflake."""

TOKEN_LIVES = timedelta(minutes=15)
"""The time in which an interaction can be answered by its token."""

_EPOCH_MILLISECONDS = 1_420_070_400_000

_TRUSTED = {Authority.OWNER, Authority.USER}

Snowflake = Annotated[str, StringConstraints(pattern=r"^[1-9][0-9]{0,19}$")]


class Spot(Value):
    """A channel of a server in which an agent is a participant.

    With `reads` the agent reads messages there (through the relay), with `mentions_only` only those
    that name it; with `writes` it may post there on its own. `hearing` says who may read these
    messages later.
    """

    channel_id: Snowflake
    reads: bool = True
    mentions_only: bool = True
    writes: bool = True
    hearing: Hearing = Hearing.SESSION


class Presence(Value):
    """An agent's Discord settings; without spots it can be asked anywhere and posts only replies.

    Ids and roles are added to those of the installation. `token_secret` names the secret that holds
    the token of the agent's own bot, if it has one.
    """

    agent_id: Identifier
    spots: Annotated[tuple[Spot, ...], Field(max_length=100)] = ()
    owner_ids: Annotated[tuple[Snowflake, ...], Field(max_length=20)] = ()
    user_ids: Annotated[tuple[Snowflake, ...], Field(max_length=100)] = ()
    role_ids: Annotated[tuple[Snowflake, ...], Field(max_length=100)] = ()
    token_secret: Name | None = None

    def spot(self, channel_id: str) -> Spot | None:
        """Return the agent's settings for a channel, or None."""
        return next((each for each in self.spots if each.channel_id == channel_id), None)

    def may_be_asked(
        self,
        channel_id: str,
        guild_id: str | None,
        *,
        by: Authority = Authority.PUBLIC,
        among_others: bool = False,
    ) -> bool:
        """Check whether commands in this channel reach the agent.

        Without spots they do everywhere. With spots they do in those channels and in private
        conversations; in one `among_others`, into which a user brought the bot, only for owners and
        users.
        """
        if not self.spots or self.spot(channel_id) is not None:
            return True
        return guild_id is None and (not among_others or by in _TRUSTED)


class Community(Value):
    """The installation's servers (an empty list allows every server), owners, users and roles."""

    guild_ids: tuple[Snowflake, ...] = ()
    owner_ids: tuple[Snowflake, ...] = ()
    user_ids: tuple[Snowflake, ...] = ()
    role_ids: tuple[Snowflake, ...] = ()

    def admits(self, guild_id: str | None, by: Authority = Authority.PUBLIC) -> bool:
        """Check whether messages from a server are accepted; None is a private conversation.

        If servers are listed, only owners and users are accepted in private.
        """
        if not self.guild_ids:
            return True
        return by in _TRUSTED if guild_id is None else guild_id in self.guild_ids


class Person(Value):
    """A Discord user, with the roles in the server where they write."""

    id: Snowflake
    name: Name
    role_ids: tuple[Snowflake, ...] = ()
    is_bot: bool = False

    @property
    def principal_id(self) -> str:
        """The principal id of the user, `discord-` and their snowflake."""
        return f"{DISCORD_PRINCIPAL}{self.id}"


class InteractionReply(Value):
    """The token and context by which an interaction is answered.

    `is_guest` says that the bot is not a member there (the user brought it along): it answers by
    the token alone, with at most five further messages. `message_id` is that of the first answer.
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
        """True for a private conversation of others into which a user brought the bot."""
        return self.guild_id is None and self.is_guest

    @property
    def is_by_token_only(self) -> bool:
        """True for a reply that must not be posted in the channel (guest or ephemeral)."""
        return self.is_guest or self.is_ephemeral

    def is_open(self, now: datetime) -> bool:
        """Check whether the token is still valid: 15 minutes after the interaction."""
        return now < time_of_discord_snowflake(self.id) + TOKEN_LIVES


def discord_authority(person: Person, community: Community, presence: Presence | None) -> Authority:
    """Return the authority of turns that this person starts; public if no list has them."""
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
    """Build the channel for answers: a Discord channel, or an interaction in it."""
    address = channel_id if interaction_id is None else f"{channel_id}/{interaction_id}"
    return Channel(kind=KIND, address=address, awaited=awaited)


def discord_address(channel: Channel) -> tuple[str, str | None]:
    """Split a channel's address into channel id and interaction id (None if there is none)."""
    channel_id, _, interaction_id = channel.address.partition("/")
    return channel_id, interaction_id or None


def time_of_discord_snowflake(snowflake: str) -> datetime:
    """Return the time at which a snowflake was made."""
    milliseconds = (int(snowflake) >> 22) + _EPOCH_MILLISECONDS
    return datetime.fromtimestamp(milliseconds / 1_000, UTC)
