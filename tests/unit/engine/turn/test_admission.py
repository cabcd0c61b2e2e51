"""Who answers a message: all who take part, and never the one who said it."""

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.conversation.message import Sender
from opencrab.domain.errors import Conflict
from tests.unit.engine.known_world import World


@pytest.mark.parametrize("text", ["どう思いますか？", "What do you think?"])
def test_an_agent_does_not_answer_its_own_message(world: World, text: str) -> None:
    peer = {"source": Source.PEER, "authority": Authority.PEER, "principal_id": "mika"}
    turns = world.say(text, sender=Sender(id="mika", name="美香"), **peer)
    assert [turn.agent_id for turn in turns] == ["ken"]
    assert [turn.agent_id for turn in world.say(text)] == ["mika", "ken"]


def test_a_message_of_words_alone_has_nothing_beside_its_words(world: World) -> None:
    world.say("海は青い")
    (line,) = world.runtime.home.journal.lines("s1")
    assert (line.text, line.data) == ("海は青い", None)


def test_the_hash_of_a_message_lies_in_its_marker_and_not_in_each_header(world: World) -> None:
    turns = world.say("海は青い")
    assert [turn.body_hash for turn in turns] == ["", ""]
    assert world.say("海は青い", source_id="again") == world.say("海は青い", source_id="again")
    with pytest.raises(Conflict, match="already used"):
        world.say("the sea is green", source_id="again")
