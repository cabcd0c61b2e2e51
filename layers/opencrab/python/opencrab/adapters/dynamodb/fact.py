"""Facts in the table: an item each, by owner, kind and id; a mind lies in its agent's partition."""

import json

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb import due as due_items
from opencrab.adapters.dynamodb.item import Item, Schema, microseconds, moment, ttl
from opencrab.adapters.dynamodb.table import (
    Cancelled,
    Table,
    Write,
    absent,
    changes,
    delete,
    every,
    put,
    update,
)
from opencrab.domain.due import DueItem
from opencrab.domain.fact import Fact
from opencrab.domain.mind import MIND
from opencrab.ports.facts import changed, each_once

SCHEMA = Schema("fact")
MIND_KEY = "MIND"


class DynamoFacts:
    """`ports.facts.Facts` on the table.

    Even one write is a transaction: the SDK gives it a token, by which DynamoDB knows its repeat.
    To compare what is stored would not do, since two who count from 3 to 4 write the same.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, owner: str, kind: str, fact_id: str) -> Fact | None:
        item = self._table.get(*_place(owner, kind, fact_id))
        return None if item is None else from_item(item)

    def page(
        self,
        owner: str,
        kind: str,
        *,
        after: str = "",
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Fact, ...]:
        bound = f"{kind}#{after}"
        low, high = f"{kind}#", f"{kind}$"
        if after and newest_first:
            high = bound
        elif after:
            low = bound
        # One more, because the bound itself does not count and a query would count it.
        items = self._table.query(
            f"FACT#{owner}", low, high, limit=limit + 1, newest_first=newest_first
        )
        found = [item for item in items if item["sk"]["S"] != bound]
        return tuple(from_item(item) for item in found[:limit])

    def commit(self, *facts: Fact, due: tuple[DueItem, ...] = ()) -> None:
        writes = [*writing(facts), *map(due_items.new, due)]
        if not writes:
            return
        try:
            self._table.transact(*writes)
        except Cancelled as refusal:
            raise changed(facts[min(refusal.failed)]) from None


def writing(facts: tuple[Fact, ...]) -> tuple[Write, ...]:
    """The writes of facts, in their order; each fails where another version is stored."""
    return tuple(_write(fact) for fact in each_once(facts))


def from_item(item: Item) -> Fact:
    """The fact that an item holds."""
    fields = SCHEMA.fields(item)
    kind, _, fact_id = fields["sk"].partition("#")
    if kind == MIND_KEY:
        kind = fact_id = MIND
    expires = fields.get("expires_at")
    return Fact(
        owner=fields["pk"].partition("#")[2],
        kind=kind,
        id=fact_id,
        version=fields["version"],
        body=json.loads(fields["body"]),
        expires_at=None if expires is None else moment(expires),
    )


def _write(fact: Fact) -> Write:
    pk, sk = _place(*fact.key)
    if fact.body is None:
        return delete(pk, sk, _expected(fact))
    fields = {
        "body": json.dumps(fact.body, ensure_ascii=False, separators=(",", ":")),
        "expires_at": None if fact.expires_at is None else microseconds(fact.expires_at),
        "ttl": None if fact.expires_at is None else ttl(fact.expires_at),
    }
    if fact.version:
        return put(SCHEMA.item(pk, sk, fields | {"version": fact.version}), _expected(fact))
    change = changes(fields | {"schema": SCHEMA.version})
    change.add_action(Path("version").add(1))
    return update(pk, sk, change, _expected(fact))


def _expected(fact: Fact) -> Condition:
    """What a write of this version must find; what newer code wrote is left to it."""
    if fact.version == 1:
        return absent()
    known = Path("schema") <= SCHEMA.version
    if fact.version == 0:
        free: Condition = absent() | known
        return free
    return every(Path("version") == fact.version - 1, known)


def _place(owner: str, kind: str, fact_id: str) -> tuple[str, str]:
    if kind == fact_id == MIND:
        return f"AGENT#{owner}", MIND_KEY
    return f"FACT#{owner}", f"{kind}#{fact_id}"
