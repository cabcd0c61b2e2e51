"""Summaries: what a stretch of a session, a day or a month was about, told in few words.

A summary is a derived view: the lines that it tells of stay where they are, and it names them.
"""

from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, StringConstraints

from opencrab.domain.conversation.session import Hearing
from opencrab.domain.value import Identifier, Text, Value

SUMMARY = "summary"
"""The kind of fact that summaries are."""

COMPACTION = "compaction"
"""The kind of fact that says how far sessions are summarised; its id is the session's."""

SHELF = "shelf"
"""Kind and id of the fact that tells where an agent's summaries stand."""

PATIENCE = 3
PAUSE = timedelta(days=1)
"""How many failures in a row, and then how long nobody tries; what fails then too is a gap."""

GAPS = 100
"""Gaps that are kept one by one; those before them are only counted."""

TOPICS = 24
"""Topics of a session whose titles are at hand for its prompts."""

SUMMARY_CHARACTERS = 8_000
_DAY = len("2026-10-01")

PROMPT_VERSION = 1
"""Changes when the words change by which a model is asked for a summary."""


class Span(StrEnum):
    """What a summary covers."""

    TOPIC = "topic"
    DAY = "day"
    MONTH = "month"


class SummarySource(Value):
    """Where the words come from: lines first to last of a session."""

    session_id: str
    first: Annotated[int, Field(ge=1)]
    last: Annotated[int, Field(ge=1)]


class Summary(Value):
    """One summary; `id` is short (`S12`), so that a model can ask for it.

    `sources` are the lines that it tells of, `parts` the ids of the summaries that it was made of.
    `hearing` is that of its session; what was made of several may be heard by the agent only.
    """

    id: Annotated[str, StringConstraints(pattern=r"^S[1-9][0-9]{0,8}$")]
    span: Span
    title: Annotated[Text, StringConstraints(max_length=200)] = ""
    text: Annotated[Text, StringConstraints(min_length=1, max_length=SUMMARY_CHARACTERS)]
    sources: tuple[SummarySource, ...] = ()
    parts: tuple[str, ...] = ()
    session_id: str = ""
    hearing: Hearing = Hearing.PRIVATE
    guild_id: Identifier | None = None
    tainted: bool = False
    model: str = ""
    prompt_version: int = PROMPT_VERSION
    turn_id: str = ""
    since: datetime
    until: datetime
    at: datetime


class SummaryAttempts(Value):
    """How summarising has fared: failures in a row, and the last error, which stays when they end.

    A summary whose attempts all failed is tried again with the next job, after the third failure
    once more a day later. Then it is passed over: the gap is kept, and an owner may have it tried
    again.
    """

    failures: int = 0
    error: str = ""
    failed_at: datetime | None = None
    at: datetime | None = None

    def may_try(self, now: datetime) -> bool:
        """Whether an attempt is due."""
        waits = self.failures >= PATIENCE and self.failed_at is not None
        return not waits or self.failed_at is None or now - self.failed_at >= PAUSE

    @property
    def gives_up(self) -> bool:
        """Whether it failed once more after the pause."""
        return self.failures > PATIENCE

    def failed(self, why: str, now: datetime) -> Self:
        """After one more failure."""
        return self.replaced(failures=self.failures + 1, error=why[:500], failed_at=now)

    def succeeded(self, now: datetime) -> Self:
        """After a summary was made."""
        return self.replaced(failures=0, error="", at=now)


class SummaryTopic(Value):
    """What a prompt tells of a summary of lines that it does not show."""

    id: str
    title: str = ""
    last: int
    until: datetime
    tainted: bool = False


class Gap(Value):
    """Lines that were skipped because no summary of them could be made.

    `again` is set while a retry is requested.
    """

    first: int
    last: int
    error: str = ""
    at: datetime
    again: bool = False


