"""Client transcripts: conversations that a client keeps, and sends whole with each new message.

Clients of chat completions know no sessions. What they send is recognized by a hash of everything
up to a message of the user: the next request repeats it, with our answer behind it.
"""

import json
from enum import StrEnum

from opencrab.domain.identifier import stable_id
from opencrab.domain.value import Identifier, Value

CLIENT_REQUEST = "client_request"
"""The kind of documents that say which session a request went to; its agent owns them."""


class TranscriptSpeaker(StrEnum):
    """Who said a line of a client's transcript."""

    USER = "user"
    ASSISTANT = "assistant"


class TranscriptLine(Value):
    """One message of a transcript; `pictures` are hashes of those that came with it."""

    role: TranscriptSpeaker
    text: str
    pictures: tuple[str, ...] = ()


class ClientTranscript(Value):
    """A conversation as its client has it; the user's newest messages are its last lines.

    `instructions` is what clients call a system message, `user` their own name for whoever talks.
    Lines that a session of ours has come with `sources`, the ids of that session and of those whose
    words they are, and with `taint` if they taint whoever reads them: the first `quoted` lines, up
    to the turn `after`.
    """

    lines: tuple[TranscriptLine, ...]
    instructions: str = ""
    user: str = ""
    after: str = ""
    quoted: int = 0
    sources: tuple[str, ...] = ()
    taint: bool = False

    @property
    def said(self) -> tuple[TranscriptLine, ...]:
        """The messages of the user that nobody has answered yet."""
        return self.lines[len(self.earlier) :]

    @property
    def earlier(self) -> tuple[TranscriptLine, ...]:
        """All lines before those that nobody has answered yet."""
        return _until(self.lines, TranscriptSpeaker.ASSISTANT)

    @property
    def previous(self) -> "ClientTranscript | None":
        """The transcript as the request before this one sent it; None for the first request."""
        asked = _until(self.earlier, TranscriptSpeaker.USER)
        return self.replaced(lines=asked) if asked else None

    def request_id(self, principal_id: str, agent_id: str) -> str:
        """Compute the id of the request that sent this transcript.

        The instructions are not part of it: many clients write the time into them. Nor are quoted
        lines, of which there are more or fewer later; the turn that they end with is.
        """
        lines = [
            [line.role.value, line.text.strip(), *sorted(line.pictures)]
            for line in self.lines[self.quoted :]
        ]
        if self.after:
            lines = [["after", self.after], *lines]
        said = json.dumps(lines, ensure_ascii=False)
        return stable_id("client-request", principal_id, agent_id, self.user, said)


class ClientRequest(Value):
    """Where a request went: the message that it became, in a session that it may have opened.

    `attempt` counts those who sent the same transcript again after it had been answered.
    `instructions` is the hash of those that the session was told last; `tells` says that this
    message told them. `awaited` says that the client was told to ask again for the answer.
    """

    session_id: Identifier
    source_id: str
    message_id: Identifier
    attempt: int = 0
    opens: bool = False
    instructions: str = ""
    tells: bool = False
    awaited: bool = False


def _until(
    lines: tuple[TranscriptLine, ...], role: TranscriptSpeaker
) -> tuple[TranscriptLine, ...]:
    """Return the lines up to the last one of a role."""
    places = [place for place, line in enumerate(lines, 1) if line.role is role]
    return lines[: places[-1]] if places else ()
