"""Nights: once a day each agent that was active is to look at what it did; here it is told so.

The messages go out in order of agents, and the installation's fact says how far they have come:
whoever calls next goes on from there. A message that comes twice does no harm. Whose day had many
new sessions is told by day too, to review its skills.
"""

import heapq
import logging
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from itertools import groupby, islice
from typing import Annotated

from pydantic import Field, ValidationError

from opencrab.domain.document import INSTALLATION_FACTS, Document, new_fact
from opencrab.domain.errors import Changed, Invalid, Unavailable
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
    periods_ending_on,
    review_period,
)
from opencrab.domain.value import Identifier, Value
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.home import Home
from opencrab.ports.paging import paginate
from opencrab.ports.turn.queue import Queue
from opencrab.ports.usage.counters import Tallies

log = logging.getLogger(__name__)

_PAGE = 100
_SKEW = timedelta(days=1)
"""Where a night falls, clocks that differ a little are a day apart."""


class NightMessage(Value):
    """The body of a message of the queue of nights."""

    v: Annotated[int, Field(ge=1, le=1, strict=True)] = 1
    agent: Identifier
    period: Annotated[str, Field(max_length=40)]


def send_nightly_reviews(runtime: Runtime) -> int:
    """Send a message for each active agent of the days that are over; answers how many were sent.

    Until a day is over this is one read. Nights that were missed are made up for, seven days back
    at most. Raises Unavailable when a store is, and then the next call goes on.
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
        # Somebody else sends them now.
        return sent
    return sent


def send_session_count_reviews(runtime: Runtime) -> int:
    """Send a message for each agent whose day so far had enough new sessions since its last review.

    Answers how many were sent. One read for each agent that was active today, and one before; those
    that are due are read once more, and that they were told is written. Whoever had enough sessions
    for several reviews since the last look gets one, and who cannot be looked at now is looked at
    an hour later. Raises Unavailable when nobody can be listed.
    """
    if not runtime.rules.trials.review_sessions:
        return 0
    now, sent = runtime.clock.now(), 0
    for agent_id in _active_on(runtime.home.tallies, now.astimezone(UTC).date().isoformat(), ""):
        try:
            sent += _send_review_if_due(runtime, agent_id, now)
        except Changed:
            # It begins already.
            continue
        except Unavailable as error:
            log.warning("skill review of agent %s skipped this hour: %s", agent_id, error.message)
    return sent


def _send_review_if_due(runtime: Runtime, agent_id: str, now: datetime) -> bool:
    """Send one agent's message if that is due, and say so; answers whether it was."""
    stretch = current_review_period(runtime, agent_id)
    if not stretch.number or runtime.home.facts.get(agent_id, NIGHT, stretch.id) is not None:
        return False
    _send(runtime.home.nights, agent_id, stretch)
    begun = new_fact(agent_id, NIGHT, stretch.id, NightlyRun(at=now), expires_at=now + KEPT)
    runtime.home.facts.commit(begun)
    return True


def current_review_period(runtime: Runtime, agent_id: str) -> ReviewPeriod:
    """An agent's day so far, by how many times enough sessions have begun in it: one read."""
    day, every = runtime.clock.now().astimezone(UTC).date(), runtime.rules.trials.review_sessions
    if not every:
        return review_period(day, 0)
    tallies = runtime.home.tallies.between(agent_id, day.isoformat(), day.isoformat())
    return review_period(day, sum(each.counts.get("sessions", 0) for each in tallies) // every)


def parse_review_message(body: str) -> tuple[str, ReviewPeriod]:
    """The agent and the period that a message names; raises Invalid for one of unknown form."""
    try:
        message = NightMessage.model_validate_json(body)
    except ValidationError:
        raise Invalid("malformed nightly-run message") from None
    return message.agent, parse_review_period(message.period)


def _missed_days(fallen: NightlySending, ended: date) -> Iterator[date]:
    day = max(fallen.done, ended - timedelta(days=MADE_UP_DAYS)) + timedelta(days=1)
    while day <= ended:
        yield day
        day += timedelta(days=1)


def _left(fallen: NightlySending, day: date) -> tuple[ReviewPeriod, ...]:
    """The periods that end with a day, without those before the one that is being sent."""
    stretches = tuple(periods_ending_on(day))
    names = [stretch.id for stretch in stretches]
    return stretches[names.index(fallen.doing) :] if fallen.doing in names else stretches


def _fall(
    home: Home, fact: Document | None, fallen: NightlySending, stretch: ReviewPeriod
) -> tuple[Document | None, NightlySending, int]:
    """Send the messages of one period that were not sent yet, hundred by hundred."""
    after = fallen.after if fallen.doing == stretch.id else ""
    agents, sent = _active(home.tallies, stretch.days, after), 0
    while portion := tuple(islice(agents, _PAGE)):
        for agent_id in portion:
            _send(home.nights, agent_id, stretch)
        sent += len(portion)
        fallen = fallen.replaced(doing=stretch.id, after=portion[-1])
        fact = _save_send_progress(home.facts, fact, fallen)
    return fact, fallen, sent


def _send(nights: Queue, agent_id: str, stretch: ReviewPeriod) -> None:
    nights.send(
        NightMessage(agent=agent_id, period=stretch.id).model_dump_json(),
        group=agent_id,
        deduplication=f"{agent_id}#{stretch.id}",
    )


def _active(tallies: Tallies, days: tuple[date, ...], after: str) -> Iterator[str]:
    """Agents that were active on any of the days, in order, each once, without the others."""
    merged = heapq.merge(*(_active_on(tallies, day.isoformat(), after) for day in days))
    return (agent_id for agent_id, _ in groupby(merged))


def _active_on(tallies: Tallies, day: str, after: str) -> Iterator[str]:
    return paginate(tallies.active, day, after=after, limit=_PAGE, key=str)


def _load_send_progress(facts: Documents, ended: date) -> tuple[Document | None, NightlySending]:
    """How far it came; an installation that is new begins with the day that just ended.

    What was sent while a clock was ahead is sent again when its time has come.
    """
    fact = facts.get(INSTALLATION_FACTS, NIGHTFALL, NIGHTFALL)
    if fact is None:
        return None, NightlySending(done=ended - timedelta(days=1))
    fallen = fact.read(NightlySending)
    if fallen.done > ended + _SKEW:
        log.warning("nightly runs were sent up to %s, but only %s has ended", fallen.done, ended)
        fallen = NightlySending(done=ended - timedelta(days=MADE_UP_DAYS))
    return fact, fallen


def _save_send_progress(
    facts: Documents, fact: Document | None, fallen: NightlySending
) -> Document:
    """Say how far it has come; raises Changed where somebody else went on."""
    if fact is None:
        after = new_fact(INSTALLATION_FACTS, NIGHTFALL, NIGHTFALL, fallen)
    else:
        after = fact.holding(fallen)
    facts.commit(after)
    return after
