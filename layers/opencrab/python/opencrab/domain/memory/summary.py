"""Summaries of a part of a session, a day or a month.

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
"""The kind of documents that store summaries."""

COMPACTION = "compaction"
"""The kind of documents that store the compaction state of sessions; the id is the session's."""

SHELF = "shelf"
"""Kind and id of the document that stores an agent's summary index."""

PATIENCE = 3
PAUSE = timedelta(days=1)
"""The failures in a row after which summarising pauses, and the pause; one more failure makes a
gap."""

GAPS = 100
"""The limit of gaps that are listed; earlier ones are only counted."""

TOPICS = 24
"""The limit of a session's topics whose titles its prompts can show."""

SUMMARY_CHARACTERS = 8_000
_DAY = len("2026-10-01")

PROMPT_VERSION = 1
"""The version of the prompt that asks a model for a summary."""


class SummarySpan(StrEnum):
    """The range that a summary covers."""

    TOPIC = "topic"
    DAY = "day"
    MONTH = "month"


class SummarySource(Value):
    """The source of a summary: lines `first` to `last` of a session."""

    session_id: str
    first: Annotated[int, Field(ge=1)]
    last: Annotated[int, Field(ge=1)]


class Summary(Value):
    """A summary; `id` is short (`S12`), so that a model can ask for it.

    `sources` are the lines that it covers, `parts` the ids of the summaries that it was made from.
    `hearing` is that of its session; a summary of several sessions may be heard by the agent only.
    """

    id: Annotated[str, StringConstraints(pattern=r"^S[1-9][0-9]{0,8}$")]
    span: SummarySpan
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
    """The state of summarising: failures in a row, and the last error, kept after a success.

    A summary whose attempts all failed is tried again with the next job, after the third failure
    once more a day later. Then it is skipped: the gap is kept, and an owner may request a retry.
    """

    failures: int = 0
    error: str = ""
    failed_at: datetime | None = None
    at: datetime | None = None

    def may_try(self, now: datetime) -> bool:
        """Check whether an attempt is due."""
        waits = self.failures >= PATIENCE and self.failed_at is not None
        return not waits or self.failed_at is None or now - self.failed_at >= PAUSE

    @property
    def gives_up(self) -> bool:
        """True if it failed once more after the pause."""
        return self.failures > PATIENCE

    def failed(self, why: str, now: datetime) -> Self:
        """Return the state after one more failure."""
        return self.replaced(failures=self.failures + 1, error=why[:500], failed_at=now)

    def succeeded(self, now: datetime) -> Self:
        """Return the state after a summary was made."""
        return self.replaced(failures=0, error="", at=now)


