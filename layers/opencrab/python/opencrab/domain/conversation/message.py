"""Messages: what comes in, what a session's journal keeps of it, and speech on its way out."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from opencrab.domain.access.authority import Authority, Source, does_authority_taint_reader
from opencrab.domain.erasure.request import FORGOTTEN_PERSON
from opencrab.domain.identifier import turn_id
from opencrab.domain.value import (
    MESSAGE_BYTES,
    Identifier,
    MessageText,
    Name,
    ShortText,
    Text,
    Value,
    plain_name_value,
)

PARTS = 16
METADATA_ENTRIES = 32
METADATA_CHARACTERS = 16_384


class TextPart(Value):
    """A text part of a message."""

    kind: Literal["text"] = "text"
    text: MessageText


def _is_automatic(detail: object) -> bool:
    return detail == "auto"


class ImagePart(Value):
    """An image by reference: an https address or a workspace path, never its bytes.

    `detail` is how closely a model looks at it, for vendors that take such a wish.
    """

    kind: Literal["image"] = "image"
    reference: Annotated[Text, StringConstraints(pattern=r"^(https://\S+|workspace:\S+)$")] = Field(
        max_length=2_000
    )
    detail: Literal["auto", "low", "high"] = Field(default="auto", exclude_if=_is_automatic)


class FilePart(Value):
    """A text file in the agent's workspace, whose content the model is shown with the message."""

    kind: Literal["file"] = "file"
    reference: Annotated[Text, StringConstraints(pattern=r"^workspace:\S+$")] = Field(
        max_length=2_000
    )


Part = Annotated[TextPart | ImagePart | FilePart, Field(discriminator="kind")]


class Sender(Value):
    """The sender of a message: our id and the name to show."""

    id: Identifier
    name: Name


class Channel(Value):
    """The channel that receives answers, for gateways that push; REST and the terminal fetch them.

    With `awaited` a user waits there for this answer: the channel is also notified when the turn
    ends without speech.
    """

    kind: Identifier
    address: Annotated[str, StringConstraints(max_length=500), AfterValidator(plain_name_value)]
    awaited: bool = False

    @property
    def target(self) -> str:
        """The key for ordering and storage; utterances to one target keep their order."""
        return f"{self.kind}:{self.address}"


class Message(Value):
    """One message from outside; `source_id` is the sender's own id for it."""

    source: Source
    source_id: Annotated[Text, StringConstraints(min_length=1, max_length=200)]
    principal_id: Identifier
    sender: Sender
    authority: Authority
    parts: Annotated[tuple[Part, ...], Field(min_length=1, max_length=PARTS)]
    channel: Channel | None = None
    metadata: dict[Name, ShortText] = Field(default_factory=dict, max_length=METADATA_ENTRIES)

    @model_validator(mode="after")
    def _all_parts_fit(self) -> "Message":
        if len(self.text.encode()) > MESSAGE_BYTES:
            raise ValueError(
                f"all text parts together must be at most {MESSAGE_BYTES} bytes: shorten them"
            )
        if sum(len(key) + len(value) for key, value in self.metadata.items()) > METADATA_CHARACTERS:
            raise ValueError(
                f"metadata must be at most {METADATA_CHARACTERS} characters in all: shorten it"
            )
        return self

    @property
    def text(self) -> str:
        """The text of the message; images and files are shown as their references."""
        return "\n".join(
            part.text if isinstance(part, TextPart) else f"[{part.kind} {part.reference}]"
            for part in self.parts
        )

    @property
    def sent_as(self) -> str:
        """Where its channel has it, as `KIND:ADDRESS/ID`; "" if it is no message of a channel.

        A slash command is none: its answer stands below it anyway.
        """
        channel = self.channel
        if self.source is not Source.DISCORD or channel is None or "/" in channel.address:
            return ""
        return f"{channel.target}/{self.source_id}"

    @property
    def images(self) -> tuple[str, ...]:
        """The references of its images."""
        return tuple(part.reference for part in self.parts if isinstance(part, ImagePart))

    def attachments(self) -> dict[str, Any]:
        """Return the references of images and files, and details, as a line's data keeps them."""
        images = [part for part in self.parts if isinstance(part, ImagePart)]
        details = {part.reference: part.detail for part in images if part.detail != "auto"}
        files = [part.reference for part in self.parts if isinstance(part, FilePart)]
        kept = {"images": [part.reference for part in images], "details": details, "files": files}
        return {name: value for name, value in kept.items() if value}

    def quoting(self, sources: tuple[str, ...]) -> "Message":
        """Return the message as one that repeats words of these people and sessions.

        Forgetting one of them forgets it, too. Raises ValueError for too many.
        """
        if not sources:
            return self
        # No id has a space.
        named = self.metadata | {QUOTES: " ".join(sources)}
        return Message.model_validate({**dict(self), "metadata": named})

    def turn_in(self, session_id: str, agent_id: str) -> str:
        """Return the id of the turn by which an agent answers this message in a session."""
        return turn_id(
            source=self.source,
            principal=self.principal_id,
            source_id=f"{session_id}/{self.source_id}",
            agent_id=agent_id,
        )

    def body(self) -> dict[str, Any]:
        """Return the fields by which two messages are the same: parts, channel and metadata."""
        return self.model_dump(mode="json", include={"parts", "channel", "metadata"})


