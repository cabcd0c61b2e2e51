"""People give agents instructions in a channel, and change them by the buttons of their panel."""

from dataclasses import replace
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority, Source
from opencrab.domain.agents.agent import AgentStatus
from opencrab.domain.conversation.message import LineKind
from opencrab.domain.discord.community import discord_channel
from opencrab.domain.errors import Unavailable
from opencrab.domain.goals.goal import Goal, GoalStatus
from opencrab.engine.goals import instructions
from opencrab.engine.goals.instructions import InstructionGiver, page_of_goals
from opencrab.engine.goals.pausing import require_goal_document
from opencrab.ports.models.model import ChatMessage
from opencrab.ports.turn.queue import MessageOutcome
from tests.crash.outside import Reply
from tests.discord.recording import CHANNEL, HANA, TARO
from tests.unit.gateways.discord.stage import GUEST, USER_ROLE, Stage

USER: dict[str, Any] = {"user": HANA, "roles": (USER_ROLE,)}
WAITS = (Reply(text="まだです。"),)


@pytest.fixture
def desk(stage: Stage) -> Stage:
    """An agent that can be given instructions."""
    stage.agent("crab", WAITS)
    return stage


def given(desk: Stage, text: str = "メモを整理して", **more: Any) -> Goal:
    """Give an instruction; answers its goal."""
    desk.does(desk.door.command("task", agent="crab", instruction=text, of=more))
    return page_of_goals(desk.runtime.home, "crab")[0]


def goal(desk: Stage, label: str = "G1") -> Goal:
    return require_goal_document(desk.runtime.home.facts, "crab", label).read(Goal)


def test_an_instruction_becomes_a_goal_whose_panel_is_the_answer(any_stage: Stage) -> None:
    desk = any_stage
    desk.agent("crab", WAITS)
    raw = desk.door.command("task", agent="crab", instruction="メモを整理して")
    assert desk.does(raw) is MessageOutcome.FINISHED
    made = goal(desk)
    assert made.channel == discord_channel(CHANNEL, raw["id"])
    assert (made.authority, made.door) == (Authority.OWNER, Source.DISCORD)
    assert desk.texts == []
    desk.delivers()
    place, panel = desk.room.panels[0]
    assert place == made.channel
    assert (panel.goal, panel.name) == ("G1", "メモを整理して")


def test_the_same_instruction_twice_is_one_goal(any_stage: Stage) -> None:
    desk = any_stage
    desk.agent("crab", WAITS)
    raw = desk.door.command("task", agent="crab", instruction="メモを整理して")
    desk.does(raw)
    desk.does(raw)
    assert len(page_of_goals(desk.runtime.home, "crab")) == 1


def test_an_instruction_that_waits_in_line_is_shown_at_once(desk: Stage) -> None:
    given(desk)
    second = given(desk, "次の仕事")
    desk.delivers()
    shown = [panel.standing for place, panel in desk.room.panels if panel.goal == second.id]
    assert shown == ["pending"]


def test_users_give_instructions_of_their_own(desk: Stage) -> None:
    made = given(desk, **USER)
    assert (made.authority, made.principal_id) == (Authority.USER, f"discord-{HANA}")


@pytest.mark.parametrize(("locale", "says"), [("ja", "/聞く で質問"), ("en-US", "with /ask")])
def test_the_public_gives_none_and_is_told_what_it_can_do(
    desk: Stage, locale: str, says: str
) -> None:
    raw = desk.door.command(
        "task", agent="crab", instruction="x", of={"user": GUEST, "locale": locale}
    )
    desk.does(raw)
    assert says in desk.texts[0]
    assert page_of_goals(desk.runtime.home, "crab") == ()


def test_an_instruction_without_words_is_refused(desk: Stage) -> None:
    desk.does(desk.door.command("task", agent="crab", instruction="  "))
    assert "空です" in desk.texts[0]


