"""API keys: found by the hash of their secret, revoked for good."""

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import ApiKey
from opencrab.domain.errors import Conflict, NotFound
from opencrab.domain.identifier import content_hash
from opencrab.ports.home import Home
from tests.contract.example import later
from tests.contract.waiting import at_once, eventually


def key(key_id: str = "k1", *, secret: str = "", name: str = "太郎の鍵", at: float = 0) -> ApiKey:
    return ApiKey(
        id=key_id,
        name=name,
        scope=Scope.CHAT,
        hash=content_hash((secret or key_id).encode()),
        created_at=later(at),
    )


@pytest.mark.parametrize("name", ["太郎の鍵", "Taro's key"])
def test_a_key_is_found_by_its_hash(home: Home, name: str) -> None:
    home.keys.put(key(name=name))
    assert home.keys.find(key().hash) == key(name=name)


def test_nobody_has_an_unknown_hash(home: Home) -> None:
    home.keys.put(key())
    assert home.keys.find(content_hash(b"guess")) is None
    assert home.keys.find("") is None


def test_a_second_key_with_the_same_secret_is_a_conflict(home: Home) -> None:
    home.keys.put(key("k1", secret="same"))
    with pytest.raises(Conflict):
        home.keys.put(key("k2", secret="same"))
    assert home.keys.find(content_hash(b"same")) == key("k1", secret="same")


def test_of_eight_keys_with_one_secret_one_is_kept(home: Home) -> None:
    def put(number: int) -> bool:
        try:
            home.keys.put(key(f"k{number}", secret="same"))
        except Conflict:
            return False
        return True

    assert at_once(8, put).count(True) == 1
    eventually(lambda: len(home.keys.list()), 1)


def test_keys_are_listed_oldest_first(home: Home) -> None:
    for key_id, at in (("b", 20), ("c", 10), ("a", 20)):
        home.keys.put(key(key_id, at=at))
    eventually(lambda: [found.id for found in home.keys.list()], ["c", "a", "b"])


def test_a_revoked_key_is_still_found_and_says_so(home: Home) -> None:
    home.keys.put(key())
    eventually(lambda: len(home.keys.list()), 1)
    revoked = home.keys.revoke("k1", later(5))
    assert revoked == key().replaced(revoked_at=later(5))
    assert home.keys.find(key().hash) == revoked
    eventually(home.keys.list, (revoked,))


def test_a_key_is_revoked_once(home: Home) -> None:
    home.keys.put(key())
    eventually(lambda: len(home.keys.list()), 1)
    home.keys.revoke("k1", later(5))
    eventually(lambda: [found.revoked_at for found in home.keys.list()], [later(5)])
    assert home.keys.revoke("k1", later(9)).revoked_at == later(5)


def test_revoking_one_key_leaves_the_others(home: Home) -> None:
    home.keys.put(key("k1"))
    home.keys.put(key("k2"))
    eventually(lambda: len(home.keys.list()), 2)
    home.keys.revoke("k1", later(5))
    assert home.keys.find(key("k2").hash) == key("k2")


def test_an_unknown_key_is_not_revoked(home: Home) -> None:
    with pytest.raises(NotFound, match="k9"):
        home.keys.revoke("k9", later(5))
