"""invite_to_discussion: a discussion of the named agents and the one that invites."""

from opencrab.domain.conversation.session import Mode
from opencrab.domain.peers.policy import PeerPolicy, PeerReach
from opencrab.domain.peers.talk import DISCUSSIONS_A_DAY
from opencrab.engine.peers.policy import set_peer_policy
from tests.e2e.house import House
from tests.e2e.meeting import meets
from tests.unit.actions.peers.asking import act, gathered

WANTED = {"subject": "海の行事", "message": "秋に何をしますか。"}


def test_the_session_has_everybody_once_and_a_limit(home: House) -> None:
    gathered(home, "aki", "bo", "caro")
    result = act(home, "invite_to_discussion", agents=["Botan", "caro", "bo"], **WANTED)
    assert result.data is not None
    assert result.data["invited"] == ["Botan", "caro"]
    (item,) = result.due
    session = item.session
    assert session is not None
    assert (session.agent_ids, session.mode) == (("bo", "caro", "aki"), Mode.AUTONOMOUS)
    assert (session.hop_limit, session.theme, session.discusses) == (9, "海の行事", True)
    assert item.only == ("bo",)


def test_discussions_of_a_day_are_limited_and_strangers_are_not_invited(home: House) -> None:
    gathered(home, "aki", "bo")
    stranger = act(home, "invite_to_discussion", agents=["Botan", "eve"], **WANTED)
    assert "is in your reach" in (stranger.error or "")
    for _ in range(DISCUSSIONS_A_DAY):
        assert act(home, "invite_to_discussion", agents=["bo"], **WANTED).success
    refused = act(home, "invite_to_discussion", agents=["bo"], **WANTED)
    assert "discussions in a day" in (refused.error or "")


def test_agents_that_may_not_reach_each_other_are_not_brought_together(home: House) -> None:
    gathered(home, "aki")
    meets(home, "bo", owner="kei")
    meets(home, "eve", owner="ren")
    for name, others in {"aki": ("bo", "eve"), "bo": ("aki",), "eve": ("aki",)}.items():
        set_peer_policy(home.home, name, PeerPolicy(reach=PeerReach.LISTED, agents=others))
    refused = act(home, "invite_to_discussion", agents=["bo", "eve"], **WANTED)
    assert refused.error is not None
    assert "Botan and Eve may not reach each other" in refused.error
    set_peer_policy(home.home, "bo", PeerPolicy(reach=PeerReach.LISTED, agents=("aki", "eve")))
    assert not act(home, "invite_to_discussion", agents=["bo", "eve"], **WANTED).success
    set_peer_policy(home.home, "eve", PeerPolicy(reach=PeerReach.LISTED, agents=("aki", "bo")))
    assert act(home, "invite_to_discussion", agents=["bo", "eve"], **WANTED).success
