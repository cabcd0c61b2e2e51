"""Keys in the table: what an earlier release reads of them is what it knows."""

import json
from datetime import UTC, datetime

from opencrab.adapters.dynamodb.access.key import (
    api_key_from_dynamodb_item,
    api_key_to_dynamodb_item,
)
from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey

KEY = ApiKey(
    id="k2",
    name="鍵",
    scope=Scope.READ,
    hash="h",
    created_at=datetime(2026, 11, 21, tzinfo=UTC),
    principal_id="k1",
    grants=("sessions:s1", "metrics"),
)


def test_principal_and_grants_are_beside_the_body_that_the_release_before_reads() -> None:
    item = api_key_to_dynamodb_item(KEY)
    known = {"id", "name", "scope", "hash", "created_at", "revoked_at"}
    assert set(json.loads(item["body"]["S"])) == known
    assert api_key_from_dynamodb_item(item) == KEY


def test_an_item_of_the_release_before_is_a_key_without_them() -> None:
    old = {
        name: api_key_to_dynamodb_item(KEY)[name] for name in ("pk", "sk", "schema", "body", "list")
    }
    assert api_key_from_dynamodb_item(old) == KEY.replaced(principal_id=None, grants=None)
