"""What becomes of interactions: deadlines, the race, tokens, and what the user sees."""

from typing import Any

import pytest

from tests.discord.calling import Caller
from tests.discord.fake import (
    ELSEWHERE,
    MEMBER,
    OWNER,
    PRIVATE,
    SERVER_CHANNEL,
    Door,
    FakeDiscord,
)
from tests.discord.state import File, Interaction

DEFERRED = {"type": 5}
PROMPT: dict[str, Any] = {
    "type": 9,
    "data": {
        "custom_id": "oc:sm:a:G1",
        "title": "Steer",
        "components": [
            {
                "type": 18,
                "label": "What to do",
                "component": {"type": 4, "style": 2, "custom_id": "text", "max_length": 2_000},
            }
        ],
    },
}


def asked(discord: FakeDiscord, **where: Any) -> Interaction:
    """A command that nobody has answered yet."""
    return discord.command("ask", {"agent": "kani", "text": "こんにちは"}, **where)


def saying(answer: bytes) -> Door:
    """A door that answers everything so."""
    return lambda headers, body: (200, {}, answer)


def test_an_answer_in_time_is_seen(discord: FakeDiscord, call: Caller) -> None:
    interaction = asked(discord)
    assert call.acknowledge(interaction, DEFERRED).status == 204
    assert interaction.standing == "thinking"
    assert call.edit(interaction, content="やあ").status == 200
    assert (interaction.standing, interaction.text) == ("answered", "やあ")
    assert [each.content for each in discord.shown(SERVER_CHANNEL)] == ["やあ"]
    assert not discord.complaints


def test_a_file_comes_by_its_id_and_keeps_its_name_in_the_title(discord: FakeDiscord) -> None:
    options = {"agent": "kani", "text": "これは?", "file": File("77", "海の 絵.png", b"123")}
    data = discord.command("ask", options).payload["data"]
    assert data["options"][-1] == {"name": "file", "type": 11, "value": "77"}
    told = data["resolved"]["attachments"]["77"]
    assert (told["filename"], told["title"], told["size"]) == ("____.png", "海の 絵", 3)
    assert told["url"].startswith("https://cdn.discordapp.com/")
    said = discord.say("見て", OWNER, SERVER_CHANNEL, File("78", "a.txt", b"1", size=9, url="u"))
    (shown,) = said.json(discord.application_id)["attachments"]
    assert "title" not in shown
    assert (shown["filename"], shown["size"], shown["url"]) == ("a.txt", 9, "u")


def test_nobody_answers_after_three_seconds(discord: FakeDiscord, call: Caller) -> None:
    interaction = asked(discord)
    discord.wait(3.1)
    assert interaction.standing == "failed"
    heard = call.acknowledge(interaction, DEFERRED)
    assert (heard.status, heard.code) == (404, 10062)
    assert call.edit(interaction, content="x").code == 10015


def test_an_interaction_is_acknowledged_once(discord: FakeDiscord, call: Caller) -> None:
    interaction = asked(discord)
    call.acknowledge(interaction, DEFERRED)
    heard = call.acknowledge(interaction, DEFERRED)
    assert (heard.status, heard.code) == (400, 40060)


def test_the_wrong_token_or_id_is_nobodys(discord: FakeDiscord, call: Caller) -> None:
    interaction = asked(discord)
    path = f"/interactions/{interaction.id}/other/callback"
    assert call("POST", path, DEFERRED).code == 10062
    call.acknowledge(interaction, DEFERRED)
    assert call.edit(Interaction(**{**vars(interaction), "token": "t"}), content="x").code == 50027
    other = call.original(interaction).replace(discord.application_id, "1")
    assert call("PATCH", other, {"content": "x", "allowed_mentions": {"parse": []}}).code == 10015


def test_a_token_lives_for_fifteen_minutes(discord: FakeDiscord, call: Caller) -> None:
    interaction = asked(discord)
    call.acknowledge(interaction, DEFERRED)
    discord.wait(899)
    assert call.edit(interaction, content="x").status == 200
    discord.wait(2)
    heard = call.edit(interaction, content="y")
    assert (heard.status, heard.code) == (401, 50027)
    assert interaction.text == "x"


def test_an_inline_deferral_takes_ten_seconds_to_spread(discord: FakeDiscord, call: Caller) -> None:
    discord.door = saying(b'{"type":5}')
    interaction = asked(discord)
    assert interaction.standing == "thinking"
    assert call.edit(interaction, content="x").code == 10015
    discord.wait(9.9)
    assert call.follow(interaction, content="x").code == 10015
    discord.wait(0.2)
    assert call.edit(interaction, content="x").status == 200


def test_right_after_a_deferral_a_follow_up_fills_the_loading_message(
    discord: FakeDiscord, call: Caller
) -> None:
    interaction = asked(discord)
    call.acknowledge(interaction, DEFERRED)
    call.follow(interaction, content="one")
    call.follow(interaction, content="two")
    assert [each.content for each in interaction.messages] == ["one", "two"]
    assert len(interaction.follow_ups) == 1


def test_a_guest_has_five_follow_ups_and_no_channel(discord: FakeDiscord, call: Caller) -> None:
    interaction = asked(discord, place=ELSEWHERE)
    assert interaction.payload["authorizing_integration_owners"] == {"1": OWNER.id}
    call.acknowledge(interaction, DEFERRED)
    call.edit(interaction, content="0")
    for number in range(5):
        assert call.follow(interaction, content=str(number)).status == 200
    heard = call.follow(interaction, content="6")
    assert (heard.status, heard.code) == (400, 40094)
    assert call.edit(interaction, content="still").status == 200
    assert call.post(ELSEWHERE.channel_id, "n", content="x").code == 50001


