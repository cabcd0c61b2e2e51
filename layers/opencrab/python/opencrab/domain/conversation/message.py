"""Messages: what somebody says to a session, in text and image parts by reference."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.identifier import turn_id
from opencrab.domain.value import (
    MESSAGE_BYTES,
    Identifier,
    MessageText,
    Name,
    ShortText,
    Text,
    Value,
    plain_name,
)

PARTS = 16
METADATA_ENTRIES = 32
METADATA_CHARACTERS = 16_384


class TextPart(Value):
    """Words."""

    kind: Literal["text"] = "text"
    text: MessageText


class ImagePart(Value):
    """An image by reference: an https address or a workspace path, never its bytes."""

    kind: Literal["image"] = "image"
    reference: Annotated[Text, StringConstraints(pattern=r"^(https://\S+|workspace:\S+)$")] = Field(
        max_length=2_000
    )


Part = Annotated[TextPart | ImagePart, Field(discriminator="kind")]


class Sender(Value):
    """Who speaks: our id and the name to show."""

    id: Identifier
    name: Name


class Channel(Value):
    """Where answers are pushed to, for doors that push; REST and the terminal fetch them.

    `awaited` says that somebody there watches for this very answer: its turn tells the channel
    also when it ends without a word.
    """

    kind: Identifier
    address: Annotated[str, StringConstraints(max_length=500), AfterValidator(plain_name)]
    awaited: bool = False

    @property
    def target(self) -> str:
        """One name for ordering and storage: utterances to one target keep their order."""
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
            raise ValueError(f"all text parts together must be at most {MESSAGE_BYTES} bytes")
        if sum(len(key) + len(value) for key, value in self.metadata.items()) > METADATA_CHARACTERS:
            raise ValueError(f"metadata must be at most {METADATA_CHARACTERS} characters in all")
        return self

    @property
    def text(self) -> str:
        """The words of the message; images show as their references."""
        return "\n".join(
            part.text if isinstance(part, TextPart) else f"[image {part.reference}]"
            for part in self.parts
        )

    @property
    def images(self) -> tuple[str, ...]:
        """The references of its images."""
        return tuple(part.reference for part in self.parts if isinstance(part, ImagePart))

    def turn_in(self, session_id: str, agent_id: str) -> str:
        """The id of the turn by which an agent answers it in a session."""
        return turn_id(
            source=self.source,
            principal=self.principal_id,
            source_id=f"{session_id}/{self.source_id}",
            agent_id=agent_id,
        )

    def body(self) -> dict[str, Any]:
        """What makes two messages the same message: everything but who carried it."""
        return self.model_dump(mode="json", include={"parts", "channel", "metadata"})
