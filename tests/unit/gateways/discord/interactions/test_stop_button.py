"""The button that stops an answer: for who asked and for owners, where the answer is written."""

from typing import Any

import pytest

from opencrab.domain.identifier import turn_id
from opencrab.domain.turn.turn import Turn, TurnStatus
from tests.discord.recording import HANA, TARO
from tests.unit.gateways.discord.stage import GUEST, USER_ROLE, Stage

USER: dict[str, Any] = {"user": HANA, "roles": (USER_ROLE,)}


def asked(stage: Stage, **who: Any) -> Turn:
    """Somebody asks, and the turn has not begun yet."""
    stage.agent("crab")
    raw = stage.door.command("ask", agent="crab", text="元気?", of=who)
    stage.does(raw)
    session = stage.session()
    assert session is not None
    return stage.house.turn(
        turn_id(
            source="discord",
            principal=f"discord-{who.get('user', TARO)}",
            source_id=f"{session.id}/{raw['id']}",
            agent_id="crab",
        )
    )


def press(stage: Stage, turn: Turn, **who: Any) -> None:
    stage.does(stage.door.press(f"oc:sp:{turn.id}", **who))


@pytest.mark.parametrize(
    ("locale", "says"),
    [
        ("ja", "crab を停止しています。ここまでの回答は残ります。"),
        ("en-US", "crab is stopping. What was written so far stays."),
    ],
)
@pytest.mark.parametrize("who", [{}, {"user": GUEST}], ids=["owner", "who asked"])
def test_who_asked_and_owners_stop_an_answer(
    stage: Stage, who: dict[str, Any], locale: str, says: str
) -> None:
    turn = asked(stage, user=GUEST)
    press(stage, turn, **who, locale=locale)
    (told,) = stage.discord.told
    assert (told.how, told.message["flags"], told.text) == ("follow_up", 64, says)
    stop = stage.house.turn(turn.id).stop
    assert stop is not None
    assert stop.by == f"discord-{who.get('user', TARO)}"
    stage.works()
    assert stage.house.turn(turn.id).status is TurnStatus.STOPPED


def test_the_owner_of_the_agent_stops_it_too(stage: Stage) -> None:
    turn = asked(stage)
    stage.place("crab", owner_ids=(HANA,))
    press(stage, turn, user=HANA)
    assert stage.house.turn(turn.id).stop is not None


@pytest.mark.parametrize(
    ("locale", "says"),
    [
        ("ja", "⚠️ この回答を停止できるのは、質問した人とエージェントのオーナーだけです。"),
        ("en-US", "⚠️ Only the person who asked, or an owner of the agent, may stop this answer."),
    ],
)
@pytest.mark.parametrize("who", [{"user": GUEST}, USER], ids=["stranger", "user"])
def test_nobody_else_stops_it(stage: Stage, who: dict[str, Any], locale: str, says: str) -> None:
    turn = asked(stage)
    press(stage, turn, **who, locale=locale)
    (told,) = stage.discord.told
    assert (told.how, told.message["flags"], told.text) == ("follow_up", 64, says)
    assert stage.house.turn(turn.id).stop is None


def test_it_is_stopped_only_where_it_is_written(stage: Stage) -> None:
    turn = asked(stage)
    press(stage, turn, channel_id="111")
    assert "停止できるのは" in stage.texts[0]
    assert stage.house.turn(turn.id).stop is None


@pytest.mark.parametrize(
    ("locale", "says"),
    [
        ("ja", "⚠️ この回答はすでに終わっています。"),
        ("en-US", "⚠️ This answer is already complete."),
    ],
)
def test_an_answer_that_is_complete_stays_so(stage: Stage, locale: str, says: str) -> None:
    turn = asked(stage)
    stage.works()
    press(stage, turn, locale=locale)
    assert stage.texts == [says]
    assert stage.house.turn(turn.id).status is TurnStatus.COMPLETED


def test_the_same_press_twice_stops_once(stage: Stage) -> None:
    turn = asked(stage)
    raw = stage.door.press(f"oc:sp:{turn.id}")
    stage.does(raw)
    first = stage.house.turn(turn.id).stop
    stage.does(raw)
    assert stage.house.turn(turn.id).stop == first
    assert len(stage.texts) == 1


def test_a_turn_that_is_gone_is_told_so(stage: Stage) -> None:
    stage.does(stage.door.press("oc:sp:gone"))
    assert "この応答の記録はもうありません" in stage.texts[0]
