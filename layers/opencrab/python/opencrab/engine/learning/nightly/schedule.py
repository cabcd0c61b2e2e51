"""Scheduling of nightly reviews: one queue message a day for each agent that was active.

Messages are sent in order of agents, and a document of the installation stores the progress, from
which the next call continues. A duplicate message does no harm. Agents with many new sessions get a
message during the day as well, to review their skills.
"""

import heapq
import logging
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import groupby, islice
from typing import Annotated

from pydantic import Field

from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Invalid, Unavailable, UnreadableValue
from opencrab.domain.learning.review_period import (
    KEPT,
    MADE_UP_DAYS,
    NIGHT,
    NIGHTFALL,
    NightlyRun,
    NightlySending,
    ReviewPeriod,
    last_ended_review_day,
    parse_review_period,
    review_period,
    review_periods_ending_on,
)
from opencrab.domain.value import Identifier, Value
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import paginate
from opencrab.ports.turn.queue import BatchedMessage
from opencrab.ports.usage.counters import Tallies

log = logging.getLogger(__name__)

_PAGE = 100
_SKEW = timedelta(days=1)
"""Tolerance for clocks: around the hour of the run they may disagree by a day."""


class NightMessage(Value):
    """Body of a message in the queue of nightly reviews."""

    v: Annotated[int, Field(ge=1, le=1, strict=True)] = 1
    agent: Identifier
    period: Annotated[str, Field(max_length=40)]


def send_nightly_learning_reviews(runtime: Runtime) -> int:
    """Send a message for each agent active on the days that are over; returns the number sent.

    Costs one read until a day is over. Missed nights are sent later, at most seven days back.
    Raises Unavailable if a store cannot be reached; the next call then continues.
    """
    ended = last_ended_review_day(runtime.clock.now(), runtime.rules.trials.night_hour)
    fact, fallen = _load_send_progress(runtime.home.facts, ended)
    sent = 0
    try:
        for day in _missed_days(fallen, ended):
            for stretch in _left(fallen, day):
                fact, fallen, more = _fall(runtime.home, fact, fallen, stretch)
                sent += more
            fallen = NightlySending(done=day)
            fact = _save_send_progress(runtime.home.facts, fact, fallen)
    except Changed:
        # Another process sends them now.
        return sent
    return sent


def send_learning_reviews_by_sessions(runtime: Runtime) -> int:
    """Send a message for each agent with enough sessions today since its last review.

    Returns the number sent. Costs one read, and one for each agent that was active today, plus a
    read and a write for each message. An agent with enough sessions for several reviews gets one
    message; one whose data cannot be reached is tried again an hour later. Raises Unavailable if
    the agents cannot be listed.
    """
    if not runtime.rules.trials.review_sessions:
        return 0
    now, sent = runtime.clock.now(), 0
    for agent_id in _active_on(runtime.home.tallies, now.astimezone(UTC).date().isoformat(), ""):
        try:
            sent += _send_review_if_due(runtime, agent_id, now)
        except Changed:
            # The review has begun already.
            continue
        except Unavailable as error:
            log.warning(
                "skill review skipped this hour: agent=%s, error=%s", agent_id, error.message
            )
    return sent


def _send_review_if_due(runtime: Runtime, agent_id: str, now: datetime) -> bool:
    """Send an agent's message if it is due and record that; returns True if it was sent."""
    stretch = current_review_period(runtime, agent_id)
    if not stretch.number or runtime.home.facts.get(agent_id, NIGHT, stretch.id) is not None:
        return False
    message = _message(agent_id, stretch)
    runtime.home.nights.send(message.body, group=message.group, deduplication=message.deduplication)
    begun = new_fact(agent_id, NIGHT, stretch.id, NightlyRun(at=now), expires_at=now + KEPT)
    runtime.home.facts.commit(begun)
    return True


