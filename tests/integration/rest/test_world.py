"""Worlds over REST: an owner binds an agent once, everybody with a key sees where it lives."""

from opencrab.adapters.system_clock import SystemClock
from opencrab.ports.world import WorldLink
from tests.integration.rest.house import House, problem
from tests.world.reference import ReferenceWorld


def test_an_agent_is_bound_once_and_seen_in_its_world(house: House) -> None:
    agent = house.call("POST", "/agents", {"name": "Crab"}).json()["id"]
    path = f"/agents/{agent}/world"
    kingdom = ReferenceWorld(SystemClock())  # type: ignore[arg-type]  # only its time is asked for
    body = {"world_id": "kingdom", "keys": [kingdom.key.public_key], "role": "LIBRARIAN"}
    assert (
        problem(house.call("PUT", path, body), 403)["cure"]
        == "see docs/how-to/connect-an-agent-to-a-world.md"
    )
    assert house.runtime.secrets is not None
    house.furnish(world=WorldLink(kingdom.envelopes, kingdom, house.runtime.secrets))
    problem(house.call("GET", path), 404)
    bound = house.call("PUT", path, body)
    assert bound.status_code == 200, bound.text
    assert house.call("PUT", path, body).json() == bound.json()
    assert house.call("GET", path, key=house.read).json() == bound.json()
    shown = bound.json()
    assert (shown["genome"]["role"], shown["units"], len(shown["key_id"])) == (
        "LIBRARIAN",
        None,
        64,
    )
    assert "private" not in bound.text
    problem(house.call("PUT", path, body | {"role": "EXPLORER"}), 409)
    problem(house.call("PUT", path, body | {"role": "KING"}), 422)
    soul = {"persona_name": "x", "drives": {"risk_tolerance": 0.9}}
    problem(house.call("PUT", f"/agents/{agent}/soul", soul), 409)


def test_an_owner_decides_whether_a_world_is_trusted(house: House) -> None:
    agent = house.call("POST", "/agents", {"name": "Crab"}).json()["id"]
    path = f"/agents/{agent}/world"
    kingdom = ReferenceWorld(SystemClock())  # type: ignore[arg-type]  # only its time is asked for
    assert house.runtime.secrets is not None
    house.furnish(world=WorldLink(kingdom.envelopes, kingdom, house.runtime.secrets))
    policy = {"trusted": True, "daily_limit": 40}
    problem(house.call("PUT", f"{path}/policy", policy), 404)
    body = {"world_id": "kingdom", "keys": [kingdom.key.public_key], "role": "LIBRARIAN"}
    assert house.call("PUT", path, body).json()["trust"] is None
    trusted = house.call("PUT", f"{path}/policy", policy)
    assert trusted.json()["trust"] == {"daily_limit": 40, "day": "", "spent": 0}
    problem(house.call("PUT", f"{path}/policy", policy, key=house.read), 403)
    problem(house.call("PUT", f"{path}/policy", policy | {"daily_limit": -1}), 422)
    asks = house.call("PUT", f"{path}/policy", {"trusted": False})
    assert asks.json()["trust"] is None
    assert house.call("GET", path, key=house.read).json() == asks.json()
