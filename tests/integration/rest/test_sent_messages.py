"""Messages elsewhere: to a conversation, a person, all conversations of the owner, all agents."""

from typing import Any

import pytest

from opencrab.adapters.providers.scripted.script import ScriptedAnswer, ScriptedCall
from opencrab.engine.autonomy.due_items import admit_due_item
from opencrab.engine.autonomy.sweep import sweep_due_items
from tests.integration.rest.house import House

both_languages = pytest.mark.parametrize("words", ["満潮は6時です", "High tide is at six"])


def alone(house: House, agent_id: str) -> str:
    """A session's id that only the owner reads."""
    return str(house.made("/sessions", {"participants": [agent_id]})["id"])


def sends(house: House, session_id: str, to: str, words: str, **sent: Any) -> str:
    """Somebody asks in a session, and the agent sends something elsewhere; the turn's id."""
    call = ScriptedCall("send_message", {"to": to, "content": words})
    house.script(ScriptedAnswer(calls=(call,)), ScriptedAnswer(text="はい"))
    (turn_id,) = house.say(session_id, "伝えて", **sent)
    house.work()
    settle(house)
    return turn_id


def settle(house: House) -> None:
    """All that is due is done, and done a second time, as after a crash."""
    due = house.runtime.home.due.list_due(house.runtime.clock.now(), 50)
    while sweep_due_items(house.runtime):
        house.work()
    for item in due:
        admit_due_item(house.runtime, item)
    house.work()


@both_languages
def test_all_conversations_with_the_owner_alone_hear_it_once(house: House, words: str) -> None:
    mika = house.agent("美香")
    here, second, third = (alone(house, mika) for _ in range(3))
    shared = house.session(mika)
    other = house.session(house.agent("Ken"))
    sends(house, here, "owner_sessions", words)
    assert house.lines(second) == [words]
    assert house.lines(third) == [words]
    assert words not in house.lines(here) + house.lines(shared) + house.lines(other)
    (line,) = house.got(f"/sessions/{second}/messages")["items"]
    assert (line["speaker_name"], line["from_agent"], line["kind"]) == ("美香", True, "speech")


@both_languages
def test_a_conversation_that_others_read_hears_it_when_the_owner_allows(
    house: House, words: str
) -> None:
    mika = house.agent("美香")
    here, theirs = alone(house, mika), house.session(mika)
    turn_id = sends(house, here, theirs, words)
    assert house.got(f"/turns/{turn_id}")["status"] == "waiting"
    assert house.lines(theirs) == []
    house.call("POST", f"/turns/{turn_id}/decide", {"approved": True})
    house.work()
    settle(house)
    assert house.lines(theirs) == [words]


def test_a_conversation_of_the_owner_is_told_unasked(house: House) -> None:
    mika = house.agent("美香")
    here, there = alone(house, mika), alone(house, mika)
    sends(house, here, there, "できました")
    assert house.lines(there) == ["できました"]
    sends(house, here, "owner", "もうひとつ")
    assert house.lines(there) == ["できました", "もうひとつ"]


@both_languages
def test_all_agents_in_reach_are_told_and_none_is_woken(house: House, words: str) -> None:
    mika, ken = house.agent("美香"), house.agent("Ken")
    alone = house.agent("独り")
    house.call("PUT", f"/agents/{alone}/peer-policy", {"reach": "nobody"})
    here = house.session(mika)
    sends(house, here, "agents", words)
    (told,) = house.got(f"/agents/{ken}/received-events")["items"]
    assert words in told["text"]
    assert (told["type"], told["source"]) == ("peer.message", mika)
    assert house.got(f"/agents/{alone}/received-events")["items"] == []
    assert house.got(f"/agents/{mika}/received-events")["items"] == []


@pytest.mark.parametrize(
    ("to", "problem"),
    [
        ("nobody", "you have no other conversation 'nobody'"),
        ("here", "this is the present conversation"),
        ("ended", "this conversation has ended"),
        ("others", "you have no other conversation"),
        ("agents", "no agent is in your reach"),
        ("owner_sessions", "there is no other conversation with your owner alone"),
    ],
)
def test_what_cannot_be_told_is_said_with_the_cure(house: House, to: str, problem: str) -> None:
    mika = house.agent("美香")
    ken = house.agent("Ken")
    here = house.session(mika)
    known = {"here": here, "ended": house.session(mika), "others": house.session(ken)}
    house.call("POST", f"/sessions/{known['ended']}/end")
    house.call("PUT", f"/agents/{mika}/peer-policy", {"reach": "nobody"})
    turn_id = sends(house, here, known.get(to, to), "やあ")
    if house.got(f"/turns/{turn_id}")["status"] == "waiting":
        house.call("POST", f"/turns/{turn_id}/decide", {"approved": True})
        house.work()
    told = house.got(f"/sessions/{here}/messages?kinds=action")["items"]
    assert problem in told[-1]["data"]["result"]
    assert "やあ" not in house.lines(known["ended"]) + house.lines(known["others"])


def test_nobody_is_told_more_than_twenty_times_a_day(house: House) -> None:
    mika = house.agent("美香")
    here, there = alone(house, mika), alone(house, mika)
    calls = [ScriptedCall("send_message", {"to": there, "content": f"{n}番"}) for n in range(21)]
    house.script(ScriptedAnswer(calls=tuple(calls)), ScriptedAnswer(text="はい"))
    house.say(here, "全部伝えて")
    house.work()
    settle(house)
    assert len(house.lines(there)) == 20
