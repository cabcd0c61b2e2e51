"""The share of the day for own turns: whether a simulation ever spent more than was in force."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from opencrab.domain.access.authority import Source
from opencrab.domain.errors import NotFound
from opencrab.domain.money.budget import heartbeat_budget_scope
from opencrab.domain.usage.ledger import UsageRow
from opencrab.domain.value import MicroUsd, Value
from opencrab.ports.turn.journal import Journal

_KIND = heartbeat_budget_scope("")


class ShareUse(Value):
    """The largest share of a day that an agent used, 1 is all of it, and the calls beyond it."""

    most: float = 0.0
    calls_beyond: int = 0


class ShareCall(Value):
    """A model call that counts on an agent's share: its own, or one that its question caused."""

    at: datetime
    cost: MicroUsd


def simulated_calls_on_shares(
    journal: Journal, rows: Iterable[UsageRow]
) -> dict[str, list[ShareCall]]:
    """Return the calls that count on each agent's share, by the journal's headers."""
    found = defaultdict[str, list[ShareCall]](list)
    for row in rows:
        try:
            turn = journal.header(row.turn_id)
        except NotFound:
            continue
        scopes = {each for each in turn.scopes or () if each.startswith(_KIND)}
        if turn.source is Source.HEARTBEAT:
            scopes.add(heartbeat_budget_scope(turn.agent_id))
        for scope in scopes:
            found[scope.removeprefix(_KIND)].append(ShareCall(at=row.at, cost=row.cost))
    return found


def simulated_share_use(
    calls: Iterable[ShareCall], limits: Sequence[tuple[datetime, MicroUsd]]
) -> ShareUse:
    """Return what an agent used of its share; `limits` are those in force, by time.

    A limit that was lowered below what was spent already forbids the next call.
    """
    spent, most, beyond = defaultdict[str, int](int), 0.0, 0
    for call in sorted(calls, key=lambda each: each.at):
        day = f"{call.at:%Y-%m-%d}"
        spent[day] += call.cost
        limit = next((limit for at, limit in reversed(limits) if at <= call.at), 0)
        beyond += call.cost > 0 and spent[day] > limit
        most = max(most, spent[day] / limit if limit else 0.0)
    return ShareUse(most=round(most, 4), calls_beyond=beyond)


def simulated_shares_of_agents(
    calls: Mapping[str, list[ShareCall]], limits: Mapping[str, Sequence[tuple[datetime, MicroUsd]]]
) -> dict[str, ShareUse]:
    """Return what each agent used of its share."""
    return {
        agent_id: simulated_share_use(calls.get(agent_id, ()), limits[agent_id])
        for agent_id in limits
    }
