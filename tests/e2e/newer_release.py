"""A newer release that shares a home with this one: it adds a field to every value it writes."""

import json
from collections.abc import Callable
from typing import Any

from opencrab.adapters.dynamodb.table import Table, put_item
from opencrab.adapters.sqlite.agents import SqliteAgents
from opencrab.adapters.sqlite.database import Database
from tests.e2e.house import House

FIELD, WORTH = "味", {"newer": [1, "濃い"]}
"""What only the newer release knows."""

_NOT_VALUES = ("KEY#", "IDEMPOTENCY#", "BUDGET", "MSG#", "MESSAGE#", "SENT#", "SWITCH", "BOARD")
"""Partitions whose rows hold no values of the domain, or keys, which are read strictly."""


class NewerRelease:
    """Rewrites rows of a house as the next release would, and looks whether that is kept."""

    def __init__(self, house: House) -> None:
        agents: Any = house.home.agents
        self._database: Database | None = None
        self._table: Table | None = None
        if isinstance(agents, SqliteAgents):
            self._database = agents._database
        else:
            self._table = agents._table

    def writes(self) -> int:
        """Add the field to every value that is stored; return how many rows have it now."""
        return self._walk(lambda body: body | {FIELD: WORTH})

    def places(self) -> set[str]:
        """The keys of all rows that have the field."""
        found = set[str]()
        for key, body in self._rows():
            if FIELD in _value_in(body):
                found.add(key)
        return found

    def _rows(self) -> list[tuple[str, dict[str, Any]]]:
        if self._database is not None:
            with self._database.read_transaction() as items:
                rows = items.execute("SELECT pk, sk, body FROM item").fetchall()
            return [(f"{pk} {sk}", body) for pk, sk, text in rows if (body := _value(pk, text))]
        return [
            (f"{item['pk']['S']} {item['sk']['S']}", body)
            for item in self._items()
            if (body := _body_of(item))
        ]

    def _walk(self, change: Callable[[dict[str, Any]], dict[str, Any]]) -> int:
        if self._database is not None:
            with self._database.write_transaction() as items:
                rows = items.execute("SELECT pk, sk, body FROM item").fetchall()
                changed = [
                    (json.dumps(_changed(body, change), ensure_ascii=False), pk, sk)
                    for pk, sk, text in rows
                    if (body := _value(pk, text))
                ]
                for row in changed:
                    items.execute("UPDATE item SET body=? WHERE pk=? AND sk=?", row)
            return len(changed)
        assert self._table is not None
        number = 0
        for item in self._items():
            if body := _body_of(item):
                self._table.write(put_item(_with(item, change(body))))
                number += 1
        return number

    def _items(self) -> list[Any]:
        assert self._table is not None
        found = self._table._dispatch("Scan", {"TableName": self._table.name})
        return list(found["Items"])


def _value(pk: str, text: str) -> dict[str, Any]:
    """The body of a row, empty if it is no value."""
    if pk.startswith(_NOT_VALUES) or not text.startswith("{"):
        return {}
    found: dict[str, Any] = json.loads(text)
    return found


def _body_of(item: Any) -> dict[str, Any]:
    if item["sk"]["S"] == "H":  # a turn's fields are attributes
        return {FIELD: json.loads(item[FIELD]["S"])} if FIELD in item else {"turn": ""}
    return _value(item["pk"]["S"], item.get("body", {}).get("S", ""))


def _with(item: Any, body: dict[str, Any]) -> Any:
    if item["sk"]["S"] == "H":
        return {**item, FIELD: {"S": json.dumps(body[FIELD])}}
    changed = {**item, "body": {"S": json.dumps(body, ensure_ascii=False)}}
    if item["pk"]["S"].startswith("SESSION#") and "version" in item:
        # As every release does (ADR 0010): who has read the session learns that it changed.
        changed["version"] = {"N": str(int(item["version"]["N"]) + 1)}
    return changed


def _changed(
    row: dict[str, Any], change: Callable[[dict[str, Any]], dict[str, Any]]
) -> dict[str, Any]:
    """A row of SQLite; a document's value lies within it."""
    if {"owner", "kind", "version"} <= row.keys() and row["body"]:
        return row | {"body": change(row["body"])}
    return change(row)


def _value_in(row: dict[str, Any]) -> dict[str, Any]:
    held: Any = row.get("body")
    return held if {"owner", "kind", "version"} <= row.keys() and held else row
