"""The account of a simulation: everything is read from what the installation has stored."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from opencrab.domain.autonomy.vital_signs import VitalSigns
from opencrab.domain.goals.goal import GOAL, Goal
from opencrab.domain.goals.promise import PromiseStatus
from opencrab.domain.usage.ledger import UsageRow
from opencrab.engine.agents.vital_signs import agent_vital_signs_document
from opencrab.engine.runtime import Runtime
from opencrab.engine.simulation.goal_ending import goal_ends_in_simulation, promises_in_simulation
from opencrab.engine.simulation.owner import SimulatedOwner
from opencrab.engine.simulation.reasons import (
    schedules_in_simulation,
    simulated_turn,
    simulated_turns_without_reason,
)
from opencrab.engine.simulation.result import (
    SimulatedLife,
    SimulationResult,
    simulation_share_of_whole,
    simulation_total_of_agents,
)
from opencrab.engine.simulation.share_of_day import (
    ShareUse,
    simulated_calls_on_shares,
    simulated_shares_of_agents,
)
from opencrab.engine.simulation.trust_comparison import (
    PairTrust,
    trust_auc_in_simulation,
    trust_stored_in_simulation,
)
from opencrab.engine.simulation.world import SimulatedWorld
from opencrab.ports.documents import Documents
from opencrab.ports.paging import all_pages, paginate

_PAGE = 100


@dataclass(frozen=True)
class _Stored:
    """What the account is made of; `names` are those of the agents, by id."""

    runtime: Runtime
    world: SimulatedWorld
    names: Mapping[str, str]
    breakers: Collection[str]
    rows: Mapping[str, list[UsageRow]]
    shares: Mapping[str, ShareUse]
    trust: Collection[PairTrust]


def simulation_account(
    runtime: Runtime,
    world: SimulatedWorld,
    owner: SimulatedOwner,
    names: Mapping[str, str],
    breakers: Collection[str],
    *,
    hours: float,
    seed: int,
) -> SimulationResult:
    """Return what a simulation came to; `breakers` are the names of those that break promises."""
    usage, facts = runtime.home.usage, runtime.home.facts
    rows = {each: list(paginate(usage.rows, each, limit=_PAGE)) for each in names}
    calls = simulated_calls_on_shares(
        runtime.home.journal, (row for listed in rows.values() for row in listed)
    )
    pairs = trust_stored_in_simulation(
        facts, names, runtime.clock.now(), runtime.rules.autonomy.peer_prior
    )
    stored = _Stored(
        runtime=runtime,
        world=world,
        names=names,
        breakers=breakers,
        rows=rows,
        shares=simulated_shares_of_agents(calls, owner.limits),
        trust=pairs,
    )
    by_agent = {name: _life(stored, agent_id) for agent_id, name in names.items()}
    broken = {agent_id for agent_id, name in names.items() if name in breakers}
    return simulation_total_of_agents(
        by_agent, hours=hours, seed=seed, trust_auc=trust_auc_in_simulation(pairs, broken)
    )


def _life(stored: _Stored, agent_id: str) -> SimulatedLife:
    home = stored.runtime.home
    fact = agent_vital_signs_document(home.facts, agent_id)
    if fact is None:
        return SimulatedLife()
    signs, rows = fact.read(VitalSigns), stored.rows[agent_id]
    goals, told = _goals(home.facts, agent_id), stored.world.told[agent_id]
    turns = {row.turn_id: row for row in rows}
    unreasoned = simulated_turns_without_reason(
        [simulated_turn(home.journal, row) for row in turns.values()],
        told,
        {goal.id: goal for goal in goals},
        schedules_in_simulation(home, agent_id),
    )
    promises = Counter(each.status for each in promises_in_simulation(home, agent_id))
    kept, broken = promises[PromiseStatus.KEPT], promises[PromiseStatus.BROKEN]
    return SimulatedLife(
        beats=signs.beats,
        idle_beats=signs.idle,
        idle_share=simulation_share_of_whole(signs.idle, signs.beats),
        turns=len(turns),
        model_calls=len(rows),
        model_calls_without_reason=sum(row.turn_id in unreasoned for row in rows),
        spend_micro_usd=sum(row.cost for row in rows),
        events=len(told),
        goals=dict(sorted(Counter(goal.source.value for goal in goals).items())),
        goal_ends=dict(
            sorted((k.value, n) for k, n in goal_ends_in_simulation(home, agent_id, goals).items())
        ),
        promises=kept + broken,
        kept=kept,
        breaks_promises=stored.names[agent_id] in stored.breakers,
        trust=_mean_trust(stored.trust, agent_id),
        most_of_share=stored.shares[agent_id].most,
        calls_beyond_share=stored.shares[agent_id].calls_beyond,
        status=home.agents.get(agent_id).agent.status.value,
    )


def _mean_trust(pairs: Collection[PairTrust], agent_id: str) -> float | None:
    """Return how far others trust an agent on average."""
    trusts = [trust for _, whom, trust in pairs if whom == agent_id]
    return round(sum(trusts) / len(trusts), 3) if trusts else None


def _goals(facts: Documents, agent_id: str) -> list[Goal]:
    return [fact.read(Goal) for fact in all_pages(facts, agent_id, GOAL)]
