"""Hidden places: a cursor says nothing of the item that it follows, and leads back to it."""

from datetime import timedelta

from opencrab.domain.document import INSTALLATION_FACTS
from opencrab.engine.access.list_cursor import (
    LIST_CURSOR,
    principal_place_hider,
    unhidden_principal_place,
)
from tests.unit.engine.known_world import World


def test_a_name_leads_back_to_its_place_in_its_own_list(world: World) -> None:
    name = principal_place_hider(world.runtime, "sessions")("secret-session")
    assert "secret" not in name
    assert unhidden_principal_place(world.runtime, "sessions", name) == "secret-session"
    assert unhidden_principal_place(world.runtime, "agents", name) is None
    assert unhidden_principal_place(world.runtime, "sessions", "~unknown") is None
    assert unhidden_principal_place(world.runtime, "sessions", "s1") == "s1"


def test_a_name_is_kept_for_a_day(world: World) -> None:
    name = principal_place_hider(world.runtime, "sessions")("s1")
    stored = world.runtime.home.facts.get(INSTALLATION_FACTS, LIST_CURSOR, name[1:])
    assert stored is not None
    assert stored.expires_at == world.clock.now() + timedelta(days=1)
