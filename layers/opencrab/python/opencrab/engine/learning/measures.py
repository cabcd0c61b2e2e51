"""Reads of an agent's learning data: tallies, recent turn signals, candidate models, effects.

All reads are bounded: daily tallies instead of single calls, and only the newest turns.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from opencrab.domain.agents.agent import Agent
from opencrab.domain.errors import Invalid
from opencrab.domain.insight.figures import weeks_of_analytics
from opencrab.domain.learning.aggregate import learning_rewards_of_turns
from opencrab.domain.learning.model_selection import CandidateModel
from opencrab.domain.learning.reward import JudgedTurn, turn_feedback_opinions
from opencrab.domain.learning.signals import KEPT_DAYS, SIGNALS, TurnSignals, signals_id
from opencrab.domain.learning.treatment_effect import SkillEffect
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.skills.skill import AcquiredSkill
from opencrab.domain.usage.counters import DailyTally
from opencrab.domain.usage.ledger import Period
from opencrab.domain.value import Unit, Value
from opencrab.engine.runtime import Runtime
from opencrab.ports.documents import Documents
from opencrab.ports.models.model import Models, distinct_models, selectable_model_choices

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


def text_times_of_skills(skills: Iterable[AcquiredSkill]) -> dict[str, datetime]:
    """Return when each skill got its current text, where that is known."""
    return {skill.name: skill.worded_at for skill in skills if skill.worded_at is not None}


def learning_candidate_models(models: Models, agent: Agent) -> Mapping[str, CandidateModel]:
    """Return the models with a price that an agent may choose, by the first alias of each."""
    found = distinct_models(selectable_model_choices(models, agent))
    return {
        alias: CandidateModel(name=info.name, price=info.price, private=info.private)
        for alias, info in found.items()
        if info.price is not None
    }


def ready_candidate_models(runtime: Runtime, agent: Agent) -> Mapping[str, CandidateModel]:
    """Return the models that a night may try on an agent, by the first alias of each.

    Where its owner chose nothing about learning, a model on the owner's own machines must be there
    now: its server is asked, for at most 2 s, unless the model is a usual one.
    """
    found = learning_candidate_models(runtime.models, agent)
    if agent.llm.aim.is_chosen or len(found) == 1:
        return found
    routing = runtime.models.routing
    usual = {
        routing.aliases.get(name, name)
        for name in (routing.default, *routing.uses.values(), *agent.llm.models.values())
    }
    own = {
        each.name
        for alias, each in found.items()
        if each.name not in usual and runtime.models.get(alias).info.private
    }
    missing = own - _ready_models(runtime, own)
    return {alias: each for alias, each in found.items() if each.name not in missing}


def _ready_models(runtime: Runtime, names: Iterable[str]) -> frozenset[str]:
    """Return those of these models that their servers list now."""
    providers = {name.partition(":")[0] for name in names}
    if not providers or runtime.directory is None:
        return frozenset()
    from opencrab.engine.models.available_models import available_models  # noqa: PLC0415 - at night

    return frozenset(
        each.info.name
        for provider in sorted(providers)
        for each in available_models(runtime.directory, provider)
        if not each.problem
    )


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
