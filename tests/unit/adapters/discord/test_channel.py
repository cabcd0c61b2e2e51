"""The channel says each thing where it belongs: to who asked, as a follow-up, or as the bot."""

import pytest

from opencrab.domain.approvals.call_text import approval_question_with_call
from opencrab.domain.discord.community import discord_channel
from opencrab.domain.errors import Invalid, NeverSent, NotFound, Refused, Unavailable
from opencrab.domain.value import Language
from opencrab.ports.conversation.channel import Panel, PanelRow
from tests.discord.fake import ELSEWHERE, OTHER_CHANNEL, PRIVATE, SERVER_CHANNEL
from tests.discord.faults import Drop, Limited, Status
from tests.discord.state import Place
from tests.unit.adapters.discord.speaking import CRAB, OWN_TOKEN, Talk

LONG = "これは長い文章です。" * 300
ENDLESS = "これはとても長い文章です。\n" * 2_000
FIFTEEN_MINUTES = 15 * 60


def texts(talk: Talk) -> list[str]:
    return [message.content for message in talk.shown()]


def panel(**changes: object) -> Panel:
    told: dict[str, object] = {
        "agent_id": "crab", "agent_name": "Crab", "goal": "G1", "name": "Tidy the reef",
        "language": Language.EN, "standing": "active", "percent": 40,
        "rows": (PanelRow("G1-T1", "Look", "done"), PanelRow("G1-T2", "Tidy", "active")),
        "note": "", "over": False,
    }  # fmt: skip
    return Panel(**{**told, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["こんにちは🦀", "Hello"])
def test_what_opens_answers_in_place_of_the_mark_of_thinking(talk: Talk, text: str) -> None:
    talk.say(talk.utterance(text, talk.asked()))
    (message,) = talk.shown()
    assert (message.content, message.is_loading) == (text, False)
    assert len(talk.discord.requests()) == 2
    assert talk.facts.writes == 0


def test_silence_takes_the_mark_away(talk: Talk) -> None:
    reply = talk.asked()
    silent = talk.utterance(" ", reply)
    talk.say(silent)
    talk.say(silent)
    assert talk.channel.is_idempotent(silent)
    assert talk.shown() == []


def test_silence_that_nobody_waits_for_is_nothing(talk: Talk) -> None:
    talk.say(talk.utterance(""))
    talk.say(talk.utterance("", talk.asked(), opens=False))
    talk.clock.advance(FIFTEEN_MINUTES)
    talk.say(talk.utterance("", talk.asked(), opens=True))
    assert not talk.discord.requests("POST /channels")


def test_a_long_answer_goes_on_below_it_as_the_bot(talk: Talk) -> None:
    talk.say(talk.utterance(LONG, talk.asked()))
    assert "".join(texts(talk)) == LONG
    assert [message.nonce for message in talk.shown()] == [None, "n" * 22 + "-1"]


def test_what_comes_later_is_posted(talk: Talk) -> None:
    talk.say(talk.utterance("First.", talk.asked()))
    talk.say(talk.utterance("Second.", opens=False))
    assert texts(talk) == ["First.", "Second."]
    assert [each.request.method for each in talk.discord.log[1:]] == ["PATCH", "POST"]


def test_what_only_the_asker_may_see_stays_so(talk: Talk) -> None:
    reply = talk.asked(ephemeral=True)
    talk.say(talk.utterance(LONG, reply))
    assert [message.shown_to for message in talk.shown()] == [talk.shown()[0].shown_to] * 2
    assert talk.discord.shown(SERVER_CHANNEL) == []
    talk.clock.advance(FIFTEEN_MINUTES)
    with pytest.raises(Refused, match="15-minute"):
        talk.say(talk.utterance("secret", reply, opens=False))


def test_an_expired_interaction_is_answered_in_the_channel(talk: Talk) -> None:
    reply = talk.asked()
    talk.clock.advance(FIFTEEN_MINUTES)
    talk.say(talk.utterance("At last.", reply))
    assert texts(talk)[-1] == "At last."
    assert not talk.discord.requests("PATCH")


def test_an_answer_that_was_deleted_is_given_in_the_channel(talk: Talk) -> None:
    reply = talk.asked()
    talk.client.delete_reply(reply)
    talk.say(talk.utterance(LONG, reply))
    assert "".join(texts(talk)) == LONG
    assert len(talk.discord.requests("PATCH")) == 1


def test_what_is_kept_of_an_interaction_counts_for_two_days_only(talk: Talk) -> None:
    reply = talk.asked()
    kept = talk.facts.kept["discord_reply", reply.id]
    over = kept.replaced(version=2, expires_at=talk.clock.now())
    talk.facts.commit(over)
    talk.say(talk.utterance("Hello.", reply))
    assert [each.request.method for each in talk.discord.log[1:]] == ["POST"]


def test_a_guest_says_what_fits_one_message_and_the_rest_in_a_file(talk: Talk) -> None:
    reply = talk.asked(place=ELSEWHERE, language=Language.JA)
    talk.say(talk.utterance(LONG, reply))
    (message,) = talk.shown(ELSEWHERE)
    assert message.content.endswith("-# 全文は添付の answer.md にあります。")
    assert message.files[0].content.decode() == LONG
    for number in range(5):
        talk.say(talk.utterance(f"more {number}", reply, opens=False))
    talk.clock.advance(6)
    with pytest.raises(Invalid, match="40094"):
        talk.say(talk.utterance("too much", reply, opens=False))


def test_a_guest_who_is_too_late_says_so(talk: Talk) -> None:
    reply = talk.asked(place=ELSEWHERE)
    talk.clock.advance(FIFTEEN_MINUTES)
    with pytest.raises(Refused, match="15-minute"):
        talk.say(talk.utterance("late", reply))


@pytest.mark.parametrize("language", [Language.JA, Language.EN])
def test_a_very_long_answer_is_a_file(talk: Talk, language: Language) -> None:
    utterance = talk.utterance(ENDLESS, talk.asked(language=language), closes=True)
    assert talk.channel.piece_count(utterance) == 1
    talk.say(utterance)
    (message,) = talk.shown()
    assert len(message.content) <= 2_000
    assert message.files[0].content.decode() == ENDLESS
    assert [each["label"] for each in message.buttons] == ["👍", "👎"]
    assert ("全文" in message.content) == (language is Language.JA)


def test_in_a_channel_the_file_is_explained_in_both_languages(talk: Talk) -> None:
    talk.say(talk.utterance(ENDLESS))
    (message,) = talk.shown()
    assert "全文" in message.content
    assert "full text" in message.content


@pytest.mark.parametrize(("language", "label"), [(Language.JA, "承認"), (Language.EN, "Approve")])
def test_a_question_has_buttons_to_decide(talk: Talk, language: Language, label: str) -> None:
    reply = talk.asked(language=language)
    hashed = "0123456789abcdef" * 4
    text = approval_question_with_call("May I? (touches: x)", '{"a": 1}', hashed)
    talk.say(talk.utterance(text, reply, approval="a1"))
    (message,) = talk.shown()
    yes = f"oc:ap:a1:y:{hashed[:16]}"
    assert message.button(yes)["label"] == label
    assert [each["custom_id"] for each in message.buttons] == [yes, "oc:ap:a1:n"]


@pytest.mark.parametrize(
    "text",
    [
        "May I? (touches: x)",
        "May I?\n```json\n{}\n```\nSHA-256 `0123456789abcdef` and more",
        approval_question_with_call("May I?", "x" * 2_000, "0123456789abcdef" * 4),
    ],
)
def test_a_question_that_is_not_whole_has_no_button_to_approve(talk: Talk, text: str) -> None:
    talk.say(talk.utterance(text, talk.asked(language=Language.EN), approval="a1"))
    message = talk.shown()[-1]
    assert [each["custom_id"] for each in message.buttons] == ["oc:ap:a1:s", "oc:ap:a1:n"]
    assert message.button("oc:ap:a1:s")["label"] == "Open"


def test_a_question_is_always_asked_by_the_bot_whose_buttons_are_heard(talk: Talk) -> None:
    talk.tokens.known["CRAB"] = OWN_TOKEN
    talk.presence(token_secret="CRAB")
    talk.say(talk.utterance("May I?", approval="a1"))
    talk.say(talk.utterance("Hello.", nonce="m" * 22))
    assert [message.author.name for message in talk.shown()] == ["OpenCrab", CRAB.name]


def test_the_last_piece_of_an_answer_asks_whether_it_was_good(talk: Talk) -> None:
    talk.say(talk.utterance(LONG, talk.asked(), closes=True))
    first, last = talk.shown()
    assert first.buttons == []
    assert [each["custom_id"] for each in last.buttons] == ["oc:fb:turn-1:u", "oc:fb:turn-1:d"]
    talk.say(talk.utterance("By the way.", closes=True))
    assert talk.shown()[-1].buttons == []


def test_an_agent_is_silent_where_it_may_not_write_unless_it_is_asked(talk: Talk) -> None:
    talk.presence(spots=({"channel_id": SERVER_CHANNEL.channel_id, "writes": False},))
    with pytest.raises(Refused, match="may not write"):
        talk.say(talk.utterance("By the way."))
    talk.say(talk.utterance(LONG, talk.asked()))
    assert len(talk.shown()) == 2


@pytest.mark.parametrize("place", [OTHER_CHANNEL, PRIVATE], ids=["channel", "private"])
def test_a_reply_in_any_place_stays_there(talk: Talk, place: Place) -> None:
    reply = talk.asked(place=place)
    talk.say(talk.utterance(LONG, reply))
    assert len(talk.shown(place)) == 2


def test_a_channel_that_the_bot_may_not_write_in_ends_it_with_discords_words(talk: Talk) -> None:
    talk.discord.place(SERVER_CHANNEL).can_send = False
    with pytest.raises(Refused, match="Missing Permissions"):
        talk.say(talk.utterance("Hello."))
    with pytest.raises(NotFound, match="Unknown Channel"):
        talk.say(talk.utterance("Hello.", channel=discord_channel("999999999999999999")))


def test_an_answer_can_be_repeated_as_long_as_its_token_lives(talk: Talk) -> None:
    utterance = talk.utterance("Hello.", talk.asked())
    talk.clock.advance(FIFTEEN_MINUTES - 1)
    assert talk.channel.is_idempotent(utterance)
    talk.clock.advance(2)
    assert not talk.channel.is_idempotent(utterance)
    assert talk.channel.is_idempotent(utterance.replaced(since=talk.clock.now()))


def test_a_post_can_be_repeated_as_long_as_its_nonce_is_known(talk: Talk) -> None:
    utterance = talk.utterance("Hello.")
    talk.discord.fail("POST", Drop("after"))
    with pytest.raises(Unavailable):
        talk.say(utterance)
    talk.clock.advance(149)
    assert talk.channel.is_idempotent(utterance)
    talk.say(utterance)
    assert len(talk.shown()) == 1
    talk.clock.advance(1)
    assert not talk.channel.is_idempotent(utterance)


@pytest.mark.parametrize("place", [ELSEWHERE, SERVER_CHANNEL], ids=["guest", "ephemeral"])
def test_a_follow_up_cannot_be_repeated(talk: Talk, place: Place) -> None:
    reply = talk.asked(place=place, ephemeral=True)
    assert talk.channel.is_idempotent(talk.utterance("first", reply))
    assert not talk.channel.is_idempotent(talk.utterance("second", reply, opens=False))
    assert not talk.channel.is_idempotent(talk.utterance(LONG, reply, piece=1))


@pytest.mark.parametrize("fault", [Status(503), Limited(60)])
def test_trouble_is_told_as_it_is(talk: Talk, fault: Status | Limited) -> None:
    talk.discord.fail("POST", fault)
    kind = Unavailable if isinstance(fault, Status) else NeverSent
    with pytest.raises(kind):
        talk.say(talk.utterance("Hello."))


def test_facts_that_cannot_be_read_mean_that_nothing_was_sent(talk: Talk) -> None:
    utterance = talk.utterance(LONG, talk.asked())
    talk.facts.is_silent = True
    with pytest.raises(NeverSent):
        talk.channel.piece_count(utterance)
    with pytest.raises(NeverSent):
        talk.channel.send(utterance)


def test_a_missing_token_is_named(talk: Talk) -> None:
    talk.tokens.known.clear()
    talk.say(talk.utterance("By the token of the interaction.", talk.asked()))
    with pytest.raises(Refused, match="DISCORD_TOKEN"):
        talk.say(talk.utterance("Hello."))


def test_the_pieces_of_an_utterance_are_always_as_many(talk: Talk) -> None:
    reply = talk.asked()
    long, endless = talk.utterance(LONG, reply), talk.utterance(ENDLESS, reply)
    counts = (talk.channel.piece_count(long), talk.channel.piece_count(endless))
    talk.clock.advance(FIFTEEN_MINUTES)
    assert (talk.channel.piece_count(long), talk.channel.piece_count(endless)) == counts == (2, 1)


def test_a_panel_replaces_the_answer_and_later_the_bots_own_message(talk: Talk) -> None:
    reply = talk.asked()
    place = talk.utterance("", reply).channel
    talk.channel.show(place, panel())
    talk.channel.show(place, panel(percent=60))
    assert talk.facts.writes == 1
    (message,) = talk.shown()
    assert "60%" in message.embeds[0]["description"]
    talk.clock.advance(FIFTEEN_MINUTES)
    talk.channel.show(place, panel(percent=100, standing="completed", over=True))
    assert "100%" in message.embeds[0]["description"]
    assert message.components == []
    assert len(talk.shown()) == 1


def test_a_panel_whose_message_is_not_known_is_not_shown(talk: Talk) -> None:
    reply, secret = talk.asked(), talk.asked(ephemeral=True)
    talk.channel.show(talk.utterance("", secret).channel, panel())
    talk.clock.advance(FIFTEEN_MINUTES)
    sent = len(talk.discord.log)
    for channel in (talk.utterance("", reply), talk.utterance("", secret), talk.utterance("")):
        talk.channel.show(channel.channel, panel())
    assert len(talk.discord.log) == sent


def references(talk: Talk) -> list[object]:
    """The messages to which the posts are replies, None for no reply."""
    posts = talk.discord.requests("POST /channels")
    return [post.request.json.get("message_reference") for post in posts]


@pytest.mark.parametrize("text", ["灯台にあります", "At the lighthouse"])
def test_a_reply_refers_to_its_message_with_the_first_piece(talk: Talk, text: str) -> None:
    place = f"discord:{SERVER_CHANNEL.channel_id}"
    talk.say(talk.utterance(text + "🦀" * 1_500, reply_to=f"{place}/1400000000000000777"))
    first, *others = references(talk)
    assert first == {"message_id": "1400000000000000777", "fail_if_not_exists": False}
    assert others
    assert set(others) == {None}


@pytest.mark.parametrize(
    "reply_to",
    ["", f"discord:{OTHER_CHANNEL.channel_id}/1400000000000000777", "rest:a/1", "discord:x/y"],
)
def test_nothing_refers_to_a_message_of_another_place(talk: Talk, reply_to: str) -> None:
    talk.say(talk.utterance("はい", reply_to=reply_to))
    assert references(talk) == [None]
    assert texts(talk) == ["はい"]


def test_where_a_reply_is_refused_the_answer_is_posted_without_reference(talk: Talk) -> None:
    talk.discord.fail("POST /channels", Status(403))
    place = f"discord:{SERVER_CHANNEL.channel_id}"
    talk.say(talk.utterance("はい", reply_to=f"{place}/1400000000000000777"))
    assert texts(talk) == ["はい"]
    _refused, posted = talk.discord.requests("POST /channels")
    assert "message_reference" not in posted.request.json
