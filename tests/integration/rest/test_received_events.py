"""Received events over REST: what an agent was told of in the last days, newest first."""

from opencrab.domain.agents.event import HAPPENING, KEPT, AgentEvent
from opencrab.domain.document import new_fact
from opencrab.engine.agents.vital_signs import LONG_AGO
from tests.integration.rest.house import House, problem


def tell(house: House, agent: str, text: str) -> None:
    body = {"type": "world.tide", "source": "harbour", "text": text}
    assert house.call("POST", f"/agents/{agent}/events", body).json()["kept"]


def test_an_owner_sees_what_an_agent_was_told_of_page_by_page(house: House) -> None:
    agent = house.agent("汐", heartbeat={"subscriptions": [{"type": "world.*"}]})
    path = f"/agents/{agent}/received-events"
    assert house.got(path) == {"items": [], "next_cursor": None}
    for text in ("満潮", "ebb", "<b>大潮</b>"):
        tell(house, agent, text)
    first = house.got(f"{path}?limit=2")
    rest = house.got(f"{path}?limit=2&cursor={first['next_cursor']}")
    found = [*first["items"], *rest["items"]]
    assert [each["text"] for each in found] == ["<b>大潮</b>", "ebb", "満潮"]
    assert {(each["type"], each["source"], each["tainted"]) for each in found} == {
        ("world.tide", "harbour", True)
    }
    assert rest["next_cursor"] is None


def test_received_events_are_their_owners(house: House) -> None:
    path = f"/agents/{house.agent()}/received-events"
    for key in (house.chat, house.read):
        problem(house.call("GET", path, key=key), 403)
    problem(house.call("GET", "/agents/nobody/received-events"), 404)
    problem(house.call("GET", f"{path}?cursor=x"), 422)


def test_an_event_that_has_expired_is_not_shown(house: House) -> None:
    agent = house.agent("汐")
    event = AgentEvent(id="01", type="world.tide", source="harbour", at=LONG_AGO)
    expired = new_fact(agent, HAPPENING, "01", event, expires_at=LONG_AGO + KEPT)
    house.runtime.home.facts.commit(expired)
    assert house.got(f"/agents/{agent}/received-events")["items"] == []
