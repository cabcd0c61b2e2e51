"""Telegram from a message to its answer: groups, topics, approvals, polling and the doctor."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import DeliveryState
from opencrab.domain.errors import Conflict, Invalid, Refused, Unavailable
from opencrab.domain.value import Language
from opencrab.engine.chat.diagnosis import chat_setup_checks
from opencrab.engine.chat.sentences import chat_sentence
from opencrab.engine.conversation.channel_bindings import conversation_bound_to_channel
from opencrab.engine.discord.diagnosis import DiagnosisResult
from opencrab.gateways.door.telegram_polling import PAUSES, poll_telegram_updates
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.discord.faults import Drop, Limited, Status
from tests.e2e.telegram_house import TelegramHouse
from tests.telegram.fake import BOT, GROUP, GUEST, OWNER, SECRET, TOKEN, USERNAME

RING = Reply(calls=(("ring_bell", {"tone": "ding"}),))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[TelegramHouse]:
    made = TelegramHouse(HOMES[0], tmp_path)
    made.agent("kani", (Reply(text="**やあ**"),), Language.JA)
    yield made
    made.close()
    assert made.vendor.complaints == []
    assert made.problems == []


def asking(house: TelegramHouse) -> None:
    agent = house.home.agents.get("kani").agent
    house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT))
    house.scripts["kani"] = (RING, Reply(text="鳴らしました"))


def test_private_messages_mentions_replies_and_commands_are_answered(house: TelegramHouse) -> None:
    house.vendor.says("元気?")
    house.vendor.says(f"@{USERNAME.upper()} どう?", GUEST, group=GROUP)
    house.vendor.says("/ask 教えて", GUEST, group=GROUP)
    answered = {"message_id": 1, "from": {"id": BOT, "is_bot": True}}
    house.vendor.says("それで?", GUEST, group=GROUP, reply_to_message=answered)
    house.vendor.says("みんな元気?", GUEST, group=GROUP)
    house.vendor.says("/ask@other_bot 君は?", GUEST, group=GROUP)
    house.vendor.says(f"@{USERNAME}x 君は?", GUEST, group=GROUP)
    house.rest()
    assert house.vendor.texts() == ["やあ"]
    assert house.vendor.texts(GROUP) == ["やあ"] * 3
    # In a group an answer is a reply to its message.
    assert sorted(each.reply or 0 for each in house.vendor.shown[GROUP]) == [2, 3, 4]
    session = conversation_bound_to_channel(house.home, f"telegram.{GROUP}")
    assert session is not None
    lines = house.home.journal.lines(session.id, limit=9)
    said = {each.text: each for each in lines if not each.from_agent}
    assert set(said) == {"どう?", "教えて", "それで?"}
    house.vendor.says(f"/ask@{USERNAME} 二人で", GUEST)
    house.rest()
    alone = conversation_bound_to_channel(house.home, f"telegram.{GUEST}")
    assert alone is not None
    assert "二人で" in {each.text for each in house.home.journal.lines(alone.id, limit=9)}
    assert said["どう?"].authority is Authority.PUBLIC
    assert said["どう?"].speaker_name == "Guest 🦀"


def test_an_answer_stays_in_its_topic(house: TelegramHouse) -> None:
    topic: dict[str, Any] = {"message_thread_id": 77, "is_topic_message": True}
    house.vendor.says("/ask 教えて", GUEST, group=GROUP, **topic)
    house.rest()
    assert [each.thread for each in house.vendor.shown[GROUP]] == [77]


def test_what_comes_again_is_edited_or_of_bots_starts_no_turn(house: TelegramHouse) -> None:
    house.vendor.says("一度だけ")
    assert house.vendor.send_again() == 200
    house.rest()
    assert house.vendor.send_again() == 200
    bot: dict[str, Any] = {"from": {"id": 5, "is_bot": True, "first_name": "B"}}
    house.vendor.says("わたしはBot", **bot)
    house.vendor.deliver({"edited_message": {"message_id": 1, "text": "編集"}})
    house.vendor.deliver({"channel_post": {"message_id": 1, "text": "告知"}})
    # A channel's post arrives in the group of its discussions as if a person had written it.
    channel = {"id": -1005, "type": "channel", "title": "告知"}
    house.vendor.says("kani さん", "777000", group=GROUP, sender_chat=channel)
    house.rest()
    assert house.vendor.texts() == ["やあ"]
    assert house.vendor.texts(GROUP) == []


def test_what_is_no_text_is_answered_with_that(house: TelegramHouse) -> None:
    house.vendor.says(None, voice={})
    house.vendor.says(None, sticker={})
    house.vendor.says(None, photo=[{}], caption="これは?")
    house.rest()
    told = house.vendor.texts()
    assert told == [chat_sentence("attached", Language.JA, name="kani"), "やあ"]


@pytest.mark.parametrize("language", Language)
def test_what_stands_beside_words_and_is_not_taken_is_named(
    house: TelegramHouse, language: Language
) -> None:
    agent = house.home.agents.get("kani").agent
    house.home.agents.save(agent.replaced(language=language))
    house.vendor.says(None, video={}, caption="見て")
    house.rest()
    session = conversation_bound_to_channel(house.home, f"telegram.{OWNER}")
    assert session is not None
    words, note = house.home.journal.lines(session.id, limit=9)[0].text.splitlines()
    assert words == "見て"
    what = {Language.EN: "attached video: not received", Language.JA: "添付の動画"}
    assert what[language] in note


def test_owners_approve_by_buttons_and_others_are_told_so_alone(house: TelegramHouse) -> None:
    asking(house)
    house.vendor.says("/ask 鳴らして", OWNER, group=GROUP)
    house.rest()
    house.vendor.press("承認", GUEST, group=GROUP)
    house.rest()
    assert house.bell.rings == []
    alone = house.vendor.shown[GROUP][-1]
    assert (alone.to, alone.text[:4]) == (GUEST, "決定でき")
    house.vendor.press("承認", OWNER, group=GROUP)
    house.rest()
    house.vendor.press("承認", OWNER, group=GROUP)
    house.rest()
    assert len(house.bell.rings) == 1
    assert "鳴らしました" in house.vendor.texts(GROUP)


def test_a_button_that_nobody_made_decides_nothing(house: TelegramHouse) -> None:
    for data in ("oc:ap:nothing:y:abc", "oc:ap:1", "x", "\ud83e", "oc:ap:" + "x" * 400):
        house.vendor.press_data(data, OWNER)
    house.rest()
    assert house.bell.rings == []


def test_a_limit_is_waited_for_and_holds_up_no_other_chat(house: TelegramHouse) -> None:
    house.vendor.faults.plan("sendMessage", Limited(30))
    house.vendor.says("一人目")
    house.work()
    house.vendor.says("二人目", GUEST)
    house.work()
    assert house.vendor.texts(GUEST) == ["やあ"]
    calls = [each for each in house.vendor.log if each.method == "sendMessage"]
    house.clock.advance(8)
    house.work()
    # Its time is not over, so nobody asked.
    assert len([e for e in house.vendor.log if e.method == "sendMessage"]) == len(calls)
    house.rest()
    assert house.vendor.texts() == ["やあ"]


def test_an_answer_outlasts_a_limit_of_an_hour(house: TelegramHouse) -> None:
    house.vendor.says("元気?")
    until = house.clock.now() + timedelta(hours=1)
    while house.clock.now() < until:
        left = int((until - house.clock.now()).total_seconds())
        house.vendor.faults.plan("sendMessage", Limited(left))
        house.later(240)
        house.vendor.faults.clear()
    house.rest()
    assert house.vendor.texts() == ["やあ"]


def test_what_may_have_been_seen_is_not_sent_twice(house: TelegramHouse) -> None:
    house.vendor.faults.plan("sendMessage", Drop("after"))
    house.vendor.says("元気?")
    house.rest()
    assert house.vendor.texts() == ["やあ"]
    assert DeliveryState.INDETERMINATE in house.states()


def test_a_server_that_is_polled_hears_the_same(house: TelegramHouse) -> None:
    house.vendor.webhook = ""
    link: Any = house.runtime.chats["telegram"].link
    queue = house.runtime.home.interactions
    assert queue is not None
    house.vendor.says("一つ")
    house.vendor.says("二つ", GUEST)
    pauses: list[float] = []

    def rounds(count: int) -> None:
        left = [count]

        def stopping() -> bool:
            left[0] -= 1
            return left[0] < 0

        poll_telegram_updates(link, queue.send, stopping=stopping, pause=pauses.append)

    house.vendor.faults.plan("getUpdates", Drop("after"))
    house.vendor.faults.plan("getUpdates", Status(502, "before"))
    rounds(12)
    # A process that dies before Telegram forgets them is handed them again.
    rounds(4)
    house.rest()
    assert (house.vendor.texts(), house.vendor.texts(GUEST)) == (["やあ"], ["やあ"])
    assert house.vendor.waiting == []
    assert pauses == [PAUSES[0], PAUSES[1]]


def test_an_update_that_cannot_be_queued_holds_up_no_other(house: TelegramHouse) -> None:
    house.vendor.webhook = ""
    link: Any = house.runtime.chats["telegram"].link
    queue = house.runtime.home.interactions
    assert queue is not None
    refused = [Invalid("too large"), Unavailable("the disk is busy"), ValueError("?")]

    def send(body: str, *, group: str, deduplication: str) -> None:
        if refused:
            raise refused.pop(0)
        queue.send(body, group=group, deduplication=deduplication)

    for text in ("一つ", "二つ", "三つ"):
        house.vendor.says(text)
    stops = iter([False] * 9 + [True])
    poll_telegram_updates(link, send, stopping=lambda: next(stops), pause=lambda _: None)
    house.rest()
    assert house.vendor.texts() == ["やあ"]


def test_polling_beside_a_webhook_says_what_to_do(
    house: TelegramHouse, caplog: pytest.LogCaptureFixture
) -> None:
    link: Any = house.runtime.chats["telegram"].link
    with pytest.raises(Conflict, match="webhook is active"):
        link.next_updates(0)
    pauses: list[float] = []
    stops = iter([False] * 7 + [True])
    poll_telegram_updates(
        link, lambda *_a, **_k: None, stopping=lambda: next(stops), pause=pauses.append
    )
    assert len([each for each in caplog.messages if "admin telegram webhook" in each]) == 1
    assert pauses[-1] == PAUSES[-1]
    assert TOKEN not in caplog.text


def test_the_doctor_names_what_is_missing(house: TelegramHouse) -> None:
    def checks(language: Language = Language.EN, **changes: Any) -> dict[str, Any]:
        chat = replace(house.runtime.chats["telegram"], **changes)
        runtime = replace(house.runtime, chats={"telegram": chat})
        return {each.name: each for each in chat_setup_checks(runtime, "telegram", language)}

    def none() -> str:
        raise Refused("TELEGRAM_WEBHOOK_SECRET is not set")

    for language in Language:
        found = checks(language)
        assert {each.state for each in found.values()} == {DiagnosisResult.OK}
    assert "channels/telegram" in checks()["webhook"].what
    house.vendor.error = "Connection refused"
    assert checks()["webhook"].state is DiagnosisResult.OK
    house.vendor.waiting = [{"update_id": 1}]
    assert "Connection refused" in checks()["webhook"].what
    house.vendor.webhook = ""
    assert "polling" in checks()["webhook"].what
    assert checks(signing_secret=none)["secret"].state is DiagnosisResult.PROBLEM
    assert checks(signing_secret=none, is_polled=True)["secret"].state is DiagnosisResult.WARNING
    house.vendor.token = "4242:new"
    wrong = checks()["token"]
    assert wrong.state is DiagnosisResult.PROBLEM
    assert "BotFather" in wrong.cure
    assert TOKEN not in str(wrong)
    assert SECRET not in str(checks())
