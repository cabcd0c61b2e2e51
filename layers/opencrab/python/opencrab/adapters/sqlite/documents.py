"""Facts on SQLite: a row each, by owner, kind and id; a mind lies in its agent's partition."""

import logging
from collections.abc import Iterable, Iterator
from datetime import datetime

from pydantic import ValidationError

from opencrab.adapters.sqlite.database import Database, Items, milliseconds
from opencrab.adapters.sqlite.outbox import put_due
from opencrab.domain.agents.agent_state import MIND
from opencrab.domain.document import Fact
from opencrab.domain.turn.due_item import DueItem
from opencrab.ports.conversation.feed import TOLD, FactTold
from opencrab.ports.documents import changed, each_once

log = logging.getLogger(__name__)

MIND_KEY = "MIND"


class SqliteFacts:
    """`ports.facts.Facts` on one file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def get(self, owner: str, kind: str, fact_id: str) -> Fact | None:
        with self._database.reading() as items:
            return _stored(items, owner, kind, fact_id)

    def page(
        self,
        owner: str,
        kind: str,
        *,
        after: str = "",
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Fact, ...]:
        low, high = f"{kind}#", f"{kind}$"
        if after and newest_first:
            high = f"{kind}#{after}"
        elif after:
            # No id has a character as low as this one.
            low = f"{kind}#{after}!"
        with self._database.reading() as items:
            rows = items.between(
                f"FACT#{owner}", low, high, limit=max(limit, 0), newest_first=newest_first
            )
        return tuple(Fact.model_validate_json(body) for _, body in rows)

    def several(self, owner: str, *names: tuple[str, str]) -> tuple[Fact, ...]:
        with self._database.reading() as items:
            found = (_stored(items, owner, kind, fact_id) for kind, fact_id in names)
            return tuple(fact for fact in found if fact is not None)

    def due(self, kind: str, now: datetime, limit: int) -> tuple[Fact, ...]:
        with self._database.reading() as items:
            bodies = items.overdue(_due_list(kind), milliseconds(now), limit)
        return tuple(_readable(bodies))

    def commit(self, *facts: Fact, due: tuple[DueItem, ...] = ()) -> None:
        with self._database.writing() as items:
            write_facts(items, facts)
            for item in due:
                put_due(items, item)


def write_facts(items: Items, facts: tuple[Fact, ...]) -> None:
    """Write facts in a transaction that ends with Changed where another version is stored."""
    for fact in each_once(facts):
        stored = _stored(items, *fact.key)
        version = 0 if stored is None else stored.version
        if fact.version and fact.version != version + 1:
            raise changed(fact)
        pk, sk = _place(*fact.key)
        if fact.kind in TOLD:
            _tell(items, fact)
        if fact.body is None:
            items.delete(pk, sk)
            continue
        kept = fact.replaced(version=version + 1)
        expires = None if fact.expires_at is None else milliseconds(fact.expires_at)
        due = None if fact.due_at is None else (_due_list(fact.kind), milliseconds(fact.due_at))
        items.put(pk, sk, kept.model_dump_json(), due=due, expires_at=expires)


def _readable(bodies: Iterable[str]) -> Iterator[Fact]:
    """What these rows hold; one that cannot be read is passed over, so that it stops no sweep."""
    for body in bodies:
        try:
            yield Fact.model_validate_json(body)
        except ValidationError:
            log.warning("a fact that is due cannot be read, and is left as it is")


def _tell(items: Items, fact: Fact) -> None:
    told = FactTold(owner=fact.owner, kind=fact.kind, id=fact.id, removed=fact.body is None)
    items.feed(items.newest_at(), "fact", "", None, told.model_dump_json(exclude_defaults=True))


def _stored(items: Items, owner: str, kind: str, fact_id: str) -> Fact | None:
    body = items.get(*_place(owner, kind, fact_id))
    return None if body is None else Fact.model_validate_json(body)


def _due_list(kind: str) -> str:
    return f"fact#{kind}"


def _place(owner: str, kind: str, fact_id: str) -> tuple[str, str]:
    if kind == fact_id == MIND:
        return f"AGENT#{owner}", MIND_KEY
    return f"FACT#{owner}", f"{kind}#{fact_id}"