def current_review_period(runtime: Runtime, agent_id: str) -> ReviewPeriod:
    """Return an agent's current day, numbered by how often enough sessions began; one read."""
    day, every = runtime.clock.now().astimezone(UTC).date(), runtime.rules.trials.review_sessions
    if not every:
        return review_period(day, 0)
    tallies = runtime.home.tallies.between(agent_id, day.isoformat(), day.isoformat())
    return review_period(day, sum(each.counts.get("sessions", 0) for each in tallies) // every)


def parse_review_message(body: str) -> tuple[str, ReviewPeriod]:
    """Return the agent and the period that a message names; raises Invalid if it is malformed."""
    try:
        message = NightMessage.from_stored(body)
    except UnreadableValue:
        raise Invalid(f"malformed message of the nightly queue: {body[:100]!r}") from None
    return message.agent, parse_review_period(message.period)


def _missed_days(fallen: NightlySending, ended: date) -> Iterator[date]:
    day = max(fallen.done, ended - timedelta(days=MADE_UP_DAYS)) + timedelta(days=1)
    while day <= ended:
        yield day
        day += timedelta(days=1)


def _left(fallen: NightlySending, day: date) -> tuple[ReviewPeriod, ...]:
    """Return the periods that end with a day, from the one being sent on."""
    stretches = tuple(review_periods_ending_on(day))
    names = [stretch.id for stretch in stretches]
    return stretches[names.index(fallen.doing) :] if fallen.doing in names else stretches


def _fall(
    home: Home, fact: Document | None, fallen: NightlySending, stretch: ReviewPeriod
) -> tuple[Document | None, NightlySending, int]:
    """Send the remaining messages of one period, saving the progress after every hundred."""
    after = fallen.after if fallen.doing == stretch.id else ""
    agents, sent = _active(home.tallies, stretch.days, after), 0
    while portion := tuple(islice(agents, _PAGE)):
        home.nights.send_batch(_message(agent_id, stretch) for agent_id in portion)
        sent += len(portion)
        fallen = fallen.replaced(doing=stretch.id, after=portion[-1])
        fact = _save_send_progress(home.facts, fact, fallen)
    return fact, fallen, sent


def _message(agent_id: str, stretch: ReviewPeriod) -> BatchedMessage:
    return BatchedMessage(
        NightMessage(agent=agent_id, period=stretch.id).model_dump_json(),
        group=agent_id,
        deduplication=f"{agent_id}#{stretch.id}",
    )


def _active(tallies: Tallies, days: tuple[date, ...], after: str) -> Iterator[str]:
    """Yield the agents that were active on any of the days, sorted and without duplicates."""
    merged = heapq.merge(*(_active_on(tallies, day.isoformat(), after) for day in days))
    return (agent_id for agent_id, _ in groupby(merged))


def _active_on(tallies: Tallies, day: str, after: str) -> Iterator[str]:
    return paginate(tallies.active_agents, day, after=after, limit=_PAGE, key=str)


def _load_send_progress(facts: Documents, ended: date) -> tuple[Document | None, NightlySending]:
    """Load the progress; a new installation begins with the day that just ended.

    Progress that a fast clock moved into the future is set back, so that the days are sent again.
    """
    fact = facts.get(INSTALLATION_FACTS, NIGHTFALL, NIGHTFALL)
    if fact is None:
        return None, NightlySending(done=ended - timedelta(days=1))
    fallen = fact.read(NightlySending)
    if fallen.done > ended + _SKEW:
        log.warning(
            "nightly runs were sent up to %s, which is after the last ended day %s; sending again",
            fallen.done,
            ended,
        )
        fallen = NightlySending(done=ended - timedelta(days=MADE_UP_DAYS))
    return fact, fallen


def _save_send_progress(
    facts: Documents, fact: Document | None, fallen: NightlySending
) -> Document:
    """Save the progress; raises Changed if another process saved it."""
    if fact is None:
        after = new_fact(INSTALLATION_FACTS, NIGHTFALL, NIGHTFALL, fallen)
    else:
        after = fact.with_body(fallen)
    facts.commit(after)
    return after
