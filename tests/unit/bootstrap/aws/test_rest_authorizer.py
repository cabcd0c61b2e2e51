"""The authoriser of the HTTP API: keys that are known pass, everything else stays outside."""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from opencrab.adapters.dynamodb.access.key import DynamoKeys
from opencrab.adapters.dynamodb.table import Table
from opencrab.adapters.system_clock import FakeClock
from opencrab.bootstrap.aws.rest_authorizer import rest_authorizer_from_environment
from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.errors import Invalid
from opencrab.domain.identifier import content_hash
from tests.aws import account
from tests.aws_home import create_table, dispatch_in
from tests.unit.adapters.door.test_aws import LENT, Served
from tests.unit.adapters.listening import listening

IsValid = Callable[[Mapping[str, Any]], bool]

NOW = datetime(2026, 11, 21, tzinfo=UTC)
OWNER, FRIEND, GONE = "oc_the-owner-of-it", "oc_someone-who-chats", "oc_someone-who-left"


@pytest.fixture(scope="module")
def is_valid() -> Iterator[IsValid]:
    """The function on a table with a key that was made later, and one that was revoked."""
    with account(FakeClock(NOW)) as aws:
        name = create_table(aws)
        stored = DynamoKeys(Table(name, dispatch_in(aws)))
        stored.put(key_of(FRIEND))
        stored.put(key_of(GONE))
        stored.revoke(GONE, NOW, keep_last_owner=False)
        with listening(Served(aws)) as server:
            yield rest_authorizer_from_environment(
                {
                    "AWS_REGION": "r-1",
                    "AWS_ACCESS_KEY_ID": LENT.key_id,
                    "AWS_SECRET_ACCESS_KEY": LENT.secret,
                    "AWS_SESSION_TOKEN": LENT.token,
                    "AWS_ENDPOINT_URL": server.url,
                    "OPENCRAB_AWS__TABLE": name,
                    "OPENCRAB_AWS__OWNER_KEY_HASH": content_hash(OWNER.encode()).upper(),
                },
                NOW.timestamp,
            )


def key_of(secret: str) -> ApiKey:
    """The record of a secret."""
    digest = content_hash(secret.encode())
    return ApiKey(id=secret, name="鍵", scope=Scope.CHAT, hash=digest, created_at=NOW)


def asked(header: str) -> dict[str, Any]:
    """What API Gateway tells of a request."""
    return {"version": "2.0", "type": "REQUEST", "headers": {"authorization": header}}


@pytest.mark.parametrize("header", [f"Bearer {OWNER}", f"Bearer {FRIEND}", f"bearer  {FRIEND} "])
def test_a_known_key_is_let_through(is_valid: IsValid, header: str) -> None:
    assert is_valid(asked(header))


@pytest.mark.parametrize(
    "header",
    [f"Bearer {GONE}", "Bearer oc_guessed", "Bearer 鍵", "Bearer ", "", OWNER, f"Basic {OWNER}"],
)
def test_anything_else_stays_outside(is_valid: IsValid, header: str) -> None:
    assert not is_valid(asked(header))


@pytest.mark.parametrize("event", [{}, {"headers": None}, {"headers": {}}])
def test_a_request_without_a_header_stays_outside(is_valid: IsValid, event: dict[str, Any]) -> None:
    assert not is_valid(event)


def test_a_function_without_its_table_says_which_variable_is_missing() -> None:
    with pytest.raises(Invalid, match="OPENCRAB_AWS__TABLE is not set"):
        rest_authorizer_from_environment({}, NOW.timestamp)
