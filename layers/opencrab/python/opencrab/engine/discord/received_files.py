"""Files of Discord's messages: whose uploads they are, and where they are fetched."""

from dataclasses import dataclass

from opencrab.domain.access.authority import Authority, Scope
from opencrab.domain.access.principal import Principal
from opencrab.domain.conversation.message import Part
from opencrab.domain.conversation.sent_file import SentFile
from opencrab.domain.conversation.session import Session
from opencrab.domain.discord.community import KIND, Person, discord_authority
from opencrab.engine.attachments.received_files import MessageFiles, parts_of_message_with_files
from opencrab.engine.discord.presence import discord_presence
from opencrab.engine.runtime import Runtime


@dataclass(frozen=True)
class SentMessage:
    """A message of Discord that `sender` sends to agents with files; the turns have `authority`.

    Who is quoted in it wrote the files and named them.
    """

    id: str
    text: str
    files: tuple[SentFile, ...]
    sender: Person
    authority: Authority
    quoting: Person | None = None


def discord_message_parts(
    runtime: Runtime, session_id: str, agent_id: str, sent: SentMessage
) -> tuple[Part, ...]:
    """Return the parts of a message, as `parts_of_message_with_files` does."""
    files = MessageFiles(
        service=KIND,
        message_id=sent.id,
        files=sent.files,
        authority=sent.authority,
        source=runtime.discord_files,
        owner=lambda session: _uploader(runtime, session, sent),
        is_quoted=sent.quoting is not None,
    )
    session = runtime.home.sessions.get(session_id)
    return parts_of_message_with_files(runtime, session, agent_id, sent.text, files)


def _uploader(runtime: Runtime, session: Session, sent: SentMessage) -> Principal:
    """Return the principal whose uploads the files are; an owner only if of every agent here."""
    author = sent.quoting or sent.sender
    owns = all(
        discord_authority(
            sent.sender, runtime.community, discord_presence(runtime.home.facts, agent_id)
        )
        is Authority.OWNER
        for agent_id in session.agent_ids
    )
    scope = Scope.OWNER if owns else Scope.CHAT
    return Principal(id=author.principal_id, name=author.name, scope=scope)
