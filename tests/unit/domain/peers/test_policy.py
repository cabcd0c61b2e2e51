"""Who may reach whom: both policies decide, and the default is the same owner."""

from datetime import UTC, datetime

import pytest

from opencrab.domain.agents.agent import Agent, AgentStatus, Identity, Profile
from opencrab.domain.agents.soul import Soul
from opencrab.domain.peers.policy import PeerPolicy, PeerReach, peers_in_reach

NOW = datetime(2026, 2, 17, 9, 0, tzinfo=UTC)
NOBODY = PeerPolicy(reach=PeerReach.NOBODY)


def profile(agent_id: str, owner: str | None = "kei", **changes: object) -> Profile:
    agent = Agent(id=agent_id, name=agent_id, owner=owner, created_at=NOW, updated_at=NOW)
    return Profile(
        agent=agent.replaced(**changes),
        soul=Soul(persona_name=agent_id),
        identity=Identity(name=agent_id),
    )


def listed(*agents: str) -> PeerPolicy:
    return PeerPolicy(reach=PeerReach.LISTED, agents=agents)


def reached(policies: dict[str, PeerPolicy], *others: Profile) -> list[str]:
    found = peers_in_reach(profile("aki").agent, (profile("aki"), *others), policies)
    return [each.agent.id for each in found]


def test_agents_of_one_owner_reach_each_other_and_nobody_else_or_themselves() -> None:
    others = (profile("bo"), profile("eve", "somebody"), profile("free", None))
    assert reached({}, *others) == ["bo"]


def test_agents_without_an_owner_are_of_one() -> None:
    alone = profile("aki", None)
    assert peers_in_reach(alone.agent, (profile("bo", None), profile("cy")), {})[0].agent.id == "bo"


def test_who_has_retired_is_not_reached_and_who_sleeps_is() -> None:
    gone = profile("bo", status=AgentStatus.RETIRED)
    asleep = profile("caro", status=AgentStatus.DORMANT)
    assert reached({}, gone, asleep) == ["caro"]


@pytest.mark.parametrize(
    ("own", "theirs", "both"),
    [
        (NOBODY, PeerPolicy(), False),
        (PeerPolicy(), NOBODY, False),
        (listed("bo"), PeerPolicy(), True),
        (listed("caro"), PeerPolicy(), False),
        (PeerPolicy(), listed("aki"), True),
        (PeerPolicy(), listed("caro"), False),
    ],
)
def test_either_of_both_may_refuse(own: PeerPolicy, theirs: PeerPolicy, *, both: bool) -> None:
    assert (reached({"aki": own, "bo": theirs}, profile("bo")) == ["bo"]) is both


@pytest.mark.parametrize(("theirs", "both"), [(listed("aki"), True), (PeerPolicy(), False)])
def test_another_owners_agent_is_reached_if_both_name_each_other(
    theirs: PeerPolicy, *, both: bool
) -> None:
    policies = {"aki": listed("eve"), "eve": theirs}
    assert (reached(policies, profile("eve", "somebody")) == ["eve"]) is both
