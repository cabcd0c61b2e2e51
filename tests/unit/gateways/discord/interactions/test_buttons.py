"""Buttons of questions and of answers: who decides, once, and what people think of it."""

from collections.abc import Callable
from typing import Any

import pytest

from opencrab.domain.approvals.approval import Approval, ApprovalRules, ApprovalState
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.errors import NeverSent, NotFound, Unavailable
from opencrab.domain.memory.memory import EXPERIENCE, Experience
from opencrab.domain.outcome import Outcome
from opencrab.engine.approvals import approvals
from opencrab.gateways.discord.interactions.buttons import button_used_up
from opencrab.ports.turn.queue import MessageOutcome as Ended
from tests.crash.outside import Reply
from tests.discord.recording import HANA, TARO
from tests.unit.gateways.discord.stage import GUEST, USER_ROLE, Stage

RINGS = (Reply(calls=(("ring_bell", {}),)), Reply(text="鳴らしました。"))
USER: dict[str, Any] = {"user": HANA, "roles": (USER_ROLE,)}
Ask = Callable[..., Approval]


@pytest.fixture
def asks(stage: Stage) -> Ask:
    """An agent asks whether it may ring the bell; answers what it asks."""

    def ask(**rules: Any) -> Approval:
        agent = stage.agent("crab", RINGS)
        changed = agent.replaced(policy=ApprovalPolicy.STRICT, approvals=ApprovalRules(**rules))
        stage.house.home.agents.save(changed)
        stage.does(stage.door.command("ask", agent="crab", text="鐘を鳴らして"))
        stage.works()
        (opened,) = approvals.open_or_decided_approvals(stage.runtime.home.facts, decided=False)
        return opened

    return ask


def press(stage: Stage, approval: Approval, verdict: str = "y", **who: Any) -> None:
    named = f"oc:ap:{approval.id}:{verdict}"
    hashed = f":{approval.argument_hash[:16]}" if verdict == "y" else ""
    stage.does(stage.door.press(f"{named}{hashed}", content="鳴らしてよい?", **who))


def test_a_question_asks_by_its_approval(stage: Stage, asks: Ask) -> None:
    approval = asks()
    assert [each.approval for each in stage.room.heard] == [approval.id]
    assert stage.room.heard[0].opens


@pytest.mark.parametrize(
    ("verdict", "says", "rings", "last"),
    [
        ("y", "✅ 太郎 (discord-53908232506183680) が承認しました", 1, "鳴らしました。"),
        ("n", "⛔ 太郎 (discord-53908232506183680) が却下しました", 0, "承認されなかった"),
    ],
)
def test_the_owner_decides_and_the_message_is_closed(
    stage: Stage, asks: Ask, verdict: str, says: str, *, rings: int, last: str
) -> None:
    press(stage, asks(), verdict)
    (told,) = stage.discord.told
    assert told.how == "edit_reply"
    assert told.text == f"鳴らしてよい?\n\n{says}"
    assert told.message["components"][0]["components"][0]["disabled"] is True
    stage.works()
    assert len(stage.house.bell.rings) == rings
    assert last in stage.said[-1]


def test_a_decision_is_told_in_english_too(stage: Stage, asks: Ask) -> None:
    press(stage, asks(), locale="en-US")
    assert "✅ Approved by 太郎" in stage.texts[0]


def test_the_same_press_twice_decides_once(stage: Stage, asks: Ask) -> None:
    approval = asks()
    raw = stage.door.press(f"oc:ap:{approval.id}:y:{approval.argument_hash[:16]}")
    stage.does(raw)
    stage.does(raw)
    stage.works()
    stage.does(raw)
    assert len(set(stage.texts)) == 1
    assert len(stage.house.bell.rings) == 1


