"""Keys as the authoriser reads them; against a real table in tests/unit/bootstrap/aws."""

import json

import pytest

from opencrab.adapters.door.aws import DYNAMODB
from opencrab.adapters.door.keys import PlainDynamoKeys
from opencrab.domain.errors import Unavailable
from tests.unit.adapters.door.test_aws import plain
from tests.unit.adapters.listening import answer, listening


def test_a_key_of_a_newer_version_is_unavailable_and_not_unknown() -> None:
    item = {"schema": {"N": "2"}, "body": {"S": "{}"}}
    with listening(lambda _: answer(200, json.dumps({"Item": item}).encode())) as server:
        keys = PlainDynamoKeys(plain(server, DYNAMODB), "opencrab", seconds=5)
        with pytest.raises(Unavailable, match="newer version"):
            keys.is_valid("a" * 64)