QUOTES = "quotes"
"""The key under which metadata and a line's data name the people and sessions quoted, by id."""

SENT_AS = "sent_as"
"""The key of a line's data for where the sender's channel has the message: `KIND:ADDRESS/ID`."""

REPLY_TO = "reply_to"
"""The key of a line's data for the sequence of the line that it is a reply to."""


class LineKind(StrEnum):
    """The kind of a line."""

    SPEECH = "speech"
    INNER_VOICE = "inner_voice"
    ACTION = "action"
    SYSTEM = "system"
    APPROVAL = "approval"


class Audience(StrEnum):
    """The readers of a line."""

    ALL = "all"
    AGENTS = "agents"
    SELF = "self"


class Line(Value):
    """One line of a session's transcript; it never expires.

    `sequence` is its place in the session, given by the store in the transaction that writes it,
    gapless, so that a reader with a cursor misses nothing. `group_line` is the sequence of the
    first line of its group (a message and all answers to it); None if this line is the first.
    `taint` marks an agent's own line that was written after it had read untrusted words.
    """

    session_id: str
    sequence: int = 0
    group: str
    group_line: int | None = None
    kind: LineKind
    audience: Audience = Audience.ALL
    speaker_id: str
    speaker_name: str
    from_agent: bool = False
    authority: Authority
    text: str
    data: dict[str, Any] | None = None
    turn_id: str | None = None
    message_id: str | None = None
    taint: bool = False
    at: datetime

    @property
    def quotes(self) -> tuple[str, ...]:
        """The ids of people and sessions whose words it repeats, as far as they were named."""
        named = (self.data or {}).get(QUOTES, ()) if self.kind is LineKind.SPEECH else ()
        return tuple(str(each) for each in named)

    @property
    def reply_to(self) -> int | None:
        """The sequence of the line that the speaker replies to, None if they named none."""
        named = (self.data or {}).get(REPLY_TO) if self.kind is LineKind.SPEECH else None
        return named if isinstance(named, int) else None

    @property
    def sent_as(self) -> str:
        """Where the channel of its sender has the message, as `KIND:ADDRESS/ID`; "" if nowhere."""
        return str((self.data or {}).get(SENT_AS, "")) if self.kind is LineKind.SPEECH else ""

    @property
    def has_attachments(self) -> bool:
        """True if pictures or files came with the line."""
        return self.data is not None and ("images" in self.data or "files" in self.data)

    @property
    def is_erased(self) -> bool:
        """True if the line was erased: only its place is left."""
        return self.speaker_id == FORGOTTEN_PERSON and not self.text and self.data is None

    @property
    def starts_group(self) -> bool:
        """True if it is the first line of its group."""
        return self.group_line is None or self.group_line == self.sequence

    def is_visible_to(self, agent_id: str) -> bool:
        """Check whether an agent may see the line; one with audience `self` only its speaker."""
        return self.audience is not Audience.SELF or self.speaker_id == agent_id

    def taints_reader(self, agent_id: str) -> bool:
        """Check whether the line taints an agent that reads it: words of a peer or public sender.

        An agent's own line taints it if it was written after the agent had read such words.
        """
        if self.taint or self.speaker_id == agent_id:
            return self.taint
        return self.from_agent or does_authority_taint_reader(self.authority)

    def without_content(self) -> "Line":
        """Return the line without content and speaker: place, group, kind and time remain."""
        return self.replaced(
            text="",
            data=None,
            speaker_id=FORGOTTEN_PERSON,
            speaker_name=FORGOTTEN_PERSON,
            message_id=None,
        )


