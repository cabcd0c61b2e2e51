"""API keys: found by the hash of their secret, revoked for good."""

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.principal import LEGACY, ApiKey
from opencrab.domain.errors import Conflict, NotFound, Unavailable
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


def test_another_key_of_a_person_keeps_its_principal_and_a_read_key_its_grants(home: Home) -> None:
    second = key("k2").replaced(principal_id="k1")
    reader = key("k3").replaced(scope=Scope.READ, grants=("sessions:s1", "agent:a1", "metrics"))
    for made in (second, reader):
        home.keys.put(made)
        assert home.keys.find(made.hash) == made
    eventually(lambda: set(home.keys.list()), {second, reader})
    assert (second.principal.id, reader.principal.id) == ("k1", "k3")
    assert reader.principal.grants == reader.grants
    assert home.keys.revoke("k3", later(5)).grants == reader.grants


def test_a_read_key_of_an_earlier_release_reads_all_but_metrics(home: Home) -> None:
    assert home.keys.list() == ()
    assert key().replaced(scope=Scope.READ).principal.grants == (LEGACY,)
    assert key().principal.grants == ()


def owner(key_id: str, at: float = 0) -> ApiKey:
    return key(key_id, at=at).replaced(scope=Scope.OWNER)


def test_the_last_owner_key_is_not_revoked(home: Home) -> None:
    for each in (key("k1"), owner("o1"), owner("o2")):
        home.keys.put(each)
    eventually(lambda: len(home.keys.list()), 3)
    home.keys.revoke("o1", later(5))
    eventually(lambda: [one.id for one in home.keys.list() if one.revoked_at], ["o1"])
    with pytest.raises(Conflict, match="last owner key") as refusal:
        home.keys.revoke("o2", later(5))
    assert (refusal.value.field, refusal.value.cure) == (
        "key_id",
        "create another owner key first",
    )
    assert home.keys.find(owner("o2").hash) == owner("o2")
    assert home.keys.revoke("o1", later(9)).revoked_at == later(5), "it was revoked before"
    home.keys.revoke("k1", later(5))


def test_the_last_owner_key_is_revoked_where_an_owner_is_elsewhere(home: Home) -> None:
    home.keys.put(owner("o1"))
    eventually(lambda: len(home.keys.list()), 1)
    assert home.keys.revoke("o1", later(5), keep_last_owner=False).revoked_at == later(5)


@pytest.mark.parametrize("owners", [2, 3, 8])
def test_owners_who_revoke_each_other_at_once_leave_one(home: Home, owners: int) -> None:
    for place in range(owners):
        home.keys.put(owner(f"o{place}"))
    eventually(lambda: len(home.keys.list()), owners)

    def revoke(place: int) -> bool:
        for _ in range(20):
            try:
                home.keys.revoke(f"o{place}", later(5))
            except Conflict:
                return False
            except Unavailable:
                continue
            return True
        raise AssertionError("the key was never free")

    assert at_once(owners, revoke).count(True) == owners - 1
    valid = [home.keys.find(owner(f"o{place}").hash) for place in range(owners)]
    assert [one is not None and one.revoked_at is None for one in valid].count(True) == 1
