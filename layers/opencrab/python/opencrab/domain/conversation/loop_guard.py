"""Loop guard: bots that answer each other in a channel, and when agents fall silent there.

Of what was said only marks of its words are kept, by which two texts can be compared and none can
be read.
"""

import hashlib
import re
import unicodedata
from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from opencrab.domain.text.terms import text_terms
from opencrab.domain.value import Identifier, Value

LOOP = "discord_loop"
"""The kind of installation documents that store a channel's run; the id is the channel's."""

WINDOW = timedelta(minutes=10)
"""The time in which bots' messages count, and of silence after which agents answer again."""

MOST = 6
"""The limit of bots' messages in a row that agents answer within the window."""

ALIKE = 3
"""The number of nearly equal bot messages in a row of which the last is not answered."""

NEARLY = 0.8
"""The share of hashes in common from which texts are nearly equal."""

_MARKS = 32


class HeardBotMessage(Value):
    """A bot's message: its time, the hashes of its words, and whether it was answered."""

    id: Identifier
    at: datetime
    marks: Annotated[tuple[str, ...], Field(max_length=_MARKS)]
    answered: bool


class BotRun(Value):
    """The messages that bots sent in a channel since a human spoke, within the window."""

    heard: Annotated[tuple[HeardBotMessage, ...], Field(max_length=MOST + 1)] = ()

    def verdict(self, message_id: str) -> bool | None:
        """Return whether a message of this run was answered; None if it is not in the run."""
        return next((each.answered for each in self.heard if each.id == message_id), None)

    def after_bot(self, message_id: str, text: str, at: datetime) -> "BotRun":
        """Return the run after a bot's message, which is answered unless it exceeds a limit.

        After an unanswered message none is answered until bots were quiet for the whole window.
        """
        marks = minhash_of_conversation_message(text)
        recent = tuple(each for each in self.heard if abs(at - each.at) < WINDOW)
        alike = (
            sum(similarity_of_conversation_messages(each.marks, marks) >= NEARLY for each in recent)
            + 1
        )
        muted = bool(recent) and not recent[-1].answered
        answered = not muted and len(recent) < MOST and alike < ALIKE
        new = HeardBotMessage(id=message_id, at=at, marks=marks, answered=answered)
        return BotRun(heard=(*recent, new)[-(MOST + 1) :])

    def after_human(self, at: datetime) -> "BotRun":
        """Return the run after a human's message: all earlier messages are dropped."""
        return BotRun(heard=tuple(each for each in self.heard if each.at > at))


def minhash_of_conversation_message(text: str) -> tuple[str, ...]:
    """Compute a sorted sample of a text's term hashes, the same for the same text (MinHash).

    All numbers hash alike: a counter or a time of day does not make a message different. A text
    without terms is hashed as a whole.
    """
    plain = re.sub(r"\d+", "0", unicodedata.normalize("NFKC", text).casefold())
    found = text_terms(plain) or {"".join(plain.split())}
    return tuple(sorted(map(_mark, found))[:_MARKS])


def similarity_of_conversation_messages(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Estimate from two MinHash samples the share of terms in common, 0 to 1."""
    lowest = set(sorted({*one, *other})[:_MARKS])
    return len(lowest.intersection(one).intersection(other)) / len(lowest)


def _mark(term: str) -> str:
    return hashlib.sha256(term.encode()).hexdigest()[:12]