class Instruction(Value):
    """A message to running turns of a session: read before each step, never queued.

    `authority` and `name` are the sender's; with an empty name the sender is known by id only.
    """

    id: str
    session_id: str
    text: str
    by: str
    name: str = ""
    authority: Authority = Authority.OWNER
    line: int = 0
    at: datetime

    def without_content(self) -> "Instruction":
        """Return the instruction without text and sender; its id remains, to detect a repeat."""
        return self.replaced(text="", by=FORGOTTEN_PERSON, name="")


ATTEMPTS = 8


class DeliveryState(StrEnum):
    """The state of a delivery; one that is `sending` at a crash becomes `indeterminate`."""

    QUEUED = "queued"
    SENDING = "sending"
    SENT = "sent"
    FAILED = "failed"
    INDETERMINATE = "indeterminate"

    @property
    def is_end(self) -> bool:
        """True if no further attempt is made."""
        return self not in {DeliveryState.QUEUED, DeliveryState.SENDING}


class Utterance(Value):
    """One speech for one target; `nonce` lets a channel detect a repeat.

    A channel may show it in pieces: `piece` is the index of the one sent now or next. `opens` marks
    the first answer to users who wait for the turn; without `text` it tells them that no answer
    comes. `approval` is the id of the approval that it asks for. `closes` marks the turn's last
    utterance. `since` is when the current piece was first sent, if it may have been shown.
    `reply_to` is the message that it is a reply to, as `Line.sent_as`.
    """

    channel: Channel
    turn_id: str
    ordinal: int
    agent_id: str
    session_id: str
    text: str
    nonce: str
    opens: bool = False
    closes: bool = False
    reply_to: str = Field(default="", exclude_if=lambda given: not given)
    approval: Identifier | None = None
    piece: Annotated[int, Field(ge=0)] = 0
    state: DeliveryState = DeliveryState.QUEUED
    attempts: int = 0
    since: datetime | None = None
    error: str = ""
    created_at: datetime
    updated_at: datetime

    @property
    def key(self) -> str:
        """The id within its target: the turn and the ordinal of the speech in it."""
        return f"{self.turn_id}#{self.ordinal:04d}"


UNANSWERED_MESSAGES = 8
"""The most messages that a session remembers, the newest ones."""

UNANSWERED_TURNS = 40
"""The most turns that are remembered."""


class UnansweredMessage(NamedTuple):
    """A person's message; `person` is a hash of principal and sender."""

    person: str
    turn_ids: tuple[str, ...]


Unanswered = tuple[UnansweredMessage, ...]
"""The messages of a session whose turns have not ended; older versions read it without them."""


def with_unanswered_message(waiting: Unanswered, added: UnansweredMessage) -> Unanswered:
    """Return the messages with one more, without the oldest if they are too many."""
    kept, room = [added], UNANSWERED_TURNS - len(added.turn_ids)
    for each in reversed(waiting[-UNANSWERED_MESSAGES + 1 :]):
        room -= len(each.turn_ids)
        if room < 0:
            break
        kept.insert(0, each)
    return tuple(kept)


def messages_left_unanswered(waiting: Unanswered, turn_id: str) -> Unanswered:
    """Return the messages without a turn that has ended."""
    left = (
        each._replace(turn_ids=tuple(other for other in each.turn_ids if other != turn_id))
        for each in waiting
    )
    return tuple(each for each in left if each.turn_ids)


def encode_messages_left_unanswered(waiting: Unanswered) -> str:
    """Return the text that is stored: a line for each message."""
    return "\n".join(" ".join((each.person, *each.turn_ids)) for each in waiting)


def decode_messages_left_unanswered(text: str) -> Unanswered:
    """Parse the text that is stored."""
    words = (line.split(" ") for line in text.splitlines())
    return tuple(UnansweredMessage(person, tuple(turn_ids)) for person, *turn_ids in words)
