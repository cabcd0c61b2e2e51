"""Slack from a message to its answer: threads, commands, approvals and the doctor."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.access.authority import Authority
from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.value import Language
from opencrab.engine.chat.diagnosis import chat_setup_checks
from opencrab.engine.conversation.channel_bindings import conversation_bound_to_channel
from opencrab.engine.discord.diagnosis import DiagnosisResult
from tests.contract.homes import HOMES
from tests.crash.outside import Reply
from tests.discord.faults import Drop
from tests.e2e.slack_house import SlackHouse
from tests.slack.fake import BOT, CHANNEL, GUEST, OWNER, Shown

RING = Reply(calls=(("ring_bell", {"tone": "ding"}),))


@pytest.fixture
def house(tmp_path: Path) -> Iterator[SlackHouse]:
    made = SlackHouse(HOMES[0], tmp_path)
    made.agent("kani", (Reply(text="**やあ**"),), Language.JA)
    yield made
    made.close()
    assert made.vendor.complaints == []
    assert made.problems == []


def test_a_private_message_a_mention_and_a_command_are_answered(house: SlackHouse) -> None:
    house.vendor.says("元気?")
    house.vendor.says("どう?", GUEST, channel=CHANNEL)
    assert house.vendor.asks("教えて", GUEST) == (200, {"response_type": "in_channel"})
    house.rest()
    assert house.vendor.texts() == ["*やあ*"]
    threads = [each.thread for each in house.vendor.shown[CHANNEL]]
    assert house.vendor.texts(CHANNEL) == ["*やあ*"] * 2
    assert sorted(each is None for each in threads) == [False, True]
    session = conversation_bound_to_channel(house.home, f"slack.{CHANNEL}")
    assert session is not None
    lines = house.home.journal.lines(session.id, limit=9)
    said = {each.text: each for each in lines if not each.from_agent}
    assert set(said) == {"どう?", "教えて"}
    assert said["どう?"].authority is Authority.PUBLIC
    assert said["どう?"].speaker_name == "ゲスト"


def test_retries_and_bots_start_no_second_turn(house: SlackHouse) -> None:
    house.vendor.says("一度だけ")
    assert house.vendor.send_again() == 200
    house.rest()
    assert house.vendor.send_again() == 200
    house.vendor.says("わたしはBot", BOT, bot_id="B1")
    house.vendor.says("編集", subtype="message_changed")
    house.rest()
    assert house.vendor.texts() == ["*やあ*"]


def test_only_an_owner_decides_and_others_are_told_alone(house: SlackHouse) -> None:
    agent = house.agent("ebi", (RING, Reply(text="鳴らしました")), Language.JA)
    house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT))
    house.name_agent("ebi")
    house.vendor.says("鳴らして", channel=CHANNEL)
    house.rest()
    house.vendor.press("Reject", GUEST, channel=CHANNEL)
    house.rest()
    told = house.vendor.shown[CHANNEL][-1]
    assert told.to == GUEST
    assert told.text.startswith("決定できるのは")
    assert house.bell.rings == []
    house.vendor.press("Reject", OWNER, channel=CHANNEL)
    house.rest()
    assert any("却下しました" in each.text and each.to == OWNER for each in _shown(house))


def test_an_owner_approves_in_private_and_the_call_runs_once(house: SlackHouse) -> None:
    agent = house.agent("ebi", (RING, Reply(text="鳴らしました")), Language.JA)
    house.home.agents.save(agent.replaced(policy=ApprovalPolicy.STRICT))
    house.name_agent("ebi")
    house.vendor.says("鳴らして")
    house.rest()
    for _ in range(2):
        house.vendor.press("Approve", OWNER)
        house.rest()
    assert len(house.bell.rings) == 1
    assert house.vendor.texts().count("鳴らしました") == 1


def test_the_doctor_names_what_is_missing_with_its_cure(house: SlackHouse) -> None:
    def bad() -> list[tuple[str, str, str]]:
        found = chat_setup_checks(house.runtime, "slack", Language.EN)
        return [(x.name, x.what, x.cure) for x in found if x.state is not DiagnosisResult.OK]

    assert bad() == []
    house.vendor.scopes = house.vendor.scopes.replace(",files:read", "")
    ((name, what, cure),) = bad()
    assert (name, "files:read" in what, "reinstall" in cure) == ("scopes", True, True)
    house.vendor.scopes = "chat:write"
    ((name, what, cure),) = bad()
    assert (name, "users:read" in what, "reinstall" in cure) == ("scopes", True, True)
    house.vendor.faults.plan("auth.test", Drop())
    assert bad()[0][1].startswith("cannot connect to Slack")
    house.vendor.token = "xoxb-other"
    assert (bad()[0][0], "SLACK_BOT_TOKEN" in bad()[0][2]) == ("token", True)
    (off,) = chat_setup_checks(house._bare, "slack", Language.JA)
    assert off.what == "Slack は無効になっています"


def _shown(house: SlackHouse) -> list[Shown]:
    return house.vendor.shown[CHANNEL]


@pytest.mark.parametrize("language", Language)
def test_without_its_scope_a_file_is_named_with_what_the_owner_can_do(
    house: SlackHouse, language: Language
) -> None:
    agent = house.home.agents.get("kani").agent
    house.home.agents.save(agent.replaced(language=language))
    house.vendor.scopes = "chat:write"
    house.vendor.says("見て", files=[house.vendor.file("a.md", b"crab")])
    house.vendor.says("", files=[{"id": "F1", "name": "b.md", "file_access": "check_file_info"}])
    house.rest()
    session = conversation_bound_to_channel(house.home, f"slack.D{OWNER}")
    assert session is not None
    lines = house.home.journal.lines(session.id, limit=9)
    said = [each.text for each in lines if not each.from_agent]
    assert "`opencrab admin slack doctor`" in said[0]
    elsewhere = {Language.EN: "another organization", Language.JA: "ほかの組織"}
    assert elsewhere[language] in said[1]
