"""What must hold of money once every turn has ended, whoever died on the way."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from pydantic import TypeAdapter

from opencrab.adapters.dynamodb.money.lease import SLICE_DRAWS
from opencrab.domain.money.budget import WHOLE
from opencrab.domain.turn.record import ModelIntent, ModelResult, Record
from opencrab.domain.turn.turn import Turn
from opencrab.domain.usage.ledger import UsageRow
from tests.money.account import PICO, Budget
from tests.money.town import AGENTS, Town
from tests.money.vendor import Entry

_RECORD: TypeAdapter[Record] = TypeAdapter(Record)
_ROWS = 100_000
_RETURNED_DAYS = 3
_LEASES_END = timedelta(days=1)
Call = tuple[str, int]
"""A turn and the number of its record."""


@dataclass
class Rest:
    """What is stored when nothing moves any more, and the vendors' books."""

    turns: dict[str, Turn] = field(default_factory=dict)
    intents: dict[Call, ModelIntent] = field(default_factory=dict)
    results: dict[Call, ModelResult] = field(default_factory=dict)
    drawn: Counter[Budget] = field(default_factory=Counter)
    rows: list[UsageRow] = field(default_factory=list)
    book: list[Entry] = field(default_factory=list)


def at_rest(town: Town) -> Rest:
    """Let leases of budgets end, and read everything once."""
    town.raw.budgets.return_unspent(town.clock.now() + _LEASES_END)
    rest = Rest(book=town.market.book)
    for pk, sk, body in town.ground.items():
        kind, _, name = pk.partition("#")
        if kind == "TURN" and sk == "H":
            rest.turns[name] = Turn.model_validate_json(body)
        elif kind == "TURN":
            record = _RECORD.validate_json(body)
            if isinstance(record, ModelIntent):
                rest.intents[name, record.n] = record
            elif isinstance(record, ModelResult):
                rest.results[name, record.n] = record
        elif kind == "BUDGET":
            rest.drawn[name, sk] += int(body)
    for agent in AGENTS:
        rest.rows += town.raw.usage.rows(agent["id"], limit=_ROWS)
    return rest


def problems(town: Town, rest: Rest) -> list[str]:
    """Every invariant that this run broke, in words; empty when all hold."""
    found = list(town.account.problems)
    for turn in rest.turns.values():
        found.extend(_ended(turn))
    found.extend(_rows(town, rest))
    found.extend(_bill(rest))
    found.extend(_budgets(town, rest))
    found.extend(_overspent(town, rest))
    return found


def overspend(town: Town, rest: Rest) -> int:
    """Millionths of a micro-dollar billed over what was drawn, or over the limit, of any budget.

    What a vendor billed over its own prices, or in secret, does not count: nobody can know it.
    """
    return sum(over for _, over in _over(town, rest))


def _ended(turn: Turn) -> Iterator[str]:
    if not turn.status.is_end:
        yield f"turn {turn.id} is still {turn.status}"
    if turn.allowance:
        yield f"turn {turn.id} ended and kept {turn.allowance}"


def _rows(town: Town, rest: Rest) -> Iterator[str]:
    """One row for each call that could be made, at the cost that its turn was charged."""
    counted = Counter((row.turn_id, row.n) for row in rest.rows)
    yield from (f"call {call} has {n} rows" for call, n in counted.items() if n > 1)
    for call in counted.keys() ^ town.account.intents.keys():
        yield f"call {call} has {counted[call]} rows, reserved: {call in town.account.intents}"
    costs: Counter[str] = Counter()
    for row in rest.rows:
        costs[row.turn_id] += row.cost
        call = (row.turn_id, row.n)
        result, intent = rest.results.get(call), rest.intents.get(call)
        if result is None or (result.cost, result.state) != (row.cost, row.state):
            yield f"the row of {call} says {row.cost} ({row.state}), its result something else"
        if intent is None or intent.reserved != row.reserved:
            yield f"the row of {call} says {row.reserved} reserved, its intent something else"
    for turn in rest.turns.values():
        if costs[turn.id] != turn.spent:
            yield f"turn {turn.id} spent {turn.spent}, its rows {costs[turn.id]}"


