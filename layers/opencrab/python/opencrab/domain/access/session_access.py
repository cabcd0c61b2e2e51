"""Session access: which principals a session has besides its creator, and how freely agents speak.

Kept beside the session as a document of its own, so that the release before, which does not know
it, still reads the session.
"""

from typing import Annotated

from pydantic import Field

from opencrab.domain.value import Identifier, Value

SESSION_ACCESS = "session_access"
"""The kind of the document; its owner is the installation, its id the session's."""

MEMBERS = 50
"""Most principals that one session is shared with."""


class SessionAccess(Value):
    """Who besides its creator may read a session and write in it.

    `speaks_freely` is set by an owner who wants private memories told here although others read.
    `others_read` says that people read its answers who are not known one by one, as in a channel or
    a group conversation on Discord.
    """

    members: Annotated[tuple[Identifier, ...], Field(max_length=MEMBERS)] = ()
    speaks_freely: bool = False
    others_read: bool = False
