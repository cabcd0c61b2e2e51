"""The parts of a home that lie in the table, built together because they share what was seen."""

from dataclasses import dataclass

from opencrab.adapters.dynamodb.agent import DynamoAgents
from opencrab.adapters.dynamodb.budget import DynamoBudgets
from opencrab.adapters.dynamodb.due import DynamoDueItems
from opencrab.adapters.dynamodb.eraser import DynamoEraser
from opencrab.adapters.dynamodb.fact import DynamoFacts
from opencrab.adapters.dynamodb.health import DynamoHealths
from opencrab.adapters.dynamodb.idempotency import DynamoIdempotency
from opencrab.adapters.dynamodb.journal import DynamoJournal, OnTurn
from opencrab.adapters.dynamodb.key import DynamoKeys
from opencrab.adapters.dynamodb.preference import DynamoPreferences
from opencrab.adapters.dynamodb.session import DynamoSessions, Seen
from opencrab.adapters.dynamodb.switch import DynamoSwitches
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.dynamodb.utterance import DynamoOutbox


@dataclass(frozen=True)
class Stores:
    """Every port that the table serves, but for those that need a clock: ledgers."""

    agents: DynamoAgents
    sessions: DynamoSessions
    journal: DynamoJournal
    outbox: DynamoOutbox
    due: DynamoDueItems
    facts: DynamoFacts
    keys: DynamoKeys
    idempotency: DynamoIdempotency
    switches: DynamoSwitches
    budgets: DynamoBudgets
    health: DynamoHealths
    preferences: DynamoPreferences
    eraser: DynamoEraser


def stores_on(table: Table, *, consistent: bool = True, on_turn: OnTurn | None = None) -> Stores:
    """The stores on one table; `consistent` is for agents, see `DynamoAgents`."""
    seen = Seen()
    return Stores(
        agents=DynamoAgents(table, consistent=consistent),
        sessions=DynamoSessions(table, seen),
        journal=DynamoJournal(table, seen, on_turn),
        outbox=DynamoOutbox(table),
        due=DynamoDueItems(table),
        facts=DynamoFacts(table),
        keys=DynamoKeys(table),
        idempotency=DynamoIdempotency(table),
        switches=DynamoSwitches(table),
        budgets=DynamoBudgets(table),
        health=DynamoHealths(table),
        preferences=DynamoPreferences(table),
        eraser=DynamoEraser(table, seen),
    )
