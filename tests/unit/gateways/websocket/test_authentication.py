"""The entrance: keys, tickets and origins, each checked before anything else is done."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.access.authority import Scope
from opencrab.domain.errors import Refused, Unauthenticated
from opencrab.engine.access.api_keys import create_api_key
from opencrab.engine.websocket.connections import issue_websocket_ticket
from opencrab.gateways.websocket.authentication import ConnectionGate, allowed_websocket_origins
from tests.unit.engine.known_world import World, opened

PAGE = "https://crab.example.org"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    with opened(tmp_path) as found:
        yield found


@pytest.fixture
def entrance(world: World) -> ConnectionGate:
    return ConnectionGate(world.runtime, allowed_websocket_origins([f"{PAGE}/", ""]))


def test_a_key_opens_it(world: World, entrance: ConnectionGate) -> None:
    secret, key = create_api_key(world.runtime, name="鍵", scope=Scope.READ)
    assert entrance.key({"authorization": f"Bearer {secret}"}, "") == key.hash
    assert entrance.key({"authorization": f"bearer  {secret} "}, "") == key.hash


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "Basic abc", "Bearer a b", "Bearer x"])
def test_anything_else_in_the_header_does_not(entrance: ConnectionGate, header: str) -> None:
    with pytest.raises(Unauthenticated):
        entrance.key({"authorization": header}, "")


def test_a_wrong_header_is_not_saved_by_a_ticket(world: World, entrance: ConnectionGate) -> None:
    _, key = create_api_key(world.runtime, name="鍵", scope=Scope.READ)
    ticket, _ = issue_websocket_ticket(world.runtime, key.hash)
    with pytest.raises(Unauthenticated):
        entrance.key({"authorization": "Bearer wrong-wrong-wrong"}, f"ticket={ticket}")
    assert entrance.key({}, f"ticket={ticket}") == key.hash


@pytest.mark.parametrize("query", ["", "ticket=", "ticket=a&ticket=b", "Ticket=x", "key=x", "%"])
def test_without_one_ticket_nobody_comes_in(entrance: ConnectionGate, query: str) -> None:
    with pytest.raises(Unauthenticated):
        entrance.key({}, query)


def test_a_ticket_of_a_key_that_was_revoked_meanwhile_opens_nothing(
    world: World, entrance: ConnectionGate
) -> None:
    _, key = create_api_key(world.runtime, name="鍵", scope=Scope.READ)
    ticket, _ = issue_websocket_ticket(world.runtime, key.hash)
    world.runtime.home.keys.revoke(key.id, world.clock.now())
    with pytest.raises(Unauthenticated):
        entrance.key({}, f"ticket={ticket}")


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "http://crab.example.org",
        "https://crab.example.org.evil.example",
        "https://crab.example.org:8443",
    ],
)
def test_a_page_of_another_origin_is_refused_whatever_it_brings(
    world: World, entrance: ConnectionGate, origin: str
) -> None:
    secret, _ = create_api_key(world.runtime, name="鍵", scope=Scope.OWNER)
    with pytest.raises(Refused):
        entrance.key({"authorization": f"Bearer {secret}", "origin": origin}, "")


@pytest.mark.parametrize("origin", [PAGE, "HTTPS://Crab.Example.org", f"{PAGE}/"])
def test_a_listed_page_may_connect(world: World, entrance: ConnectionGate, origin: str) -> None:
    secret, key = create_api_key(world.runtime, name="鍵", scope=Scope.OWNER)
    headers = {"authorization": f"Bearer {secret}", "origin": origin}
    assert entrance.key(headers, "") == key.hash
