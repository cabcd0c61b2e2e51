"""Chat services, as far as people are named and answered at once on them, and setups checked."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from opencrab.domain.chat.event import ChatEvent, ChatRoom
from opencrab.domain.chat.people import ChatPeople
from opencrab.domain.value import Value

if TYPE_CHECKING:
    from opencrab.ports.conversation.file_source import FileSource


class ChatCheck(Value):
    """A fact of a service's setup: its key in the texts of the doctor, and what fills them in.

    `state` is `ok`, `warning` or `problem`.
    """

    name: str
    state: str
    key: str
    facts: Mapping[str, Any] = {}


class ChatLink(Protocol):
    """Calls to one chat service; each is one HTTP request.

    All raise Unavailable (retry later; it may have been done), NeverSent (certainly not done),
    NotFound, Refused (token, permission or quota), Invalid (with the service's words).
    """

    def name_of_user(self, room: ChatRoom, user_id: str) -> str | None:
        """Return the name that a user shows in a place, None if the service does not tell it."""

    def answer_event(self, event: ChatEvent, text: str) -> None:
        """Tell the person behind an event something at once, by its reply token."""

    def checks(self) -> tuple[ChatCheck, ...]:
        """Ask the service who we are and how it is set up, in the order in which to fix it."""


class BotLink(ChatLink, Protocol):
    """A service whose bot is told by its own name, and may be asked for what people wrote."""

    def own_names(self) -> tuple[str, str]:
        """Return the bot's id and its name; asked once."""

    def next_updates(self, after: int) -> tuple[Mapping[str, Any], ...]:
        """Wait for updates from an id on, for half a minute at most."""

    def set_webhook(self, url: str, secret: str) -> None:
        """Have updates posted to an address with a secret; "" ends that."""


@dataclass(frozen=True)
class Chat:
    """One chat service of an installation: its people, and its calls.

    `signing_secret` returns the secret by which the service signs; it raises Refused if none is
    set, and Unavailable if it cannot be read now. Its name is `signing_secret_name`. A service
    that `is_polled` needs none. `agents` are those that answer at addresses of their own. `files`
    is where people's files are fetched; without it none is taken.
    """

    people: ChatPeople
    link: ChatLink = field(repr=False)
    signing_secret: Callable[[], str] = field(repr=False)
    signing_secret_name: str
    is_polled: bool = False
    agents: tuple[str, ...] = ()
    files: "FileSource | None" = field(default=None, repr=False)
