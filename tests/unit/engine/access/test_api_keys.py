"""API keys: made or chosen, known again by their hash, and never stored."""

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.errors import Invalid, Unauthenticated
from opencrab.domain.identifier import content_hash
from opencrab.engine.access.api_keys import (
    PREFIX,
    create_api_key,
    principal_of_api_key,
    register_api_key,
)
from tests.unit.engine.known_world import NOW, World

CHOSEN = "a-secret-of-my-own-choosing"


@pytest.mark.parametrize("name", ["端末の鍵", "terminal"])
@pytest.mark.parametrize("scope", Scope)
def test_who_holds_a_new_key_is_known_by_its_name_and_scope(
    name: str, scope: Scope, world: World
) -> None:
    secret, key = create_api_key(world.runtime, name=name, scope=scope)
    assert secret.startswith(PREFIX)
    assert len(secret) >= len(PREFIX) + 43
    principal = principal_of_api_key(world.runtime.home.keys, secret)
    assert (principal.id, principal.name, principal.scope) == (key.id, name, scope)


def test_a_secret_is_never_stored(world: World) -> None:
    secret, key = create_api_key(world.runtime, name="鍵", scope=Scope.OWNER)
    assert key.hash == content_hash(secret.encode())
    assert secret not in "".join(each.model_dump_json() for each in world.runtime.home.keys.list())


def test_two_new_keys_differ(world: World) -> None:
    made = [create_api_key(world.runtime, name="鍵", scope=Scope.CHAT) for _ in range(2)]
    assert made[0][0] != made[1][0]
    assert made[0][1].id != made[1][1].id


def test_a_chosen_secret_becomes_a_key_once(world: World) -> None:
    first = register_api_key(world.runtime, name="owner", scope=Scope.OWNER, secret=CHOSEN)
    again = register_api_key(world.runtime, name="other", scope=Scope.READ, secret=CHOSEN)
    assert again == first
    assert world.runtime.home.keys.list() == (first,)
    assert principal_of_api_key(world.runtime.home.keys, CHOSEN).scope is Scope.OWNER


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "short",
        "x" * 15,
        "とても長くて当てられない秘密の鍵です",
        "with spaces in it, long",
        "line\n" * 5,
    ],
)
def test_a_secret_that_is_weak_or_cannot_be_sent_is_no_key(secret: str, world: World) -> None:
    with pytest.raises(Invalid, match="too weak, or cannot be sent") as error:
        register_api_key(world.runtime, name="鍵", scope=Scope.OWNER, secret=secret)
    assert not secret or secret not in error.value.message
    assert world.runtime.home.keys.list() == ()


@pytest.mark.parametrize("secret", ["", "unknown", "oc_" + "x" * 43, "秘密"])
def test_nobody_holds_an_unknown_secret(secret: str, world: World) -> None:
    create_api_key(world.runtime, name="鍵", scope=Scope.OWNER)
    with pytest.raises(Unauthenticated, match="unknown or revoked"):
        principal_of_api_key(world.runtime.home.keys, secret)


def test_a_revoked_key_opens_nothing_and_never_comes_back(world: World) -> None:
    key = register_api_key(world.runtime, name="鍵", scope=Scope.OWNER, secret=CHOSEN)
    world.runtime.home.keys.revoke(key.id, NOW, keep_last_owner=False)
    with pytest.raises(Unauthenticated):
        principal_of_api_key(world.runtime.home.keys, CHOSEN)
    with pytest.raises(Invalid, match="was revoked"):
        register_api_key(world.runtime, name="鍵", scope=Scope.OWNER, secret=CHOSEN)