def test_too_many_open_instructions_are_refused_in_japanese(desk: Stage) -> None:
    for n in range(20):
        given(desk, f"仕事{n}")
    desk.does(desk.door.command("task", agent="crab", instruction="もう一つ"))
    assert desk.texts == [
        "⚠️ crab には未完了の目標が 20 件あります。終わるのを待つか、どれかを中止してください。"
    ]


def test_who_has_retired_is_given_nothing(desk: Stage) -> None:
    agent = desk.house.home.agents.get("crab").agent
    desk.house.home.agents.save(agent.replaced(status=AgentStatus.RETIRED))
    desk.does(desk.door.command("task", agent="crab", instruction="x"))
    assert "引退" in desk.texts[0]


def press(desk: Stage, what: str, label: str = "G1", **who: Any) -> list[str]:
    """Press a button of the panel; answers what was said to it."""
    before = len(desk.texts)
    desk.does(desk.door.press(f"oc:{what}:crab:{label}", **who))
    return desk.texts[before:]


def test_buttons_pause_resume_and_cancel(desk: Stage) -> None:
    given(desk)
    assert press(desk, "pa") == []
    assert goal(desk).pause is not None
    press(desk, "re")
    assert goal(desk).pause is None
    press(desk, "cn")
    assert goal(desk).status is GoalStatus.ABANDONED


def test_each_change_by_a_button_is_shown_in_the_panel(desk: Stage) -> None:
    given(desk)
    desk.delivers()
    shown = []
    for what in ("pa", "re", "pa", "cn"):
        before = len(desk.room.panels)
        press(desk, what)
        desk.delivers()
        shown.append(desk.room.panels[before:][0][1].standing)
    assert shown[0] == "paused"
    assert shown[2:] == ["paused", "abandoned"]


def test_the_same_press_twice_changes_nothing_more(desk: Stage) -> None:
    given(desk)
    raw = desk.door.press("oc:pa:crab:G1")
    desk.does(raw)
    first = goal(desk)
    desk.does(raw)
    assert goal(desk) == first


def test_who_gave_an_instruction_may_change_it(desk: Stage) -> None:
    given(desk, **USER)
    assert press(desk, "pa", **USER) == []
    assert goal(desk).pause is not None


@pytest.mark.parametrize(
    ("locale", "says"),
    [
        (
            "ja",
            "⚠️ あなたは crab にタスクを頼めなくなりました。\n"
            "このタスクに対してできるのは「中止」だけです。",
        ),
        ("en-US", "⚠️ You may no longer give crab tasks.\nYou can still cancel this one."),
    ],
)
def test_who_is_no_user_any_more_can_only_cancel(desk: Stage, locale: str, says: str) -> None:
    given(desk, **USER)
    before = goal(desk)
    demoted = {"user": HANA, "locale": locale}
    assert [*press(desk, "pa", **demoted), *press(desk, "re", **demoted)] == [says] * 2
    assert steer(desk, "全部やめて", **demoted) == says
    assert goal(desk) == before
    assert "全部やめて" not in heard(desk)
    assert press(desk, "cn", **demoted) == []
    assert goal(desk).status is GoalStatus.ABANDONED


def test_a_user_who_steers_is_not_taken_for_the_owner(desk: Stage) -> None:
    given(desk, **USER)
    steer(desk, "急いで", **USER)
    desk.works()
    (shown,) = [
        each.text
        for each in desk.house.provider.seen[0].turns
        if isinstance(each, ChatMessage) and each.text.endswith("急いで")
    ]
    assert shown.startswith("[オーナーではない人からの指示: ")
    assert f"(discord-{HANA})" in shown


@pytest.mark.parametrize(
    ("authority", "taints"), [(Authority.USER, False), (Authority.PUBLIC, True)]
)
def test_who_is_not_trusted_taints_the_turn_that_hears_them(
    desk: Stage, authority: Authority, *, taints: bool
) -> None:
    given(desk)
    asker = InstructionGiver("discord-1", "花子", Source.DISCORD, authority)
    instructions.steer_goal(desk.runtime, "crab", "G1", "急いで", asker=asker, key="k")
    turn_id = goal(desk).turn_id
    assert turn_id is not None
    desk.works()
    assert desk.house.turn(turn_id).taint is taints


