"""Messages elsewhere: who may be told unasked, who never, and that each is sent once."""

import pytest

from opencrab.actions.peers.message import SendMessage
from opencrab.domain.access.authority import Authority
from opencrab.domain.access.impact import Impact
from opencrab.domain.conversation.session import Participant, Session
from opencrab.domain.turn.record import ActionCall
from opencrab.domain.turn.transcript import Transcript
from opencrab.engine.turn.call import context_of_turn_call
from opencrab.engine.turn.observe import load_turn_work
from tests.e2e.house import House
from tests.unit.actions.peers.asking import REGISTRY, act, gathered


def opened(home: House, session_id: str, by: str, *agents: str) -> None:
    now = home.clock.now()
    session = Session(
        id=session_id,
        participants=tuple(Participant(agent_id=each) for each in agents),
        created_by=by,
        created_at=now,
        updated_at=now,
    )
    home.home.sessions.create(session)


def impact(home: House, to: str) -> Impact:
    (turn,) = home.say("please", f"i-{to}")
    work = load_turn_work(home.runtime, turn, Transcript())
    context = context_of_turn_call(work, ActionCall(id="c", name="send_message", arguments={}), {})
    action = REGISTRY.find("send_message")
    assert action is not None
    assert action.impact_of is not None
    return action.impact_of(SendMessage(to=to, content="やあ"), context)


@pytest.fixture
def room(home: House) -> House:
    """Aki with a conversation of the owner, of Taro, and of nobody it knows."""
    gathered(home, "aki", "bo")
    owner = home.home.agents.get("aki").agent.owner or ""
    opened(home, "with-owner", owner, "aki")
    opened(home, "with-taro", "taro", "aki")
    opened(home, "of-others", owner, "bo")
    return home


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("with-owner", Impact.SELF),
        ("owner", Impact.SELF),
        ("owner_sessions", Impact.SELF),
        ("agents", Impact.SELF),
        ("with-taro", Impact.SHARED),
        ("taro", Impact.SHARED),
        ("of-others", Impact.SHARED),
        ("nobody", Impact.SHARED),
    ],
)
def test_what_others_than_the_owner_read_is_shared(room: House, to: str, expected: Impact) -> None:
    assert impact(room, to) is expected


@pytest.mark.parametrize(
    ("to", "places"),
    [
        ("with-taro", ["with-taro"]),
        ("taro", ["with-taro"]),
        ("owner", ["with-owner"]),
        ("owner_sessions", ["with-owner"]),
    ],
)
@pytest.mark.parametrize("words", ["満潮です", "High tide"])
def test_each_conversation_gets_one_message(
    room: House, to: str, places: list[str], words: str
) -> None:
    result = act(room, "send_message", to=to, content=words)
    assert result.data == {"sent_to": places}
    assert [(item.session_id, item.message.text) for item in result.due] == [
        (place, words) for place in places
    ]


def test_agents_are_told_by_one_message_that_names_them(room: House) -> None:
    (item,) = act(room, "send_message", to="agents", content="満潮").due
    assert item.only == ("bo",)


@pytest.mark.parametrize("by", [Authority.PEER, Authority.PUBLIC])
def test_outsiders_have_nobody_told_anything(room: House, by: Authority) -> None:
    result = act(room, "send_message", to="owner", content="満潮", by=by)
    assert (result.success, result.due) == (False, ())


@pytest.mark.parametrize(
    ("to", "content", "why"),
    [
        ("owner", "  ", "content is blank"),
        ("of-others", "満潮", "you have no other conversation"),
        ("s", "満潮", "this is the present conversation"),
        ("agents", "満" * 1_801, "at most 1800 characters go to agents"),
    ],
)
def test_a_wrong_message_is_refused_with_the_reason(
    room: House, to: str, content: str, why: str
) -> None:
    result = act(room, "send_message", to=to, content=content)
    assert result.error is not None
    assert why in result.error


def test_a_conversation_that_has_ended_is_told_nothing(room: House) -> None:
    room.home.sessions.end("with-owner", room.clock.now())
    result = act(room, "send_message", to="with-owner", content="満潮")
    assert "has ended" in str(result.error)
    assert "no other conversation" in str(
        act(room, "send_message", to="owner_sessions", content="満潮").error
    )
