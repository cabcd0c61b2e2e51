"""A preview edits the answer to an interaction while the model writes, and is never in the way."""

from collections.abc import Callable
from threading import Event

import pytest

from opencrab.adapters.discord.preview import EVERY_MS, DiscordPreview, DiscordPreviews
from opencrab.adapters.discord.rendering import discord_preview_content
from opencrab.domain.discord.community import REPLY, InteractionReply, discord_channel
from opencrab.domain.value import Language
from tests.discord.fake import PRIVATE, SERVER_CHANNEL
from tests.discord.faults import Delay, Drop, Limited, Status
from tests.discord.limits import Rate
from tests.discord.state import Place
from tests.unit.adapters.discord.speaking import Done, Talk, run_at_once

GUEST = Place("1500000000000000777", guild_id="1300000000000000009", guest=True)
STEP = EVERY_MS / 1_000
FIFTEEN_MINUTES = 15 * 60


def previews(talk: Talk) -> DiscordPreviews:
    return DiscordPreviews(talk.client, talk.facts, talk.clock, run_at_once)


def preview_of(talk: Talk, reply: InteractionReply) -> DiscordPreview:
    place = discord_channel(reply.channel_id, reply.id, awaited=True)
    preview = previews(talk).preview(place, "turn-1", talk.clock.monotonic_ms())
    assert preview is not None
    return preview


def write(talk: Talk, preview: DiscordPreview, *texts: str) -> None:
    """Let words come, each after as long as edits are apart."""
    for text in texts:
        talk.clock.advance(STEP)
        preview.show(lambda text=text: text)  # type: ignore[misc]


def edits(talk: Talk) -> list[str]:
    """The contents of the edits that Discord made."""
    asked = talk.discord.requests("PATCH /webhooks")
    return [each.request.json["content"] for each in asked if each.status == 200]


@pytest.mark.parametrize(
    ("language", "label", "words"),
    [
        (Language.EN, "Stop", ("Deep in", "Deep in the sea.")),
        (Language.JA, "停止", ("深い", "深い海の底。")),
    ],
)
def test_one_message_grows_and_holds_the_answer_at_last(
    talk: Talk, language: Language, label: str, words: tuple[str, ...]
) -> None:
    reply = talk.asked(language=language)
    preview = preview_of(talk, reply)
    write(talk, preview, *words)
    (message,) = talk.shown()
    assert message.content == f"{words[-1]} ⏳"
    assert [each["label"] for each in message.buttons] == [label]
    assert message.buttons[0]["custom_id"] == "oc:sp:turn-1"
    preview.end()
    talk.say(talk.utterance(words[-1], reply))
    (message,) = talk.shown()
    assert message.content == words[-1]
    assert [each["content"] for each in message.past] == [f"{each} ⏳" for each in words]


def test_what_is_delivered_leaves_no_button_to_stop(talk: Talk) -> None:
    reply = talk.asked()
    write(talk, preview_of(talk, reply), "Deep")
    talk.say(talk.utterance("Deep.", reply, closes=False))
    assert talk.shown()[0].buttons == []


def test_an_answer_of_a_moment_costs_nothing(talk: Talk) -> None:
    preview = preview_of(talk, talk.asked())
    before, reads = len(talk.discord.log), talk.facts.writes
    talk.clock.advance(STEP - 0.1)
    preview.show(lambda: pytest.fail("nobody asks for words yet"))
    preview.end()
    assert (len(talk.discord.log), talk.facts.writes) == (before, reads)


def test_a_long_answer_is_written_down_once_and_edited_in_steps(talk: Talk) -> None:
    preview = preview_of(talk, talk.asked())
    for tenth in range(1, 101):
        talk.clock.advance(0.1)
        preview.show(lambda tenth=tenth: "x" * tenth)  # type: ignore[misc]
    assert talk.facts.writes == 1
    assert len(edits(talk)) == 5


def test_words_that_stay_the_same_are_not_sent_again(talk: Talk) -> None:
    write(talk, preview_of(talk, talk.asked()), "same", "same", "same")
    assert edits(talk) == ["same ⏳"]


def test_a_call_without_words_yet_can_be_stopped(talk: Talk) -> None:
    write(talk, preview_of(talk, talk.asked()), "")
    (message,) = talk.shown()
    assert (message.content, message.buttons[0]["label"]) == ("⏳", "Stop")


