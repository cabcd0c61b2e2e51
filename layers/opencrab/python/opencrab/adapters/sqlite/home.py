"""Opening the local home: the file, its ports, and what a dead process left behind."""

from pathlib import Path

from opencrab.adapters.memory_queue import MemoryQueue
from opencrab.adapters.sqlite.access import SqliteFeed, SqliteIdempotency, SqliteKeys
from opencrab.adapters.sqlite.agents import SqliteAgents, SqliteSessions
from opencrab.adapters.sqlite.board import (
    SqliteBudgets,
    SqliteHealths,
    SqlitePreferences,
    SqliteSwitches,
)
from opencrab.adapters.sqlite.database import Database
from opencrab.adapters.sqlite.documents import SqliteFacts
from opencrab.adapters.sqlite.due_items import SqliteDueItems
from opencrab.adapters.sqlite.eraser import SqliteEraser
from opencrab.adapters.sqlite.journal import SqliteJournal, SqliteOutbox
from opencrab.adapters.sqlite.queue import TURNS, PendingClaimRegistry, SqliteQueue
from opencrab.adapters.sqlite.restart import give_back_sqlite_leases
from opencrab.adapters.sqlite.turn.usage import SqliteTallies, SqliteUsage
from opencrab.domain.turn.crash import CRASH_RULE, CrashRule
from opencrab.ports.clock import Clock
from opencrab.ports.home import Home
from opencrab.ports.turn.blobs import Blobs
from opencrab.ports.workspace.files import Files

FILE = "opencrab.db"


def open_sqlite_database(directory: Path, *, durable: bool = True) -> Database:
    """Open or create the database in a directory, locked for this process.

    Raises Unavailable or DamagedDatabase, naming the file and what to do; never changes a damaged
    file.
    """
    return Database(directory / FILE, durable=durable)


def sqlite_home_on_database(
    database: Database,
    clock: Clock,
    *,
    files: Files,
    blobs: Blobs,
    rule: CrashRule = CRASH_RULE,
) -> Home:
    """Create the home on an open file, after returning leases of a crashed process's workers."""
    taken = PendingClaimRegistry()
    turns = SqliteQueue(database, TURNS, clock, taken=taken)
    deliveries = SqliteQueue(database, "deliveries", clock)
    compactions = SqliteQueue(database, "compactions", clock, taken=taken)
    interactions = SqliteQueue(database, "interactions", clock)
    beats = MemoryQueue(clock, dead=SqliteQueue(database, "beats", clock, ordered=False))
    nights = SqliteQueue(database, "nights", clock, ordered=False)
    give_back_sqlite_leases(database, ("turns", "compactions"), rule, clock.now())
    for queue in (deliveries, interactions, nights):
        queue.release()
    _drop_stored_beats(database)
    return Home(
        agents=SqliteAgents(database),
        sessions=SqliteSessions(database),
        journal=SqliteJournal(database, clock, taken),
        turns=turns,
        deliveries=deliveries,
        compactions=compactions,
        interactions=interactions,
        beats=beats,
        nights=nights,
        outbox=SqliteOutbox(database),
        due=SqliteDueItems(database),
        facts=SqliteFacts(database),
        files=files,
        blobs=blobs,
        keys=SqliteKeys(database),
        idempotency=SqliteIdempotency(database),
        switches=SqliteSwitches(database),
        budgets=SqliteBudgets(database),
        usage=SqliteUsage(database),
        tallies=SqliteTallies(database),
        health=SqliteHealths(database),
        preferences=SqlitePreferences(database),
        eraser=SqliteEraser(database),
        feed=SqliteFeed(database),
        storage=database,
    )


def _drop_stored_beats(database: Database) -> None:
    """Delete messages of heartbeats that an earlier release stored: the first sweep sends them."""
    with database.write_transaction() as items:
        items.execute("DELETE FROM queue WHERE queue='beats'")


def open_sqlite_home(
    directory: Path,
    clock: Clock,
    *,
    files: Files,
    blobs: Blobs,
    durable: bool = True,
    rule: CrashRule = CRASH_RULE,
) -> tuple[Home, Database]:
    """Open the database and create the home on it; the caller closes the database."""
    database = open_sqlite_database(directory, durable=durable)
    try:
        return sqlite_home_on_database(
            database, clock, files=files, blobs=blobs, rule=rule
        ), database
    except BaseException:
        database.close()
        raise