def test_a_decision_counts_although_the_message_could_not_be_closed(
    stage: Stage, asks: Ask
) -> None:
    approval = asks()
    raw = stage.door.press(f"oc:ap:{approval.id}:y:{approval.argument_hash[:16]}")
    stage.discord.failing.append(Unavailable("gone"))
    assert stage.does(raw) is Ended.CONTINUE
    assert (
        approvals.find_approval(stage.runtime.home.facts, approval.id).state
        is ApprovalState.APPROVED
    )
    assert stage.does(raw, count=2) is Ended.FINISHED
    assert len(stage.texts) == 1


def test_a_message_that_is_gone_is_no_trouble(stage: Stage, asks: Ask) -> None:
    stage.discord.failing.append(NotFound("no such message"))
    press(stage, asks())
    stage.works()
    assert stage.texts == []
    assert len(stage.house.bell.rings) == 1


@pytest.mark.parametrize("who", [{"user": GUEST}, {"user": HANA, "roles": (USER_ROLE,)}])
def test_nobody_else_decides(stage: Stage, asks: Ask, who: dict[str, Any]) -> None:
    approval = asks()
    press(stage, approval, **who, locale="en-US")
    (told,) = stage.discord.told
    assert (told.how, told.message["flags"]) == ("follow_up", 64)
    assert told.text.startswith("⚠️ Only the owner")
    assert (
        approvals.find_approval(stage.runtime.home.facts, approval.id).state
        is ApprovalState.PENDING
    )


def test_the_owner_of_the_agent_decides(stage: Stage, asks: Ask) -> None:
    approval = asks()
    stage.place("crab", owner_ids=(HANA,))
    press(stage, approval, user=HANA)
    assert "承認しました" in stage.texts[0]


def test_a_delegate_decides(stage: Stage, asks: Ask) -> None:
    press(stage, asks(delegates=(f"discord-{GUEST}",)), user=GUEST)
    assert "承認しました" in stage.texts[0]


def test_a_delegate_waits_for_their_time(stage: Stage, asks: Ask) -> None:
    approval = asks(delegates=(f"discord-{GUEST}",), escalate_minutes=5)
    press(stage, approval, user=GUEST)
    assert stage.discord.told[-1].how == "follow_up"
    stage.house.clock.advance(301)
    press(stage, approval, user=GUEST)
    assert "承認しました" in stage.texts[-1]


def test_who_comes_too_late_is_told_and_the_message_is_closed(stage: Stage, asks: Ask) -> None:
    approval = asks()
    press(stage, approval, "y")
    press(stage, approval, "n", name="次郎", user=TARO)
    assert [each.how for each in stage.discord.told] == ["edit_reply", "edit_reply", "follow_up"]
    assert "太郎" in stage.texts[1]
    assert "承認しました" in stage.texts[2]


def test_what_has_expired_is_closed_as_such(stage: Stage, asks: Ask) -> None:
    approval = asks(expire_minutes=1)
    stage.house.clock.advance(61)
    press(stage, approval)
    assert stage.texts == [
        "鳴らしてよい?\n\n⌛ 期限までに決定されませんでした。",
        "⌛ 期限までに決定されませんでした。",
    ]
    stage.works()
    assert stage.house.bell.rings == []


def test_a_question_that_is_known_no_more_is_closed(stage: Stage) -> None:
    stage.does(stage.door.press("oc:ap:01jgone:y", content="?"))
    (told,) = stage.discord.told
    assert (told.how, told.text) == ("edit_reply", "?\n\nこの承認依頼はもうありません。")


def test_a_question_shows_the_whole_call_and_its_hash(stage: Stage, asks: Ask) -> None:
    approval = asks()
    assert stage.room.heard[0].text.endswith(
        f"```json\n{{}}\n```\nSHA-256 `{approval.argument_hash[:16]}`"
    )


