"""People: who is who on a chat service, by the ids of the service in the settings."""

from enum import StrEnum

from opencrab.domain.access.authority import Authority, chat_principal_id
from opencrab.domain.value import Name, Value

LINE, SLACK, TELEGRAM = "line", "slack", "telegram"
"""The kinds of the services' channels."""


class GroupRule(StrEnum):
    """When an agent answers in a conversation of several people."""

    OFF = "off"
    MENTIONED = "mentioned"


class ChatPeople(Value):
    """Who may do what on a chat service, and which agent answers there.

    Without `agent` (its id or name) the installation's only agent answers. People in no list are
    public.
    """

    agent: str = ""
    owner_ids: tuple[str, ...] = ()
    user_ids: tuple[str, ...] = ()
    groups: GroupRule = GroupRule.MENTIONED

    def authority(self, user_id: str) -> Authority:
        """Return the authority of turns that a user of the service starts."""
        if user_id in self.owner_ids:
            return Authority.OWNER
        return Authority.USER if user_id in self.user_ids else Authority.PUBLIC


class ChatPerson(Value):
    """A user of a chat service; `id` is the service's."""

    kind: str
    id: str
    name: Name

    @property
    def principal_id(self) -> str:
        """The principal id of the user, such as `line-U0123…`."""
        return chat_principal_id(self.kind, self.id)
