"""Evidence for readers: the sum of closed days, each open day, and what is known of it now."""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from types import MappingProxyType

from opencrab.domain.identifier import new_ulid
from opencrab.domain.learning.aggregate import AggregatedEvidence, compute_learning_days
from opencrab.domain.learning.evidence import EVIDENCE, STANDING, ClosedEvidence, Evidence
from opencrab.domain.learning.review_period import MADE_UP_DAYS, review_day_midnight
from opencrab.domain.learning.reward import TurnOpinion, turn_feedback_opinions
from opencrab.domain.learning.reward_rows import CLOSED_REWARDS, ClosedRewards, KnownRewards
from opencrab.domain.learning.signals import SIGNALS, TurnSignals, signals_id
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.skills.skill import AcquiredSkill
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages

_DAYS = 200
"""A limit above the number of open days that can be stored."""

_NO_TEXTS: Mapping[str, datetime] = MappingProxyType({})


def load_current_learning_data(
    facts: Documents,
    agent_id: str,
    now: datetime,
    worded: Mapping[str, datetime] = _NO_TEXTS,
) -> AggregatedEvidence:
    """Load an agent's evidence with what was said of its turns up to now, also of today's.

    Days of the last week that are not closed are computed from their turns, as the nightly review
    does, but not stored; a day whose turns are no longer there is as stored. `worded` is when each
    skill got its current text: measurements of another text are dropped. The grades that an agent
    gave its own answers are those of the last review, as they need every single call.
    """
    stored = {fact.id: fact for fact in facts.page(agent_id, EVIDENCE, limit=_DAYS)}
    standing = stored.pop(STANDING).read(ClosedEvidence) if STANDING in stored else ClosedEvidence()
    days = {
        date.fromisoformat(day): fact.read(Evidence)
        for day, fact in stored.items()
        if day > standing.closed_to
    }
    today = now.astimezone(UTC).date()
    first = today - timedelta(days=MADE_UP_DAYS)
    if standing.closed_to:
        first = max(first, date.fromisoformat(standing.closed_to) + timedelta(days=1))
    since = review_day_midnight(first)
    signals = read_turn_signals(facts, agent_id, since)
    said = read_turn_opinions(facts, agent_id, since) if signals else ()
    found = compute_learning_days(signals, said, {}, ended=today, worded=worded)
    for day, of_day in found.items():
        known = {"grades": days[day].grades} if day in days else {}
        days[day] = of_day.evidence.replaced(**known)
    closed = facts.get(agent_id, CLOSED_REWARDS, CLOSED_REWARDS) if standing.closed_to else None
    worths = KnownRewards(
        closed.read(ClosedRewards).with_texts(worded) if closed else None,
        {day: each.worths for day, each in found.items()},
    )
    return AggregatedEvidence(today, standing, days, worths=worths)


def read_turn_signals(facts: Documents, agent_id: str, since: datetime) -> tuple[TurnSignals, ...]:
    """Return the signals of an agent's turns that ended since a time."""
    kept = all_pages(facts, agent_id, SIGNALS, after=signals_id(since))
    return tuple(fact.read(TurnSignals) for fact in kept)


def read_turn_opinions(facts: Documents, agent_id: str, since: datetime) -> tuple[TurnOpinion, ...]:
    """Return what people think of turns that ended since a time, by which feedback is sorted."""
    after = new_ulid(int(since.timestamp() * 1_000), bytes(10))
    kept = all_pages(facts, agent_id, EXPERIENCE, after=after)
    return turn_feedback_opinions(fact.read(Experience) for fact in kept)


def text_times_of_skills(skills: Iterable[AcquiredSkill]) -> dict[str, datetime]:
    """Return when each skill got its current text, where that is known."""
    return {skill.name: skill.worded_at for skill in skills if skill.worded_at is not None}