class SummaryTopic(Value):
    """A summary's title and range for prompts that do not show its lines."""

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
    """The progress of summarising a session: up to line `done`; `topics` are oldest first.

    `gaps` are the skipped lines, and `passed` counts all gaps that still exist.
    """

    done: int = 0
    topics: tuple[SummaryTopic, ...] = ()
    gaps: tuple[Gap, ...] = ()
    passed: int = 0

    @property
    def gap_to_retry(self) -> Gap | None:
        """The next gap to try again, or None."""
        return next((gap for gap in self.gaps if gap.again), None)

    def wants(self, first: int) -> bool:
        """Check whether the summary of the lines from `first` on is still to be made."""
        return self.done == first - 1 or (
            self.gap_to_retry is not None and self.gap_to_retry.first == first
        )

    def with_topic(self, topic: SummaryTopic, first: int) -> "CompactionState":
        """Return the state with the topic of the lines from `first` on.

        The oldest topics beyond TOPICS are dropped.
        """
        topics = sorted((*self.topics, topic), key=lambda each: each.last)
        told = self.without_gap(first).replaced(topics=tuple(topics)[-TOPICS:])
        return told.replaced(done=max(self.done, topic.last))

    def without_gap(self, first: int) -> "CompactionState":
        """Return the state without the gap that begins at line `first`."""
        left = tuple(gap for gap in self.gaps if gap.first != first)
        return self.replaced(gaps=left, passed=self.passed - (len(self.gaps) - len(left)))

    def with_failed_lines(
        self, first: int, last: int, why: str, now: datetime, *, blamed: bool
    ) -> "CompactionState":
        """Return the state after these lines could not be summarised.

        Failures that are `blamed` on the lines make them a gap after several attempts. A gap whose
        retry failed stays a gap, and delays nothing else.
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

    def with_failures_reset(self) -> "CompactionState":
        """Return the state with all failed summaries to be tried again now."""
        return self.replaced(failures=0, gaps=tuple(gap.replaced(again=True) for gap in self.gaps))

    def without_summaries(self, summary_ids: AbstractSet[str]) -> "CompactionState":
        """Return the state without the topics of erased summaries."""
        kept = tuple(topic for topic in self.topics if topic.id not in summary_ids)
        return self.replaced(topics=kept)


class SummaryPeriod(Value):
    """A day (`2026-10-01`) or month (`2026-10`), with the ids of summaries that it will cover."""

    key: Annotated[str, StringConstraints(pattern=r"^\d{4}-\d\d(-\d\d)?$")]
    parts: tuple[str, ...]

    @property
    def span(self) -> SummarySpan:
        """The span of the key: day or month."""
        return SummarySpan.DAY if len(self.key) == _DAY else SummarySpan.MONTH

    def is_over(self, now: datetime) -> bool:
        """Check whether the period has passed, in UTC."""
        return self.key < now.strftime("%Y-%m-%d")[: len(self.key)]


class PassedOver(SummaryPeriod):
    """A period that was skipped because no summary of it could be made."""

    error: str = ""
    at: datetime


class SummaryIndex(SummaryAttempts):
    """An agent's summaries: the highest number, and the periods that wait for their summary.

    Numbers are never used again, even after an erasure. `gaps` are periods that were skipped, and
    `passed` counts all gaps that still exist.
    """

    last: int = 0
    periods: tuple[SummaryPeriod, ...] = ()
    gaps: tuple[PassedOver, ...] = ()
    passed: int = 0

    def with_part(self, key: str, summary_id: str) -> "SummaryIndex":
        """Return the index with a summary added to a period."""
        parts = next((period.parts for period in self.periods if period.key == key), ())
        return self._holding(key, (*parts, summary_id))

    def without_parts(self, key: str, told: AbstractSet[str]) -> "SummaryIndex":
        """Return the index without these summaries of a period: summarised already, or gone."""
        parts = next((period.parts for period in self.periods if period.key == key), ())
        return self._holding(key, tuple(part for part in parts if part not in told))

    def next_period(self, now: datetime) -> SummaryPeriod | None:
        """Return the next period to summarise: days before their month, oldest first; or None."""
        for period in self.periods:
            days = (other.key.startswith(f"{period.key}-") for other in self.periods)
            if period.is_over(now) and not any(days):
                return period
        return None

    def with_failed_period(
        self, key: str, why: str, now: datetime, *, blamed: bool
    ) -> "SummaryIndex":
        """Return the index after the summary of a period failed.

        Failures that are `blamed` on the period make it a gap after several attempts.
        """
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

    def with_failures_reset(self) -> "SummaryIndex":
        """Return the index with all failed periods to be tried again now."""
        after = self.replaced(failures=0, gaps=(), passed=self.passed - len(self.gaps))
        for key, part in ((gap.key, part) for gap in self.gaps for part in gap.parts):
            after = after.with_part(key, part)
        return after

    def _holding(self, key: str, parts: tuple[str, ...]) -> "SummaryIndex":
        others = [period for period in self.periods if period.key != key]
        periods = [*others, *([SummaryPeriod(key=key, parts=parts)] if parts else [])]
        return self.replaced(periods=tuple(sorted(periods, key=lambda period: period.key)))


def memory_summary_document_id(summary_id: str) -> str:
    """Return the id of a summary's document, which sorts by the summary's number."""
    return f"S{int(summary_id[1:]):09d}"