def test_an_instruction_whose_panel_cannot_be_told_of_is_tried_again(desk: Stage) -> None:
    class Down:
        def send(self, body: str, *, group: str, deduplication: str) -> None:
            raise Unavailable("the queue does not answer")

    deliveries: Any = Down()
    up = desk.runtime
    raw = desk.door.command("task", agent="crab", instruction="x")
    desk.house.runtime = replace(up, home=replace(up.home, deliveries=deliveries))
    assert desk.does(raw) is MessageOutcome.CONTINUE
    desk.house.runtime = up
    assert desk.does(raw, count=2) is MessageOutcome.FINISHED
    desk.delivers()
    assert [panel.goal for _, panel in desk.room.panels] == ["G1"]
    assert len(page_of_goals(desk.runtime.home, "crab")) == 1


def test_the_owner_may_change_any(desk: Stage) -> None:
    given(desk, **USER)
    press(desk, "cn", user=TARO)
    assert goal(desk).status is GoalStatus.ABANDONED


@pytest.mark.parametrize("what", ["pa", "re", "cn"])
@pytest.mark.parametrize("who", [USER, {"user": GUEST}])
def test_others_may_not_and_only_they_are_told(desk: Stage, what: str, who: dict[str, Any]) -> None:
    given(desk)
    before = goal(desk)
    assert press(desk, what, **who, locale="en-US") == [
        "⚠️ Only the owner, or the person who gave this task, may do this."
    ]
    assert (desk.discord.told[-1].how, desk.discord.told[-1].message["flags"]) == ("follow_up", 64)
    assert goal(desk) == before


def test_what_has_ended_is_paused_no_more(desk: Stage) -> None:
    given(desk)
    press(desk, "cn")
    assert press(desk, "pa") == ["⚠️ G1 はすでに終わっています。"]
    assert press(desk, "re") == ["⚠️ G1 はすでに終わっています。"]


@pytest.mark.parametrize("custom_id", ["oc:pa:crab:G9", "oc:pa:nobody:G1", "oc:cn:crab:x"])
def test_buttons_of_what_is_not_there_are_told_so(desk: Stage, custom_id: str) -> None:
    desk.does(desk.door.press(custom_id))
    assert len(desk.texts) == 1
    assert desk.discord.told[0].how == "follow_up"


def steer(desk: Stage, text: str, **who: Any) -> str:
    desk.does(desk.door.form("oc:sm:crab:G1", text, **who))
    assert desk.discord.told[-1].how == "edit_reply"
    return desk.texts[-1]


def heard(desk: Stage) -> list[str]:
    lines = desk.house.home.journal.lines(goal(desk).session_id, limit=100)
    return [line.text for line in lines if line.kind is LineKind.SYSTEM]


def test_a_form_steers_an_instruction_once(desk: Stage) -> None:
    given(desk)
    desk.delivers()
    raw = desk.door.form("oc:sm:crab:G1", "英語で書いて")
    desk.does(raw)
    desk.does(raw)
    assert desk.texts == ["crab に伝えました。次のステップの前に読みます。"] * 2
    assert heard(desk).count("英語で書いて") == 1


def test_only_the_owner_and_who_gave_it_steer(desk: Stage) -> None:
    given(desk, **USER)
    desk.delivers()
    assert "本人だけ" in steer(desk, "全部やめて", user=GUEST)
    assert "伝えました" in steer(desk, "急いで", **USER)
    assert "全部やめて" not in heard(desk)
    assert "急いで" in heard(desk)


def test_an_empty_form_is_refused(desk: Stage) -> None:
    given(desk)
    assert "空です" in steer(desk, " ")


def test_what_is_changed_elsewhere_is_shown_in_the_panel_too(desk: Stage) -> None:
    given(desk)
    desk.delivers()
    before = len(desk.room.panels)
    instructions.pause_goal_by_label(desk.runtime, "crab", "G1", by="owner")
    desk.delivers()
    assert desk.room.panels[before][1].standing == "paused"
