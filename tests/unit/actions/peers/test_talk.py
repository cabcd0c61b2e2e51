"""talk_to_peer: what is sent, as whose words, and what is refused."""

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.session import Mode
from opencrab.domain.peers.talk import PEER_TALK, PeerTalk
from tests.e2e.house import House
from tests.unit.actions.peers.asking import act, gathered

ASKED = {"peer": "Botan", "purpose": "満潮を知る", "message": "満潮は何時ですか。"}


def test_a_message_is_due_once_as_the_words_of_a_peer(home: House) -> None:
    gathered(home, "aki", "bo")
    result = act(home, "talk_to_peer", **ASKED)
    (item,) = result.due
    said = item.message
    assert (said.source, said.authority, said.principal_id) == (Source.PEER, Authority.PEER, "aki")
    assert (said.sender.id, said.sender.name) == ("aki", "秋")
    assert said.text == "[Purpose: 満潮を知る]\n満潮は何時ですか。"
    assert (item.only, item.taint, item.hops) == (("bo",), True, 1)
    assert item.session is not None
    assert (item.session.mode, item.session.name) == (Mode.DIRECT, "秋, Botan")
    stored = home.home.facts.get("aki", PEER_TALK, "bo")
    assert stored is not None
    assert stored.expires_at is not None
    assert stored.read(PeerTalk).session_id == item.session_id
    assert "満潮" not in str(stored.body)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"peer": "nobody"}, "is in your reach"),
        ({"peer": "秋"}, "is in your reach"),
        ({"message": " \n"}, "blank"),
        ({"purpose": "\u200b"}, "blank"),
    ],
)
def test_what_cannot_be_sent_is_refused(home: House, changes: dict[str, str], why: str) -> None:
    gathered(home, "aki", "bo")
    result = act(home, "talk_to_peer", **{**ASKED, **changes})
    assert why in (result.error or "")
    assert (result.due, result.facts) == ((), ())