def test_words_that_were_withdrawn_are_replaced(talk: Talk) -> None:
    reply = talk.asked()
    write(talk, preview_of(talk, reply), "Let me look.")
    write(talk, preview_of(talk, reply), "", "Found it.")
    assert edits(talk) == ["Let me look. ⏳", "⏳", "Found it. ⏳"]
    assert talk.facts.writes == 1


def test_no_more_is_shown_after_the_end(talk: Talk) -> None:
    preview = preview_of(talk, talk.asked())
    write(talk, preview, "one")
    preview.end()
    write(talk, preview, "two")
    assert edits(talk) == ["one ⏳"]


@pytest.mark.parametrize("piece", ["海の底は静かです。", "Down in the deep. "])
def test_what_does_not_fit_one_message_waits_for_the_delivery(talk: Talk, piece: str) -> None:
    reply = talk.asked()
    whole = piece * 400
    preview = preview_of(talk, reply)
    write(talk, preview, whole[:2_500], whole)
    told, *more = edits(talk)
    assert more == []
    assert told.endswith("\n… ⏳")
    assert len(told) <= 2_000
    talk.say(talk.utterance(whole, reply))
    assert "".join("".join(each.content for each in talk.shown()).split()) == "".join(whole.split())


def test_who_brought_the_bot_along_sees_it_too_and_nothing_is_stored(talk: Talk) -> None:
    talk.discord.place(GUEST)
    reply = talk.asked(place=GUEST)
    write(talk, preview_of(talk, reply), "Hi")
    assert talk.discord.shown(GUEST)[0].content == "Hi ⏳"
    assert talk.facts.writes == 0


def test_an_ordinary_message_is_answered_as_a_whole(talk: Talk) -> None:
    assert previews(talk).preview(discord_channel(SERVER_CHANNEL.channel_id), "turn-1", 0.0) is None


def test_a_preview_that_outlived_the_token_becomes_the_answer(talk: Talk) -> None:
    reply = talk.asked()
    write(talk, preview_of(talk, reply), "Deep")
    utterance = talk.utterance("Deep.", reply)
    talk.clock.advance(FIFTEEN_MINUTES)
    assert talk.channel.is_idempotent(utterance)
    talk.say(utterance)
    talk.say(utterance)
    (message,) = talk.shown()
    assert (message.content, message.buttons) == ("Deep.", [])


def test_an_answer_too_long_for_messages_replaces_an_old_preview_as_a_file(talk: Talk) -> None:
    reply = talk.asked()
    write(talk, preview_of(talk, reply), "Deep")
    talk.clock.advance(FIFTEEN_MINUTES)
    talk.say(talk.utterance("これはとても長い文章です。\n" * 2_000, reply))
    (message,) = talk.shown()
    assert [file.name for file in message.files] == ["answer.md"]


def test_silence_takes_an_old_preview_away(talk: Talk) -> None:
    reply = talk.asked()
    write(talk, preview_of(talk, reply), "Hm")
    talk.clock.advance(FIFTEEN_MINUTES)
    talk.say(talk.utterance("", reply))
    talk.say(talk.utterance("", reply))
    assert talk.shown() == []


def test_silence_takes_a_preview_away_whose_token_ends_just_then(talk: Talk) -> None:
    reply = talk.asked()
    write(talk, preview_of(talk, reply), "Hm")
    talk.discord.fail("DELETE /webhooks", Delay(FIFTEEN_MINUTES))
    talk.say(talk.utterance("", reply))
    assert talk.shown() == []


def test_an_old_preview_that_somebody_deleted_is_posted_anew(talk: Talk) -> None:
    reply = talk.asked()
    write(talk, preview_of(talk, reply), "Deep")
    talk.shown()[0].deleted = True
    talk.say(talk.utterance("Deep.", reply))
    (message,) = talk.shown()
    assert (message.content, message.nonce) == ("Deep.", "n" * 22 + "-0")


def test_nothing_is_shown_by_a_token_that_is_over(talk: Talk) -> None:
    preview = preview_of(talk, talk.asked())
    talk.clock.advance(FIFTEEN_MINUTES)
    write(talk, preview, "late", "later")
    assert edits(talk) == []