@pytest.mark.parametrize("pressed", ["y", "s"])
def test_a_button_that_shows_no_hash_opens_the_call_and_decides_nothing(
    stage: Stage, asks: Ask, pressed: str
) -> None:
    approval = asks()
    stage.does(stage.door.press(f"oc:ap:{approval.id}:{pressed}"))
    (told,) = stage.discord.told
    assert (told.how, told.message["flags"]) == ("follow_up", 64)
    first, second = told.message["components"][0]["components"]
    assert first["custom_id"] == f"oc:ap:{approval.id}:y:{approval.argument_hash[:16]}"
    assert second["custom_id"] == f"oc:ap:{approval.id}:n"
    stage.works()
    assert stage.house.bell.rings == []
    stage.does(stage.door.press(first["custom_id"]))
    stage.works()
    assert len(stage.house.bell.rings) == 1


def test_a_call_that_was_not_shown_is_not_approved(stage: Stage, asks: Ask) -> None:
    approval = asks()
    stage.does(stage.door.press(f"oc:ap:{approval.id}:y:{'0' * 16}"))
    (told,) = stage.discord.told
    assert told.how == "follow_up"
    assert "表示されていた呼び出しとは違います" in told.text
    stage.works()
    assert stage.house.bell.rings == []


def test_a_stranger_cannot_open_a_call(stage: Stage, asks: Ask) -> None:
    approval = asks()
    stage.does(stage.door.press(f"oc:ap:{approval.id}:s", user=GUEST, locale="en-US"))
    (told,) = stage.discord.told
    assert told.text.startswith("⚠️ Only the owner")


def test_a_long_question_keeps_room_for_its_answer(stage: Stage, asks: Ask) -> None:
    approval = asks()
    named = f"oc:ap:{approval.id}:y:{approval.argument_hash[:16]}"
    stage.does(stage.door.press(named, content="🦀" * 1_000))
    assert len(stage.texts[0].encode("utf-16-le")) // 2 <= 2_000
    assert stage.texts[0].endswith("が承認しました")


def test_a_name_with_marks_is_shown_as_it_is(stage: Stage, asks: Ask) -> None:
    press(stage, asks(), name="**[x](https://e.example)**")
    assert "**[" not in stage.texts[0]


def test_buttons_of_other_questions_stay_usable() -> None:
    def row(approval_id: str) -> dict[str, Any]:
        buttons = [{"type": 2, "custom_id": f"oc:ap:{approval_id}:{each}"} for each in "yn"]
        return {"type": 1, "components": buttons}

    changed = button_used_up((row("a"), row("b")), "oc:ap:a:")
    assert [
        [button.get("disabled", False) for button in each["components"]] for each in changed
    ] == [[True, True], [False, False]]


@pytest.fixture
def answered(stage: Stage) -> str:
    """An agent has answered in the channel; answers the turn's id."""
    stage.agent("crab")
    stage.does(stage.door.command("ask", agent="crab", text="元気?"))
    stage.works()
    return stage.room.heard[0].turn_id


def learned(stage: Stage) -> list[Experience]:
    facts = stage.house.home.facts.page("crab", EXPERIENCE)
    found = [fact.read(Experience) for fact in facts]
    return [each for each in found if each.about_turn]


@pytest.mark.parametrize(("thumb", "outcome"), [("u", Outcome.SUCCESS), ("d", Outcome.FAILURE)])
def test_thumbs_become_an_experience_and_are_thanked_for(
    stage: Stage, answered: str, thumb: str, outcome: Outcome
) -> None:
    stage.does(stage.door.press(f"oc:fb:{answered}:{thumb}", **USER))
    (experience,) = learned(stage)
    assert (experience.outcome, experience.from_person) == (outcome, f"discord-{HANA}")
    (told,) = stage.discord.told
    assert (told.how, told.message["flags"]) == ("follow_up", 64)
    assert told.text == "評価ありがとうございます。crab の学習に使います。"


def test_the_first_thumb_of_each_person_counts(stage: Stage, answered: str) -> None:
    for thumb in "uud":
        stage.does(stage.door.press(f"oc:fb:{answered}:{thumb}"))
    stage.does(stage.door.press(f"oc:fb:{answered}:d", **USER))
    said = {(each.outcome, each.by_owner) for each in learned(stage)}
    assert said == {(Outcome.SUCCESS, True), (Outcome.FAILURE, False)}
    assert len(learned(stage)) == 2
    assert "すでに受け取っています" in stage.texts[2]


