"""Membership: a session is shared with people who have a chat key, and stops being shared."""

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.access.session_access import MEMBERS, SessionAccess
from opencrab.domain.errors import Conflict, Invalid, NotFound
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.access.membership import let_principal_access_session, revoke_session_access
from opencrab.engine.access.visibility import (
    collect_items_with_access,
    may_principal_see_session,
    require_access_to_session,
)
from tests.unit.engine.known_world import World


def test_whoever_is_invited_sees_a_session_until_that_ends(world: World) -> None:
    home, (_, key) = (
        world.runtime.home,
        create_api_key(world.runtime, name="健", scope=Scope.CHAT),
    )
    who = key.principal
    assert not may_principal_see_session(home, who, "s1")
    with pytest.raises(NotFound) as hidden:
        require_access_to_session(home, who, "s1")
    with pytest.raises(NotFound) as missing:
        require_access_to_session(home, who, "s9")
    assert str(hidden.value).replace("s1", "s9") == str(missing.value)
    for _ in range(2):
        invited = let_principal_access_session(home.facts, home.keys, "s1", who.id)
        assert invited == SessionAccess(members=(who.id,))
    assert may_principal_see_session(home, who, "s1")
    assert revoke_session_access(home.facts, "s1", who.id) == SessionAccess()
    assert revoke_session_access(home.facts, "s1", who.id) == SessionAccess()
    assert not may_principal_see_session(home, who, "s1")


def test_a_second_key_of_a_person_sees_what_the_first_saw(world: World) -> None:
    home = world.runtime.home
    _, first = create_api_key(world.runtime, name="Ken", scope=Scope.CHAT)
    let_principal_access_session(home.facts, home.keys, "s1", first.principal.id)
    home.keys.revoke(first.id, world.clock.now())
    _, second = create_api_key(
        world.runtime, name="Ken", scope=Scope.CHAT, principal_id=first.principal.id
    )
    assert may_principal_see_session(home, second.principal, "s1")


@pytest.mark.parametrize("scope", [Scope.READ, None])
def test_only_somebody_with_a_chat_key_is_invited(world: World, scope: Scope | None) -> None:
    home, name = world.runtime.home, "nobody"
    if scope is not None:
        name = create_api_key(world.runtime, name="r", scope=scope)[1].id
    with pytest.raises(Invalid, match="no chat key"):
        let_principal_access_session(home.facts, home.keys, "s1", name)


def test_a_session_has_so_many_members(world: World) -> None:
    home = world.runtime.home
    made = [create_api_key(world.runtime, name="x", scope=Scope.CHAT)[1].id for _ in range(51)]
    for each in made[:MEMBERS]:
        let_principal_access_session(home.facts, home.keys, "s1", each)
    with pytest.raises(Conflict, match="50 members"):
        let_principal_access_session(home.facts, home.keys, "s1", made[-1])


def test_a_page_continues_after_what_is_hidden() -> None:
    listed = [f"{number:04d}" for number in range(2_500)]

    def page(after: str, limit: int) -> list[str]:
        return [each for each in listed if each > after][:limit]

    found, after, calls, hidden = list[str](), "", 0, list[str]()

    def hide(place: str) -> str:
        hidden.append(place)
        return place

    while True:
        some, place = collect_items_with_access(
            page,
            lambda rows: [each for each in rows if int(each) % 700 == 3],
            str,
            after=after,
            limit=2,
            hide=hide,
        )
        found, calls = found + some, calls + 1
        assert len(some) <= 2
        if place is None:
            break
        after = place
    assert found == ["0003", "0703", "1403", "2103"]
    assert calls < 6
    assert hidden
    assert not set(hidden) & set(found), "an item that is seen may name its own place"
