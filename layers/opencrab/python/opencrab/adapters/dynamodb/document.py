"""Facts in the table: an item each, by owner, kind and id; a mind lies in its agent's partition."""

import json
from datetime import datetime
from itertools import islice
from typing import Any

from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb import due_item as due_items
from opencrab.adapters.dynamodb.item import (
    Item,
    Schema,
    from_item_microseconds,
    item_shard,
    item_time_to_live,
    item_with_defaults,
    to_item_microseconds,
)
from opencrab.adapters.dynamodb.listing import decode_dynamodb_items
from opencrab.adapters.dynamodb.listing import dynamodb_due_items as due_items_of
from opencrab.adapters.dynamodb.table import (
    Cancelled,
    Table,
    Write,
    delete_dynamodb_item,
    dynamodb_attribute_changes,
    item_absent,
    join_dynamodb_conditions,
    put_item,
    update_item,
)
from opencrab.domain.agents.agent_state import MIND
from opencrab.domain.document import Document, unique_facts
from opencrab.domain.skills.skill import SKILL, SkillStatus
from opencrab.domain.turn.due_item import DueItem
from opencrab.ports.documents import DUE_PARTS, stale_document_error

SCHEMA = Schema("fact", (item_with_defaults,))
BEFORE = SCHEMA.version - 1
"""The version of a fact in which nothing is new: code of the last release reads it."""

MIND_KEY = "MIND"
DUE_SHARDS = DUE_PARTS
"""Each minute every shard is asked, also when nobody has anything due. One takes a thousand writes
a second, so that four are enough for a hundred thousand agents which beat each minute.
"""

_IN_MINDS = {"mixes", "pinned"}
_IN_SKILLS = {"waits", "effectiveness", "worded_at"}
"""Fields of this version."""


class DynamoFacts:
    """`ports.documents.Documents` on a DynamoDB table.

    Even a single write is a transaction: the SDK adds a client request token, which makes its retry
    idempotent. Comparing the stored body would not: two writers that count from 3 to 4 store the
    same.
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def get(self, owner: str, kind: str, fact_id: str) -> Document | None:
        item = self._table.get(*dynamodb_document_key(owner, kind, fact_id))
        return None if item is None else document_from_dynamodb_item(item)

    def page(
        self,
        owner: str,
        kind: str,
        *,
        after: str = "",
        limit: int = 100,
        newest_first: bool = False,
    ) -> tuple[Document, ...]:
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
        return tuple(document_from_dynamodb_item(item) for item in found[:limit])

    def get_many(self, owner: str, *names: tuple[str, str]) -> tuple[Document, ...]:
        places = [dynamodb_document_key(owner, kind, fact_id) for kind, fact_id in names]
        found = self._table.get_many(places)
        return tuple(
            document_from_dynamodb_item(found[place]) for place in places if place in found
        )

    def list_due(
        self, kind: str, now: datetime, limit: int, *, part: int | None = None
    ) -> tuple[Document, ...]:
        parts = range(DUE_SHARDS) if part is None else (part,)
        items = due_items_of(self._table, _due_list(kind), to_item_microseconds(now), parts)
        found = decode_dynamodb_items(document_from_dynamodb_item, items)
        due = (fact for fact in found if fact.due_at is not None and fact.due_at <= now)
        # An index that is behind may show one item twice: where it was, and where it is.
        return tuple({fact.key: fact for fact in islice(due, limit)}.values())

    def commit(self, *facts: Document, due: tuple[DueItem, ...] = ()) -> None:
        writes = [*dynamodb_document_writes(facts), *map(due_items.put_new_due_item, due)]
        if not writes:
            return
        try:
            self._table.transact(*writes)
        except Cancelled as refusal:
            raise stale_document_error(facts[min(refusal.failed)]) from None

    def commit_soon(self, fact: Document) -> None:
        # Another function would not see what this one keeps in memory.
        self.commit(fact)


def dynamodb_document_writes(facts: tuple[Document, ...]) -> tuple[Write, ...]:
    """Return the writes of documents, in order, each on condition of the preceding version."""
    return tuple(_write(fact) for fact in unique_facts(facts))


def document_from_dynamodb_item(item: Item) -> Document:
    """Deserialize a document from an item."""
    fields = SCHEMA.decode_item(item)
    kind, _, fact_id = fields["sk"].partition("#")
    if kind == MIND_KEY:
        kind = fact_id = MIND
    expires, due_at = fields.get("expires_at"), fields.get("due_at")
    return Document(
        owner=fields["pk"].partition("#")[2],
        kind=kind,
        id=fact_id,
        version=fields["version"],
        body=json.loads(fields["body"]),
        expires_at=None if expires is None else from_item_microseconds(expires),
        due_at=None if due_at is None else from_item_microseconds(due_at),
    )


def _write(fact: Document) -> Write:
    pk, sk = dynamodb_document_key(*fact.key)
    if fact.body is None:
        return delete_dynamodb_item(pk, sk, _version_condition(fact))
    fields = {
        "body": json.dumps(fact.body, ensure_ascii=False, separators=(",", ":")),
        "expires_at": None if fact.expires_at is None else to_item_microseconds(fact.expires_at),
        "ttl": None if fact.expires_at is None else item_time_to_live(fact.expires_at),
        "schema": SCHEMA.version if _is_newest(fact.kind, fact.body) else BEFORE,
        **_due(fact),
    }
    if fact.version:
        return put_item(
            SCHEMA.encode_item(pk, sk, fields | {"version": fact.version}), _version_condition(fact)
        )
    change = dynamodb_attribute_changes(fields)
    change.add_action(Path("version").add(1))
    return update_item(pk, sk, change, _version_condition(fact))


def _version_condition(fact: Document) -> Condition:
    """Return the condition of a write: the preceding version, and no newer schema."""
    if fact.version == 1:
        return item_absent()
    known = Path("schema") <= SCHEMA.version
    if fact.version == 0:
        free: Condition = item_absent() | known
        return free
    return join_dynamodb_conditions(Path("version") == fact.version - 1, known)


def _is_newest(kind: str, body: dict[str, Any]) -> bool:
    """Check whether a body uses fields that only this schema version has.

    Defaults are not stored.
    """
    if kind == MIND:
        on_trial = any("on_trial" in skill for skill in body.get("skills", ()))
        return on_trial or not _IN_MINDS.isdisjoint(body)
    if kind == SKILL:
        is_candidate = body.get("status") == SkillStatus.CANDIDATE.value
        return is_candidate or not _IN_SKILLS.isdisjoint(body)
    return False


def _due(fact: Document) -> dict[str, object]:
    """Return the attributes of the due index.

    None removes them from a document without due time.
    """
    if fact.due_at is None:
        return {"due_list": None, "due_at": None}
    place = item_shard(fact.owner, DUE_SHARDS)
    return {
        "due_list": f"{_due_list(fact.kind)}#{place}",
        "due_at": to_item_microseconds(fact.due_at),
    }


def _due_list(kind: str) -> str:
    return f"fact-{kind}"


def dynamodb_document_key(owner: str, kind: str, fact_id: str) -> tuple[str, str]:
    """Return the key of a document."""
    if kind == fact_id == MIND:
        return f"AGENT#{owner}", MIND_KEY
    return f"FACT#{owner}", f"{kind}#{fact_id}"
