"""list_peers: who is there, what for, and what is known of them, for those whom it concerns."""

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.document import new_fact
from opencrab.domain.memory.peer import PEER, Peer
from opencrab.domain.turn.action import Effect
from tests.e2e.house import House
from tests.unit.actions.peers.asking import REGISTRY, act, gathered


def test_agents_are_listed_with_purpose_trust_and_last_contact(home: House) -> None:
    gathered(home, "aki", "bo", "caro")
    met = Peer(agent_id="bo", interactions=2, successes=1, last_at=home.clock.now())
    home.home.facts.commit(new_fact("aki", PEER, "bo", met))
    act(home, "talk_to_peer", peer="caro", purpose="潮", message="満潮は?")
    result = act(home, "list_peers")
    assert result.data is not None
    bo, caro = result.data["peers"]
    assert (bo["name"], bo["purpose"], bo["trust"]) == ("Botan", "Purpose of Botan", 0.5)
    assert (caro["trust"], caro["talk"]) == ("unknown", "open")
    assert bo["last_contact"] == caro["last_contact"] == "2026-01-05T09:00+00:00"
    assert not result.taint


def test_who_has_retired_is_not_listed(home: House) -> None:
    gathered(home, "aki", "bo")
    bo = home.home.agents.get("bo").agent
    home.home.agents.save(bo.replaced(status=AgentStatus.RETIRED))
    assert act(home, "list_peers").data == {"peers": []}


@pytest.mark.parametrize("authority", [Authority.PUBLIC, Authority.PEER])
@pytest.mark.parametrize("name", ["list_peers", "read_notices"])
def test_outsiders_learn_of_no_other_agent(home: House, name: str, authority: Authority) -> None:
    gathered(home, "aki", "bo")
    result = act(home, name, by=authority)
    assert (result.success, result.data) == (False, None)


def test_a_user_learns_names_and_nothing_that_the_agent_thinks(home: House) -> None:
    gathered(home, "aki", "bo")
    assert act(home, "list_peers", by=Authority.USER).data == {"peers": [{"name": "Botan"}]}
    assert not act(home, "read_notices", by=Authority.USER).success


def test_two_agents_of_one_name_are_told_apart_by_id(home: House) -> None:
    gathered(home, "aki", "bo", "caro")
    caro = home.home.agents.get("caro")
    named = caro.identity.replaced(name="BOTAN")
    home.home.agents.save(caro.agent, identity=named)
    asked = {"purpose": "潮", "message": "満潮は?"}
    unclear = act(home, "talk_to_peer", peer="botan", **asked)
    assert "use bo, caro" in (unclear.error or "")
    assert act(home, "talk_to_peer", peer="caro", **asked).success


def test_none_of_them_is_unasked_for_others_and_all_run_by_the_default_policy() -> None:
    for name in ("talk_to_peer", "invite_to_discussion", "ask_for_help", "offer"):
        action = REGISTRY.find(name)
        assert action is not None
        assert (action.impact, action.effect) == (Impact.SELF, Effect.TRANSACTIONAL)
        assert not action.for_peers
