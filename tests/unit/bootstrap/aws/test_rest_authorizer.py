"""The authoriser of the HTTP API: keys that are known pass, everything else stays outside."""

from datetime import UTC, datetime
from typing import Any

import pytest

from opencrab.adapters.owner_key import OwnerKey
from opencrab.bootstrap.aws.rest_authorizer import aws_request_brings_key
from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.identifier import content_hash

NOW = datetime(2026, 11, 21, tzinfo=UTC)
OWNER, FRIEND, GONE = "oc_the-owner-of-it", "oc_someone-who-chats", "oc_someone-who-left"


class Kept:
    """Keys in a dictionary, by the hash of their secret."""

    def __init__(self, *keys: ApiKey) -> None:
        self._keys = {key.hash: key for key in keys}

    def put(self, key: ApiKey) -> None:
        self._keys[key.hash] = key

    def find(self, digest: str) -> ApiKey | None:
        return self._keys.get(digest)

    def list(self) -> tuple[ApiKey, ...]:
        return tuple(self._keys.values())

    def revoke(self, key_id: str, now: datetime, *, keep_last_owner: bool = True) -> ApiKey:
        raise NotImplementedError


def key_of(secret: str, revoked_at: datetime | None = None) -> ApiKey:
    """The record of a secret."""
    return ApiKey(
        id=secret,
        name="鍵",
        scope=Scope.CHAT,
        hash=content_hash(secret.encode()),
        created_at=NOW,
        revoked_at=revoked_at,
    )


@pytest.fixture
def keys() -> OwnerKey:
    """The owner's deployed key, one that was made later, and one that was revoked."""
    return OwnerKey(Kept(key_of(FRIEND), key_of(GONE, NOW)), content_hash(OWNER.encode()))


def asked(header: str) -> dict[str, Any]:
    """What API Gateway tells of a request."""
    return {"version": "2.0", "type": "REQUEST", "headers": {"authorization": header}}


@pytest.mark.parametrize("header", [f"Bearer {OWNER}", f"Bearer {FRIEND}", f"bearer  {FRIEND} "])
def test_a_known_key_is_let_through(keys: OwnerKey, header: str) -> None:
    assert aws_request_brings_key(asked(header), keys)


@pytest.mark.parametrize(
    "header",
    [f"Bearer {GONE}", "Bearer oc_guessed", "Bearer 鍵", "Bearer ", "", OWNER, f"Basic {OWNER}"],
)
def test_anything_else_stays_outside(keys: OwnerKey, header: str) -> None:
    assert not aws_request_brings_key(asked(header), keys)


@pytest.mark.parametrize("event", [{}, {"headers": None}, {"headers": {}}])
def test_a_request_without_a_header_stays_outside(keys: OwnerKey, event: dict[str, Any]) -> None:
    assert not aws_request_brings_key(event, keys)
