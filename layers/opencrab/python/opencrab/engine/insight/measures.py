"""Reads of an agent's learning data for analytics: tallies, recent turn signals, effects.

All reads are bounded: daily tallies instead of single calls, and only the newest turns.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from opencrab.domain.errors import Invalid
from opencrab.domain.insight.figures import weeks_of_analytics
from opencrab.domain.learning.aggregate import learning_rewards_of_turns
from opencrab.domain.learning.reward import JudgedTurn, turn_feedback_opinions
from opencrab.domain.learning.signals import KEPT_DAYS, SIGNALS, TurnSignals, signals_id
from opencrab.domain.learning.treatment_effect import SkillEffect
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.usage.ledger import Period
from opencrab.domain.value import Unit, Value
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.models.model import Models

MOST_TURNS = 1_000
"""Most turns whose signals are read, the newest."""

LITTLE = "too_little_data"
"""Reason for a missing number."""

MOST_EXPERIENCES = 500
"""Most experiences that are searched for feedback, the newest."""

_PAGE = 250
_PERCENT = 100


@dataclass(frozen=True)
class RecentSignals:
    """Signals of an agent's last turns, newest first; they are complete from `since` on.

    `complete` is true if they reach as far back as was asked.
    """

    signals: tuple[TurnSignals, ...]
    since: datetime
    complete: bool


class Measure(Value):
    """Effect on the value of turns in points of 100, with its 95 % confidence interval.

    `given` and `held` are the sample sizes: judged turns with and without it. `helps` is the
    posterior probability that the effect is positive. `reason` says why there is no number.
    """

    points: float | None = None
    low: float | None = None
    high: float | None = None
    given: int = 0
    held: int = 0
    helps: Unit | None = None
    reason: str | None = None


def read_learning_tallies(runtime: Runtime, agent_id: str, period: Period) -> Iterator[DailyTally]:
    """Yield an agent's tallies of a period, read week by week to bound memory."""
    for first, last in weeks_of_analytics(period, runtime.clock.now()):
        yield from runtime.home.tallies.between(agent_id, first, last)


def recent_learning_signals(
    runtime: Runtime, agent_id: str, since: datetime | None = None
) -> RecentSignals:
    """Return the signals of an agent's last turns, at most MOST_TURNS or KEPT_DAYS days."""
    earliest = runtime.clock.now() - timedelta(days=KEPT_DAYS)
    whole = since is None or since >= earliest
    since = earliest if since is None else max(since, earliest)
    found, after, bound = list[TurnSignals](), "", signals_id(since)
    while len(found) < MOST_TURNS:
        page = runtime.home.facts.page(
            agent_id, SIGNALS, after=after, limit=_PAGE, newest_first=True
        )
        fresh = [fact.read(TurnSignals) for fact in page if fact.id >= bound]
        found.extend(fresh)
        if len(fresh) < _PAGE:
            return RecentSignals(tuple(found), since, complete=whole)
        after = page[-1].id
    return RecentSignals(tuple(found), found[-1].at, complete=False)


def judge_turns_for_learning(
    facts: Documents, agent_id: str, turns: RecentSignals
) -> tuple[JudgedTurn, ...]:
    """Return the value of each of these turns, by the feedback known now."""
    page = facts.page(agent_id, EXPERIENCE, limit=MOST_EXPERIENCES, newest_first=True)
    lived = sorted((fact.read(Experience) for fact in page), key=lambda each: each.at)
    return learning_rewards_of_turns(turns.signals, turn_feedback_opinions(lived))


def learning_effect_in_points(effect: SkillEffect | None) -> Measure:
    """Convert an effect to points of 100 for display."""
    if effect is None:
        return Measure(reason=LITTLE)
    estimate = effect.estimate
    if estimate is None:
        return Measure(given=effect.given, held=effect.held, reason=LITTLE)
    return Measure(
        points=_effect_in_percentage_points(estimate.mean),
        low=_effect_in_percentage_points(estimate.low),
        high=_effect_in_percentage_points(estimate.high),
        given=effect.given,
        held=effect.held,
        helps=round(effect.helps, 3),
    )


def model_name_for_evidence(models: Models, reference: str) -> str | None:
    """Return the full name of the model behind an alias; None if it is not configured."""
    try:
        return models.get(reference).info.name
    except Invalid:
        return None


def _effect_in_percentage_points(share: float) -> float:
    """Return a share or a difference of shares in points of 100, to one decimal."""
    return round(share * _PERCENT, 1)


def iso_review_week(at: datetime | str) -> str:
    """Return the ISO week of a time or day in UTC, like 2026-W47."""
    moment = datetime.fromisoformat(at) if isinstance(at, str) else at
    year, week, _ = moment.isocalendar()
    return f"{year}-W{week:02d}"
