"""The parts of a home that lie in the table, built together because they share what was seen."""

from dataclasses import dataclass
from datetime import timedelta

from opencrab.adapters.dynamodb.access.idempotency import DynamoIdempotency
from opencrab.adapters.dynamodb.access.key import DynamoKeys
from opencrab.adapters.dynamodb.agent import DynamoAgents
from opencrab.adapters.dynamodb.conversation.session import DynamoSessions, SessionCache
from opencrab.adapters.dynamodb.conversation.utterance import DynamoOutbox
from opencrab.adapters.dynamodb.document import DynamoFacts
from opencrab.adapters.dynamodb.due_item import DynamoDueItems
from opencrab.adapters.dynamodb.eraser import DynamoEraser
from opencrab.adapters.dynamodb.models.health import DynamoHealths
from opencrab.adapters.dynamodb.models.preference import DynamoPreferences
from opencrab.adapters.dynamodb.money.board import DynamoSwitches
from opencrab.adapters.dynamodb.money.budget import DynamoBudgets
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.dynamodb.turn.journal import DynamoJournal, OnTurn


@dataclass(frozen=True)
class Stores:
    """The ports on the DynamoDB table, except the ledgers, which need a clock."""

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


def stores_on_dynamodb_table(
    table: Table,
    *,
    consistent: bool = True,
    on_turn: OnTurn | None = None,
    calls_kept: timedelta | None = None,
    leases_budgets: bool = True,
) -> Stores:
    """Create the stores on one table; `consistent` is for agents, see `DynamoAgents`.

    Ledger rows expire `calls_kept` after their call; None is never. Without `leases_budgets` every
    draw meets those of all other processes at the budget itself.
    """
    seen = SessionCache()
    return Stores(
        agents=DynamoAgents(table, consistent=consistent),
        sessions=DynamoSessions(table, seen),
        journal=DynamoJournal(
            table, seen, on_turn, calls_kept=calls_kept, leases_budgets=leases_budgets
        ),
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
