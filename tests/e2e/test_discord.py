"""Discord from the first key to the last message: real handlers around a Discord of our own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from opencrab.domain.approvals.policy import ApprovalPolicy
from opencrab.domain.conversation.message import DeliveryState, LineKind
from opencrab.domain.conversation.session import SessionStatus
from opencrab.domain.models.fault import Fault
from opencrab.domain.value import Language
from tests.contract.homes import DISTINCT_HOMES, HOMES
from tests.crash.errand import scripts
from tests.crash.outside import Reply
from tests.discord.fake import ELSEWHERE, OWNER, PRIVATE, SERVER_CHANNEL, STRANGER
from tests.discord.faults import Delay
from tests.discord.state import Interaction
from tests.e2e.discord_house import USER, DiscordHouse, ask, kani, opened


def speech(*texts: str) -> Reply:
    """All but the last are said on the way."""
    said = [("send_speech", {"content": text, "more": True}) for text in texts]
    said[-1][1]["more"] = False
    return Reply(calls=tuple(said))


@pytest.fixture
def reef(tmp_path: Path) -> Iterator[DiscordHouse]:
    """A house beside a Discord, which is never told anything wrong."""
    yield from opened(HOMES[0], tmp_path)


@pytest.fixture(params=DISTINCT_HOMES, ids=lambda opens: opens.__name__)
def any_reef(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DiscordHouse]:
    """Such a house in each home."""
    yield from opened(request.param, tmp_path)


def test_a_question_in_japanese_is_answered_in_its_place(any_reef: DiscordHouse) -> None:
    house = any_reef
    kani(house, Reply(text="元気です。🦀"))
    interaction = ask(house, "元気ですか?")
    assert interaction.standing == "thinking"
    assert interaction.status == 202
    house.work()
    assert (interaction.standing, interaction.text) == ("answered", "元気です。🦀")
    assert house.seen(SERVER_CHANNEL) == ["元気です。🦀"]
    assert house.states() == [DeliveryState.SENT]


def test_the_session_of_a_channel_remembers_who_said_what(reef: DiscordHouse) -> None:
    kani(reef)
    ask(reef, "ひとつめ")
    ask(reef, "ふたつめ", by=USER)
    reef.work()
    assert reef.seen(SERVER_CHANNEL) == ["やあ", "やあ"]
    (session,) = reef.home.sessions.page(limit=10, after=None)
    lines = reef.home.journal.lines(session.id, limit=20)
    said = [(line.speaker_name, line.text) for line in lines if line.kind is LineKind.SPEECH]
    assert ("海", "ひとつめ") in said
    assert ("Yui", "ふたつめ") in said


def test_a_conversation_with_the_bot_itself_is_answered_too(reef: DiscordHouse) -> None:
    kani(reef)
    interaction = ask(reef, place=PRIVATE, by=STRANGER, locale="en-US")
    reef.work()
    assert interaction.text == "やあ"


def asked_for_leave(house: DiscordHouse) -> Interaction:
    """The agent wants to ring the bell, and asks."""
    ring = Reply(calls=(("ring_bell", {"tone": "ding"}),))
    kani(house, ring, Reply(text="鳴らしました"), policy=ApprovalPolicy.STRICT)
    interaction = ask(house, "鐘を鳴らして")
    house.work()
    return interaction


@pytest.mark.parametrize(("label", "other", "rings"), [("承認", "却下", 1), ("却下", "承認", 0)])
def test_the_owner_decides_by_a_button_and_nobody_else(
    reef: DiscordHouse, label: str, other: str, rings: int
) -> None:
    interaction = asked_for_leave(reef)
    question = interaction.messages[0]
    assert [each["label"] for each in question.buttons] == ["承認", "却下"]
    stranger = reef.discord.press(question, label, by=STRANGER)
    reef.work()
    assert not any(each.get("disabled") for each in question.buttons)
    assert reef.bell.rings == []
    assert len(stranger.follow_ups) == 1
    assert stranger.follow_ups[0].shown_to == STRANGER.id
    reef.discord.press(question, label)
    late = reef.discord.press(question, other)
    reef.work()
    assert all(each["disabled"] for each in question.buttons)
    assert len(reef.bell.rings) == rings
    assert [each.shown_to for each in late.follow_ups] == [OWNER.id]
    assert "海" in question.content
    if rings:
        assert reef.seen(SERVER_CHANNEL)[-1] == "鳴らしました"


def test_thumbs_below_an_answer_reach_its_turn(reef: DiscordHouse) -> None:
    kani(reef)
    interaction = ask(reef)
    reef.work()
    answer = interaction.messages[0]
    assert [each["label"] for each in answer.buttons] == ["👍", "👎"]
    thanks = reef.discord.press(answer, "👍")
    again = reef.discord.press(answer, "👎")
    reef.work()
    assert [len(each.follow_ups) for each in (thanks, again)] == [1, 1]
    assert thanks.follow_ups[0].content != again.follow_ups[0].content
    assert answer.content == "やあ"


def test_silence_takes_the_thinking_mark_away(reef: DiscordHouse) -> None:
    kani(reef, Reply(calls=(("send_noreact", {"reason": "もう言った"}),)))
    interaction = ask(reef)
    assert reef.discord.shown(SERVER_CHANNEL)[0].is_loading
    reef.work()
    assert reef.discord.shown(SERVER_CHANNEL) == []
    assert interaction.messages == []


@pytest.mark.parametrize("text", ["もう一つあります", "One more thing"])
def test_who_writes_again_after_the_agent_declared_done_is_answered_in_the_same_session(
    reef: DiscordHouse, text: str
) -> None:
    kani(reef, Reply(calls=(("declare_done", {}),)))
    ask(reef, "ありがとう")
    reef.work()
    reef.scripts["kani"] = (Reply(text="もちろん"),)
    ask(reef, text)
    reef.work()
    assert reef.seen(SERVER_CHANNEL) == ["もちろん"]
    (session,) = reef.home.sessions.page(limit=10, after=None)
    assert session.status is SessionStatus.ACTIVE


def test_an_answer_after_fifteen_minutes_is_posted_by_the_bot(reef: DiscordHouse) -> None:
    kani(reef, Reply(text="お待たせしました"))
    interaction = ask(reef)
    reef.discord.wait(901)
    reef.work()
    posts = reef.discord.requests("POST /channels")
    assert len(posts) == 1
    assert posts[0].request.json["enforce_nonce"] is True
    assert reef.seen(SERVER_CHANNEL) == ["", "お待たせしました"]
    assert interaction.messages[0].is_loading


def test_an_interaction_that_was_acknowledged_too_late_is_answered_in_the_channel(
    reef: DiscordHouse,
) -> None:
    kani(reef, Reply(text="聞こえました"))
    reef.discord.fail("callback", Delay(3.5))
    interaction = ask(reef)
    assert interaction.standing == "failed"
    reef.rest()
    assert reef.seen(SERVER_CHANNEL) == ["聞こえました"]


JAPANESE = "深い海の底には、まだ誰も見たことのない蟹が暮らしています。" * 30
PARAGRAPHS = "\n\n".join(f"{n}. {JAPANESE}" for n in range(1, 7))


def test_a_long_answer_comes_in_pieces_cut_at_sentences(reef: DiscordHouse) -> None:
    text = "\n\n".join(f"{n}. {JAPANESE}" for n in range(1, 5))
    kani(reef, Reply(text=text))
    interaction = ask(reef)
    reef.work()
    pieces = reef.seen(SERVER_CHANNEL)
    assert 2 <= len(pieces) <= 5
    assert interaction.messages[0].content == pieces[0]
    assert all(each.rstrip().endswith("。") for each in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    last = reef.discord.shown(SERVER_CHANNEL)
    assert [bool(each.buttons) for each in last] == [False] * (len(pieces) - 1) + [True]


def test_an_answer_of_over_five_pieces_is_a_file(reef: DiscordHouse) -> None:
    text = PARAGRAPHS * 3
    kani(reef, Reply(text=text))
    ask(reef)
    reef.work()
    (message,) = reef.discord.shown(SERVER_CHANNEL)
    (file,) = message.files
    assert file.content.decode() == text
    assert message.content.startswith("1. 深い海の底には")


def test_a_guest_is_answered_by_the_token_alone(reef: DiscordHouse) -> None:
    kani(reef, speech(*(f"その{n}" for n in range(1, 7))))
    interaction = ask(reef, place=ELSEWHERE, by=STRANGER)
    reef.work()
    assert [each.content for each in interaction.messages] == [f"その{n}" for n in range(1, 7)]
    assert reef.discord.requests("POST /channels") == []


def test_a_guests_sixth_further_message_ends_visibly(reef: DiscordHouse) -> None:
    kani(reef, speech(*(f"その{n}" for n in range(1, 9))))
    interaction = ask(reef, place=ELSEWHERE)
    reef.rest()
    assert len(interaction.messages) == 6
    states = reef.states()
    assert states.count(DeliveryState.SENT) == 6
    assert states.count(DeliveryState.FAILED) == 2


def test_a_task_shows_its_progress_in_its_place(reef: DiscordHouse) -> None:
    mine = scripts("kani")
    reef.agent("kani", mine["kani"], Language.JA)
    reef.scripts.update(mine)
    interaction = reef.discord.command(
        "task", {"agent": "kani", "instruction": "メモを整理して"}, by=USER
    )
    reef.work()
    for _ in range(20):
        reef.later(1)
    panel = interaction.messages[0]
    progress = [each["embeds"][0]["description"] for each in panel.past if each["embeds"]]
    assert len(set(progress)) >= 4
    assert "▱" in progress[0]
    assert "✅" in panel.embeds[0]["description"]
    assert panel.buttons == []
    assert any("整理しました" in text for text in reef.seen(SERVER_CHANNEL))
    assert reef.states() == [DeliveryState.SENT] * len(reef.states())


def test_a_task_is_paused_resumed_steered_and_cancelled_by_its_buttons(
    reef: DiscordHouse,
) -> None:
    mine = scripts("kani")
    reef.agent("kani", mine["kani"], Language.JA)
    reef.scripts.update(mine)
    interaction = reef.discord.command("task", {"agent": "kani", "instruction": "メモを整理して"})
    reef.work()
    panel = interaction.messages[0]
    reef.discord.press(panel, "一時停止")
    reef.work()
    assert "一時停止中" in panel.embeds[0]["footer"]["text"]
    refused = reef.discord.press(panel, "再開", by=STRANGER)
    reef.work()
    assert len(refused.follow_ups) == 1
    reef.discord.press(panel, "再開")
    reef.work()
    form = reef.discord.press(panel, "追加の指示")
    assert form.standing == "modal"
    sent = reef.discord.submit(form, {"text": "急いで"})
    reef.work()
    assert sent.messages[0].shown_to == OWNER.id
    reef.discord.press(panel, "中止")
    reef.rest()
    assert "中止" in panel.embeds[0]["footer"]["text"]
    assert panel.buttons == []


def test_a_turn_that_fails_tells_those_who_wait(reef: DiscordHouse) -> None:
    kani(reef, Reply(fails=(Fault.BAD_REQUEST,) * 20))
    interaction = ask(reef)
    reef.rest()
    assert interaction.standing == "answered"
    assert interaction.text


def test_who_waits_is_told_that_the_agent_is_unknown(reef: DiscordHouse) -> None:
    kani(reef)
    interaction = reef.discord.command("ask", {"agent": "誰か", "text": "?"})
    reef.work()
    assert "誰か" in interaction.text
    assert "kani" in interaction.text


@pytest.mark.parametrize(
    ("locale", "label", "told", "words"),
    [
        ("ja", "停止", "上の回答は途中までです", "深い 海の 底で 蟹が ゆっくり 歩いて います。"),
        ("en-US", "Stop", "上の回答は途中までです", "Deep in the sea a crab walks on and on."),
    ],
)
def test_an_answer_flows_and_stops_when_somebody_presses_the_button(
    any_reef: DiscordHouse, locale: str, label: str, told: str, words: str
) -> None:
    house = any_reef
    kani(house, Reply(text=words, streamed=True))

    def presses() -> None:
        house.clock.advance(1)
        message = house.message(SERVER_CHANNEL, OWNER)
        if message.buttons:
            house.provider.between_words = lambda: house.clock.advance(1)
            house.discord.press(message, label, locale=locale)
            queue = house.home.interactions
            assert queue is not None
            delivery = queue.receive(visibility_seconds=60, wait_seconds=0)
            assert delivery is not None
            house.handle("interactions", delivery)
            queue.acknowledge(delivery.receipt)

    house.provider.between_words = presses
    interaction = ask(house, locale=locale)
    house.work()
    first, *_ = house.seen(SERVER_CHANNEL)
    assert interaction.text == first
    assert first.startswith(" ".join(words.split(" ")[:2]))
    assert words not in first
    assert told in first
    assert not any(each["label"] == label for each in interaction.messages[0].buttons)