def _bill(rest: Rest) -> Iterator[str]:
    """No call is received twice, and none is billed beyond what its row says."""
    costs = {(row.turn_id, row.n): row.cost for row in rest.rows}
    received = Counter((entry.turn_id, entry.n) for entry in rest.book)
    yield from (f"call {call} was received {n} times" for call, n in received.items() if n > 1)
    for entry in rest.book:
        cost = costs.get((entry.turn_id, entry.n), 0)
        if entry.picos - entry.beyond - entry.concealed > cost * PICO:
            yield f"{entry.turn_id}/{entry.n} was billed {entry.picos / PICO}, charged {cost}"


def _budgets(town: Town, rest: Rest) -> Iterator[str]:
    """What budgets have is what turns left there, on the days that their blocks were drawn from."""
    spent: Counter[Budget] = Counter()
    for turn in rest.turns.values():
        for day, amount in _settled(town, turn).items():
            for scope in town.account.scopes_of(turn):
                spent[scope, _day(scope, day)] += amount
    stranded = _most_stranded(town)
    for budget in sorted(spent.keys() | rest.drawn.keys()):
        if not spent[budget] <= rest.drawn[budget] <= spent[budget] + stranded:
            yield f"{budget} has {rest.drawn[budget]} drawn, turns spent {spent[budget]} of it"
        if spent[budget] != town.account.drawn[budget]:
            yield f"{town.account.drawn[budget]} of {budget} were written, {spent[budget]} spent"


def _most_stranded(town: Town) -> int:
    """What may stay drawn unused: slices of leases whose turn's transaction did not happen."""
    if town.ground.name != "aws":
        return 0
    trouble = town.scheduler.kills + town.scheduler.sleeps + town.conflicts_met
    return trouble * SLICE_DRAWS * max(town.account.largest_draw, 1)


def _overspent(town: Town, rest: Rest) -> Iterator[str]:
    yield from (f"{budget} is overspent by {over / PICO}" for budget, over in _over(town, rest))
    excess = any(entry.beyond for entry in rest.book)
    for budget, drawn in rest.drawn.items():
        if town.ground.name == "aws" and budget not in town.account.allowed:
            continue  # a slice for a turn that drew nothing: `leases.py` knows its limit
        if drawn > town.account.allowed.get(budget, 0) and not excess:
            yield f"{budget} has {drawn} drawn of {town.account.allowed.get(budget, 0)}"


def _over(town: Town, rest: Rest) -> Iterator[tuple[Budget, int]]:
    """Budgets whose bill is larger than what was drawn from them, or than they ever were."""
    turns: Counter[str] = Counter()
    for entry in rest.book:
        turns[entry.turn_id] += entry.picos - max(entry.beyond, entry.concealed)
    billed: Counter[Budget] = Counter()
    for turn_id, picos in turns.items():
        turn = rest.turns[turn_id]
        for day, amount in _by_day(town, turn, picos, unit=PICO).items():
            for scope in town.account.scopes_of(turn):
                billed[scope, _day(scope, day)] += amount
    for budget, picos in billed.items():
        most = min(rest.drawn[budget], town.account.allowed.get(budget, 0)) * PICO
        if picos > most:
            yield budget, picos - most


def _by_day(town: Town, turn: Turn, amount: int, unit: int = 1) -> Counter[str]:
    """An amount spread over the days that a turn drew from: oldest first, the rest on the newest.

    Free calls draw nothing, so that an amount without a day is on none.
    """
    days: Counter[str] = Counter()
    taken = sorted(town.account.taken[turn.id].items())
    for day, drawn in taken:
        days[day] = min(amount, drawn * unit)
        amount -= days[day]
    if amount:
        days[taken[-1][0] if taken else "never"] += amount
    return days


def _settled(town: Town, turn: Turn) -> Counter[str]:
    """What a turn leaves drawn on each day: the rest goes back to the last three, newest first."""
    days = Counter(town.account.taken[turn.id])
    rest = days.total() - turn.spent
    newest = sorted(days, reverse=True)
    if rest < 0:
        days[newest[0] if newest else "never"] -= rest
    for day in newest[:_RETURNED_DAYS]:
        back = min(max(rest, 0), days[day])
        days[day] -= back
        rest -= back
    return days


def _day(scope: str, day: str) -> str:
    return WHOLE if scope.startswith("session:") else day


def kinds(budgets: Iterable[Budget]) -> set[str]:
    """The kinds of budgets among some."""
    return {scope.partition(":")[0] for scope, _ in budgets}
