"""The owner's key: known by its deployed hash alone, beside keys that are kept as ever."""

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import pytest

from opencrab.adapters.owner_key import OWNER, OwnerKey
from opencrab.adapters.system_clock import FakeClock
from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.errors import Conflict, Refused
from opencrab.domain.identifier import content_hash
from opencrab.ports.access.keys import Keys
from opencrab.ports.home import Home
from tests.contract import test_keys
from tests.contract.example import NOW, later
from tests.contract.homes import sqlite
from tests.contract.test_keys import key

DIGEST = content_hash(b"oc_the-owner-of-it")
OF_STORED_OWNERS = {
    test_keys.test_the_last_owner_key_is_not_revoked,
    test_keys.test_owners_who_revoke_each_other_at_once_leave_one,
}
"""Where the owner's key is deployed, no stored key is the last owner's."""

CONTRACT = {
    name: held
    for name, held in vars(test_keys).items()
    if name.startswith("test_") and held not in OF_STORED_OWNERS
}


class Others:
    """Keys without the owner's in their list, which a contract on an empty home cannot expect."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self.put, self.find, self.revoke = keys.put, keys.find, keys.revoke

    def list(self) -> tuple[ApiKey, ...]:
        return tuple(one for one in self._keys.list() if one.id != OWNER)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    """A home whose owner's key is deployed."""
    with sqlite(tmp_path, FakeClock(NOW)) as opened:
        yield replace(opened, keys=OwnerKey(opened.keys, DIGEST))


@pytest.mark.parametrize("held", CONTRACT.values(), ids=CONTRACT)
def test_it_keeps_the_contract_of_keys(home: Home, held: Callable[..., None]) -> None:
    names = {"name": "太郎の鍵"} if "name" in inspect.signature(held).parameters else {}
    held(replace(home, keys=Others(home.keys)), **names)


def test_the_owner_is_found_without_being_stored(home: Home) -> None:
    found = home.keys.find(DIGEST)
    assert found is not None
    assert (found.id, found.scope, found.revoked_at) == (OWNER, Scope.OWNER, None)


def test_the_owner_is_listed_first_and_the_others_as_they_are(home: Home) -> None:
    home.keys.put(key("k1", at=-(10**9)))
    assert [one.id for one in home.keys.list()] == [OWNER, "k1"]


def test_nothing_but_a_deployment_revokes_the_owner(home: Home) -> None:
    with pytest.raises(Refused, match="deployed") as caught:
        home.keys.revoke(OWNER, later(5))
    assert "unset OPENCRAB_OWNER_KEY" in (caught.value.cure or "")
    assert "--new-owner-key" in (caught.value.cure or "")
    assert home.keys.find(DIGEST) is not None


def test_every_stored_owner_key_may_be_revoked_beside_the_deployed_one(home: Home) -> None:
    for key_id in ("k1", "k2"):
        home.keys.put(key(key_id).replaced(scope=Scope.OWNER))
        home.keys.revoke(key_id, later(5))
    valid = [one.id for one in home.keys.list() if one.revoked_at is None]
    assert valid == [OWNER]


def test_no_other_key_takes_the_owners_secret(home: Home) -> None:
    with pytest.raises(Conflict):
        home.keys.put(key(secret="oc_the-owner-of-it"))
    found = home.keys.find(DIGEST)
    assert found is not None
    assert found.id == OWNER


def test_the_owner_is_older_than_everything(home: Home) -> None:
    found = home.keys.find(DIGEST)
    assert found is not None
    assert found.created_at < datetime(2026, 1, 1, tzinfo=NOW.tzinfo)