def test_a_limit_is_kept_and_never_waited_for(talk: Talk) -> None:
    preview = preview_of(talk, talk.asked())
    talk.discord.fail("PATCH /webhooks", Limited(5.0))
    write(talk, preview, "one", "two", "three", "four")
    assert talk.pauses == []
    assert edits(talk) == ["four ⏳"]
    assert len(talk.discord.requests("PATCH /webhooks")) == 2


def test_one_request_of_a_limit_is_left_for_the_answer(talk: Talk) -> None:
    talk.discord.api.limits.rates["PATCH /webhooks"] = Rate(2, 60)
    talk.discord.api.limits.enforced = True
    reply = talk.asked()
    preview = preview_of(talk, reply)
    write(talk, preview, "one", "two", "three")
    assert edits(talk) == ["one ⏳"]
    talk.say(talk.utterance("three.", reply))
    assert talk.pauses == []
    assert talk.shown()[0].content == "three."


@pytest.mark.parametrize("fault", [Drop("after"), Status(500, "after"), Status(503)])
def test_after_an_edit_of_unknown_fate_there_is_no_other(talk: Talk, fault: Drop | Status) -> None:
    preview = preview_of(talk, talk.asked())
    # A connection that is kept may be found closed: then the transport sends once more.
    talk.discord.fail("PATCH /webhooks", fault, times=2)
    write(talk, preview, "one")
    asked = len(talk.discord.requests("PATCH /webhooks"))
    talk.discord.api.faults.clear()
    write(talk, preview, "two")
    assert len(talk.discord.requests("PATCH /webhooks")) == asked


def test_the_table_that_does_not_answer_stops_only_the_preview(talk: Talk) -> None:
    reply = talk.asked()
    preview = preview_of(talk, reply)
    talk.facts.is_silent = True
    write(talk, preview, "one")
    talk.facts.is_silent = False
    talk.say(talk.utterance("one.", reply))
    assert talk.shown()[0].content == "one."


def test_a_reply_that_changed_meanwhile_is_read_again(talk: Talk) -> None:
    reply = talk.asked()
    preview = preview_of(talk, reply)
    found = talk.client.find_reply

    def changed(asked: InteractionReply) -> str:
        talk.client.find_reply = found  # type: ignore[method-assign]
        talk.facts.commit(talk.facts.kept[REPLY, reply.id].with_body(asked))
        return found(asked)

    talk.client.find_reply = changed  # type: ignore[method-assign, assignment]
    write(talk, preview, "one", "two")
    assert edits(talk) == ["two ⏳"]


class Slow(Done):
    """An edit that runs until somebody waits for it."""

    def __init__(self, run: Callable[[], None]) -> None:
        self.run, self.is_running = run, True

    def is_alive(self) -> bool:
        return self.is_running

    def join(self) -> None:
        if self.is_running:
            self.is_running = False
            self.run()


def test_a_slow_edit_holds_nobody_up_and_the_end_waits_for_it(talk: Talk) -> None:
    begun: list[Slow] = []

    def start(run: Callable[[], None]) -> Slow:
        begun.append(Slow(run))
        return begun[-1]

    reply = talk.asked()
    place = discord_channel(reply.channel_id, reply.id, awaited=True)
    preview = DiscordPreviews(talk.client, talk.facts, talk.clock, start).preview(
        place, "turn-1", talk.clock.monotonic_ms()
    )
    assert preview is not None
    write(talk, preview, "one", "two", "three")
    assert (len(begun), edits(talk)) == (1, [])
    preview.end()
    assert edits(talk) == ["one ⏳"]


def test_the_real_start_does_not_wait(talk: Talk) -> None:
    may_go = Event()
    reply = talk.asked(place=PRIVATE)
    place = discord_channel(reply.channel_id, reply.id, awaited=True)
    preview = DiscordPreviews(talk.client, talk.facts, talk.clock).preview(
        place, "turn-1", talk.clock.monotonic_ms()
    )
    assert preview is not None
    found = talk.client.find_reply

    def waiting(asked: InteractionReply) -> str:
        may_go.wait(10)
        return found(asked)

    talk.client.find_reply = waiting  # type: ignore[method-assign, assignment]
    write(talk, preview, "one")
    assert edits(talk) == []
    may_go.set()
    preview.end()
    assert edits(talk) == ["one ⏳"]


def test_the_mark_fits_beside_the_longest_piece() -> None:
    told = discord_preview_content("🦀" * 3_000)
    assert len(told.encode("utf-16-le")) // 2 <= 2_000