class CompactionState(SummaryAttempts):
    """How far a session is summarised: up to line `done`; `topics` are the newest, oldest first.

    `gaps` are what was passed over on the way, and `passed` counts all of them that still are.
    """

    done: int = 0
    topics: tuple[SummaryTopic, ...] = ()
    gaps: tuple[Gap, ...] = ()
    passed: int = 0

    @property
    def retried(self) -> Gap | None:
        """The gap that is to be tried again next."""
        return next((gap for gap in self.gaps if gap.again), None)

    def wants(self, first: int) -> bool:
        """Whether the summary of the lines from here on is still to be made."""
        return self.done == first - 1 or (self.retried is not None and self.retried.first == first)

    def telling(self, topic: SummaryTopic, first: int) -> "CompactionState":
        """With the topic of the lines from `first` on; the oldest beyond what is kept goes."""
        topics = sorted((*self.topics, topic), key=lambda each: each.last)
        told = self.closing(first).replaced(topics=tuple(topics)[-TOPICS:])
        return told.replaced(done=max(self.done, topic.last))

    def closing(self, first: int) -> "CompactionState":
        """Without the gap that begins there."""
        left = tuple(gap for gap in self.gaps if gap.first != first)
        return self.replaced(gaps=left, passed=self.passed - (len(self.gaps) - len(left)))

    def missed(
        self, first: int, last: int, why: str, now: datetime, *, blamed: bool
    ) -> "CompactionState":
        """After these lines could not be summarised; `blamed` failures make them a gap in time.

        A gap that was tried again in vain is one as before, and stops nothing else.
        """
        gap = Gap(first=first, last=last, error=why[:200], at=now)
        if self.done >= first:
            gaps = tuple(gap if each.first == first else each for each in self.gaps)
            return self.replaced(gaps=gaps, failed_at=now)
        after = self.failed(why, now)
        if not after.gives_up:
            return after
        if not blamed:
            return after.replaced(failures=PATIENCE)
        return after.replaced(
            failures=0, error="", done=last, gaps=(*self.gaps, gap)[-GAPS:], passed=self.passed + 1
        )

    def again(self) -> "CompactionState":
        """With all that failed to be tried again now."""
        return self.replaced(failures=0, gaps=tuple(gap.replaced(again=True) for gap in self.gaps))

    def without(self, summary_ids: AbstractSet[str]) -> "CompactionState":
        """Without the words of summaries that are forgotten."""
        kept = tuple(topic for topic in self.topics if topic.id not in summary_ids)
        return self.replaced(topics=kept)


class SummaryPeriod(Value):
    """A day (`2026-10-01`) or a month (`2026-10`), and the summaries that its own will tell of."""

    key: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d(-\d\d)?$")]
    parts: tuple[str, ...]

    @property
    def span(self) -> Span:
        """Whether it is a day or a month."""
        return Span.DAY if len(self.key) == _DAY else Span.MONTH

    def is_over(self, now: datetime) -> bool:
        """Whether the period has passed, in UTC."""
        return self.key < now.strftime("%Y-%m-%d")[: len(self.key)]


class PassedOver(SummaryPeriod):
    """A period that was skipped because no summary of it could be made."""

    error: str = ""
    at: datetime


class SummaryIndex(SummaryAttempts):
    """An agent's summaries: the number of the newest, and the periods that still wait for theirs.

    Numbers are never used again, whatever is forgotten. `gaps` are periods that were passed over,
    and `passed` counts all of them that still are.
    """

    last: int = 0
    periods: tuple[SummaryPeriod, ...] = ()
    gaps: tuple[PassedOver, ...] = ()
    passed: int = 0

    def with_part(self, key: str, summary_id: str) -> "SummaryIndex":
        """With a summary that belongs to a period."""
        parts = next((period.parts for period in self.periods if period.key == key), ())
        return self._holding(key, (*parts, summary_id))

    def without_parts(self, key: str, told: AbstractSet[str]) -> "SummaryIndex":
        """After some of a period's summaries were told of in its own, or are gone."""
        parts = next((period.parts for period in self.periods if period.key == key), ())
        return self._holding(key, tuple(part for part in parts if part not in told))

    def due(self, now: datetime) -> SummaryPeriod | None:
        """The period whose summary is to be made next: days before their month, oldest first."""
        for period in self.periods:
            days = (other.key.startswith(f"{period.key}-") for other in self.periods)
            if period.is_over(now) and not any(days):
                return period
        return None

    def missed(self, key: str, why: str, now: datetime, *, blamed: bool) -> "SummaryIndex":
        """After the summary of a period failed; `blamed` failures make the period a gap in time."""
        after = self.failed(why, now)
        parts = next((period.parts for period in self.periods if period.key == key), ())
        if not after.gives_up:
            return after
        if not blamed:
            return after.replaced(failures=PATIENCE)
        gap = PassedOver(key=key, parts=parts, error=why[:200], at=now)
        gaps = (*self.gaps, gap)[-GAPS:]
        left = self._holding(key, ())
        return left.replaced(failures=0, error="", failed_at=now, gaps=gaps, passed=self.passed + 1)

    def again(self) -> "SummaryIndex":
        """With all that failed to be tried again now."""
        after = self.replaced(failures=0, gaps=(), passed=self.passed - len(self.gaps))
        for key, part in ((gap.key, part) for gap in self.gaps for part in gap.parts):
            after = after.with_part(key, part)
        return after

    def _holding(self, key: str, parts: tuple[str, ...]) -> "SummaryIndex":
        others = [period for period in self.periods if period.key != key]
        periods = [*others, *([SummaryPeriod(key=key, parts=parts)] if parts else [])]
        return self.replaced(periods=tuple(sorted(periods, key=lambda period: period.key)))


def summary_key(summary_id: str) -> str:
    """Where a summary is kept: in the order of its number."""
    return f"S{int(summary_id[1:]):09d}"
