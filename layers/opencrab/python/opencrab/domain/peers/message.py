"""Messages that an agent sends elsewhere: to another conversation, or to a group at once."""

from datetime import datetime

from opencrab.domain.access.session_access import SessionAccess
from opencrab.domain.conversation.session import Hearing, Session
from opencrab.domain.errors import Refused
from opencrab.domain.value import Value

SENT_MESSAGES = "sent_messages"
"""Kind and id of the document that counts the messages that an agent sent elsewhere."""

MESSAGES_A_DAY = 20
"""The limit of messages that an agent sends elsewhere in a day (UTC); one to a group is one."""

MOST_SESSIONS = 15
"""Most conversations that one message reaches, so that all of them fit one transaction."""

TOLD = "peer.message"
"""The type of the event by which an agent hears of a message to all."""


class SentMessages(Value):
    """The number of messages that an agent sent elsewhere on a day."""

    day: str = ""
    count: int = 0

    def with_one_more(self, now: datetime) -> "SentMessages":
        """Return the count with one more; raises Refused for one too many in a day."""
        day = f"{now:%Y-%m-%d}"
        count = self.count + 1 if self.day == day else 1
        if count > MESSAGES_A_DAY:
            raise Refused(
                f"limit reached: {MESSAGES_A_DAY} messages in a day", cure="go on tomorrow"
            )
        return SentMessages(day=day, count=count)


def does_only_owner_read_session(session: Session, access: SessionAccess, owner: str) -> bool:
    """Check whether a session has no readers but its agents and this principal."""
    open_to_others = access.others_read or session.guild_id is not None
    wide = session.hearing in {Hearing.GUILD, Hearing.PUBLIC}
    readers = {session.created_by, *access.members} - set(session.all_time_agent_ids)
    return bool(owner) and not (open_to_others or wide) and readers == {owner}