def test_an_ephemeral_answer_is_seen_by_its_asker_alone(discord: FakeDiscord, call: Caller) -> None:
    interaction = asked(discord, by=MEMBER)
    call.acknowledge(interaction, {"type": 5, "data": {"flags": 64}})
    call.edit(interaction, content="psst")
    assert discord.shown(SERVER_CHANNEL) == discord.shown(SERVER_CHANNEL, OWNER) == []
    assert [each.content for each in discord.shown(SERVER_CHANNEL, MEMBER)] == ["psst"]


def test_the_first_answer_can_be_taken_away(discord: FakeDiscord, call: Caller) -> None:
    interaction = asked(discord)
    call.acknowledge(interaction, DEFERRED)
    assert call("DELETE", call.original(interaction)).status == 204
    assert discord.shown(SERVER_CHANNEL) == []
    assert call("DELETE", call.original(interaction)).code == 10008
    assert call("GET", call.original(interaction)).code == 10008


def test_a_press_may_change_the_message_that_it_was_made_on(
    discord: FakeDiscord, call: Caller
) -> None:
    interaction = asked(discord)
    call.acknowledge(interaction, DEFERRED)
    buttons = [
        {"type": 2, "style": 3, "label": "承認", "custom_id": "oc:ap:1:y"},
        {"type": 2, "style": 4, "label": "却下", "custom_id": "oc:ap:1:n"},
    ]
    call.edit(interaction, content="?", components=[{"type": 1, "components": buttons}])
    (message,) = discord.shown(SERVER_CHANNEL)
    press = discord.press(message, "承認", by=MEMBER)
    assert press.payload["data"]["custom_id"] == "oc:ap:1:y"
    assert press.payload["message"]["id"] == message.id
    assert call.acknowledge(press, {"type": 6}).status == 204
    off = [{**each, "disabled": True} for each in buttons]
    call.edit(press, content="decided", components=[{"type": 1, "components": off}])
    assert (message.content, press.standing) == ("decided", "answered")
    assert message.past[0]["content"] == "?"
    with pytest.raises(AssertionError, match="disabled"):
        discord.press(message, "承認")


def test_a_modal_is_filled_in_and_sent(discord: FakeDiscord, call: Caller) -> None:
    interaction = asked(discord)
    assert call.acknowledge(interaction, PROMPT).status == 204
    submitted = discord.submit(interaction, {"text": "左へ"})
    (label,) = submitted.payload["data"]["components"]
    assert label["component"]["value"] == "左へ"
    assert submitted.kind == 5
    heard = call.acknowledge(submitted, PROMPT)
    assert (heard.status, heard.code) == (400, 50035)


@pytest.mark.parametrize(
    "answer",
    [
        {"type": 99},
        {"data": {}},
        {"type": 6},
        {"type": 8, "data": {"choices": []}},
        {"type": 4, "data": {"content": "x"}},
        {"type": 5, "data": {"content": "x"}},
        {"type": 5, "data": {"flags": 32_768}},
        {"type": 5, "data": {"flags": 64, "tts": False}},
        {"type": 5, "ephemeral": True},
        {"type": 9, "data": {**PROMPT["data"], "title": "t" * 46}},
        {"type": 9, "data": {**PROMPT["data"], "components": []}},
        {"type": 9, "data": {**PROMPT["data"], "components": PROMPT["data"]["components"] * 6}},
        {"type": 9, "data": {**PROMPT["data"], "components": PROMPT["data"]["components"] * 2}},
        {
            "type": 9,
            "data": {
                **PROMPT["data"],
                "components": [
                    {"type": 1, "components": [{"type": 4, "style": 1, "custom_id": "text"}]}
                ],
            },
        },
    ],
)
def test_a_first_answer_that_breaks_a_rule_is_refused(
    discord: FakeDiscord, call: Caller, answer: Any
) -> None:
    interaction = asked(discord)
    heard = call.acknowledge(interaction, answer)
    assert (heard.status, heard.code) == (400, 50035), heard.json
    assert interaction.standing == "waiting"
    assert len(discord.complaints) == 1


def test_choices_are_answered_inline_and_at_most_25(discord: FakeDiscord) -> None:
    for count in (25, 26):
        choices = b",".join([b'{"name":"a","value":"b"}'] * count)
        discord.door = saying(b'{"type":8,"data":{"choices":[%s]}}' % choices)
        interaction = discord.complete("ask", {"agent": "k"}, focused="agent")
        assert interaction.payload["data"]["options"][0]["focused"] is True
        assert len(interaction.choices or []) == (25 if count == 25 else 0)
    assert len(discord.complaints) == 1


def test_a_conversation_names_a_user_and_a_server_a_member(discord: FakeDiscord) -> None:
    private = asked(discord, place=PRIVATE, locale="en-US").payload
    assert private["user"]["id"] == OWNER.id
    assert (private["context"], "member" in private, "guild_id" in private) == (1, False, False)
    inside = asked(discord, by=MEMBER).payload
    assert inside["member"]["roles"] == list(MEMBER.roles)
    assert (inside["context"], "user" in inside, inside["locale"]) == (0, False, "ja")
