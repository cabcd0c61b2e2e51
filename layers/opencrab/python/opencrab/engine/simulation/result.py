"""Results of a simulation: what each agent did, and all of them together."""

from collections import Counter
from collections.abc import Mapping

from pydantic import Field

from opencrab.domain.value import MicroUsd, Value

_DECIMALS = 4


class SimulatedLife(Value):
    """Totals of one agent.

    `idle_share` is the share of heartbeats without a reason to act. `goal_ends` counts how goals
    ended; `promises` those that are settled, `kept` of them. `trust` is how far others trust it on
    average, None if nobody has worked with it. `most_of_share` is the largest part of a day's share
    for own turns that it used, `calls_beyond_share` should be 0.
    """

    beats: int = 0
    idle_beats: int = 0
    idle_share: float = 0.0
    turns: int = 0
    model_calls: int = 0
    model_calls_without_reason: int = 0
    spend_micro_usd: MicroUsd = 0
    events: int = 0
    goals: dict[str, int] = Field(default_factory=dict)
    goal_ends: dict[str, int] = Field(default_factory=dict)
    promises: int = 0
    kept: int = 0
    breaks_promises: bool = False
    trust: float | None = None
    most_of_share: float = 0.0
    calls_beyond_share: int = 0
    status: str = "active"

    @property
    def ended(self) -> int:
        """The number of goals that have ended."""
        return sum(self.goal_ends.values())

    @property
    def checked(self) -> int:
        """The number of goals that ended by a condition that code checked."""
        return self.goal_ends.get("checked", 0)


class SimulationResult(Value):
    """Totals of all agents, and of each.

    `checked_share` is the share of ended goals that ended by a checked condition. `trust_auc` is
    the probability that an agent trusts one that keeps its promises more than one that breaks them,
    None if nobody has worked with both.
    """

    agents: int
    hours: float
    seed: int
    beats: int
    idle_share: float
    turns: int
    model_calls: int
    model_calls_without_reason: int
    calls_beyond_share: int = 0
    spend_micro_usd: MicroUsd
    goals_by_source: dict[str, int]
    goal_ends: dict[str, int] = Field(default_factory=dict)
    checked_share: float = 0.0
    promises: int = 0
    kept: int = 0
    trust_auc: float | None = None
    by_agent: dict[str, SimulatedLife]


def simulation_total_of_agents(
    by_agent: Mapping[str, SimulatedLife], *, hours: float, seed: int, trust_auc: float | None
) -> SimulationResult:
    """Add up what all agents did."""
    lives = tuple(by_agent.values())
    sources = sum((Counter(life.goals) for life in lives), Counter[str]())
    ends = sum((Counter(life.goal_ends) for life in lives), Counter[str]())
    beats = sum(life.beats for life in lives)
    return SimulationResult(
        agents=len(lives),
        hours=hours,
        seed=seed,
        beats=beats,
        idle_share=simulation_share_of_whole(sum(life.idle_beats for life in lives), beats),
        turns=sum(life.turns for life in lives),
        model_calls=sum(life.model_calls for life in lives),
        model_calls_without_reason=sum(life.model_calls_without_reason for life in lives),
        calls_beyond_share=sum(life.calls_beyond_share for life in lives),
        spend_micro_usd=sum(life.spend_micro_usd for life in lives),
        goals_by_source=dict(sorted(sources.items())),
        goal_ends=dict(sorted(ends.items())),
        checked_share=simulation_share_of_whole(ends["checked"], sum(ends.values())),
        promises=sum(life.promises for life in lives),
        kept=sum(life.kept for life in lives),
        trust_auc=None if trust_auc is None else round(trust_auc, _DECIMALS),
        by_agent=dict(by_agent),
    )


def simulation_share_of_whole(part: int, whole: int) -> float:
    """Return a share, rounded for people; 0 of nothing."""
    return round(part / whole, _DECIMALS) if whole else 0.0
