"""Messages as clients of OpenAI's API send them, whichever of its interfaces they use."""

import base64
from collections.abc import Iterable
from dataclasses import dataclass

from opencrab.domain.conversation.attachment import PICTURE_BYTES, PICTURES
from opencrab.domain.conversation.client_transcript import (
    ClientTranscript,
    TranscriptLine,
    TranscriptSpeaker,
)
from opencrab.domain.errors import Invalid, TooLarge
from opencrab.domain.identifier import content_hash

_OF_ROLES = {"user": TranscriptSpeaker.USER, "assistant": TranscriptSpeaker.ASSISTANT}
_INSTRUCTING = ("system", "developer")


@dataclass(frozen=True, slots=True)
class ClientMessage:
    """A message of a client's conversation; `pictures` are addresses, as they were sent.

    One with `call_id` is what a tool of the client returned for that call.
    """

    role: str
    text: str
    pictures: tuple[str, ...] = ()
    call_id: str = ""


@dataclass(frozen=True, slots=True)
class ClientMessages:
    """The conversation that a request holds in `field`, which every error names."""

    messages: tuple[ClientMessage, ...]
    field: str
    instructions: str = ""
    user: str = ""

    def transcript(self) -> ClientTranscript:
        """Return the conversation; raises Invalid unless it ends with words of the user."""
        told = (each.text for each in self.messages if each.role in _INSTRUCTING)
        transcript = ClientTranscript(
            lines=tuple(
                TranscriptLine(
                    role=_OF_ROLES[each.role],
                    text=each.text,
                    pictures=tuple(content_hash(url.encode()) for url in each.pictures),
                )
                for each in self.messages
                if each.role in _OF_ROLES
            ),
            instructions="\n\n".join(part for part in (self.instructions, *told) if part).strip(),
            user=self.user,
        )
        if not any(line.text.strip() or line.pictures for line in transcript.said):
            raise Invalid(
                "the last message is not one of the user, or it is blank",
                field=self.field,
                cure='end the list with {"role": "user", "content": "…"}',
            )
        return transcript

    def results(self) -> tuple["ClientMessage", ...]:
        """Return what the client's tools returned for calls of the last answer.

        Some clients write each call of an answer with its result behind it.
        """
        newest = tuple(each for each in _newest_messages(self.messages) if each.call_id)
        if not newest:
            return ()
        before = self.messages[: self.messages.index(newest[0])]
        answer = _answer_of_call(newest[0])
        beside = (e for e in before if e.call_id and _answer_of_call(e) == answer)
        return (*beside, *newest)

    @property
    def has_news(self) -> bool:
        """True if the user says something behind the last answer."""
        return any(each.role == "user" for each in _newest_messages(self.messages))

    def pictures(self) -> tuple[bytes, ...]:
        """Return the pictures of the newest messages of the user; raises Invalid, TooLarge."""
        found = [
            self._picture(url) for each in _newest_messages(self.messages) for url in each.pictures
        ]
        if len(found) > PICTURES:
            raise Invalid(
                f"{len(found)} pictures are too many for one message",
                field=self.field,
                cure=f"send at most {PICTURES} pictures with each message",
            )
        return tuple(found)

    def _picture(self, url: str) -> bytes:
        head, _, content = url.partition(",")
        if not (head.startswith("data:image/") and head.endswith(";base64")):
            raise Invalid(
                "pictures at addresses are not fetched",
                field=self.field,
                cure="send the picture itself: data:image/png;base64,…",
            )
        if len(content) > PICTURE_BYTES * 2:
            raise TooLarge(
                f"a picture has more than {PICTURE_BYTES:,} bytes",
                field=self.field,
                cure="shrink it",
            )
        try:
            return base64.b64decode(content, validate=True)
        except ValueError:
            raise Invalid(
                "a picture is not base64", field=self.field, cure="encode its bytes as base64"
            ) from None


def _answer_of_call(result: ClientMessage) -> str:
    """Return what the ids of all calls of one answer begin with."""
    return result.call_id.rpartition("_")[0]


def _newest_messages(messages: tuple[ClientMessage, ...]) -> Iterable[ClientMessage]:
    """Return the messages behind the last one of the assistant."""
    places = [place for place, each in enumerate(messages, 1) if each.role == "assistant"]
    return messages[places[-1] :] if places else messages