@pytest.mark.parametrize(
    ("locale", "says"),
    [
        ("ja", "⚠️ crab が学ぶのは、crab のオーナーと許可されたユーザーの評価からだけです。"),
        ("en-US", "⚠️ crab learns only from the ratings of its owner and known users."),
    ],
)
def test_nothing_is_learned_from_the_public(
    stage: Stage, answered: str, locale: str, says: str
) -> None:
    stage.does(stage.door.press(f"oc:fb:{answered}:d", user=GUEST, locale=locale))
    assert stage.texts == [says]
    assert learned(stage) == []


def test_thumbs_of_another_channel_are_refused(stage: Stage, answered: str) -> None:
    stage.does(stage.door.press(f"oc:fb:{answered}:u", channel_id="111", locale="en-US"))
    assert learned(stage) == []
    assert stage.texts == [
        "⚠️ The agent did not say this in this channel. Rate it where it was said."
    ]


def test_thumbs_where_the_agent_may_not_be_asked_are_refused(stage: Stage, answered: str) -> None:
    stage.place("crab", "111")
    stage.does(stage.door.press(f"oc:fb:{answered}:u"))
    assert learned(stage) == []


def test_thumbs_wait_for_the_end_of_a_turn(stage: Stage, asks: Ask) -> None:
    approval = asks()
    stage.does(stage.door.press(f"oc:fb:{approval.turn_id}:u"))
    assert "まだ終わっていません" in stage.texts[0]


def test_thumbs_of_a_turn_that_is_gone_are_told_so(stage: Stage) -> None:
    stage.does(stage.door.press("oc:fb:gone:u"))
    assert "この応答の記録はもうありません" in stage.texts[0]


def test_thanks_that_nobody_knows_were_seen_are_not_repeated(stage: Stage, answered: str) -> None:
    stage.discord.lost.append(Unavailable("no answer"))
    assert stage.does(stage.door.press(f"oc:fb:{answered}:u")) is Ended.FINISHED
    assert len(stage.texts) == 1


@pytest.mark.parametrize(
    "custom_id",
    [
        "",
        "x",
        "oc",
        "oc:",
        "oc:zz:1",
        "oc:ap:x",
        "oc:ap:x:maybe",
        "oc:fb:t:u:more",
        "oc:st:crab:G1",
    ],
)
def test_unknown_buttons_are_passed_over(stage: Stage, custom_id: str) -> None:
    assert stage.does(stage.door.press(custom_id)) is Ended.FINISHED
    assert stage.does(stage.door.form(custom_id, "x")) is Ended.FINISHED
    assert stage.texts == []


@pytest.mark.parametrize(
    "custom_id", ["oc:ap:../..#x:y", "oc:fb:é🦀:u", "oc:cn:a b:G1", "oc:ap::y"]
)
def test_ids_that_are_none_do_no_harm(any_stage: Stage, custom_id: str) -> None:
    assert any_stage.does(any_stage.door.press(custom_id)) is Ended.FINISHED
    assert len(any_stage.texts) == 1


def test_a_press_that_comes_twice_is_thanked_for_once(any_stage: Stage) -> None:
    any_stage.agent("crab")
    any_stage.does(any_stage.door.command("ask", agent="crab", text="元気?"))
    any_stage.works()
    raw = any_stage.door.press(f"oc:fb:{any_stage.room.heard[0].turn_id}:u")
    any_stage.does(raw)
    any_stage.does(raw)
    assert len(any_stage.texts) == 1


def test_thanks_that_were_certainly_not_seen_are_said_again(stage: Stage, answered: str) -> None:
    stage.discord.failing.append(NeverSent("10015"))
    raw = stage.door.press(f"oc:fb:{answered}:u")
    assert stage.does(raw) is Ended.CONTINUE
    assert stage.does(raw, count=2) is Ended.FINISHED
    assert len(stage.texts) == 1
