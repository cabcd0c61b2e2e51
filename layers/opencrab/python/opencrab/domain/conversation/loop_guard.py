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
"""The kind of the installation's facts that hold a channel's run; its id is the channel's."""

WINDOW = timedelta(minutes=10)
"""How far back bots' messages count; so long they must be quiet until agents answer again."""

MOST = 6
"""Messages of bots in a row that agents answer within the window."""

ALIKE = 3
"""Messages of bots in a row of which the last is not answered if all say nearly the same."""

NEARLY = 0.8
"""Share of their marks that texts which say nearly the same have in common."""

_MARKS = 32


class HeardBotMessage(Value):
    """A bot's message: when it came, the marks of its words, and whether it was answered."""

    id: Identifier
    at: datetime
    marks: Annotated[tuple[str, ...], Field(max_length=_MARKS)]
    answered: bool


class BotRun(Value):
    """What bots said in a channel since a human spoke, as far as it still counts."""

    heard: Annotated[tuple[HeardBotMessage, ...], Field(max_length=MOST + 1)] = ()

    def verdict(self, message_id: str) -> bool | None:
        """Whether a message that is in the run was answered; None for one that is not."""
        return next((each.answered for each in self.heard if each.id == message_id), None)

    def after_bot(self, message_id: str, text: str, at: datetime) -> "BotRun":
        """The run after a bot's message, which is answered unless it is one too many.

        After one that was not answered none is, until bots were quiet for the whole window.
        """
        marks = message_minhash(text)
        recent = tuple(each for each in self.heard if abs(at - each.at) < WINDOW)
        alike = sum(message_minhash_similarity(each.marks, marks) >= NEARLY for each in recent) + 1
        muted = bool(recent) and not recent[-1].answered
        answered = not muted and len(recent) < MOST and alike < ALIKE
        new = HeardBotMessage(id=message_id, at=at, marks=marks, answered=answered)
        return BotRun(heard=(*recent, new)[-(MOST + 1) :])

    def after_human(self, at: datetime) -> "BotRun":
        """The run after a human's message: nothing that was said before it counts."""
        return BotRun(heard=tuple(each for each in self.heard if each.at > at))


def message_minhash(text: str) -> tuple[str, ...]:
    """Some of the hashes of a text's terms, the same ones for the same text, in order.

    Numbers count as one and the same: a counter or a time of day makes no other message. A text
    without words is marked as a whole.
    """
    plain = re.sub(r"\d+", "0", unicodedata.normalize("NFKC", text).casefold())
    found = text_terms(plain) or {"".join(plain.split())}
    return tuple(sorted(map(_mark, found))[:_MARKS])


def message_minhash_similarity(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    """Share of terms that two texts have in common, estimated by their marks, from 0 to 1."""
    lowest = set(sorted({*one, *other})[:_MARKS])
    return len(lowest.intersection(one).intersection(other)) / len(lowest)


def _mark(term: str) -> str:
    return hashlib.sha256(term.encode()).hexdigest()[:12]
