"""Answers already given, in the table; they expire after a day."""

import secrets
from datetime import datetime, timedelta

from pynamodb.expressions.operand import Path

from opencrab.adapters.dynamodb.item import (
    Schema,
    item_time_to_live,
    to_dynamodb_attribute,
    to_item_microseconds,
)
from opencrab.adapters.dynamodb.table import (
    ConditionFailed,
    Table,
    dynamodb_attribute_changes,
    item_absent,
    put_item,
    update_item,
)
from opencrab.domain.errors import TooLarge, Unavailable
from opencrab.ports.access.idempotency import RememberedRequest

SCHEMA = Schema("idempotency")
HEAD = "I"
LIFE = timedelta(days=1)


class DynamoIdempotency:
    """`ports.access.idempotency.Idempotency` on a DynamoDB table."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def begin(self, key: str, request_hash: str, now: datetime) -> RememberedRequest | None:
        until = now + LIFE
        fields = {
            "request_hash": request_hash,
            "expires_at": to_item_microseconds(until),
            "ttl": item_time_to_live(until),
        }
        token = to_dynamodb_attribute(secrets.token_hex(8))
        item = SCHEMA.encode_item(_partition(key), HEAD, fields) | {"begun": token}
        # DynamoDB removes what has expired within days, not at once; and the network may carry this
        # very write twice.
        free = (
            item_absent()
            | (Path("expires_at") <= to_item_microseconds(now))
            | (Path("begun") == token)
        )
        try:
            self._table.write(put_item(item, free))
        except ConditionFailed as refusal:
            if refusal.item is None:
                raise Unavailable(
                    "the stored response of this idempotency key is being deleted",
                    cure="send the request again in a few seconds",
                ) from None
            earlier = SCHEMA.decode_item(refusal.item)
            status, body = earlier.get("status"), earlier.get("body")
            return RememberedRequest(earlier["request_hash"], status, body)
        return None

    def finish(self, key: str, status: int, body: str) -> None:
        change = dynamodb_attribute_changes({"status": status, "body": body})
        try:
            self._table.write(update_item(_partition(key), HEAD, change, Path("pk").exists()))
        except (ConditionFailed, TooLarge):
            # Unremembered, a repeat does it again and finds it done.
            return


def _partition(key: str) -> str:
    return f"IDEMPOTENCY#{key}"
