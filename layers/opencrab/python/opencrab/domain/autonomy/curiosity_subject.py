"""Curiosity subjects: what an agent was sent to explore lately, so that subjects take turns."""

from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from opencrab.domain.value import Value

CURIOSITY = "curiosity"
"""Kind and id of the document that stores what curiosity asked about."""

SOON = timedelta(days=30)
"""The time in which curiosity does not ask about the same subject again."""

_KEPT = 100


class SubjectKind(StrEnum):
    """The kinds of unknown things, in the order in which an agent asks about them first."""

    BELIEF = "belief"
    KNOWLEDGE = "knowledge"
    MEMORY = "memory"
    PEER = "peer"
    FILE = "file"


class CuriosityHistory(Value):
    """The subjects that curiosity asked about lately, by kind and place, with the time.

    `read_to` is the place after which it looks on, by kind; places are ids and never words.
    """

    asked: dict[str, datetime] = Field(default_factory=dict)
    read_to: dict[SubjectKind, str] = Field(default_factory=dict)

    def kinds(self) -> list[SubjectKind]:
        """Return all kinds, those that were asked about least recently first."""
        last = dict[str, datetime]()
        for key, at in self.asked.items():
            kind = key.partition(":")[0]
            last[kind] = max(at, last.get(kind, at))
        never = [kind for kind in SubjectKind if kind not in last]
        return [*never, *sorted((k for k in SubjectKind if k in last), key=lambda k: last[k])]

    def is_due(self, kind: SubjectKind, place: str, now: datetime) -> bool:
        """Check whether a subject was not asked about for SOON."""
        at = self.asked.get(_key(kind, place))
        return at is None or not at <= now < at + SOON

    def after(self, kind: SubjectKind, place: str, now: datetime) -> "CuriosityHistory":
        """Return what is stored after a subject was asked about now."""
        known = {key: at for key, at in self.asked.items() if at <= now < at + SOON}
        known.pop(_key(kind, place), None)
        newest = sorted((*known.items(), (_key(kind, place), now)), key=lambda each: each[1])
        return self.replaced(asked=dict(newest[-_KEPT:]), read_to={**self.read_to, kind: place})


def _key(kind: SubjectKind, place: str) -> str:
    return f"{kind}:{place}"
