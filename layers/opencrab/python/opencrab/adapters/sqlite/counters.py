"""Tallies on SQLite: a row for each cell of a day, and one for each agent that was active on it."""

from opencrab.adapters.sqlite.database import Database, Items, milliseconds
from opencrab.domain.usage.counters import ACTIVE_KEPT, KEPT, Tally, tally_of
from opencrab.domain.usage.ledger import UsageRow


class SqliteTallies:
    """`ports.tallies.Tallies` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def between(self, agent_id: str, first: str, last: str) -> tuple[Tally, ...]:
        with self._database.reading() as items:
            rows = items.between(_partition(agent_id), f"{first}#", f"{last}$")
        return tuple(Tally.model_validate_json(body) for _, body in rows)

    def active(self, day: str, *, after: str = "", limit: int = 100) -> tuple[str, ...]:
        with self._database.reading() as items:
            # No id has a character as low as this one.
            rows = items.between(f"ACTIVE#{day}", f"{after}!" if after else "!", "~", limit=limit)
        return tuple(agent_id for agent_id, _ in rows)


def count(items: Items, row: UsageRow) -> None:
    """Count one call, in the transaction that writes its row."""
    tally = tally_of(row)
    pk, sk = _partition(tally.agent_id), f"{tally.day}#{tally.cell.id}"
    stored = items.get(pk, sk)
    if stored is not None:
        tally = Tally.model_validate_json(stored) + tally
    items.put(pk, sk, tally.model_dump_json(), expires_at=milliseconds(row.at + KEPT))
    until = milliseconds(row.at + ACTIVE_KEPT)
    items.put(f"ACTIVE#{tally.day}", tally.agent_id, "1", expires_at=until)


def _partition(agent_id: str) -> str:
    return f"TALLY#{agent_id}"
